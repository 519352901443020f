"""Snapshots as changes: the same table as a whole file, all problems at once, and no id in a message."""

import json
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of

from reanon_dagster.cli import main
from reanon_dagster.series.series import Series
from reanon_dagster.sources.snapshot_location import snapshot_exists, snapshot_place, snapshot_version
from reanon_dagster.sources.snapshot_reader import read_ids, read_snapshot, snapshot_digest

START = "name,age,disease\nZacharias,30,flu\nYolanda,31,cold\nXaver,32,flu\n"
NEXT = "operation,name,age,disease\nupdate,Zacharias,40,flu\ndelete,Yolanda,,\ninsert,Walter,50,cold\n"
AFTER = {"Zacharias": [40, "flu"], "Xaver": [32, "flu"], "Walter": [50, "cold"]}
TWO = "{path: 'whole/{release}.csv', changes: 'changes/{release}.csv', id: name}"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "whole").mkdir()
    (tmp_path / "changes").mkdir()
    (tmp_path / "whole" / "r1.csv").write_text(START)
    return tmp_path


def series(folder: Path, source: str = TWO) -> Series:
    return declared(folder, source, columns={"age": "{}"})


def test_changes_are_applied_to_the_table_before(folder: Path) -> None:
    (folder / "changes" / "r2.csv").write_text(NEXT)
    read = read_snapshot(series(folder), "r2", KEY, ())
    assert rows(read) == {person(name): row for name, row in AFTER.items()}
    assert snapshot_digest(series(folder), "r2", KEY) == read.input_digest
    assert set(read_ids(series(folder), "r2", KEY)[0].to_pylist()) == set(AFTER)


def test_the_first_release_may_be_all_inserts(folder: Path) -> None:
    loaded = series(folder, "{changes: 'changes/{release}.csv', id: name, operation: op}")
    inserts = START.replace("name,", "op,name,").replace("Zach", "insert,Zach").replace("Yol", " Insert ,Yol")
    (folder / "changes" / "r1.csv").write_text(inserts.replace("Xav", "INSERT,Xav"))
    (folder / "changes" / "r2.csv").write_text(NEXT.replace("operation", "op"))
    assert read_snapshot(loaded, "r1", KEY, ()).rows == 3
    assert rows(read_snapshot(loaded, "r2", KEY, ())) == {person(name): row for name, row in AFTER.items()}


def test_a_later_whole_table_is_where_it_starts_again(folder: Path) -> None:
    (folder / "whole" / "r2.csv").write_text("name,age,disease\nVera,20,cold\n")
    assert set(rows(read_snapshot(series(folder), "r2", KEY, ()))) == {person("Vera")}
    assert snapshot_place(series(folder), "r2") == "whole/r2.csv"


def test_every_file_on_the_way_must_be_there(folder: Path) -> None:
    loaded = series(folder)
    assert snapshot_exists(loaded, "r1")
    assert not snapshot_exists(loaded, "r2")
    rule = "must be there before it can be published"
    assert sentences_of(read_snapshot, loaded, "r2", KEY, ()) == [f"the file of changes of r2 (changes/r2.csv) {rule}"]
    (folder / "whole" / "r1.csv").unlink()
    (folder / "changes" / "r2.csv").write_text(NEXT)
    told = "the snapshot of r1 (whole/r1.csv) must be there before r2 can be published"
    assert sentences_of(snapshot_version, loaded, "r2") == [told]


def test_the_version_changes_with_every_file_on_the_way(folder: Path) -> None:
    (folder / "changes" / "r2.csv").write_text(NEXT)
    seen = {snapshot_version(series(folder), "r2")}
    (folder / "changes" / "r2.csv").write_text(f"{NEXT}insert,Vera,20,cold\n")
    seen.add(snapshot_version(series(folder), "r2"))
    (folder / "whole" / "r1.csv").write_text(f"{START}Ulrich,20,cold\n")
    seen.add(snapshot_version(series(folder), "r2"))
    assert len(seen) == 3


def test_all_problems_of_a_file_are_told_at_once_and_no_id_is_quoted(folder: Path) -> None:
    wrong = ["insert,Zacharias,1,flu", "update,Anton,1,flu", "delete,Berta,,", "upsert,Carla,1,flu", "insert,,1,flu"]
    twice = ["delete,Xaver,,", "update,Xaver,1,flu"]
    text = "\n".join(["operation,name,age,disease", *wrong, *twice]) + "\n"
    (folder / "changes" / "r2.csv").write_text(text)
    found = sentences_of(read_snapshot, series(folder), "r2", KEY, ())
    assert found == [
        "changes/r2.csv: operation (not in row 4) must be insert, update or delete",
        "changes/r2.csv: name (not in row 5) must identify the person of each change",
        "changes/r2.csv: name (not in rows 6 and 7) must occur once among the changes of a release",
        "changes/r2.csv: name (not in row 1) must be new where it is inserted",
        "changes/r2.csv: name (not in row 2) must be in the table before where it is updated",
        "changes/r2.csv: name (not in row 3) must be in the table before where it is deleted",
    ]


def test_changes_without_their_columns_are_refused(folder: Path) -> None:
    (folder / "changes" / "r2.csv").write_text("name,age,disease\nWalter,50,cold\n")
    told = "changes/r2.csv (not operation) must have the columns of a change"
    assert sentences_of(read_snapshot, series(folder), "r2", KEY, ()) == [told]
    (folder / "changes" / "r2.csv").write_text("operation,name,disease\ninsert,Walter,cold\n")
    told = "changes/r2.csv (age) must have the same columns as whole/r1.csv"
    assert sentences_of(read_snapshot, series(folder), "r2", KEY, ()) == [told]


@pytest.mark.parametrize("text", ["operation,name\n", "operation,name\ndelete,Yolanda\n"])
def test_deletes_alone_and_no_changes_at_all_need_no_further_columns(folder: Path, text: str) -> None:
    (folder / "changes" / "r2.csv").write_text(text)
    assert read_snapshot(series(folder), "r2", KEY, ()).rows == 4 - len(text.splitlines())


def test_numbers_and_texts_are_not_mixed(folder: Path) -> None:
    table = pa.table({"operation": ["update"], "name": ["Zacharias"], "age": [40], "disease": ["flu"]})
    pq.write_table(table, folder / "changes" / "r2.parquet")
    loaded = series(folder, TWO.replace("changes/{release}.csv", "changes/{release}.parquet"))
    (told,) = sentences_of(read_snapshot, loaded, "r2", KEY, ())
    assert told.endswith("must have columns of the same types; age: int64, string")


def test_the_commands_name_the_file_that_is_awaited(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    people = pd.DataFrame({"name": range(60), "age": range(60), "disease": ["flu", "cold", "cough"] * 20})
    people.to_csv(folder / "whole" / "r1.csv", index=False)
    series(folder)
    assert main(["backfill", str(folder)]) == 0
    assert "release r2 waits for its snapshot changes/r2.csv" in capsys.readouterr().out
    people.head(30)[["name"]].assign(operation="delete").to_csv(folder / "changes" / "r2.csv", index=False)
    assert main(["validate", str(folder)]) == 0
    assert main(["publish", str(folder), "--quiet"]) == 0
    assert main(["trace", str(folder), "--release", "r2", "--out", str(folder / "trace.csv"), "--quiet"]) == 0
    (manifest,) = folder.rglob("published/*/r2/manifest.json")
    withheld = json.loads(manifest.read_text())["withheld"]  # somebody may be, by chance
    assert len((folder / "trace.csv").read_text().splitlines()) == 1 + 30 - withheld
