"""Great Expectations: it says what the core says, it shows aggregates only, and it is never loaded by accident."""

import dataclasses
import re
import subprocess
import sys
from pathlib import Path
from random import Random

import numpy as np
import pytest
from builders.series import people, write_series
from oracles.builders import Member, entry_of, plain_schema

from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance as MInvarianceCheck
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.errors import InvalidSnapshot, Problem, Unpublishable
from reanon_core.model.ledger import Entry
from reanon_core.model.schema import Missing, Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.verdict import Verdict
from reanon_dagster.expectations.data_docs import ROWS, DataDocs, write_data_docs
from reanon_dagster.expectations.frame_rules import NOT_JUDGED, answer_from_rows, parameters_of, rows_frame
from reanon_dagster.expectations.release_suite import JUDGED_FROM_ROWS, release_results, unpublishable_results
from reanon_dagster.expectations.snapshot_suite import snapshot_results
from reanon_dagster.expectations.suites import Result, Suite
from reanon_dagster.series.series_file import load_series

ROOT = Path(__file__).parents[3]
CHECKS = (
    WellFormedness(),
    KAnonymity(k=2),
    LDiversity(ell=2, form="frequency"),
    MUniqueness(m=2),
    MInvarianceCheck(m=2),
)
ALL = {check.name for check in CHECKS}
SCHEMA = plain_schema()


def release(groups: list[list[int]], **options: object) -> Entry:
    """One group for each list of sensitive values, of people in order."""
    rows = [(group, value) for group, values in enumerate(groups) for value in values]
    members = [Member(10 * i, (i, i), value, group) for i, (group, value) in enumerate(rows)]
    return entry_of(SCHEMA, members, **options)  # type: ignore[arg-type]


def judged(entry: Entry, before: Entry | None = None) -> tuple[Verdict, ...]:
    """The core's verdicts on a release, perhaps after another."""
    verdicts = []
    for check in CHECKS:
        memory = check.initial_memory()
        if before is not None:
            memory = check.examine(before, memory)[1]
        verdicts.append(check.examine(entry, memory)[0])
    return tuple(verdicts)


def failed(suite: Suite) -> set[str]:
    return {result.name for result in suite.results if not result.success}


def by_name(docs: DataDocs) -> dict[str, Suite]:
    return {suite.name: suite for suite in docs.answers}


