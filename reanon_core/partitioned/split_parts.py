"""The buckets in parts that are split apart from each other, and where their groups are numbered."""

from dataclasses import dataclass

import numpy as np

from reanon_core.bucketing.bucket_split import bucket_runs, part_depths
from reanon_core.bucketing.signatures import Signatures
from reanon_core.model.arrays import Int32, Int64


@dataclass(frozen=True)
class SplitPart:
    """Buckets that are split in one task, or a part of a bucket that is too large."""

    first_place: int
    end_place: int
    """The first slot, in the order of the layout, and the one behind the last."""
    waiting: tuple[int, ...]
    """The pieces that its rows are in: a part of the staged rows, or of the cut lists of its bucket."""
    first_group: int
    groups: int
    cut: int | None = None
    """Which part of its bucket it is, if the lists of the bucket are cut."""


@dataclass(frozen=True, eq=False)
class SplitParts:
    """All parts, and where the rows of each slot wait."""

    parts: tuple[SplitPart, ...]
    part_of_place: Int32  # [slots]
    waiting: int
    """How many parts the staged rows have: one for several buckets, and one for each list that is cut."""
    groups: int
    """All groups, those of counterfeits alone among them."""


def split_parts(signatures: Signatures, entries: Int64, most: int) -> SplitParts:
    """The parts of buckets with so many entries in each slot [slots], with at most `most` entries if that is possible.

    Groups are numbered bucket by bucket: every group is one layer, so a bucket has as many groups as layers.
    """
    offsets = signatures.offsets
    starts = np.concatenate([np.zeros(1, np.int64), np.cumsum(entries)])[offsets]
    lists = np.diff(offsets)
    depth = np.diff(starts) // np.maximum(lists, 1)
    first_group = np.concatenate([np.zeros(1, np.int64), np.cumsum(depth)])
    part_of_place = np.full(len(entries), -1, np.int32)
    parts: list[SplitPart] = []
    waiting = 0
    for first, end in bucket_runs(starts, most):
        places = int(offsets[first]), int(offsets[end])
        depths = part_depths(int(depth[first]), int(lists[first])) if end - first == 1 else []
        if len(depths) < 2:
            part_of_place[slice(*places)] = waiting
            groups = int(first_group[end] - first_group[first])
            parts.append(SplitPart(*places, (waiting,), int(first_group[first]), groups))
            waiting += 1
            continue
        own = tuple(range(waiting, waiting + places[1] - places[0]))
        part_of_place[slice(*places)] = own
        waiting += len(own)
        group = int(first_group[first])
        for number, layers in enumerate(depths):
            parts.append(SplitPart(*places, own, group, layers, number))
            group += layers
    return SplitParts(tuple(parts), part_of_place, waiting, int(first_group[-1]))
