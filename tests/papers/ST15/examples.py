"""The tables of the paper."""

import numpy as np

from reanon_core.kernels.matching import BITS, TREE, LossTables
from reanon_core.model.history import History, Published
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.release import ANYTHING, Auxiliary, Boxes, Release
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.techniques.sequential.loss_measure import Measure

Interval = tuple[int, int]


def schema(columns: int, values: int) -> Schema:
    return Schema(
        quasi_identifiers=tuple(QuasiIdentifier(name=f"A{at + 1}", domain=(0, 5)) for at in range(columns)),
        sensitive=Sensitive(name="S", values=tuple(str(value) for value in range(values))),
    )


def release(columns: int, shown: dict[int, list[Interval]], values: list[int]) -> Published:
    """A release of rows with a box each: for each shown attribute the interval of each row."""
    rows = len(values)
    sides = np.tile(np.array(ANYTHING, np.int32)[:, None, None], (1, columns, rows))
    for attribute, intervals in shown.items():
        sides[0, attribute], sides[1, attribute] = np.array(intervals, np.int32).T
        sides[2, attribute] = 0
    names = (*(f"A{at + 1}" for at in shown), "S")
    made = Release(np.arange(rows), np.array(values), Boxes(*sides), columns=names, grouped=False)
    return Published(made, Auxiliary.none())


def history(columns: int, values: int, *releases: Published) -> History:
    return History(schema(columns, values), releases)


def known(points: list[tuple[int, ...]], releases: int) -> Knowledge:
    """V0: the quasi-identifiers of all people, the same in all releases."""
    everyone = Presence(np.arange(len(points), dtype=np.int64), np.array(points, np.int32).T)
    return Knowledge((everyone,) * releases)


# Table 9(a): A1 in r, s, t; A2 in x, y, z; A3.
POINTS = [(0, 0), (0, 1), (1, 1), (1, 0), (2, 2)]
VALUES = [1, 2, 3, 2, 3]
IMAGES = np.array([[1, 2, 3, 4, 0], [0, 1, 2, 3, 4]], np.int32)
"""The false world of Table 9(b), with (h + 1) mod 5 (erratum E2), and the true one."""


def all_subsets(attributes: list[int], loss: str) -> Measure:
    """The measure of Example 4.2, where every subset of three values may be published: node m - 1 is the bit mask m."""
    nodes = range(1, 8)
    join = np.array([(mask | 1 << leaf) - 1 for mask in nodes for leaf in range(3)], np.int32)
    losses = []
    for attribute in attributes:
        share = np.bincount([point[attribute] for point in POINTS], minlength=3) / 5
        for mask in nodes:
            inside = share[[bool(mask >> leaf & 1) for leaf in range(3)]]
            inside = inside / inside.sum()
            bits = float(-(inside * np.log2(inside)).sum())
            losses.append(round(bits * BITS) if loss == "em" else mask.bit_count() - 1)
    d = len(attributes)
    nothing = np.zeros(0)
    tables = LossTables(
        kind=np.full(d, TREE, np.int8),
        weight=np.ones(d, np.int64),
        join=np.tile(join, d),
        join_at=np.arange(d, dtype=np.int64) * len(join),
        width=np.full(d, 3, np.int64),
        loss=np.array(losses, np.int64),
        loss_at=np.arange(d, dtype=np.int64) * 7,
        mass=nothing,
        information=nothing,
        mass_at=np.zeros(d, np.int64),
    )
    return Measure(
        tables=tables,
        unit=BITS if loss == "em" else 2.0,
        monotone=loss == "lm",
        greatest=2 * d if loss == "lm" else 2**40,
        ends=((np.arange(7, dtype=np.int32),) * 2,) * d,
        leaf_nodes=(np.array([0, 1, 3], np.int32),) * d,
    )


def spelled(nodes: np.ndarray, letters: str) -> list[str]:
    """Nodes as the paper writes them: rt for {r, t}."""
    return ["".join(letter for at, letter in enumerate(letters) if node + 1 >> at & 1) for node in nodes.tolist()]
