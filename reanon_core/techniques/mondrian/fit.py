"""For which tables Mondrian is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="each release by itself has groups of k rows and ell values",
    parameters=lambda among: {"k": among, "ell": among},
    over_series=False,
    rations_new_rows=False,
    values_change={},
)
