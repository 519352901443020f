"""The answers that the expectations compute from frames, without Great Expectations."""

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
    """The answer to one rule, as plain JSON values."""

    success: bool
    violations: int
    limit: int
    observed: dict[str, float]


NOT_JUDGED = Answer(success=False, violations=1, limit=0, observed={"could not be judged": 1})
"""The answer for a rule whose check raised an error: what cannot be judged does not hold."""


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
    """The group and the sensitive value of each published row."""
    import pandas as pd

    return pd.DataFrame({"group_id": rows.group, "sensitive": rows.sensitive})


def answer_in(frame: "pd.DataFrame", line: int) -> Answer:
    """The answer in one line of a results frame: it succeeds if the line does and its count is within the limit."""
    result = frame.loc[line].to_dict()
    violations, limit = int(result["violations"]), int(result["limit"])
    return Answer(
        success=bool(result["success"]) and violations <= limit,
        violations=violations,
        limit=limit,
        observed=json.loads(result["observed"]),
    )


def parameters_of(check: "Check") -> dict[str, Any]:
    """The parameters of a check, from which it can be built again."""
    return asdict(check)  # type: ignore[call-overload, no-any-return]  # a check is a dataclass


def answer_from_rows(
    frame: "pd.DataFrame", check: str, parameters: Mapping[str, Any], groups: int, values: int
) -> Answer:
    """The answer of a check that sees only the published rows.

    An error becomes an answer too: Great Expectations would print its text, which may contain values of the data.
    """
    from reanon_core.catalog import build_check

    try:
        built = build_check(check, parameters)
        verdict, _ = built.examine(_public_entry(frame, groups, values), built.initial_memory())
    except Exception:
        return NOT_JUDGED
    return Answer(
        success=verdict.holds, violations=verdict.violations, limit=0, observed=_plain_numbers(verdict.observed)
    )


def _public_entry(frame: "pd.DataFrame", groups: int, values: int) -> Entry:
    """The rows as an entry without its private half: an empty snapshot and an empty trace."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="unknown"),),
        sensitive=Sensitive(name="sensitive", values=tuple(str(code) for code in range(values))),
    )
    no_persons = np.empty(0, np.int64)
    no_codes = np.empty(0, np.int32)
    sides = np.zeros((1, groups), np.int32)
    return Entry(
        Snapshot(schema, no_persons, no_codes.reshape(1, 0), no_codes),
        Release(
            frame["group_id"].to_numpy(np.int32),
            frame["sensitive"].to_numpy(np.int32),
            Boxes(sides, sides, sides.astype(np.int8)),
        ),
        Auxiliary.none(),
        Trace(no_persons, no_codes),
    )


def _plain_numbers(observed: Mapping[str, float]) -> dict[str, float]:
    return {name: number if isinstance(number, int) else float(number) for name, number in observed.items()}
