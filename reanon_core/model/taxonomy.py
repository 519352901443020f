"""A generalization hierarchy over the values of a categorical attribute."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np

from reanon_core.model.arrays import Int32
from reanon_core.model.errors import InvalidSchema, Problem, require


@dataclass(frozen=True)
class Taxonomy:
    """A rooted tree whose leaves are the attribute's values, left to right.

    Paper: [XT07] Definition 2, footnote: an interval over a categorical attribute is taken over
    the leaves of its hierarchy from left to right.
    """

    paths: tuple[tuple[str, ...], ...]
    """For each leaf, in order, the labels from the leaf up to the root."""

    @property
    def leaves(self) -> tuple[str, ...]:
        """The values, in the order of their codes."""
        return tuple(path[0] for path in self.paths)

    @cached_property
    def _nodes(self) -> tuple[tuple[str, ...], Int32]:
        """Labels of all nodes, and node[depth, leaf]: the leaf's ancestor at that depth, root first."""
        height = max(len(path) for path in self.paths)
        number: dict[tuple[str, ...], int] = {}
        labels: list[str] = []
        node = np.empty((height, len(self.paths)), dtype=np.int32)
        for leaf, path in enumerate(self.paths):
            down = tuple(reversed(path))
            for depth in range(height):
                key = down[: depth + 1]  # a short path stays at its leaf below it
                if key not in number:
                    number[key] = len(labels)
                    labels.append(key[-1])
                node[depth, leaf] = number[key]
        return tuple(labels), node

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of all nodes, in the numbering of `covering_node`."""
        return self._nodes[0]

    @property
    def ancestors(self) -> Int32:
        """node[depth, leaf]: the leaf's ancestor at each depth, root first; a short path stays at its leaf below it."""
        return self._nodes[1]

    def covering_node(self, low: Int32, high: Int32) -> Int32:
        """The lowest node that covers every leaf from `low` to `high`, elementwise.

        Requires: 0 <= low <= high < number of leaves. The lowest common ancestor of the two ends also
        covers the leaves between them, because leaves are numbered left to right.
        """
        node = self._nodes[1]
        cover: Int32 = node[0, low].copy()
        for depth in range(1, node.shape[0]):
            same = node[depth, low] == node[depth, high]
            cover[same] = node[depth, low[same]]
        return cover

    @staticmethod
    def from_lines(lines: Sequence[Sequence[str]], *, name: str) -> "Taxonomy":
        """Build the tree from lines with the leaf first and the root last.

        Leaves under one node become adjacent, in the order in which nodes first appear.
        """
        problems = _problems(lines, name)
        require(problems, InvalidSchema)
        rank: dict[tuple[str, ...], int] = {}
        for line in lines:
            down = tuple(reversed(line))
            for depth in range(1, len(down) + 1):
                rank.setdefault(down[:depth], len(rank))
        ordered = sorted(lines, key=lambda line: [rank[tuple(reversed(line))[: i + 1]] for i in range(len(line))])
        return Taxonomy(tuple(tuple(line) for line in ordered))

    @staticmethod
    def flat(values: Sequence[str]) -> "Taxonomy":
        """An order without a hierarchy: every value is directly below the root."""
        return Taxonomy(tuple((value, "*") for value in values))


def _problems(lines: Sequence[Sequence[str]], name: str) -> list[Problem]:
    what = f"taxonomy of {name}"
    if not lines:
        return [Problem(what, "have at least one line")]
    problems = []
    roots = sorted({line[-1] for line in lines})
    if len(roots) > 1:
        problems.append(Problem(what, "end in one root on every line", ", ".join(roots[:5])))
    seen: set[str] = set()
    twice = sorted({line[0] for line in lines if line[0] in seen or seen.add(line[0])})  # type: ignore[func-returns-value]
    if twice:
        problems.append(Problem(what, "name every leaf once", ", ".join(twice[:5])))
    parents: dict[str, set[str]] = {}
    for line in lines:
        for child, parent in pairwise(line):
            if child != parent:
                parents.setdefault(child, set()).add(parent)
    torn = sorted(child for child, above in parents.items() if len(above) > 1)
    if torn:
        problems.append(Problem(what, "give every node one parent", ", ".join(torn[:5])))
    return problems
