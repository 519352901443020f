"""The first cuts of Mondrian, made on counts until every part of the table fits into memory.

Paper: [LDR06] Section 4. A strict cut is a code of one attribute, so a row finds its part by its codes alone.
"""

from dataclasses import dataclass, field

import numpy as np

from reanon_core.compiled import compiled
from reanon_core.model.arrays import Int32

NO_NODE = -1


@dataclass(frozen=True, eq=False)
class CutTree:
    """Nodes that are cut, and leaves that are not, in the order in which they were made; node 0 is the whole table."""

    attribute: Int32  # [nodes] NO_NODE for a leaf
    code: Int32  # [nodes] rows up to this code, and those without one, go left
    left: Int32  # [nodes] the left child; the right one comes after it

    def leaves_of(self, qi: Int32) -> Int32:
        """The leaf of each row."""
        return _leaves_of(qi, self.attribute, self.code, self.left)

    def leaves(self) -> list[int]:
        """The leaves from left to right."""
        listed, waiting = [], [0]
        while waiting:
            node = waiting.pop()
            if self.attribute[node] == NO_NODE:
                listed.append(node)
            else:
                waiting += [int(self.left[node]) + 1, int(self.left[node])]
        return listed


@dataclass
class GrowingTree:
    """A tree to which cuts are added."""

    attribute: list[int] = field(default_factory=lambda: [NO_NODE])
    code: list[int] = field(default_factory=lambda: [0])
    left: list[int] = field(default_factory=lambda: [NO_NODE])

    def cut(self, node: int, attribute: int, code: int) -> tuple[int, int]:
        """Cut a leaf, and return its children."""
        first = len(self.attribute)
        self.attribute[node], self.code[node], self.left[node] = attribute, code, first
        self.attribute += [NO_NODE, NO_NODE]
        self.code += [0, 0]
        self.left += [NO_NODE, NO_NODE]
        return first, first + 1

    def frozen(self) -> CutTree:
        """The tree as it is now."""
        return CutTree(*(np.array(values, dtype=np.int32) for values in (self.attribute, self.code, self.left)))


@compiled
def _leaves_of(qi: Int32, attribute: Int32, code: Int32, left: Int32) -> Int32:
    leaves = np.zeros(qi.shape[1], dtype=np.int32)
    for row in range(qi.shape[1]):
        node = 0
        while attribute[node] != NO_NODE:
            right = 1 if qi[attribute[node], row] > code[node] else 0
            node = left[node] + right
        leaves[row] = node
    return leaves
