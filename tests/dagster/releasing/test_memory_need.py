"""A release that does not fit into memory is computed in parts, or refused with a number before it is computed."""

import re
from dataclasses import replace

import pytest
from builders.series import SERIES, people, write_series

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.releasing import memory_need
from reanon_dagster.series.series_file import load_series

IN_MEMORY = SERIES.replace("m: 3}", "m: 3, not_eligible: pad, balancing: filled}")
"""What a release of this series takes must fit into memory."""
LIMIT = "engine: {embedded: {memory_limit: 301MB}}\n"
LIMITED = IN_MEMORY + LIMIT


def test_the_sentence_has_the_need_and_the_limit_and_nothing_is_written(tmp_path, capsys) -> None:
    path = write_series(tmp_path, text=LIMITED, snapshots={"r1": people(30_000)})
    assert main(["publish", str(path)]) == 1
    said = capsys.readouterr().err
    assert "a release of 30,000 people with m-invariance takes about 3" in said
    assert "more than the 301 MB that it may take, and not_eligible: pad with balancing: filled can be " in said
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
    series = load_series(write_series(tmp_path, text=IN_MEMORY), lazily=True)
    monkeypatch.setattr(memory_need, "available_memory", lambda: 10**9)
    assert memory_need.part_sizes(series, None) is None
    assert memory_need.part_sizes(series, 1_000_000) is None
    with pytest.raises(Refused, match=r"10,000,000 people .* that the machine has left, and .* only; publish fewer"):
        memory_need.part_sizes(series, 10_000_000)
    monkeypatch.setattr(memory_need, "available_memory", lambda: 0)
    assert memory_need.part_sizes(series, 100) is None


def test_what_does_not_fit_is_computed_in_parts_until_not_even_these_fit(tmp_path) -> None:
    series = load_series(write_series(tmp_path, text=SERIES + LIMIT.replace("301MB", "1GB")), lazily=True)
    assert memory_need.part_sizes(series, 2_000_000) is None
    sizes = memory_need.part_sizes(series, 20_000_000)
    assert sizes is not None
    assert memory_need.FEWEST_ROWS <= sizes.chunk_rows <= memory_need.MOST_ROWS
    assert sizes.judges < 10**9
    with pytest.raises(Refused, match=r"200,000,000 people .* takes about 5.1 GB .* more than the 1 GB that it may"):
        memory_need.part_sizes(series, 200_000_000)


def test_regions_and_partial_blocks_need_more_in_parts(tmp_path) -> None:
    needs = {}
    for name, option in {
        "a": "",
        "b": ", not_eligible: blocks, regions: sizes",
        "c": ", not_eligible: partial-blocks",
    }.items():
        text = SERIES.replace("m: 3}", f"m: 3{option}}}") + LIMIT
        series = load_series(write_series(tmp_path / name, text=text), lazily=True)
        with pytest.raises(Refused) as refused:
            memory_need.part_sizes(series, 10**9)
        needs[name] = re.search(r"takes about ([\d.]+) GB", str(refused.value)).group(1)
    assert needs == {"a": "25.1", "b": "40.1", "c": "40.1"}


def test_a_guess_decides_where_the_number_of_rows_is_not_known(tmp_path) -> None:
    series = load_series(write_series(tmp_path / "a", text=SERIES + LIMIT), lazily=True)
    assert memory_need.part_sizes(series, None, guess=10) is None
    assert memory_need.part_sizes(series, None, guess=10**12) is not None
    assert memory_need.part_sizes(series, None) is not None  # a series with a limit goes the safe way
    series = load_series(write_series(tmp_path / "b", text=LIMITED), lazily=True)
    assert memory_need.part_sizes(series, None, guess=10**12) is None  # a guess refuses nothing


def test_other_commands_say_that_they_work_in_memory(tmp_path) -> None:
    series = load_series(write_series(tmp_path, text=SERIES + LIMIT), lazily=True)
    memory_need.require_memory(series, 100)
    with pytest.raises(Refused, match=r"only `reanon publish`, `backfill` and `validate` work in parts"):
        memory_need.require_memory(series, 40_000)


def test_spark_computes_every_release_in_parts_or_none(tmp_path) -> None:
    spark = 'engine: {spark: {master: "local[2]", memory_limit: 2GB}}\n'
    series = load_series(write_series(tmp_path / "a", text=SERIES + spark), lazily=True)
    assert memory_need.part_sizes(series, 10) is not None
    series = load_series(write_series(tmp_path / "b", text=IN_MEMORY + spark), lazily=True)
    with pytest.raises(Refused, match=r"balancing: filled can be computed in memory only; use engine: embedded"):
        memory_need.part_sizes(series, 10)


def test_a_technique_that_was_not_measured_is_not_refused(tmp_path, monkeypatch) -> None:
    series = load_series(write_series(tmp_path, text=LIMITED), lazily=True)
    unknown = replace(type(series.technique).declaration, row_memory=None)
    monkeypatch.setattr(type(series.technique), "declaration", unknown)
    assert memory_need.memory_need(series, 10**9) is None
    assert memory_need.part_sizes(series, 10**9) is None


def test_more_columns_need_more(tmp_path) -> None:
    first = load_series(write_series(tmp_path / "a"), lazily=True)
    columns = "".join(f"  c{number}: {{}}\n" for number in range(8))
    second = load_series(write_series(tmp_path / "b", text=SERIES.replace("sensitive:", f"{columns}sensitive:")))
    needs = [memory_need.memory_need(series, 10**6) for series in (first, second)]
    assert None not in needs
    assert needs[1] - needs[0] == 10**6 * memory_need.COLUMN * 6


def test_every_technique_says_what_it_takes() -> None:
    assert all((technique.declaration.row_memory or 0) > 50 for technique in TECHNIQUES.values())
