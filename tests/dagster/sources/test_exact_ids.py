"""Ids of formats that keep numbers as floating point: exact, or refused without quoting one."""

import random
import sys
from contextlib import suppress
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from builders.long_lists import sampled
from builders.series import declared
from builders.snapshots import KEY, person, rows, sentences_of

from reanon_core.model.arrays import MISSING
from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.series.series import Series
from reanon_dagster.sources.kinds import readstat_process
from reanon_dagster.sources.kinds import source as source_kind
from reanon_dagster.sources.snapshot_reader import read_snapshot

ENDINGS = ("xlsx", "dta", "sav", "xpt")
PACKAGES = {"xlsx": "fastexcel", "dta": "pyreadstat", "sav": "pyreadstat", "xpt": "pyreadstat"}
DAMAGED = [("xlsx", 100), ("dta", 3), ("sav", 3), ("xpt", 3)]
"""How often a file is damaged: all but workbooks are read in a process of their own, which takes a while."""
LARGEST = {"xlsx": 10**15 - 1, "dta": 2**53 - 1, "sav": 2**53 - 1, "xpt": 2**53 - 1}


def write(frame: pd.DataFrame, path: Path, **more: object) -> None:
    pytest.importorskip(PACKAGES[path.suffix[1:]])
    if path.suffix == ".xlsx":
        frame.to_excel(path, index=False, **more)
        return
    import pyreadstat

    writer = {".dta": pyreadstat.write_dta, ".sav": pyreadstat.write_sav, ".xpt": pyreadstat.write_xport}
    writer[path.suffix](frame, path, **more)


def series(folder: Path, ending: str, more: str = "", age: str = "{}") -> Series:
    return declared(folder, f"{{path: '{{release}}.{ending}', id: name{more}}}", columns={"age": age})


def refusal(folder: Path, ending: str, more: str = "") -> str:
    (sentence,) = sentences_of(read_snapshot, series(folder, ending, more), "r1", KEY, ())
    return sentence


def people(*ids: object) -> pd.DataFrame:
    return pd.DataFrame(
        {"name": list(ids), "age": np.arange(1.0, 1 + len(ids)), "disease": [f"d{at}" for at in range(len(ids))]}
    )


@pytest.mark.parametrize("ending", ENDINGS)
def test_the_largest_exact_id_is_read_and_the_next_is_refused(tmp_path: Path, ending: str) -> None:
    largest = LARGEST[ending]
    write(people(float(largest), -3.0, 0.0), tmp_path / f"r1.{ending}")
    assert set(rows(read_snapshot(series(tmp_path, ending), "r1", KEY, ()))) == {
        person(str(largest)),
        person("-3"),
        person("0"),
    }
    write(people(5.0, float(largest + 1)), tmp_path / f"r1.{ending}")
    told = refusal(tmp_path, ending)
    assert told.startswith(f"r1.{ending}: name (not in row 2) must be text or whole numbers of at most {largest}")
    assert str(largest + 1) not in told


@pytest.mark.parametrize("ending", sampled(ENDINGS, ["xlsx", "xpt"]))
def test_an_id_with_a_fraction_or_without_a_value_is_refused(tmp_path: Path, ending: str) -> None:
    write(people(104822.5, 5.0), tmp_path / f"r1.{ending}")
    told = refusal(tmp_path, ending)
    assert "(not in row 1)" in told
    assert "104822" not in told
    write(people(104822.0, None, 5.0), tmp_path / f"r1.{ending}")
    assert refusal(tmp_path, ending) == "name (empty in row 2) must identify the person of each row"


@pytest.mark.parametrize("ending", sampled(ENDINGS, ["xlsx", "dta", "xpt"]))
def test_ids_that_are_text_stay_as_they_are(tmp_path: Path, ending: str) -> None:
    write(people("007", "7", "Zoë"), tmp_path / f"r1.{ending}")
    assert set(rows(read_snapshot(series(tmp_path, ending), "r1", KEY, ()))) == {
        person("007"),
        person("7"),
        person("Zoë"),
    }


