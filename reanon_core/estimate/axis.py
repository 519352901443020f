"""The codes of a quasi-identifier, as an analyst has them: from published values, and the order of its labels."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime
from decimal import ROUND_CEILING, ROUND_FLOOR, ROUND_HALF_EVEN, Decimal
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.model.arrays import Int64
from reanon_core.model.errors import InvalidParameter, Problem

if TYPE_CHECKING:
    import pyarrow as pa

NOWHERE = np.iinfo(np.int64).min
"""The code of an interval's end that the release does not have."""
ALMOST = Decimal("1e-6")
"""A number that is so few steps away from a code is meant to be that code: floats are not exact."""
_EPOCH = date(1970, 1, 1).toordinal()


@dataclass(frozen=True, eq=False)
class Axis:
    """One quasi-identifier: a number of steps, a day, or a place in an order of labels."""

    name: str
    kind: str
    """number, date or label."""
    step: Decimal = Decimal(1)
    """The distance of two neighbouring numbers."""
    labels: tuple[str, ...] = ()
    """The values in order, if they are labels."""
    nodes: Mapping[str, frozenset[str]] = field(default_factory=dict)
    """The labels below each inner node of a taxonomy, if the dictionary has one."""
    place: Mapping[str, int] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        """Number the labels."""
        object.__setattr__(self, "place", {label: at for at, label in enumerate(self.labels)})

    def codes(self, values: "pa.ChunkedArray") -> Int64:
        """The codes of a published column; NOWHERE where it has no value.

        Raises: InvalidParameter if a label is not in the order.
        """
        import pyarrow as pa
        import pyarrow.compute as pc

        missing = np.asarray(pc.is_null(values))
        if self.kind == "label":
            listed = pc.dictionary_encode(values.cast(pa.string())).combine_chunks()
            known = [self._place(label) for label in listed.dictionary.to_pylist()]
            found = np.asarray(known, np.int64)[np.asarray(pc.fill_null(listed.indices, 0))] if known else missing
        elif self.kind == "date":
            found = np.asarray(pc.fill_null(values.cast(pa.date32()).cast(pa.int32()), 0))
        else:
            numbers = np.asarray(pc.fill_null(values.cast(pa.float64()), 0), np.float64)
            found = np.rint(numbers / float(self.step))
        return np.where(missing, NOWHERE, found.astype(np.int64))

    def intervals(self, asked: object) -> list[tuple[int, int]]:
        """What a condition selects, as intervals of codes: a value, a list of values, or two ends of a range.

        Raises: InvalidParameter.
        """
        if self.kind == "label":
            return runs(self._label_codes(asked))
        if isinstance(asked, tuple):
            if len(asked) != 2:
                raise InvalidParameter(Problem(self.name, "be a range with two ends, a value or a list", repr(asked)))
            first, last = asked
            low = -(2**40) if first is None else self._code(first, ROUND_CEILING)
            high = 2**40 if last is None else self._code(last, ROUND_FLOOR)
            # A range between two neighbouring codes holds none, and is no mistake.
            self._require_order(first, last, begins_after=low > high + 1)
            return [(low, high)]
        if isinstance(asked, (list, set, frozenset)):
            return runs(self._code(value) for value in asked)
        return runs([self._code(asked)])

    def value(self, code: float) -> float:
        """The number behind a code, also between two codes; days since 1970 for dates."""
        return code * float(self.step)

    def end(self, code: int) -> Decimal | date:
        """A code as the end of a range; of a number or a date."""
        return date.fromordinal(_EPOCH + code) if self.kind == "date" else code * self.step

    def _label_codes(self, asked: object) -> list[int]:
        if isinstance(asked, tuple):  # from one label to another, in the order of the column
            if len(asked) != 2:
                raise InvalidParameter(Problem(self.name, "be a range with two ends, a value or a list", repr(asked)))
            first, last = (self._place(str(end)) for end in asked)
            self._require_order(*asked, begins_after=first > last)
            return list(range(first, last + 1))
        named = asked if isinstance(asked, (list, set, frozenset)) else [asked]
        return [self._place(label) for one in named for label in self.nodes.get(str(one), (str(one),))]

    def _place(self, label: str) -> int:
        try:
            return self.place[label]
        except KeyError:
            raise InvalidParameter(Problem(self.name, f"be one of {listed(self.labels)}", label)) from None

    def _require_order(self, first: object, last: object, *, begins_after: bool) -> None:
        if begins_after:
            rule = "be a range that begins before it ends, in the order of the column"
            raise InvalidParameter(Problem(self.name, rule, f"{first} to {last}", help="exchange its ends"))

    def _code(self, value: Any, rounding: str = ROUND_HALF_EVEN) -> int:
        try:
            if self.kind == "date":
                day = value if isinstance(value, date) else date.fromisoformat(str(value))
                return (day.date() if isinstance(day, datetime) else day).toordinal() - _EPOCH
            steps = Decimal(str(value)) / self.step
            nearest = steps.to_integral_value()
            return int(nearest if abs(steps - nearest) < ALMOST else steps.to_integral_value(rounding))
        except (ValueError, ArithmeticError):
            kind = "a date such as 2024-03-01" if self.kind == "date" else "a number"
            raise InvalidParameter(Problem(self.name, f"be {kind}", str(value))) from None


def listed(values: Sequence[str]) -> str:
    """The values for a sentence, the first ones if they are many."""
    return ", ".join(values[:8]) + ("…" if len(values) > 8 else "")


def runs(codes: Iterable[int]) -> list[tuple[int, int]]:
    """The codes as intervals, neighbours together."""
    found: list[tuple[int, int]] = []
    for code in sorted(set(codes)):
        if found and found[-1][1] == code - 1:
            found[-1] = (found[-1][0], code)
        else:
            found.append((code, code))
    return found


def axis_of(
    name: str, least: "pa.ChunkedArray", described: Mapping[str, Any], order: Sequence[str] | None
) -> Axis | Problem:
    """The axis of a published interval: from the dictionary of the folder, from a given order, or from its type.

    It is a problem, for whoever asks for the column, if its values are labels whose order is not known.
    """
    import pyarrow.types as pt

    if pt.is_date(least.type) or pt.is_timestamp(least.type):
        return Axis(name, "date")
    if not (pt.is_string(least.type) or pt.is_large_string(least.type) or pt.is_dictionary(least.type)):
        return Axis(name, "number", step=Decimal(str(described.get("granularity", 1))))
    labels = order if order is not None else described.get("order")
    if labels is None:
        rule = "have an order of its values, because an interval of labels means nothing without it"
        return Problem(name, rule, help=f"pass orders={{{name!r}: [...]}}")
    nodes = {str(node): frozenset(map(str, leaves)) for node, leaves in described.get("nodes", {}).items()}
    return Axis(name, "label", labels=tuple(str(label) for label in labels), nodes=nodes)
