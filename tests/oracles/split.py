"""The split phase as the paper tells it, with lists and exact fractions. [XT07] Section 4.3."""

from fractions import Fraction

Row = tuple[int, ...] | None  # codes, or None for a counterfeit


def split(lists: list[list[int]], rows: list[list[int | None]], spans: list[int]) -> list[tuple[int, ...]]:
    """Groups of entry numbers. `rows[entry][attribute]` is a code or None; entries break ties."""
    k = len(lists[0])
    if k == 1:
        return [tuple(one[0] for one in lists)]
    best: tuple[Fraction, list[list[int]], int] | None = None
    for attribute in range(len(spans)):
        ordered = [sorted(one, key=lambda e: (_first(rows[e][attribute]), e)) for one in lists]
        for i in range(1, k):
            left = [entry for one in ordered for entry in one[:i]]
            right = [entry for one in ordered for entry in one[i:]]
            cost = len(left) * perimeter(left, rows, spans) + len(right) * perimeter(right, rows, spans)
            if best is None or cost < best[0]:
                best = (cost, ordered, i)
    assert best is not None
    _, ordered, i = best
    return split([one[:i] for one in ordered], rows, spans) + split([one[i:] for one in ordered], rows, spans)


def perimeter(entries: list[int], rows: list[list[int | None]], spans: list[int]) -> Fraction:
    total = Fraction(0)
    for attribute, span in enumerate(spans):
        codes = [code for code in (rows[entry][attribute] for entry in entries) if code is not None]
        if codes and span:
            total += Fraction(max(codes) - min(codes), span)
    return total


def _first(code: int | None) -> tuple[int, int]:
    return (0, 0) if code is None else (1, code)
