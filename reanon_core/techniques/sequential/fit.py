"""For which tables sequential is made."""

from reanon_core.protocols import Fit

FIT = Fit(
    promise="ell worlds, with ell different values for each person, explain every release; it bounds no probability",
    parameters=lambda among: {"ell": among},
    qi_change=None,
    people_leave={"on_delete": "defer"},
)
