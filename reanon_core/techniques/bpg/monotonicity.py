"""Which principles BPG can correct: those that stay true when people are added."""


def not_monotonous(*, diversity: str, t: float | None) -> tuple[str, ...]:
    """The parameters of a principle that can hold for some people and fail for more.

    A monotonous principle that holds for a set of people holds for every larger set. k people and ell distinct values
    are monotonous. A bound on the most frequent value and t-closeness are not, so adding people to a piece need not
    help it.

    Paper: [BPG] Definition 3.
    """
    return ("diversity",) * (diversity != "distinct") + ("t",) * (t is not None)
