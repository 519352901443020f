"""Jensen-Shannon divergence: what an adversary expects of the members of a group is much the same for all."""

from dataclasses import dataclass, field, replace
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.checks.adversary_beliefs import Past, expectations, revised
from reanon_core.checks.coded_memory import coded_memory
from reanon_core.checks.groups import hosting_groups, unreadable, unreadable_verdict
from reanon_core.model.arrays import Float64, Int32
from reanon_core.model.background import Background
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Engine = Literal["omega", "sum", "sinkhorn"]
Mode = Literal["product", "filter"]
ROUNDING = 1e-6


@dataclass(frozen=True, kw_only=True)
class JsDivergence:
    """In every group the divergence of what is expected of its members, before the release, is at most j.

    Paper: [RPB12] Section 6.2. What is expected rests on everything published before, so that the beliefs about
    everybody ever published are the memory of this check.
    """

    name: ClassVar[str] = "js-divergence"
    needs_knowledge: ClassVar[bool] = True

    j: float
    """The greatest divergence, in bits."""
    slack: float = 0.0
    """By which share j may be passed, where the technique was told to relax."""
    posterior: Engine = "omega"
    """How the adversary is taken to share a group's values out."""
    mode: Mode = "product"
    """How the adversary is taken to combine what is known of several releases."""
    background: Background | None = field(default=None, init=False, repr=False, compare=False)
    """The knowledge that the adversary is taken to have; None: counted in the original tables."""

    def __post_init__(self) -> None:
        """Hold the ranges."""
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
        """Nobody was published yet."""
        return {}

    @coded_memory
    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Judge every group by what was expected of its members, and remember what is known of them now."""
        if lost := unreadable(entry):
            return unreadable_verdict(self.name, lost), memory
        background = Background() if self.background is None else self.background
        expected, past = expectations(entry, Past.restored(memory, background), background)
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
        past = revised(entry, past, background, expected, self.posterior, self.mode)
        return verdict, past.packed()


def divergences(expected: Float64, group: Int32, groups: int) -> Float64:
    """The Jensen-Shannon divergence of each group's rows, in bits, every row with the same weight.

    Paper: [RPB12] Section 6.2: the entropy of the mean less the mean of the entropies. Rows are normalised first; a row
    without any mass is uniform.
    """
    total = expected.sum(axis=1, keepdims=True)
    rows = np.where(total > 0, expected / np.where(total > 0, total, 1), 1 / max(1, expected.shape[1]))
    size = np.maximum(np.bincount(group, minlength=groups), 1)
    mean = np.zeros((groups, rows.shape[1]))
    np.add.at(mean, group, rows)
    within = np.bincount(group, weights=_entropy(rows), minlength=groups) / size
    return np.maximum(_entropy(mean / size[:, None]) - within, 0)


def _entropy(rows: Float64) -> Float64:
    entropy: Float64 = -(rows * np.log2(np.where(rows > 0, rows, 1))).sum(axis=1)
    return entropy
