"""What the expectations compute from the frames they are handed: answers, without Great Expectations."""

import json
from collections.abc import Mapping
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from reanon_core.model.ledger import Entry
from reanon_core.model.release import Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.model.trace import Trace
from reanon_dagster.expectations.suites import Result, Rows

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd

    from reanon_core.protocols import Check


class Answer(TypedDict):
    """How one rule fared, in what JSON can hold."""

    success: bool
    violations: int
    limit: int
    observed: dict[str, float]


NOT_JUDGED = Answer(success=False, violations=1, limit=0, observed={"could not be judged": 1})
"""The answer for a rule whose judge failed: what cannot be judged does not hold."""


def results_frame(results: "Sequence[Result]") -> "pd.DataFrame":
    """One line for each rule: aggregates only."""
    import pandas as pd

    return pd.DataFrame(
        {
            "name": [result.name for result in results],
            "column": [result.column for result in results],
            "rule": [result.sentence for result in results],
            "success": [result.success for result in results],
            "violations": [result.violations for result in results],
            "limit": [result.limit for result in results],
            "observed": [json.dumps(_plain_numbers(result.observed)) for result in results],
        }
    )


def rows_frame(rows: Rows) -> "pd.DataFrame":
    """The published table as far as it is judged: the group and the sensitive value of each row."""
    import pandas as pd

    return pd.DataFrame({"group_id": rows.group, "sensitive": rows.sensitive})


def answer_in(frame: "pd.DataFrame", line: int) -> Answer:
    """The answer in one line of a frame of results. It holds if the line says so and its count is within its limit."""
    told = frame.loc[line].to_dict()
    violations, limit = int(told["violations"]), int(told["limit"])
    return Answer(
        success=bool(told["success"]) and violations <= limit,
        violations=violations,
        limit=limit,
        observed=json.loads(told["observed"]),
    )


def parameters_of(check: "Check") -> dict[str, Any]:
    """The parameters of a check, from which it can be built again."""
    return asdict(check)  # type: ignore[call-overload, no-any-return]  # a check is a dataclass


def answer_from_rows(
    frame: "pd.DataFrame", check: str, parameters: Mapping[str, Any], groups: int, values: int
) -> Answer:
    """The answer of a check that sees the published rows and nothing else.

    An error becomes an answer too: Great Expectations would print its text, which may hold what stands in the data.
    """
    from reanon_core.catalog import build_check

    try:
        judge = build_check(check, parameters)
        verdict, _ = judge.examine(_entry(frame, groups, values), judge.initial_memory())
    except Exception:
        return NOT_JUDGED
    return Answer(
        success=verdict.holds, violations=verdict.violations, limit=0, observed=_plain_numbers(verdict.observed)
    )


def _entry(frame: "pd.DataFrame", groups: int, values: int) -> Entry:
    """The rows as an entry of which nothing private is known: nobody's snapshot, nobody traced."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="unknown"),),
        sensitive=Sensitive(name="sensitive", values=tuple(str(code) for code in range(values))),
    )
    nobody = np.empty(0, np.int64)
    nothing = np.empty(0, np.int32)
    sides = np.zeros((1, groups), np.int32)
    return Entry(
        Snapshot(schema, nobody, nothing.reshape(1, 0), nothing),
        Release(
            frame["group_id"].to_numpy(np.int32),
            frame["sensitive"].to_numpy(np.int32),
            Boxes(sides, sides, sides.astype(np.int8)),
        ),
        Auxiliary.none(),
        Trace(nobody, nothing),
    )


def _plain_numbers(observed: Mapping[str, float]) -> dict[str, float]:
    return {name: number if isinstance(number, int) else float(number) for name, number in observed.items()}
