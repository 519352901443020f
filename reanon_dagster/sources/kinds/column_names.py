"""A rule for the column names of every table."""

from collections.abc import Sequence

from reanon_core.model.errors import InvalidSnapshot, Problem


def require_once(names: Sequence[str], columns: Sequence[str], label: str) -> None:
    """Refuse a table that has one of these columns more than once.

    Raises: InvalidSnapshot.
    """
    twice = [name for name in dict.fromkeys(columns) if names.count(name) > 1]
    if twice:
        raise InvalidSnapshot(Problem(label, "have every column once", ", ".join(twice)))
