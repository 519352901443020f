"""For which tables BPG is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="no comparison of releases leaves fewer than k people or ell values; it bounds no probability",
    parameters=lambda among: {"k": among, "ell": among},
    rations_new_rows=False,
    values_change={},
)
