"""Entropy metrics: how many bits of information about the table a release preserves."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.metrics.published_part import group_sizes, group_volumes, published_part, table_volume
from reanon_core.model.arrays import Float64
from reanon_core.model.ledger import Entry


@dataclass(frozen=True, kw_only=True)
class FrequencyEntropy:
    """FEM: the bits that distinguish groups by their sizes. Reconstructed from the BPG paper's prose.

    It is log2 of the number of people for the table itself, and 0 for one group. Counterfeits, dirty records and
    withheld rows lower it. Withholding part of a group can raise it, because the group looks smaller.

    Paper: [BPG] Theorem 2, that a suppressed class never adds information.
    """

    name: ClassVar[str] = "fem"
    quick: ClassVar[bool] = True

    real: bool = False
    """Whether dirty records, which are not selected, count as information; otherwise they are extraneous."""

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """The mean of -log2(group size / people), over the real rows."""
        sizes, _ = group_sizes(entry)
        return _information(entry, sizes / max(1, entry.snapshot.answer().size), real=self.real)


@dataclass(frozen=True, kw_only=True)
class VolumeEntropy:
    """VEM: the bits that distinguish boxes by their volumes. Reconstructed from the BPG paper's prose.

    It is log2 of the table's volume for the table itself, and 0 for one group. Counterfeits, dirty records and
    withheld rows lower it.

    Paper: [BPG] Theorem 3, that it is the sum over the quasi-identifiers.
    """

    name: ClassVar[str] = "vem"
    quick: ClassVar[bool] = True

    real: bool = False
    """Whether dirty records, which are not selected, count as information; otherwise they are extraneous."""

    def measure(self, entry: Entry, rng: np.random.Generator) -> float:  # noqa: ARG002
        """The mean of -log2(box volume / table volume), over the real rows."""
        entry = published_part(entry)
        return _information(entry, group_volumes(entry) / table_volume(entry), real=self.real)


def _information(entry: Entry, shares: Float64, *, real: bool) -> float:
    """The mean of -log2(share) over groups, weighted by their rows that count, among all people and extra rows."""
    sizes, extra = group_sizes(entry, real=real)
    total = entry.snapshot.answer().size + int(extra.sum())
    full = sizes > 0
    if not total or not full.any():
        return 0.0
    return float(-((sizes - extra)[full] @ np.log2(shares[full])) / total)
