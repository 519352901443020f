"""The earlier state is gone when the checks begin, and what they remembered is gone when the release is stored."""

import weakref
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from builders.series import SERIES, lively, write_series

from reanon_dagster.releasing.computation import InMemory
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import memory_tables, store_writer

JS_REDUCE = SERIES.replace("{name: m-invariance, m: 3}", "{name: js-reduce, k: 3, t: 0.9, j: 2}")
DAY = date(2030, 1, 1)


def test_nothing_of_an_earlier_release_is_held_longer_than_it_is_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    series = load_series(write_series(tmp_path, text=JS_REDUCE, snapshots=lively(2)))
    publish_release(series, "r1", DAY)
    alive: dict[str, list[weakref.ref[Any]]] = {"state": [], "memories": []}
    read_state, read_memories = memory_tables.read_state, memory_tables.read_memories
    verdicts, commit = InMemory.verdicts, store_writer.commit
    seen = []

    def watched_state(*given: Any) -> Any:
        state = read_state(*given)
        alive["state"] = [weakref.ref(state[name]) for name in ("persons", "weights")]
        return state

    def watched_memories(*given: Any) -> Any:
        memories = read_memories(*given)
        alive["memories"] = [weakref.ref(memories["js-divergence"][name]) for name in ("persons", "weight")]
        return memories

    def examined(*given: Any) -> Any:
        seen.append([reference() is None for reference in alive["state"]])
        return verdicts(*given)

    def stored(*given: Any) -> Any:
        seen.append([reference() is None for reference in alive["memories"]])
        return commit(*given)

    monkeypatch.setattr(memory_tables, "read_state", watched_state)
    monkeypatch.setattr(memory_tables, "read_memories", watched_memories)
    monkeypatch.setattr(InMemory, "verdicts", examined)
    monkeypatch.setattr(store_writer, "commit", stored)
    publish_release(series, "r2", DAY)
    assert seen == [[True, True], [True, True]]
