"""The steward's own expectations: they block in every path, say their figure, and never show a value of the data."""

import json
import re
from pathlib import Path

import dagster as dg
import pandas as pd
import pytest
from builders.assets import Maker, checked, said, severities
from builders.series import DISEASES, SERIES, lively, people, write_series
from dagster._serdes import serialize_value

from reanon_core.model.errors import InvalidSchema
from reanon_dagster.cli import main
from reanon_dagster.expectations.evaluation import (
    FEWEST,
    expectation_problems,
    failed_expectations,
    load_great_expectations,
    raw_frame,
)
from reanon_dagster.series.series_file import load_series
from reanon_dagster.sources.snapshot_reader import read_raw_table

MEAN = "{type: expect_column_mean_to_be_between, column: age, min_value: 20, max_value: 70}"
REGEX = '{type: expect_column_values_to_match_regex, column: zip, regex: "^10[0-9]{3}$", mostly: 0.99}'


def written(folder: Path, *entries: str, snapshots: dict[str, pd.DataFrame] | None = None) -> Path:
    more = "expectations:\n" + "".join(f"  - {entry}\n" for entry in entries)
    return write_series(folder, text=SERIES + more, snapshots=snapshots or {"r1": people(60)})


def sentences(path: Path) -> list[str]:
    series = load_series(path, lazily=True)
    frame = raw_frame(read_raw_table(series, "r1"), series)
    return [sentence for _, sentence in failed_expectations(frame, series.expectations)]


def published(folder: Path) -> bool:
    return (folder / "published" / "clinic" / "r1").exists()


def test_expectations_that_hold_change_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(tmp_path, MEAN, REGEX)
    assert main(["validate", str(path)]) == 0
    assert main(["publish", str(path), "--quiet"]) == 0
    assert capsys.readouterr().err == ""
    assert published(tmp_path)


