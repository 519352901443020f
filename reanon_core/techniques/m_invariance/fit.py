"""For which tables m-invariance is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="each person is always published among the same m or more values: a risk of at most 1 in m",
    parameters=lambda among: {"m": among},
    bounds_risk=True,
    goes_on=True,
    values_change={"on_sensitive_change": "episode"},
)
