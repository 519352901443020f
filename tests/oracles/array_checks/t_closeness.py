"""t-closeness: the values of every group are distributed similarly to those of the whole release."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from oracles.array_checks.groups import silent, silent_verdict, unreadable, unreadable_verdict
from reanon_core.model.arrays import Float64
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Entry
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Distance = Literal["equal", "ordered", "hierarchical"]
Whole = Literal["release", "snapshot"]
ROUNDING = 1e-9


@dataclass(frozen=True, kw_only=True)
class TCloseness:
    """In every group the values are within t of their distribution in the whole, by the earth mover's distance.

    Source: Li, Li and Venkatasubramanian, "t-closeness" (2007). With equal ground distance the earth mover's distance
    is half the sum of absolute differences.
    """

    name: ClassVar[str] = "t-closeness"
    needs_knowledge: ClassVar[bool] = False

    t: float
    """The greatest distance allowed."""
    distance: Distance = "equal"
    """The ground distance between values: equal, by their declared order, or by their taxonomy."""
    whole: Whole = "release"
    """What groups are compared with: all published rows, or the whole table, withheld rows included."""

    def __post_init__(self) -> None:
        """Check the ranges."""
        problems = [] if 0 <= self.t <= 1 else [Problem("t", "be between 0 and 1", str(self.t))]
        for option, allowed in (("distance", Distance), ("whole", Whole)):
            if getattr(self, option) not in get_args(allowed):
                choices = ", ".join(get_args(allowed))
                problems.append(Problem(option, f"be one of {choices}", str(getattr(self, option))))
        require(problems, InvalidParameter)

    def initial_memory(self) -> Memory:
        """Empty, because each release is judged by itself."""
        return {}

    def examine(self, entry: Entry, memory: Memory) -> tuple[Verdict, Memory]:
        """Compare every group with the whole."""
        if numbers := unreadable(entry):
            return unreadable_verdict(self.name, numbers), memory
        if silent(entry):
            return silent_verdict(self.name), memory
        release, schema = entry.release, entry.snapshot.schema
        values = len(schema.sensitive.values)
        table = np.zeros((release.boxes.count, values))
        np.add.at(table, (release.group, release.sensitive), 1)
        sizes = table.sum(axis=1, keepdims=True)
        everyone = release.sensitive if self.whole == "release" else entry.snapshot.sensitive
        share = np.bincount(everyone, minlength=values) / max(1, len(everyone))
        difference = table / np.maximum(sizes, 1) - share
        distances = self._distances(difference, schema.sensitive.taxonomy)
        far = int((distances > self.t + ROUNDING).sum())
        of = "release" if self.whole == "release" else "table"
        verdict = Verdict(
            check=self.name,
            holds=far == 0,
            violations=far,
            observed={"greatest distance": float(distances.max(initial=0.0)), "groups": release.boxes.count},
            sentence=f"in every group the values are within {self.t:g} of their distribution in the whole {of}",
        )
        return verdict, memory

    def _distances(self, difference: Float64, taxonomy: Taxonomy | None) -> Float64:
        """The earth mover's distance of each group, given its surplus of each value [groups, values]."""
        if self.distance == "ordered":
            carried: Float64 = np.abs(np.cumsum(difference, axis=1)).sum(axis=1)
            carried /= max(1, difference.shape[1] - 1)
            return carried
        if self.distance == "hierarchical":
            if taxonomy is None:
                raise InvalidParameter(Problem("sensitive.taxonomy", "be declared for the distance `hierarchical`"))
            return _tree_distances(difference, taxonomy)
        half: Float64 = np.abs(difference).sum(axis=1) / 2
        return half


def _tree_distances(difference: Float64, taxonomy: Taxonomy) -> Float64:
    """The hierarchical distance: what must be moved within each node, at the cost of the node's height.

    Source: Li, Li and Venkatasubramanian (2007): below a node, the surplus of some children covers the deficit of
    others; the rest is passed on to the node above.
    """
    deepest = max(len(path) for path in taxonomy.paths) - 1
    surplus: dict[tuple[str, ...], Float64] = {}
    for leaf, path in enumerate(taxonomy.paths):
        for depth in range(1, len(path) + 1):
            node = tuple(reversed(path))[:depth]
            surplus[node] = surplus.get(node, np.zeros(len(difference))) + difference[:, leaf]
    moved = np.zeros(len(difference))
    for node in surplus:
        children = [child for child in surplus if child[:-1] == node and len(child) == len(node) + 1]
        if children:
            over = sum(np.maximum(surplus[child], 0) for child in children)
            under = sum(np.maximum(-surplus[child], 0) for child in children)
            moved += np.minimum(over, under) * (deepest - len(node) + 1) / max(1, deepest)
    return moved
