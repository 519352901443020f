"""For which tables Cor-Split is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="each person is always published among the same m or more values, a risk of at most 1 in m, "
    "and no two groups tie fewer than n people to as many others",
    parameters=lambda among: {"m": among, "n": min(3, among - 1)},
    adversaries=frozenset({"presence", "values"}),
    bounds_risk=True,
    least=3,
    goes_on=True,
    values_change={"on_sensitive_change": "episode"},
)
