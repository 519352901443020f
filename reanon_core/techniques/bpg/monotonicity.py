"""Which principles BPG can correct: those that stay true when people are added."""

from reanon_core.model.errors import Problem

WHY = {
    "diversity": "be distinct with bpg: adding people can make a value too frequent (it is not monotonous)",
    "t": "be left out with bpg: adding people can increase the distance (it is not monotonous)",
}
INSTEAD = "use the technique mondrian, or list the check under `checks:` to judge each release by itself"


def monotonicity_problems(*, diversity: str, t: float | None) -> list[Problem]:
    """One problem for each parameter that makes the principle not monotonous."""
    given = {"diversity": diversity, "t": str(t)}
    return [Problem(name, WHY[name], given[name], INSTEAD) for name in not_monotonous(diversity=diversity, t=t)]


def not_monotonous(*, diversity: str, t: float | None) -> tuple[str, ...]:
    """The parameters of a principle that can hold for some people and fail for more.

    A monotonous principle that holds for a set of people holds for every larger set. k people and ell distinct values
    are monotonous. A bound on the most frequent value and t-closeness are not, so adding people to a piece need not
    help it.

    Paper: [BPG] Definition 3.
    """
    return ("diversity",) * (diversity != "distinct") + ("t",) * (t is not None)
