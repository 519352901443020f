"""An audit of a series that does not fit into memory: the same answers over columns on disk, or a sentence."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.published_series import published_series
from builders.series import SERIES

from reanon_core.model.knowledge import Presence
from reanon_core.model.ledger import Entry
from reanon_dagster import open_series
from reanon_dagster.cli import main
from reanon_dagster.engines.scratch import RUN
from reanon_dagster.releasing import audited_ledger
from reanon_dagster.releasing.evidence import attacked_by, evidence_of, exposed_by
from reanon_dagster.releasing.release_audit import audit_release
from reanon_dagster.series.series_file import load_series

LIMIT = "engine: {embedded: {memory_limit: 310MB}}\n"
NAIVE = SERIES.replace("{name: m-invariance, m: 3}", "{name: mondrian, k: 2, ell: 2}")
ATTACK = "intersection"


@pytest.fixture
def published(tmp_path: Path) -> Callable[[str], Path]:
    def publish(text: str) -> Path:
        return published_series(tmp_path, 3, text=text)

    return publish


def in_parts(monkeypatch: pytest.MonkeyPatch, path: Path, people: int) -> None:
    """From now on the series does not fit, and so many people are attacked at a time."""
    path.write_text(path.read_text() + LIMIT)
    monkeypatch.setattr(audited_ledger, "AUDIT_ROW", 10**6)
    monkeypatch.setattr(audited_ledger, "FEWEST_PEOPLE", people)
    monkeypatch.setattr(audited_ledger, "MOST_PEOPLE", people)


@pytest.mark.parametrize(
    ("text", "people"),
    sampled([(text, people) for text in (SERIES, NAIVE) for people in (1, 7, 10**6)], [(SERIES, 1), (NAIVE, 7)]),
)
def test_the_answers_are_those_of_an_audit_in_memory(
    published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, text: str, people: int
) -> None:
    path = published(text)
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    command = ["audit", str(path), "--attack", ATTACK, "--quiet", "--json"]
    assert main([*command, str(whole)]) == 0
    findings, evidence = open_series(path).attack(ATTACK), evidence_of(load_series(path), "r3")
    audited = audit_release(load_series(path), "r3")
    in_parts(monkeypatch, path, people)
    assert main([*command, str(parts)]) == 0
    assert json.loads(parts.read_text()) == json.loads(whole.read_text())
    found = open_series(path).attack(ATTACK)
    assert (found.note, found.of, found.extra) == (findings.note, findings.of, findings.extra)
    for name in ("persons", "inferred", "confidence"):
        assert np.array_equal(getattr(found, name), getattr(findings, name))
    again = evidence_of(load_series(path), "r3")
    assert again.items() <= evidence.items()
    assert {exposed_by(ATTACK), attacked_by(ATTACK)} <= set(again)
    assert audit_release(load_series(path), "r3") == audited
    assert (text == SERIES) == (findings.exposed == 0)
    assert not list((load_series(path).private_folder / "scratch").glob(f"{RUN}*"))


def test_an_attack_on_everyone_at_once_is_refused_with_the_number_before_anything_is_read(
    published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = published(SERIES)
    in_parts(monkeypatch, path, 7)
    monkeypatch.setattr(audited_ledger, "MAPPED_ROW", 10**6)
    monkeypatch.setattr("reanon_dagster.storage.store_reader.ledger", lambda *_: pytest.fail("it was read"))
    assert main(["audit", str(path), "--attack", "algorithm"]) == 1
    said = capsys.readouterr().err
    assert "the attack algorithm takes about" in said
    assert "more than the 310 MB that it may take; raise engine.embedded.memory_limit" in said


def test_attacks_that_were_not_named_are_left_out_with_the_number(
    published: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path, out = published(SERIES), tmp_path / "audit.json"
    in_parts(monkeypatch, path, 7)
    monkeypatch.setattr(audited_ledger, "MAPPED_ROW", 10**6)
    assert main(["audit", str(path), "--json", str(out), "--quiet"]) == 0
    assert [one["attack"] for one in json.loads(out.read_text())["attacks"]] == [ATTACK]
    said = " ".join(capsys.readouterr().err.split())
    assert "attack algorithm was left out" in said
    assert "of memory, more than the 310 MB" in said


def test_a_check_that_is_judged_in_memory_alone_is_refused_with_the_number(
    published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    path = published(SERIES + "checks: [{name: js-divergence, j: 2.0}]\n")
    in_parts(monkeypatch, path, 7)
    assert main(["audit", str(path), "--attack", ATTACK]) == 1
    assert "the check js-divergence takes about" in capsys.readouterr().err


def test_the_attack_on_everyone_finds_the_same_in_a_mapped_ledger(
    published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = published(SERIES)
    whole = open_series(path).attack("algorithm")
    in_parts(monkeypatch, path, 7)
    monkeypatch.setattr(audited_ledger, "MAPPED_ROW", 1)
    found = open_series(path).attack("algorithm")
    assert (found.of, found.note, found.extra) == (whole.of, whole.note, whole.extra)
    assert np.array_equal(found.persons, whole.persons)


def test_the_reader_of_the_source_is_told_who_is_in_each_release_and_no_more(
    published: Callable[[str], Path], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Quasi-identifiers and groups of everyone would be copied into memory."""
    path = published(SERIES)
    whole, parts = tmp_path / "whole.json", tmp_path / "parts.json"
    command = ["audit", str(path), "--attack", "algorithm", "--quiet", "--json"]
    assert main([*command, str(whole)]) == 0
    evidence = evidence_of(load_series(path), "r3")
    in_parts(monkeypatch, path, 7)
    told = []
    original = Entry.presence

    def presence(entry: Entry, *, part: slice = slice(None), **given: bool) -> Presence:
        told.append(given.get("people_only", False) or part != slice(None))
        return original(entry, part=part, **given)

    monkeypatch.setattr(Entry, "presence", presence)
    assert main([*command, str(parts)]) == 0
    assert json.loads(parts.read_text()) == json.loads(whole.read_text())
    open_series(path).attack("algorithm")
    again = evidence_of(load_series(path), "r3")
    assert {exposed_by("algorithm"), attacked_by("algorithm")} <= set(again)
    assert again.items() <= evidence.items()
    assert told
    assert all(told)


@pytest.mark.parametrize("options", ["", ", not_eligible: pad, balancing: filled"])
def test_a_technique_that_needs_memory_is_read_in_more_of_it(
    published: Callable[[str], Path],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    options: str,
) -> None:
    path = published(SERIES.replace("m: 3}", f"m: 3{options}}}"))
    in_parts(monkeypatch, path, 7)
    monkeypatch.setattr(audited_ledger, "WHOLE_ROW", 10**6)
    assert main(["audit", str(path), "--attack", "algorithm", "--quiet"]) == bool(options)
    assert ("the attack algorithm takes about" in capsys.readouterr().err) == bool(options)