@pytest.mark.parametrize("command", ["publish", "backfill", "validate"])
def test_an_expectation_that_fails_blocks_with_its_figure(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reanon_dagster.releasing.computation.publish", None)  # nothing may be computed
    path = written(tmp_path, MEAN.replace("70", "30"), REGEX.replace("0[0-9]{3}", "02[0-9]{2}"))
    assert main([command, str(path), "--quiet"]) == 1
    err = capsys.readouterr().err
    frame = people(60)
    wrong = int((~frame["zip"].astype(str).str.match("^102")).sum())
    assert f"expect_column_mean_to_be_between of age fails: it is {frame['age'].mean():.6g}" in err
    assert f"expect_column_values_to_match_regex of zip fails in {wrong} of 60 rows ({wrong / 0.6:.3g} %)" in err
    assert "Correct the snapshot, or change `expectations` in the series file" in err
    assert not published(tmp_path)
    if command != "validate":
        main(["status", str(path)])
        assert "refused" in capsys.readouterr().out


def test_an_expectation_that_only_warns_is_told_and_blocks_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = written(tmp_path, MEAN.replace("70", "30").replace("}", ", severity: warning}"))
    assert main(["publish", str(path), "--quiet"]) == 0
    assert "r1 fails an expectation that only warns: expect_column_mean_to_be_between of age" in capsys.readouterr().err
    assert published(tmp_path)


def test_a_suite_file_as_great_expectations_writes_it(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    load_great_expectations()
    import great_expectations as gx

    known = gx.expectations.ExpectColumnDistinctValuesToBeInSet(column="disease", value_set=DISEASES)
    dense = gx.expectations.ExpectColumnUniqueValueCountToBeBetween(column="age", min_value=90)
    suite = gx.ExpectationSuite(name="own", expectations=[known, dense])
    (tmp_path / "suite.json").write_text(json.dumps(suite.to_json_dict()))
    path = written(tmp_path, MEAN, "{suite: suite.json}")
    assert [one.where for one in load_series(path).expectations][1:] == ["suite.json, entry 1", "suite.json, entry 2"]
    assert main(["publish", str(path), "--quiet"]) == 1
    distinct = people(60)["age"].nunique()
    assert f"1 expectation: expect_column_unique_value_count_to_be_between of age fails: it is {distinct}." in (
        capsys.readouterr().err
    )


def test_every_wrong_expectation_is_told_at_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = written(
        tmp_path,
        "{type: expect_column_mean_to_be_betwen, column: age}",
        "{type: expect_column_mean_to_be_between, column: age, min_value: young, least: 3}",
        "{type: expect_column_values_to_match_regex, regex: a, mostly: 2}",
        '{type: expect_column_values_to_match_regex, column: zip, regex: "["}',
        "{type: expect_column_values_to_be_unique, column: zipp}",
    )
    assert main(["validate", str(path)]) == 2
    first = capsys.readouterr().err.splitlines()
    for start in (
        "reanon: expectations, entry 1: type (expect_column_mean_to_be_betwen) must be one that Great Expectations has",
        "reanon: expectations, entry 2: min_value must fit expect_column_mean_to_be_between: ",
        "reanon: expectations, entry 2: least must fit expect_column_mean_to_be_between: extra fields not permitted",
        "reanon: expectations, entry 3: mostly must fit expect_column_values_to_match_regex: ",
        "reanon: expectations, entry 3: column must fit expect_column_values_to_match_regex: field required",
        "reanon: expectations, entry 4 must fit expect_column_values_to_match_regex: unterminated character set",
    ):
        assert any(line.startswith(start) for line in first), (start, first)
    assert main(["publish", str(path), "--quiet"]) == 2
    said_twice = capsys.readouterr().err
    assert "entry 5: column (zipp) must be in the snapshot; did you mean zip?" in said_twice
    assert set(first) < set(said_twice.splitlines())


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ("{column: age}", "have a type with its arguments, or a suite and nothing else"),
        ("{suite: suite.json, severity: info}", "have a type with its arguments, or a suite and nothing else"),
        ("{type: expect_table_row_count_to_equal, severity: mild}", "must be one of critical, warning, info"),
        ("{suite: nothing.json}", "entry 1: suite (nothing.json) must be a readable file"),
        ("{suite: text.json}", "entry 1: suite (text.json) must be a JSON file"),
        ("{suite: list.json}", "must have a list of expectations, as Great Expectations writes it"),
        ("{suite: bad.json}", "bad.json, entry 1 must have a type"),
        ("{suite: bad.json}", "bad.json, entry 2: severity must be one of critical, warning, info"),
    ],
)
def test_what_the_series_file_has_wrong_is_told_when_it_is_loaded(entry: str, problem: str, tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("expectations")
    (tmp_path / "list.json").write_text("[]")
    (tmp_path / "bad.json").write_text('{"expectations": [{}, {"type": "a", "severity": "mild"}]}')
    with pytest.raises(InvalidSchema, match=re.escape(problem)):
        load_series(written(tmp_path, entry))
    assert main(["validate", str(tmp_path / "series.yaml")]) == 2


def test_columns_that_the_series_does_not_name_can_be_expected(tmp_path: Path) -> None:
    frame = people(60).assign(ward=["007", "12"] * 30, weight=[60.5, 70] * 30, stage=["1", "x"] * 30)
    path = written(
        tmp_path,
        "{type: expect_column_mean_to_be_between, column: weight, max_value: 1}",
        '{type: expect_column_values_to_be_in_set, column: ward, value_set: ["007", 12]}',
        '{type: expect_column_values_to_be_in_set, column: stage, value_set: [1, "x"]}',
        '{type: expect_column_values_to_be_in_set, column: zip, value_set: [1, "x"]}',
        "{type: expect_column_pair_values_a_to_be_greater_than_b, column_A: zip, column_B: weight}",
        "{type: expect_table_column_count_to_equal, value: 7}",
        "{type: expect_table_columns_to_match_set, column_set: [patient, age]}",
        "{type: expect_table_row_count_to_equal, value: 61}",
        "{type: expect_column_proportion_of_unique_values_to_be_between, column: ward, min_value: 0.5}",
        snapshots={"r1": frame},
    )
    assert sentences(path) == [
        "expect_column_mean_to_be_between of weight fails: it is 65.25",
        "expect_column_values_to_be_in_set of zip fails in 60 of 60 rows (100 %)",
        "expect_table_columns_to_match_set fails",
        "expect_table_row_count_to_equal fails: it is 60",
        "expect_column_proportion_of_unique_values_to_be_between of ward fails: it is 0.0333333",
    ]


def test_figures_are_aggregates_of_many(tmp_path: Path) -> None:
    """What one person's value could be read from has no figure: extremes, small tables, conditions, errors."""
    path = written(
        tmp_path,
        "{type: expect_column_max_to_be_between, column: age, max_value: 1}",
        "{type: expect_column_quantile_values_to_be_between, column: age, "
        "quantile_ranges: {quantiles: [0.5], value_ranges: [[1, 2]]}}",
        "{type: expect_column_most_common_value_to_be_in_set, column: age, value_set: [1]}",
        "{type: expect_column_sum_to_be_between, column: age, max_value: 1, "
        "row_condition: 'patient==\"Zacharias-000007\"', condition_parser: pandas}",
        "{type: expect_column_mean_to_be_between, column: rare, max_value: 1}",
        "{type: expect_column_mean_to_be_between, column: disease, max_value: 1}",
        snapshots={"r1": people(60).assign(rare=[77] * (FEWEST - 1) + [None] * (61 - FEWEST))},
    )
    assert [sentence.split(" ", 1)[1] for sentence in sentences(path)] == [
        "of age fails",
        "of age fails",
        "of age fails",
        "of age fails",
        "of rare fails",
        "of disease could not be evaluated on this table",
    ]


def test_an_expectation_may_be_added_and_changed_at_any_time(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots=lively())
    assert main(["publish", str(path), "--quiet"]) == 0
    for entry, code in ((MEAN, 0), (MEAN.replace("70", "30"), 1), (REGEX, 0)):
        written(tmp_path, entry)
        lively()["r1"].to_csv(tmp_path / "snapshots" / "r1.csv", index=False)
        assert main(["publish", str(path), "--quiet"]) == code


def test_in_dagster_they_are_a_check_that_fails_with_the_sentence(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(written(tmp_path, MEAN.replace("70", "30"), snapshots=lively()), instance)
        result = maker.make("r1")
        assert "expect_column_mean_to_be_between of age fails: it is" in said(result)
        assert not any(checked(result).values())
        assert {name for name, severity in severities(result).items() if severity == "ERROR"} == {"expectations"}
        told = {one.check_name: str(one.description) for one in result.get_asset_check_evaluations()}
        assert told["expectations"] == said(result)
        assert told["m_invariance"] == f"not judged: {said(result)}"
        assert not published(tmp_path)
        written(tmp_path, MEAN.replace("70", "30").replace("}", ", severity: info}"), snapshots=lively())
        result = maker.make("r1")
        assert result.success
        assert severities(result) == {"expectations": "WARN"}
        written(tmp_path, MEAN, snapshots=lively())
        for release in ("r1", "r2"):  # r1 is published already; its snapshot is judged again
            assert checked(maker.make(release))["expectations"]


def test_no_id_and_no_value_of_a_failing_expectation_is_shown_anywhere(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    home, frame = tmp_path / "home", people(60).assign(note="Zacharias sleeps")
    home.mkdir()
    (home / "dagster.yaml").write_text("telemetry: {enabled: false}\n")
    path = written(
        tmp_path,
        '{type: expect_column_values_to_match_regex, column: patient, regex: "^Q", result_format: COMPLETE}',
        "{type: expect_column_values_to_be_in_set, column: note, value_set: [a]}",
        "{type: expect_column_distinct_values_to_equal_set, column: patient, value_set: [a]}",
        "{type: expect_column_most_common_value_to_be_in_set, column: note, value_set: [a]}",
        "{type: expect_column_mean_to_be_between, column: note, max_value: 3}",
        "{type: expect_column_values_to_be_between, column: patient, max_value: 3}",
        "{type: expect_column_value_lengths_to_equal, column: note, value: 3}",
        "{type: expect_compound_columns_to_be_unique, column_list: [note, disease]}",
        "{type: expect_column_kl_divergence_to_be_less_than, column: note, threshold: 0.1, "
        "partition_object: {values: [a, b], weights: [0.5, 0.5]}}",
        snapshots={"r1": frame},
    )
    caplog.set_level("DEBUG")
    assert main(["validate", str(path)]) == 1
    assert main(["publish", str(path), "--data-docs"]) == 1
    main(["status", str(path)])
    with dg.DagsterInstance.from_config(str(home)) as instance:
        refusal = Maker(path, instance, loud=True, documented=True).refusal("r1")
        assert "fails 9 expectations" in refusal
        log = "\n".join(
            serialize_value(entry) for run in instance.get_runs() for entry in instance.all_logs(run.run_id)
        )
    texts = {"the event log": log, "the console": "".join(capfd.readouterr()), "the log": caplog.text}
    for folder in (home, tmp_path / "private" / "clinic" / "data_docs"):
        files = [file for file in folder.rglob("*") if file.is_file()]
        assert len(files) > 3, folder
        texts |= {str(file): file.read_bytes().decode("utf-8", errors="replace") for file in files}
    for where, text in texts.items():
        assert "Zacharias" not in text, where


def test_the_arguments_of_every_type_are_checked_by_great_expectations_itself(tmp_path: Path) -> None:
    series = load_series(written(tmp_path, "{type: expect_column_values_to_be_null}"), lazily=True)
    (problem,) = expectation_problems(series.expectations)
    assert problem.sentence() == (
        "expectations, entry 1: column must fit expect_column_values_to_be_null: field required"
    )
