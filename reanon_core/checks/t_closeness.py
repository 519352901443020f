"""t-closeness: the values of every group are distributed similarly to those of the whole release."""

from dataclasses import dataclass
from typing import ClassVar, Literal, get_args

import numpy as np

from reanon_core.checks.judged_release import JudgedRelease, QueryCheck
from reanon_core.checks.readable import silent_verdict, unreadable_verdict
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Memory

Distance = Literal["equal", "ordered", "hierarchical"]
Whole = Literal["release", "snapshot"]
ROUNDING = 1e-9

SURPLUS = """
WITH everyone AS ({whole}),
     shares AS (SELECT value, count(everyone.value) AS people
                FROM (SELECT unnest(range($values))::INTEGER AS value) LEFT JOIN everyone USING (value) GROUP BY value),
     counted AS (SELECT group_id, value, count(*) AS n FROM published GROUP BY group_id, value)
SELECT group_id, rows, value, coalesce(n, 0) * (SELECT count(*) FROM everyone) - people * rows AS surplus
FROM (SELECT group_id, greatest(size, 1) AS rows FROM groups) CROSS JOIN shares
     LEFT JOIN counted USING (group_id, value)
"""
"""How many rows with each value a group has too many, times the number of people in the whole: in integers, so that no
order of summation shows."""
WHOLE = {"release": "SELECT value FROM published", "snapshot": "SELECT own_value AS value FROM snapshot"}
EQUAL = "SELECT rows, sum(abs(surplus)) / 2 AS moved FROM surplus GROUP BY group_id, rows"
ORDERED = """
SELECT rows, sum(abs(carried)) / greatest($values - 1, 1) AS moved
FROM (SELECT group_id, rows, sum(surplus) OVER (PARTITION BY group_id ORDER BY value) AS carried FROM surplus)
GROUP BY group_id, rows
"""
HIERARCHICAL = """
WITH nodes AS (SELECT group_id, rows, node, sum(surplus) AS surplus FROM surplus JOIN leaves USING (value)
               GROUP BY group_id, rows, node),
     parents AS (SELECT group_id, rows, parent, height,
                        least(sum(greatest(surplus, 0)), sum(greatest(-surplus, 0))) AS moved
                 FROM nodes JOIN tree USING (node) GROUP BY group_id, rows, parent, height)
SELECT rows, sum(moved * height) / $tallest AS moved FROM parents GROUP BY group_id, rows
"""
"""The surplus of some children of a node covers the deficit of others, at the cost of the node's height; the rest is
passed on to the node above. Source: Li, Li and Venkatasubramanian (2007)."""
DISTANCES = """
WITH distances AS (SELECT moved / (rows * greatest($people, 1)) AS distance FROM ({moved}))
SELECT count(*) FILTER (distance > $t + {rounding}) AS far, coalesce(max(distance), 0) AS greatest FROM distances
"""


@dataclass(frozen=True, kw_only=True)
class TCloseness(QueryCheck):
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

    def judge(self, release: JudgedRelease, memory: Memory) -> tuple[Verdict, Memory]:
        """Compare every group with the whole."""
        if release.unreadable:
            return unreadable_verdict(self.name, release.unreadable), memory
        if release.silent:
            return silent_verdict(self.name), memory
        release.create("surplus", SURPLUS.format(whole=WHOLE[self.whole]), values=release.values)
        moved = {"equal": EQUAL, "ordered": ORDERED, "hierarchical": HIERARCHICAL}[self.distance]
        tallest = 1
        if self.distance == "hierarchical":
            tallest = _add_tree(release, release.snapshot.schema.sensitive.taxonomy)
        people = release.entry.release.size if self.whole == "release" else release.snapshot.size
        found = release.numbers(
            DISTANCES.format(moved=moved, rounding=ROUNDING),
            t=self.t,
            people=people,
            values=release.values,
            tallest=tallest,
        )
        of = "release" if self.whole == "release" else "table"
        verdict = Verdict(
            check=self.name,
            holds=found["far"] == 0,
            violations=found["far"],
            observed={"greatest distance": found["greatest"], "groups": release.groups},
            sentence=f"in every group the values are within {self.t:g} of their distribution in the whole {of}",
        )
        return verdict, memory


def _add_tree(release: JudgedRelease, taxonomy: Taxonomy | None) -> int:
    """The tables `leaves`, with the values below each node, and `tree`, with the nodes below each; the root's height.

    Raises: InvalidParameter without a taxonomy.
    """
    if taxonomy is None:
        raise InvalidParameter(Problem("sensitive.taxonomy", "be declared for the distance `hierarchical`"))
    deepest = max(len(path) for path in taxonomy.paths) - 1
    number: dict[tuple[str, ...], int] = {}
    leaves, tree = [], []
    for value, path in enumerate(taxonomy.paths):
        down = path[::-1]
        for depth in range(1, len(down) + 1):
            node = down[:depth]
            if node not in number:
                number[node] = len(number)
                if depth > 1:
                    tree.append((number[node], number[node[:-1]], deepest - depth + 2))
            leaves.append((number[node], value))
    for name, columns, rows in (("leaves", ("node", "value"), leaves), ("tree", ("node", "parent", "height"), tree)):
        values = np.array(rows, np.int32).reshape(-1, len(columns)).T
        release.add(name, dict(zip(columns, values, strict=True)))
    return max(1, deepest)
