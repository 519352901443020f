"""What BPG decides for one release."""

from dataclasses import dataclass

import numpy as np

from reanon_core.model.arrays import Int32, Int64
from reanon_core.model.plan import WITHHELD, Plan


@dataclass(frozen=True, eq=False, kw_only=True)
class BpgPlan(Plan):
    """A plan that also has each row's piece and place in the state, for the state that follows."""

    piece: Int32  # [n] -1 for withheld rows
    state_row: Int32  # [n] -1 for a person who was never published
    extent: Int64  # [2, d]
    explained: int
    """The causes of withholding that have been explained, with this release."""
    reserve: int
    class_of: Int32  # [t] the class of each row of the table, before it is corrected
    by_order: Int64  # [b] people about whom the order of pseudonyms may have decided


def groups_of_pieces(piece: Int32, class_of_piece: Int32, *, by_class: bool) -> tuple[Int32, int]:
    """The group of each row: its piece, or its piece's class."""
    if not by_class:
        return piece, len(class_of_piece)
    first = np.diff(class_of_piece, prepend=-1) != 0
    number = np.append(np.cumsum(first) - 1, WITHHELD).astype(np.int32)  # the last one is for withheld rows
    return number[piece], int(first.sum())
