"""Great Expectations: on the raw table it agrees with reanon's own reading, and it is never loaded by accident."""

import re
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from builders.series import EDUCATION, people, write_series

from reanon_core.model.errors import InvalidSnapshot
from reanon_dagster.expectations.evaluation import evaluate, raw_frame
from reanon_dagster.expectations.snapshot_rules import size_rule, snapshot_rules
from reanon_dagster.releasing.brakes import allowed_change
from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_reader import read_raw_table, read_snapshot

ROOT = Path(__file__).parents[3]
TEXT = """
series: clinic
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [r1, r2]}
quasi_identifiers:
  age: {kind: numeric, domain: [0, 110]}
  weight: {kind: numeric, granularity: 0.1, missing: separate}
  born: {kind: date, domain: [1900-01-01, 2024-12-31]}
  education: {kind: categorical, taxonomy: education.csv}
  stage: {kind: categorical, order: [early, late], missing: separate}
sensitive: {column: disease, values: [asthma, cold, diabetes, flu, gastritis, measles]}
technique: {name: m-invariance, m: 2}
"""


def snapshot() -> pd.DataFrame:
    frame = people(24).drop(columns="zip").assign(weight="61.5", born="1990-02-01", education="primary", stage="early")
    frame.loc[1, ["weight", "stage"]] = ["", ""]
    frame.loc[2, ["weight", "born"]] = [" 70 ", "1980-12-31 00:00:00"]
    return frame.astype(object)


def series_in(folder: Path, suffix: str = "csv") -> Series:
    (folder / "education.csv").write_text(EDUCATION)
    return load_series(write_series(folder, text=TEXT.replace("{release}.csv", f"{{release}}.{suffix}")), lazily=True)


def failed(series: Series) -> set[str]:
    """The rules that Great Expectations finds broken in the snapshot of r1."""
    frame = raw_frame(read_raw_table(series, "r1"), series)
    found = evaluate("snapshot", frame, list(snapshot_rules(series, "r1", list(frame.columns))))
    configs = [one.expectation_config for one in found.results if not one.success]
    return {f"{one.kwargs['column']}: {re.sub('expect_column_(values_)?to_', '', one.type)}" for one in configs}


def is_readable(series: Series) -> bool:
    try:
        read_snapshot(series, "r1", bytes(16), ())
    except InvalidSnapshot:
        return False
    return True


FAULTS: dict[str, tuple[str, object, set[str]]] = {
    "nothing": ("age", 50, set()),
    "an age above the domain": ("age", 111, {"age: be_between"}),
    "an age below the domain": ("age", -1, {"age: be_between"}),
    "no age": ("age", "", {"age: not_be_null"}),
    "half a year": ("age", 4.5, {"age: match_regex"}),
    "a word for an age": ("age", "old", {"age: match_regex", "age: be_between"}),
    "infinity": ("weight", "inf", {"weight: match_regex"}),
    "too many decimals": ("weight", "61.55", {"weight: match_regex"}),
    "a word for a weight that may be missing": ("weight", "heavy", {"weight: match_regex"}),
    "a day that does not exist": ("born", "1990-02-31", {"born: be_in_type_list", "born: be_between"}),
    "a time of day": ("born", "1990-02-01 10:30", {"born: be_in_type_list", "born: be_between"}),
    "a day after the domain": ("born", "2025-01-01", {"born: be_between"}),
    "an inner node of the taxonomy": ("education", "school", {"education: be_in_set"}),
    "a value outside the order": ("stage", "middle", {"stage: be_in_set"}),
    "no sensitive value": ("disease", "", {"disease: not_be_null"}),
    "a sensitive value that is not declared": ("disease", "gout", {"disease: be_in_set"}),
    "a sensitive value after a space": ("disease", " flu", {"disease: not_match_regex", "disease: be_in_set"}),
    "no id": ("patient", "", {"patient: not_be_null"}),
    "an id twice": ("patient", "Zacharias-000001", {"patient: be_unique"}),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_what_reading_refuses_fails_its_expectation_and_what_it_accepts_passes(fault: str, tmp_path: Path) -> None:
    column, value, expected = FAULTS[fault]
    series, frame = series_in(tmp_path), snapshot()
    frame.loc[7, column] = value
    frame.to_csv(tmp_path / "snapshots" / "r1.csv", index=False)
    assert failed(series) == expected
    assert is_readable(series) == (not expected)


def test_a_column_that_is_not_there_fails_all_its_rules(tmp_path: Path) -> None:
    series = series_in(tmp_path)
    snapshot().drop(columns="stage").to_csv(tmp_path / "snapshots" / "r1.csv", index=False)
    assert failed(series) == {"stage: exist", "stage: be_in_set"}
    assert not is_readable(series)


def test_typed_sources_are_judged_like_text(tmp_path: Path) -> None:
    series, frame = series_in(tmp_path, "parquet"), snapshot()
    table = pa.table(
        {
            "patient": pa.array(range(24)),
            "age": pa.array(frame["age"].astype(int)),
            "weight": pa.array([36.6, None, float("nan")] * 8, pa.float32()),
            "born": pa.array(pd.to_datetime(["1990-02-01"] * 24)),
            "education": pa.array(frame["education"]).dictionary_encode(),
            "stage": pa.array(["early", "", None] * 8),
            "disease": pa.array(frame["disease"]),
        }
    )
    pq.write_table(table, tmp_path / "snapshots" / "r1.parquet")
    assert failed(series) == set()
    assert is_readable(series)


@pytest.mark.parametrize("drift", [None, 0.3, 0.7])
def test_the_change_in_size_is_judged_like_the_brake(drift: float | None, tmp_path: Path) -> None:
    text = TEXT + (f"max_drift: {drift}\n" if drift else "")
    (tmp_path / "education.csv").write_text(EDUCATION)
    series = load_series(write_series(tmp_path, text=text), lazily=True)
    for before in (1, 7, 10, 100, 999):
        allowed = allowed_change(series, before)
        assert allowed is not None
        rule = size_rule(before, allowed)
        for now in range(2 * before + 2):
            within = rule.arguments["min_value"] <= now <= rule.arguments["max_value"]
            small = abs(now - before) / before <= (drift or 0.5) or (drift is None and abs(now - before) < 50)
            assert within == small, (now, before)


def loads_great_expectations(statement: str, folder: Path = ROOT) -> bool:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {statement}; print('great_expectations' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()[-1] == "True"


def test_importing_the_room_does_not_load_great_expectations() -> None:
    modules = [path.stem for path in (ROOT / "reanon_dagster" / "expectations").glob("*.py") if path.stem != "__init__"]
    assert len(modules) == 3
    names = ", ".join(f"reanon_dagster.expectations.{name}" for name in modules)
    assert not loads_great_expectations(f"import {names}, reanon_dagster.commands.publish")


def test_a_plain_publish_does_not_load_great_expectations_nor_does_loading_a_series_that_has_some(
    tmp_path: Path,
) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    write_series(tmp_path / "more", text=path.read_text() + "expectations: [{type: expect_nothing_yet}]\n")
    commands = (
        "[main([command, folder]) for command, folder in (('validate', '.'), ('publish', '.'), ('status', 'more'))]"
    )
    assert not loads_great_expectations(
        f"from reanon_dagster.cli import main; assert {commands} == [0, 0, 0]", tmp_path
    )
    assert (tmp_path / "published" / "clinic" / "r1").is_dir()
