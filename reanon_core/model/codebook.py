"""Which values the codes of a series stand for, remembered so that codes of different lists are never compared."""

import hashlib
import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeVar

from reanon_core.model.coding import plain
from reanon_core.model.errors import InvalidSnapshot, Problem, require
from reanon_core.model.packing import Packable
from reanon_core.model.schema import Kind, QuasiIdentifier, Schema

T = TypeVar("T", bound="CodedState")

FIELD = "codebook"
"""The name under which packed states and memories hold it."""


@dataclass(frozen=True)
class Codebook:
    """For each column how many values have a code, and a digest of their list; empty before the first release.

    Lists only grow, so a later list extends an earlier one if it begins with it.
    """

    columns: tuple[tuple[str, int, str], ...] = ()

    @staticmethod
    def of(schema: Schema) -> "Codebook":
        """The codebook of a schema."""
        return Codebook(tuple((name, len(values), _digest(values)) for name, values in _value_lists(schema)))

    def require_extended_by(self, schema: Schema) -> None:
        """Refuse a schema under which a code stands for another value than before.

        Raises: InvalidSnapshot.
        """
        if not self.columns:
            return
        lists = dict(_value_lists(schema))
        names = tuple(name for name, _, _ in self.columns)
        if tuple(lists) != names:
            rule = f"be those of the earlier releases, {', '.join(names)}"
            raise InvalidSnapshot(Problem("columns", rule, ", ".join(lists), "start a new series for other columns"))
        wrong = [name for name, count, digest in self.columns if _digest(lists[name][:count]) != digest]
        rule = "list the values of the earlier releases first and in the same order, because codes are positions there"
        advice = "code the snapshot with the schema of the latest release (reanon_core.Series does)"
        require([Problem(f"the value list of column {name}", rule, None, advice) for name in wrong], InvalidSnapshot)

    def packed(self) -> dict[str, Packable]:
        """The codebook as a field of a packed state or memory."""
        return {FIELD: json.dumps(self.columns)} if self.columns else {}

    @staticmethod
    def restored(packed: Mapping[str, Packable]) -> "Codebook":
        """The codebook of a packed state or memory; empty if it has none."""
        text = packed.get(FIELD)
        return Codebook(tuple((name, count, digest) for name, count, digest in json.loads(str(text or "[]"))))


@dataclass(frozen=True, eq=False, kw_only=True)
class CodedState:
    """The part that the states of all techniques share: the codebook of the latest release."""

    codebook: Codebook = Codebook()

    def with_codebook(self: T, codebook: Codebook) -> T:
        """The same state, made with these codes."""
        return replace(self, codebook=codebook)

    def without_values_of(self: T, person: int) -> T:  # noqa: ARG002
        """The same state without what it knows of a person who will not be published again; nothing by default."""
        return self


def _value_lists(schema: Schema) -> Iterable[tuple[str, Sequence[str]]]:
    """The values of each column in the order of their codes; of a number or a date the grid."""
    for column in schema.quasi_identifiers:
        yield column.name, _grid(column)
    yield schema.sensitive.name, schema.sensitive.values
    yield from zip(schema.other, schema.other_values, strict=True)


def _grid(column: QuasiIdentifier) -> Sequence[str]:
    if column.kind is Kind.CATEGORICAL and column.taxonomy is not None:
        return column.taxonomy.leaves
    return (column.kind.value, plain(column.granularity))


def _digest(values: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(values).encode()).hexdigest()
