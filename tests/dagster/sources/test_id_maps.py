"""Ids that were renumbered: people stay who they are, and no message names an id."""

from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
import pytest
from builders.series import SERIES, correct, people, write_series

from reanon_dagster.cli import main

SOURCE = 'source: {path: "snapshots/{release}.csv", id: patient'
MAPPED = SERIES.replace(SOURCE, f"{SOURCE}, id_map: MAPS")
ONE = "{path: ids.csv, since: r2}"


def renumbered(frame: pd.DataFrame, offset: int) -> pd.DataFrame:
    return frame.assign(patient=[f"P{(number * 7 + offset) % 1009:05d}" for number in range(len(frame))])


def written(folder: Path, name: str, old: pd.DataFrame, new: pd.DataFrame, rows: slice = slice(None)) -> None:
    pd.DataFrame({"new": new["patient"], "old": old["patient"]})[rows].to_csv(folder / name, index=False)


def groups(path: Path, release: str, ids: pd.DataFrame) -> list[int]:
    """The group of each person, in the order of the first table."""
    out = path.parent / f"{release}.parquet"
    assert main(["trace", str(path), "--release", release, "--out", str(out), "--quiet"]) == 0
    trace = pq.read_table(out).to_pandas().set_index("id")["row"]
    table = pq.read_table(path.parent / "published" / "clinic" / release / "table.parquet").to_pandas()
    values = table.groupby("group_id")["disease"].agg(lambda of: tuple(sorted(of)))
    return [values[table["group_id"][trace[one]]] for one in ids["patient"]]


def test_people_with_new_ids_stay_among_the_same_values(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    first = people(120)
    second, third = renumbered(first, 3), renumbered(first, 500)  # some new ids are those that others had before
    path = write_series(
        tmp_path,
        text=MAPPED.replace("MAPS", f"[{ONE}, {{path: again.csv, since: r3}}]"),
        snapshots={"r1": first, "r2": second, "r3": third},
    )
    written(tmp_path, "ids.csv", first, second)
    written(tmp_path, "again.csv", second, third)
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert groups(path, "r1", first) == groups(path, "r2", second) == groups(path, "r3", third)
    assert main(["forget", str(path), "--id", first["patient"][5], "--quiet"]) == 0
    correct(tmp_path, "r4", third)
    assert main(["publish", str(path), "--quiet"]) == 0
    assert "1 person of the snapshot is left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("content", "told"),
    [
        (None, "source.id_map (ids.csv) must be a readable csv file in utf-8"),
        ("a,b\n1,2\n", "source.id_map (ids.csv) must have the columns old and new, and no others"),
        ("old,new\n1,\n", "source.id_map (ids.csv) must have an old and a new id on every line"),
        ("old,new\n1,2\n1,3\n", "source.id_map (ids.csv) must name every old id once and every new id once"),
        ("old,new\nZacharias-000001,X\n", "patient (1 id in row 2) must be listed as new in ids.csv, because"),
    ],
)
def test_a_map_that_cannot_be_used_is_a_sentence(
    tmp_path: Path, content: str | None, told: str, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, text=MAPPED.replace("MAPS", ONE), snapshots={"r1": people(60), "r2": people(60)})
    assert main(["publish", str(path), "--quiet"]) == 0
    if content is not None:
        (tmp_path / "ids.csv").write_text(content)
    assert main(["publish", str(path), "--quiet"]) == 2
    err = capsys.readouterr().err
    assert told in err
    assert "Zacharias" not in err
    assert "Traceback" not in err
