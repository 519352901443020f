"""Jensen-Shannon divergence: before the release, the adversary expects much the same of all members of a group."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.checks.adversary_beliefs import PastBeliefs, expected_values, revise_beliefs
from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.readable import hosting_groups, unreadable, unreadable_verdict
from reanon_core.model.arrays import Float64, Int32, slices
from reanon_core.model.background import Background
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Engine = Literal["omega", "sum", "sinkhorn"]
Mode = Literal["product", "filter"]
ROUNDING = 1e-6
ROWS_AT_ONCE = 1 << 13
"""How many people's expectations are normalised at a time."""


@dataclass(frozen=True, kw_only=True)
class JsDivergence:
    """In every group the adversary's expectations about its members, before the release, diverge by at most j.

    They depend on all earlier releases, so the memory of this check is the beliefs about every person ever published.

    Paper: [RPB12] Section 6.2.
    """

    name: ClassVar[str] = "js-divergence"
    needs_knowledge: ClassVar[bool] = True

    j: float
    """The greatest divergence, in bits."""
    slack: float = 0.0
    """By which share j may be exceeded, where the technique relaxes it for leftovers."""
    posterior: Engine = "omega"
    """How the assumed adversary divides a group's values among its members."""
    mode: Mode = "product"
    """How the assumed adversary combines several releases."""
    background: Background | None = field(default=None, init=False, repr=False, compare=False)
    """The adversary's assumed knowledge; None: counted in the original tables."""

    def __post_init__(self) -> None:
        """Validate the ranges."""
        problems = [
            Problem(name, "be a number of at least 0", str(getattr(self, name)))
            for name in ("j", "slack")
            if isinstance(getattr(self, name), bool)
            or not isinstance(getattr(self, name), int | float)
            or getattr(self, name) < 0
        ]
        for option, allowed in (("posterior", Engine), ("mode", Mode)):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def informed(self, background: Background | None) -> "JsDivergence":
        """The same check for an adversary with this knowledge."""
        check = replace(self)
        object.__setattr__(check, "background", background)
        return check

    def initial_memory(self) -> Memory:
        """The memory before the first release."""
        return {}

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge every group by the expectations about its members, and revise the beliefs."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        background = Background() if self.background is None else self.background
        expected, past = expected_values(entry, PastBeliefs.restored(memory, background), background)
        divergence = divergences(expected, hosting_groups(entry), entry.release.boxes.count)
        limit = self.j * (1 + self.slack)
        unlike = int(np.count_nonzero(divergence > limit + ROUNDING))
        observed: dict[str, float] = {
            "groups": entry.release.boxes.count,
            "greatest divergence": float(divergence.max(initial=0.0)),
            "groups too unlike": unlike,
        }
        if self.slack:
            observed["groups within slack only"] = int(np.count_nonzero(divergence > self.j + ROUNDING)) - unlike
        verdict = Verdict(
            self.name,
            holds=unlike == 0,
            violations=unlike,
            observed=observed,
            sentence=f"in every group what is expected of its members diverges by at most {limit:g} bits",
        )
        past = revise_beliefs(entry, past, background, expected, self.posterior, self.mode)
        return verdict, past.packed()


def divergences(expected: Float64, group: Int32, groups: int) -> Float64:
    """The Jensen-Shannon divergence of each group's rows with equal weights, in bits.

    Rows are normalised first; a row without any mass is uniform.

    Paper: [RPB12] Section 6.2: the entropy of the mean less the mean of the entropies.
    """
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    mean, entropy = np.zeros((groups, expected.shape[1])), np.empty(len(expected))
    for part in slices(len(expected), ROWS_AT_ONCE):
        some = expected[part]
        total = some.sum(axis=1, keepdims=True)
        rows = np.where(total > 0, some / np.where(total > 0, total, 1), 1 / max(1, some.shape[1]))
        np.add.at(mean, group[part], rows)
        entropy[part] = _entropy(rows)
    within = np.bincount(group, weights=entropy, minlength=groups) / size
    return np.maximum(_entropy(mean / size[:, None]) - within, 0)


def _entropy(rows: Float64) -> Float64:
    entropy: Float64 = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=1)
    return entropy
