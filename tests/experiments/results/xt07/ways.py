"""The two ways of m-invariance that every figure compares."""

from dataclasses import replace

from reanon_core.techniques.m_invariance.technique import MInvariance

PAPER = MInvariance(m=2, balancing="filled", assignment="paper")
DEFAULT = MInvariance(m=2)
WAYS = {"the paper's way": PAPER, "default: blind, deep": DEFAULT}


def with_m(way: str, m: int) -> MInvariance:
    """A way with this m."""
    return replace(WAYS[way], m=m)