@pytest.mark.parametrize("ending", sampled(ENDINGS, ["xlsx", "sav"]))
def test_what_is_no_such_file_is_a_plain_sentence(tmp_path: Path, ending: str) -> None:
    write(people(1.0, 2.0), tmp_path / f"r1.{ending}")
    whole = (tmp_path / f"r1.{ending}").read_bytes()
    for content in (b"", b"PK\x03\x04 nonsense", whole[: len(whole) // 2]):
        (tmp_path / f"r1.{ending}").write_bytes(content)
        assert f"r1.{ending} must be a" in refusal(tmp_path, ending), content[:20]


@pytest.mark.parametrize(("ending", "times"), sampled(DAMAGED, DAMAGED[:2]))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(tmp_path: Path, ending: str, times: int) -> None:
    path, dice = tmp_path / f"r1.{ending}", random.Random(1)
    write(people(*range(30)), path)
    whole = path.read_bytes()
    for _ in range(times):
        content = bytearray(whole)
        for _ in range(dice.choice([1, 5, 30])):
            content[dice.randrange(len(content))] = dice.randrange(256)
        path.write_bytes(content)
        with suppress(InvalidSnapshot):
            assert read_snapshot(series(tmp_path, ending, age="{missing: separate}"), "r1", KEY, ()).rows


@pytest.mark.parametrize("ending", ["dta", "sav", "xpt"])
def test_a_file_that_crashes_its_parser_is_refused(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(people(1.0), tmp_path / f"r1.{ending}")
    crash = (sys.executable, "-c", "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)")
    monkeypatch.setattr(readstat_process, "COMMAND", crash)
    assert "that can be read; it is damaged or of another kind" in refusal(tmp_path, ending)


@pytest.mark.parametrize("ending", ENDINGS)
def test_without_the_package_a_sentence_says_which_extra_to_install(
    tmp_path: Path, ending: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def absent(name: str) -> None:
        raise ModuleNotFoundError(name=name)

    (tmp_path / f"r1.{ending}").write_bytes(b"whatever it is")
    monkeypatch.setattr(source_kind, "import_module", absent)
    extra = {"xlsx": "excel", "dta": "stata", "sav": "spss", "xpt": "sas"}[ending]
    assert refusal(tmp_path, ending).endswith(f"which is not installed; reading it needs reanon[{extra}]")


@pytest.mark.parametrize("ending", sampled(["dta", "sav"], ["sav"]))
def test_labels_are_values_unless_the_series_says_otherwise(tmp_path: Path, ending: str) -> None:
    frame = people(1.0, 2.0, 3.0).assign(disease=[1, 2, 9])
    write(frame, tmp_path / f"r1.{ending}", variable_value_labels={"disease": {1: "flu", 2: "cold"}})
    labelled = read_snapshot(series(tmp_path, ending), "r1", KEY, ())
    assert labelled.snapshot.schema.sensitive.values == ("9", "cold", "flu")
    numbers = read_snapshot(series(tmp_path, ending, ", labels: false"), "r1", KEY, ())
    assert numbers.snapshot.schema.sensitive.values == ("1", "2", "9")


def test_missing_values_that_spss_declares_are_missing(tmp_path: Path) -> None:
    frame = people(1.0, 2.0, 3.0).assign(age=[30.0, -99.0, None])
    write(frame, tmp_path / "r1.sav", missing_ranges={"age": [-99]})
    read = read_snapshot(series(tmp_path, "sav", age="{missing: separate}"), "r1", KEY, ())
    assert int((read.snapshot.qi < 0).sum()) == 2


@pytest.mark.parametrize("ending", sampled(ENDINGS, ["xlsx", "dta"]))
def test_a_time_of_day_is_no_date(tmp_path: Path, ending: str) -> None:
    frame = people(1.0, 2.0).assign(age=pd.to_datetime(["2024-03-01 12:30", "2024-03-02 00:00"]))
    write(frame, tmp_path / f"r1.{ending}")
    found = sentences_of(read_snapshot, series(tmp_path, ending, age="{kind: date}"), "r1", KEY, ())
    assert "must be dates without a time of day" in found[0]


def test_ids_of_a_workbook_are_all_text_or_all_numbers(tmp_path: Path) -> None:
    write(people("7", 8, "9"), tmp_path / "r1.xlsx")
    assert refusal(tmp_path, "xlsx") == "r1.xlsx: name must be text in all rows, or whole numbers in all rows"


def test_a_sheet_is_named_where_there_are_several(tmp_path: Path) -> None:
    pytest.importorskip("fastexcel")
    with pd.ExcelWriter(tmp_path / "r1.xlsx") as book:
        people(1, 2).to_excel(book, sheet_name="north", index=False)
        people(3).to_excel(book, sheet_name="south", index=False)
    assert "(north, south) must have one sheet, or source.sheet must name one" in refusal(tmp_path, "xlsx")
    assert read_snapshot(series(tmp_path, "xlsx", ", sheet: south"), "r1", KEY, ()).rows == 1
    assert refusal(tmp_path, "xlsx", ", sheet: west").startswith("source.sheet (west) must be a sheet of r1.xlsx")


def test_the_type_of_a_column_is_decided_by_all_its_rows(tmp_path: Path) -> None:
    frame = people(*range(1500)).astype({"age": object})
    frame.loc[1400, "age"] = "n/a"
    write(frame, tmp_path / "r1.xlsx")
    assert refusal(tmp_path, "xlsx").startswith("r1.xlsx (row 1401) must have values of one type in each column")
    frame.loc[1400, "age"] = "old"
    write(frame, tmp_path / "r1.xlsx")
    assert refusal(tmp_path, "xlsx") == "age ('old' in 1 row) must be whole numbers"


def test_cells_with_errors_and_columns_that_occur_twice_are_refused(tmp_path: Path) -> None:
    openpyxl = pytest.importorskip("openpyxl")
    write(people(1, 2, 3), tmp_path / "r1.xlsx")
    book = openpyxl.load_workbook(tmp_path / "r1.xlsx")
    book.active["B3"].value = "#N/A"
    book.active["B3"].data_type = "e"
    book.save(tmp_path / "r1.xlsx")
    assert refusal(tmp_path, "xlsx").startswith("r1.xlsx (row 2) must have values of one type in each column, and no")
    book.active["D1"].value = "age"
    book.save(tmp_path / "r1.xlsx")
    assert refusal(tmp_path, "xlsx") == "r1.xlsx (age) must have every column once"


def test_a_workbook_that_unpacks_to_too_much_is_refused(tmp_path: Path) -> None:
    write(people(*range(2000)), tmp_path / "r1.xlsx")
    assert "must need at most 10 KB" in refusal(tmp_path, "xlsx", ", max_size: 10KB")


def test_a_formula_without_a_saved_result_is_an_empty_cell(tmp_path: Path) -> None:
    write(people(1, 2).assign(age=["=1+1", 7]), tmp_path / "r1.xlsx")
    read = read_snapshot(series(tmp_path, "xlsx", age="{missing: separate}"), "r1", KEY, ())
    assert sorted(read.snapshot.qi[0].tolist()) == [MISSING, 7]
