"""The plan of a technique with buckets: groups of layout entries become groups of rows and counterfeits."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.division import Division
from reanon_core.bucketing.layout import COUNTERFEIT, Layout
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.plan import WITHHELD, Counterfeits, Plan

DEFERRED = "deferred: their value is too frequent among the new rows"
SURPLUS = "in this release only, because too many people of their signature have their value"
STRANDED = "their new value could not be hidden when it was new: too few values were left, or no release had shown it"

ALTERED = "their value is not the one they were published with, and on_sensitive_change is withhold"


@dataclass(frozen=True, eq=False, kw_only=True)
class BucketedPlan(Plan):
    """A plan that also has each row's signature, for the next state."""

    division: Division
    signatures: Signatures
    signature: Int32  # [n] also of people whom only this release withholds; -1 for those without one
    extent: Int64  # [2, d]


@dataclass(frozen=True, eq=False, kw_only=True)
class RowGroups:
    """The groups of rows and counterfeits."""

    group: Int32  # [n]
    groups: int
    counterfeits: Counterfeits
    signature: Int32  # [n] -1 for withheld rows


def row_groups(rows: int, layout: Layout, entry_group: Int32, signatures: Signatures) -> RowGroups:
    """The groups of layout entries as groups of rows; a group of counterfeits alone protects no one and is dropped."""
    groups = int(entry_group.max(initial=-1)) + 1
    real = np.flatnonzero(layout.row >= 0)
    populated = np.zeros(groups, dtype=np.bool_)
    populated[entry_group[real]] = True
    renumbered = np.cumsum(populated, dtype=np.int32) - 1
    real_group = renumbered[entry_group[real]]
    group = np.full(rows, WITHHELD, dtype=np.int32)
    group[layout.row[real]] = real_group
    counterfeit = np.flatnonzero(layout.row == COUNTERFEIT)
    counterfeit = counterfeit[populated[entry_group[counterfeit]]]
    signature_of_slot = np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))
    signature_of_group = np.empty(int(populated.sum()) + 1, dtype=np.int32)
    signature_of_group[real_group] = signature_of_slot[layout.slot[real]]
    signature_of_group[WITHHELD] = -1
    return RowGroups(
        group=group,
        groups=int(populated.sum()),
        counterfeits=Counterfeits(renumbered[entry_group[counterfeit]], layout.values[layout.slot[counterfeit]]),
        signature=signature_of_group[group],
    )


def placed_signatures(old_slot: Int32, published: Int32, signatures: Signatures) -> Int32:
    """The signature of each row that has one, of those that balancing withholds too.

    `old_slot` [n] is the slot of each old row, negative for others, and `published` [n] the signature in the release.
    """
    of_slot = np.repeat(np.arange(signatures.count, dtype=np.int32), np.diff(signatures.offsets))
    placed = published.copy()
    placed[old_slot >= 0] = of_slot[old_slot[old_slot >= 0]]
    return placed


def withheld_reasons(*, deferred: int, surplus: int, stranded: int, changed: int = 0) -> dict[str, int]:
    """The reasons for which rows are withheld, with the number of rows."""
    reasons = {DEFERRED: deferred, SURPLUS: surplus, STRANDED: stranded, ALTERED: changed}
    return {reason: rows for reason, rows in reasons.items() if rows}
