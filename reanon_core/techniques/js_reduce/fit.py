"""For which tables JS-reduce is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="what an adversary expects of the members of a group differs by at most j bits; it bounds no "
    "one's certainty",
    parameters=lambda among: {"k": among, "ell": among, "t": 0.5, "j": 0.5},
    adversaries=frozenset({"presence", "transitions"}),
    rations_new_rows=False,
    values_change={},
)
