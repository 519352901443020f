"""l-diversity: the sensitive values of every group are well represented."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from oracles.array_checks.groups import (
    distinct_values,
    group_sizes,
    largest_counts,
    silent,
    silent_verdict,
    size_summary,
    unreadable,
    unreadable_verdict,
    value_counts,
)
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Form = Literal["distinct", "frequency"]


@dataclass(frozen=True, kw_only=True)
class LDiversity:
    """Every group has at least ell sensitive values, or no value in more than one of ell rows.

    Paper: [XT07] Section 1, after Machanavajjhala et al.; the frequency form is the paper's "popular interpretation".
    """

    name: ClassVar[str] = "l-diversity"
    needs_knowledge: ClassVar[bool] = False

    ell: int
    """The least number of values in a group, or the frequency bound one in ell; at least 2."""
    form: Form = "distinct"
    """`distinct` counts the values of a group; `frequency` bounds the share of its most frequent value."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = []
        if self.ell < 2:
            problems.append(Problem("ell", "be at least 2", str(self.ell)))
        if self.form not in get_args(Form):
            problems.append(Problem("form", f"be one of {', '.join(get_args(Form))}", str(self.form)))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Count the groups that are not diverse."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        if silent(entry):
            return silent_verdict(self.name), memory
        counts, sizes = value_counts(entry), group_sizes(entry.release)
        distinct, largest = distinct_values(counts), largest_counts(counts)
        if self.form == "distinct":
            poor = distinct < self.ell
            sentence = f"every group has at least {self.ell} different sensitive values"
        else:
            # A group without rows violates the frequency form as it does the distinct form.
            poor = (largest * self.ell > sizes) | (sizes == 0)
            sentence = f"in every group at most one row in {self.ell} has the same sensitive value"
        violations = int(np.count_nonzero(poor))
        observed: dict[str, float] = {
            **size_summary(sizes),
            "fewest values": int(distinct.min()) if len(distinct) else 0,
            "largest share": float((largest / np.maximum(sizes, 1)).max()) if len(sizes) else 0.0,
            "groups not diverse": violations,
        }
        return Verdict(self.name, violations == 0, violations, observed, sentence=sentence), memory
