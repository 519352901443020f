"""Faults to plant."""

from reanon_core.algorithms.m_invariance.publisher import MInvariance


class Forgetful(MInvariance):
    """A publisher with a fault: it forgets everybody, so that its second release breaks m-invariance."""

    def plan(self, snapshot, state, rng):  # type: ignore[no-untyped-def]
        return super().plan(snapshot, self.initial_state(), rng)
