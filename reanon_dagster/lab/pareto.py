"""Which techniques are not beaten: no other exposes fewer people and errs less."""

from collections.abc import Mapping


def pareto_front(points: Mapping[str, tuple[float, float]]) -> list[str]:
    """The names of the points that no other point beats: it is no worse in both numbers, and better in one."""
    return [
        name
        for name, (one, two) in points.items()
        if not any(a <= one and b <= two and (a < one or b < two) for a, b in points.values())
    ]
