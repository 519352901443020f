"""(B,t)-privacy on Mondrian, the third baseline of [RPB12]: the adversary's beliefs about a person move by at most t.

After T. Li, N. Li and J. Zhang, "Modeling and integrating background knowledge in data anonymization" (ICDE 2009),
[LLZ09], as we understand it without its text at hand: the prior of a row is a kernel estimate (Epanechnikov, bandwidth
B on every attribute scaled to 1), the posterior the Omega-estimate, and their Jensen-Shannon divergence in bits is at
most t. The paper smooths distributions over similar values first; here all values are equally far from each other. It
is a baseline for experiments, not a technique for a series.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.bayes.posteriors import omega
from reanon_core.model.plan import Counterfeits
from reanon_core.model.snapshot import Snapshot
from reanon_core.recoding.attribute_scales import grown_extent
from reanon_core.techniques.mondrian.technique import MondrianPlan, MondrianState


def kernel_prior(
    qi: np.ndarray, sensitive: np.ndarray, values: int, extent: np.ndarray, bandwidth: float
) -> np.ndarray:
    """The kernel estimate of the values of each row [n, values], from all rows."""
    points, inverse = np.unique(qi, axis=1, return_inverse=True)
    inverse = inverse.reshape(-1)
    counts = np.zeros((points.shape[1], values))
    np.add.at(counts, (inverse, sensitive), 1)
    weight = np.ones((points.shape[1], points.shape[1]))
    for attribute, codes in enumerate(points):
        span = max(1, extent[1, attribute] - extent[0, attribute])
        apart = np.subtract.outer(codes, codes) / span / bandwidth
        weight *= np.maximum(0, 1 - apart**2)
    prior = weight @ counts
    return (prior / prior.sum(axis=1, keepdims=True))[inverse]


def moved(prior: np.ndarray, posterior: np.ndarray) -> np.ndarray:
    """The Jensen-Shannon divergence of each row before and after, in bits."""
    middle = (prior + posterior) / 2

    def relative(rows: np.ndarray) -> np.ndarray:
        return (rows * np.log2(np.where(rows > 0, rows, 1) / np.where(middle > 0, middle, 1))).sum(axis=1)

    return (relative(prior) + relative(posterior)) / 2


def safe(prior: np.ndarray, sensitive: np.ndarray, k: int, t: float) -> bool:
    """Whether these rows may be one group."""
    if len(prior) < k:
        return False
    counts = np.bincount(sensitive, minlength=prior.shape[1])[None]
    posterior = omega(prior, np.zeros(len(prior), np.int32), counts)
    return bool(moved(prior, posterior).max() <= t)


@dataclass(frozen=True, kw_only=True)
class BtPrivacy:
    """Mondrian whose groups are (B,t)-private."""

    name: ClassVar[str] = "bt-privacy"
    changeable: ClassVar[frozenset[str]] = frozenset()
    caution: ClassVar[str] = "a baseline"

    k: int = 2
    t: float = 0.8
    bandwidth: float = 0.5

    def initial_state(self) -> MondrianState:
        return MondrianState.initial()

    def plan(self, snapshot: Snapshot, state: MondrianState, rng: np.random.Generator) -> MondrianPlan:
        extent = grown_extent(snapshot, state.extent)
        values = len(snapshot.schema.sensitive.values)
        prior = kernel_prior(snapshot.qi, snapshot.sensitive, values, extent, self.bandwidth)
        group, groups = np.full(snapshot.size, -1, np.int32), 0
        waiting = [np.arange(snapshot.size)]
        while waiting:
            rows = waiting.pop()
            sides = self._cut(snapshot, prior, rows, extent)
            if sides is None:
                group[rows] = groups
                groups += 1
            else:
                waiting += sides
        return MondrianPlan(group=group, groups=groups, counterfeits=Counterfeits.none(), extent=extent)

    def advance(self, state: MondrianState, snapshot: Snapshot, plan: MondrianPlan) -> MondrianState:
        return MondrianState(state.time + 1, plan.extent)

    def _cut(self, snapshot: Snapshot, prior: np.ndarray, rows: np.ndarray, extent: np.ndarray) -> list | None:
        if len(rows) < 2 * self.k:
            return None
        qi = snapshot.qi[:, rows]
        width = (qi.max(axis=1) - qi.min(axis=1)) / np.maximum(1, extent[1] - extent[0])
        for attribute in np.argsort(-width):
            if width[attribute] == 0:
                return None
            codes = qi[attribute]
            middle = np.sort(codes)[(len(codes) - 1) // 2]
            left = codes <= middle if middle < codes.max() else codes < middle
            sides = [rows[left], rows[~left]]
            if all(safe(prior[side], snapshot.sensitive[side], self.k, self.t) for side in sides):
                return sides
        return None