def text_of(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


GOOD = release([[0, 1], [2, 3]])
PLANTED: dict[str, tuple[Entry, Entry | None, set[str]]] = {
    "nothing": (GOOD, None, set()),
    "a person alone": (release([[0, 1], [2]]), None, ALL - {"well-formedness"}),
    "a value twice": (release([[0, 0, 1, 1], [2, 3]]), None, {"m-uniqueness", "m-invariance"}),
    "a frequent value": (release([[0, 0, 1], [2, 3]]), None, {"l-diversity", "m-uniqueness", "m-invariance"}),
    "another signature": (release([[0, 2], [1, 3]]), release([[0, 1], [2, 3]]), {"m-invariance"}),
    "a box too small": (
        release([[0, 1], [2, 3]], boxes={0: [(0, 0), (0, 1)], 1: [(2, 3), (2, 3)]}),
        None,
        {"well-formedness"},
    ),
    "a group without rows": (release([[0, 1], [], [2, 3]]), None, ALL),
}


@pytest.mark.parametrize("violation", PLANTED)
def test_a_planted_violation_fails_exactly_the_expectations_it_should(violation: str, tmp_path: Path) -> None:
    entry, before, expected = PLANTED[violation]
    verdicts = judged(entry, before)
    suite = release_results("r1", entry, CHECKS, verdicts)
    answers = by_name(write_data_docs(tmp_path / "docs", "A title", [suite]))
    assert failed(answers["release"]) == expected
    assert failed(answers[ROWS]) == expected & JUDGED_FROM_ROWS
    assert answers["release"].success == (not expected)
    told = {verdict.check: verdict for verdict in verdicts}
    for result in (*answers["release"].results, *answers[ROWS].results):
        verdict = told[result.name]
        assert (result.success, result.violations, result.sentence) == (
            verdict.holds,
            verdict.violations,
            verdict.sentence,
        )
        assert dict(result.observed) == verdict.observed


def test_a_release_judged_from_its_rows_alone_gets_the_verdicts_of_the_gate() -> None:
    chance = Random(7)
    for _ in range(150):
        entry = release([[chance.randrange(4) for _ in range(chance.randint(1, 4))] for _ in range(3)])
        verdicts = judged(entry)
        rows = release_results("r1", entry, CHECKS, verdicts).rows
        assert rows is not None
        assert {check.name for check in rows.checks} == JUDGED_FROM_ROWS
        told = {verdict.check: verdict for verdict in verdicts}
        for check in rows.checks:
            answer = answer_from_rows(rows_frame(rows), check.name, parameters_of(check), rows.groups, rows.values)
            verdict = told[check.name]
            assert (answer["success"], answer["violations"]) == (verdict.holds, verdict.violations)
            assert answer["observed"] == verdict.observed


def test_the_rows_are_judged_anew_whatever_the_verdict_says(tmp_path: Path) -> None:
    entry = release([[0, 1], [2]])
    flattering = [dataclasses.replace(verdict, holds=True, violations=0) for verdict in judged(entry)]
    answers = by_name(write_data_docs(tmp_path / "docs", "A title", [release_results("r1", entry, CHECKS, flattering)]))
    assert failed(answers["release"]) == set()
    assert failed(answers[ROWS]) == set(JUDGED_FROM_ROWS)


def test_a_line_that_says_yes_with_too_many_violations_fails(tmp_path: Path) -> None:
    results = (
        Result("a", success=True, sentence="a rule", violations=3, limit=3),
        Result("b", success=True, sentence="a rule", violations=4, limit=3),
        Result("c", success=False, sentence="a rule"),
    )
    docs = write_data_docs(tmp_path / "docs", "A title", [Suite("snapshot", "r1", results)])
    assert failed(docs.answers[0]) == {"b", "c"}


def test_a_judge_that_breaks_says_no_and_nothing_of_what_it_saw(tmp_path: Path) -> None:
    suite = release_results("r1", GOOD, CHECKS, judged(GOOD))
    assert suite.rows is not None
    broken = KAnonymity(k=2)
    object.__setattr__(broken, "k", "two")  # no number can be compared with it
    rows = dataclasses.replace(suite.rows, checks=(broken,), sentences=("a rule",))
    docs = write_data_docs(tmp_path / "docs", "A title", [dataclasses.replace(suite, rows=rows)])
    (result,) = by_name(docs)[ROWS].results
    assert not result.success
    assert dict(result.observed) == NOT_JUDGED["observed"]
    assert "Traceback" not in text_of(tmp_path / "docs")


CLOSED = dataclasses.replace(
    plain_schema(columns=3, domain=(0, 9)),
    sensitive=dataclasses.replace(SCHEMA.sensitive, closed=True),
)
CORRUPTED: dict[str, tuple[str, int, set[str]]] = {
    "nothing": ("qi", 5, set()),
    "a value below its domain": ("qi", -1, {"a: domain"}),
    "a value above its domain": ("qi", 10, {"a: domain"}),
    "no value": ("qi", int(np.iinfo(np.int32).min), {"a: present"}),
    "no sensitive value": ("sensitive", -1, {"s: present"}),
}


def snapshot(schema: Schema, size: int = 3) -> Snapshot:
    zeros = np.zeros(size, np.int32)
    return Snapshot(schema, np.arange(size), np.stack([zeros] * len(schema.names)), zeros)


@pytest.mark.parametrize("corruption", CORRUPTED)
def test_a_corrupted_snapshot_fails_exactly_the_rules_it_breaks(corruption: str, tmp_path: Path) -> None:
    where, code, expected = CORRUPTED[corruption]
    valid = snapshot(CLOSED)
    codes = getattr(valid, where).copy()
    codes.reshape(-1)[0] = code  # the first person's a, or sensitive value
    broken = dataclasses.replace(valid, **{where: codes})
    suite = snapshot_results(load_series(write_series(tmp_path)), "r1", broken, None)
    assert failed(suite) == expected
    assert len(suite.results) == 1 + 3 * 3 + 2
    assert failed(write_data_docs(tmp_path / "docs", "A title", [suite]).answers[0]) == expected


def test_an_empty_value_is_no_violation_where_it_may_be_empty(tmp_path: Path) -> None:
    schema = plain_schema(missing=Missing.SEPARATE, domain=(0, 9))
    codes = np.full((2, 3), np.iinfo(np.int32).min, np.int32)
    suite = snapshot_results(
        load_series(write_series(tmp_path)), "r1", dataclasses.replace(snapshot(schema), qi=codes), None
    )
    assert failed(suite) == set()
    assert "a: present" not in {result.name for result in suite.results}


@pytest.mark.parametrize(("people_now", "drifts"), [(150, False), (50, False), (151, True), (49, True)])
def test_a_jump_in_the_number_of_people_is_shown_and_blocks_nothing(
    people_now: int, drifts: bool, tmp_path: Path
) -> None:
    suite = snapshot_results(load_series(write_series(tmp_path)), "r2", snapshot(SCHEMA, people_now), 100)
    assert failed(suite) == ({"drift"} if drifts else set())
    assert suite.success


def test_a_refused_snapshot_shows_its_rules_and_neither_values_nor_advice(tmp_path: Path) -> None:
    problems = [
        Problem("age", "lie in its domain, from 0 to 110", "173 in 1 row", "or did you mean 73"),
        Problem("age", "have a value in every row", "empty in row 12"),
        Problem("source.query", "run for r1", help="cannot convert 'Zacharias-000012'"),
    ]
    suite = snapshot_results(load_series(write_series(tmp_path)), "r1", InvalidSnapshot(problems), 100)
    docs = write_data_docs(tmp_path / "docs", "A title", [suite])
    assert [result.sentence for result in docs.answers[0].results] == [
        "age must lie in its domain, from 0 to 110",
        "age must have a value in every row",
        "source.query must run for r1",
    ]
    assert not any(result.success for result in docs.answers[0].results)
    shown = text_of(tmp_path / "docs")
    assert not re.search(r"Zacharias|\b173\b|row 12|did you mean", shown)


def test_a_release_without_a_candidate_shows_why() -> None:
    suite = unpublishable_results("r1", Unpublishable("new rows are not 3-eligible"))
    assert [(result.success, result.sentence) for result in suite.results] == [(False, "new rows are not 3-eligible")]


def loads_great_expectations(statement: str, folder: Path = ROOT) -> bool:
    code = f"import sys; sys.path.insert(0, {str(ROOT)!r}); {statement}; print('great_expectations' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=folder)
    return done.stdout.split()[-1] == "True"


def test_importing_the_room_does_not_load_great_expectations() -> None:
    modules = [path.stem for path in (ROOT / "reanon_dagster" / "expectations").glob("*.py") if path.stem != "__init__"]
    assert len(modules) >= 6
    names = ", ".join(f"reanon_dagster.expectations.{name}" for name in modules)
    assert not loads_great_expectations(f"import {names}, reanon_dagster.commands.publish")


def test_a_plain_publish_does_not_load_great_expectations(tmp_path: Path) -> None:
    write_series(tmp_path, snapshots={"r1": people(60)})
    publish = "from reanon_dagster.cli import main; assert main(['publish', 'series.yaml', '--quiet']) == 0"
    assert not loads_great_expectations(publish, tmp_path)
    assert (tmp_path / "published" / "clinic" / "r1").is_dir()
