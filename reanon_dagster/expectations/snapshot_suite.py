"""The suite of a snapshot: the rules that reading enforces, with their results, and the drift."""

from collections.abc import Iterator

import numpy as np

from reanon_core.model.arrays import MISSING, Bool, Int32
from reanon_core.model.coding import decode, plain
from reanon_core.model.errors import InvalidSnapshot
from reanon_core.model.schema import Kind, Missing, QuasiIdentifier, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_dagster.expectations.suites import Result, Suite
from reanon_dagster.series.series import Series

SNAPSHOT = "snapshot"
DRIFT = 50
"""The change in the number of people, in percent, above which the steward should look."""


def snapshot_results(
    series: Series,
    release: str,
    snapshot: Snapshot | InvalidSnapshot,
    previous_people: int | None,
    people: int | None = None,
) -> Suite:
    """The results of a snapshot; for an invalid one, the rules that it breaks.

    `previous_people` is the size of the previous snapshot, None for the first; `people` is the size of this one, where
    the release does not select every person.
    """
    if isinstance(snapshot, InvalidSnapshot):
        return Suite(SNAPSHOT, release, tuple(_failed_rules(snapshot)))
    results = [_unique(series.config.source.id, snapshot)]
    for column, codes, absent in zip(snapshot.schema.quasi_identifiers, snapshot.qi, snapshot.absent, strict=True):
        results += () if absent else _column_results(column, codes)
    results += _sensitive_results(snapshot.schema.sensitive, snapshot.sensitive)
    if previous_people is not None:
        results.append(_drift(snapshot.size if people is None else people, previous_people))
    return Suite(SNAPSHOT, release, tuple(results))


def _failed_rules(error: InvalidSnapshot) -> Iterator[Result]:
    """Each problem as a failed rule, without its value and its advice: both may contain values of the data."""
    for problem in error.problems:
        sentence = f"{problem.what} must {problem.rule}"
        yield Result(problem.what, success=False, sentence=sentence, violations=1)


def _unique(name: str, snapshot: Snapshot) -> Result:
    repeated = snapshot.size - len(np.unique(snapshot.persons))
    return _rule_result(name, "unique", "occur once in a snapshot", repeated, snapshot.size)


def _column_results(column: QuasiIdentifier, codes: Int32) -> Iterator[Result]:
    empty: Bool = codes == MISSING
    size = len(codes)
    if column.missing is Missing.REFUSE:
        yield _rule_result(column.name, "present", "have a value in every row", int(empty.sum()), size)
    if column.kind is not Kind.CATEGORICAL:
        # Codes are whole steps of the grid: a value between two steps has no code and was rejected.
        yield _rule_result(column.name, "type", _type_rule(column), 0, size)
    if column.bounds is not None:
        low, high = column.bounds
        outside = ~empty & ((codes < low) | (codes > high))
        yield _rule_result(column.name, "domain", _domain_rule(column, low, high), int(outside.sum()), size)


def _sensitive_results(column: Sensitive, codes: Int32) -> Iterator[Result]:
    size = len(codes)
    yield _rule_result(column.name, "present", "have a value in every row", int((codes < 0).sum()), size)
    if column.closed:
        # Codes are positions in the declared list: another value has none, and was rejected.
        yield _rule_result(column.name, "domain", "be one of the declared values", 0, size)


def _rule_result(column: str, what: str, rule: str, violations: int, rows: int) -> Result:
    return Result(
        name=f"{column}: {what}",
        success=violations == 0,
        sentence=f"{column} must {rule}",
        observed={"rows": rows},
        violations=violations,
        column=column,
    )


def _type_rule(column: QuasiIdentifier) -> str:
    if column.kind is Kind.DATE:
        return "be a date"
    return f"be a multiple of its granularity {plain(column.granularity)}"


def _domain_rule(column: QuasiIdentifier, low: int, high: int) -> str:
    if column.kind is Kind.CATEGORICAL:
        return "be a leaf of its taxonomy" if column.hierarchical else "be one of the values of its order"
    first, last = decode(column, np.array([low, high], dtype=np.int32))
    return f"lie in its domain, from {first} to {last}"


def _drift(people: int, before: int) -> Result:
    """A large change is not an error by itself: it is shown and blocks nothing."""
    change, limit = abs(people - before), before * DRIFT // 100
    return Result(
        name="drift",
        success=change <= limit,
        sentence=f"the number of people changes by at most {DRIFT} % from one snapshot to the next",
        observed={"people": people, "people before": before},
        violations=change,
        limit=limit,
        required=False,
    )
