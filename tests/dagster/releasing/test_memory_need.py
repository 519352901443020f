"""A release that does not fit into memory is refused with a number, before it is computed."""

from dataclasses import replace

import pytest
from builders.series import SERIES, people, write_series

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.releasing import memory_need
from reanon_dagster.series.series_file import load_series

LIMITED = SERIES + "engine: {embedded: {memory_limit: 301MB}}\n"


def test_the_sentence_has_the_need_and_the_limit_and_nothing_is_written(tmp_path, capsys) -> None:
    path = write_series(tmp_path, text=LIMITED, snapshots={"r1": people(30_000)})
    assert main(["publish", str(path)]) == 1
    said = capsys.readouterr().err
    assert "a release of 30,000 people with m-invariance takes about 3" in said
    assert "more than the 301 MB that it may take" in said
    assert "engine.embedded.memory_limit" in said
    assert not (tmp_path / "private").exists()
    assert not (tmp_path / "published").exists()
    path.write_text(path.read_text().replace("301MB", "1GB"))
    assert main(["publish", str(path)]) == 0


def test_a_parquet_file_is_not_read_to_know_that_it_is_too_large(tmp_path, monkeypatch) -> None:
    text = LIMITED.replace(".csv", ".parquet")
    path = write_series(tmp_path, text=text)
    people(30_000).to_parquet(tmp_path / "snapshots" / "r1.parquet")
    series = load_series(path)
    assert series.source.rows(series.folder, "r1") == 30_000
    assert series.source.rows(series.folder, "r2") == 0
    monkeypatch.setattr("reanon_dagster.releasing.snapshot_intake.read_snapshot", lambda *_: pytest.fail("it was read"))
    assert main(["publish", str(path)]) == 1


@pytest.mark.parametrize("content", [b"", b"PAR1 and no more"])
def test_a_damaged_file_is_told_by_who_reads_it(tmp_path, capsys, content) -> None:
    path = write_series(tmp_path, text=LIMITED.replace(".csv", ".parquet"))
    (tmp_path / "snapshots" / "r1.parquet").write_bytes(content)
    assert main(["publish", str(path)]) == 2
    assert "parquet file that can be read" in capsys.readouterr().err


def test_without_a_limit_the_memory_that_is_left_counts_and_small_tables_pass(tmp_path, monkeypatch) -> None:
    series = load_series(write_series(tmp_path), lazily=True)
    monkeypatch.setattr(memory_need, "available_memory", lambda: 10**9)
    memory_need.require_memory(series, None)
    memory_need.require_memory(series, 1_000_000)
    with pytest.raises(Refused, match=r"10,000,000 people .* that the machine has left; publish fewer"):
        memory_need.require_memory(series, 10_000_000)
    monkeypatch.setattr(memory_need, "available_memory", lambda: 0)
    memory_need.require_memory(series, 100)


def test_a_technique_that_was_not_measured_is_not_refused(tmp_path, monkeypatch) -> None:
    series = load_series(write_series(tmp_path, text=LIMITED), lazily=True)
    unknown = replace(type(series.technique).declaration, row_memory=None)
    monkeypatch.setattr(type(series.technique), "declaration", unknown)
    assert memory_need.memory_need(series, 10**9) is None
    memory_need.require_memory(series, 10**9)


def test_more_columns_need_more(tmp_path) -> None:
    first = load_series(write_series(tmp_path / "a"), lazily=True)
    columns = "".join(f"  c{number}: {{}}\n" for number in range(8))
    second = load_series(write_series(tmp_path / "b", text=SERIES.replace("sensitive:", f"{columns}sensitive:")))
    needs = [memory_need.memory_need(series, 10**6) for series in (first, second)]
    assert None not in needs
    assert needs[1] - needs[0] == 10**6 * memory_need.COLUMN * 6


def test_every_technique_says_what_it_takes() -> None:
    assert all((technique.declaration.row_memory or 0) > 50 for technique in TECHNIQUES.values())
