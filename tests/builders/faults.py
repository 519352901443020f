"""Faults to plant."""

from reanon_core.techniques.m_invariance.technique import MInvariance


class Forgetful(MInvariance):
    """A technique with a fault: it forgets everybody, so that its second release breaks m-invariance."""

    def plan(self, snapshot, state, rng):  # type: ignore[no-untyped-def]
        return super().plan(snapshot, self.initial_state(), rng)
