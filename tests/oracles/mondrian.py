"""Mondrian with lists and fractions, as the spec words it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction
from itertools import pairwise


def classes(
    rows: list[tuple[list[int | None], int]],
    spans: list[int],
    *,
    k: int,
    ell: int,
    diversity: str,
    t: float | None,
    heuristic: str,
    strict: bool,
    paths: Sequence[Sequence[Sequence[str]] | None],
    by: str = "principle",
) -> list[tuple[int, ...]]:
    """Classes of row numbers; none if the whole table fails. `paths[a][leaf]` goes from the leaf to the root.

    Cuts `by` quasi-identifiers look at k only, and sides that cannot be published are merged. Cuts by counts are made
    if no choice of so many of the rows fails.
    """
    whole = Counter(s for _, s in rows)

    def satisfies(part: list[int]) -> bool:
        counts = Counter(rows[i][1] for i in part)
        if len(part) < k or not part:
            return False
        if diversity == "distinct" and len(counts) < ell:
            return False
        if diversity == "frequency" and max(counts.values()) * ell > len(part):
            return False
        if t is None:
            return True
        values = {*counts, *whole}
        far = sum(abs(Fraction(counts[v], len(part)) - Fraction(whole[v], len(rows))) for v in values) / 2
        return far <= Fraction(t).limit_denominator(10**6)

    def code(i: int, a: int) -> int | None:
        return rows[i][0][a]

    def order(i: int, a: int) -> tuple[int, int]:
        value = code(i, a)
        return (0, 0) if value is None else (1, value)

    def cut(part: list[int], a: int) -> tuple[list[int], list[int]]:
        values = [code(i, a) for i in part if code(i, a) is not None]
        if paths[a] is not None:
            return taxonomy_cut(part, a, min(values), max(values))
        ranked = sorted(part, key=lambda i: (order(i, a), i))
        if not strict:
            half = max((len(part) + 1) // 2, len(part) - len(values))  # missing values stay together
            return sorted(ranked[:half]), sorted(ranked[half:])
        median = order(ranked[(len(part) - 1) // 2], a)
        if median == (0, 0):
            median = (1, min(values))  # missing values are never alone
        if median == (1, max(values)):
            median = (1, max(v for v in values if v < max(values)))
        return [i for i in part if order(i, a) <= median], [i for i in part if order(i, a) > median]

    def taxonomy_cut(part: list[int], a: int, low: int, high: int) -> tuple[list[int], list[int]]:
        down = [tuple(reversed(path)) for path in paths[a] or ()]
        depth = 0
        while down[low][: depth + 2] == down[high][: depth + 2]:
            depth += 1
        best: tuple[int, list[int], list[int]] | None = None
        occurring = sorted({code(i, a) for i in part if code(i, a) is not None})
        for one, other in pairwise(occurring):
            if down[one][: depth + 2] != down[other][: depth + 2]:
                left = [i for i in part if order(i, a) <= (1, one)]
                right = [i for i in part if order(i, a) > (1, one)]
                if best is None or abs(len(left) - len(right)) < best[0]:
                    best = (abs(len(left) - len(right)), left, right)
        assert best is not None
        return best[1], best[2]

    def score(part: list[int], a: int) -> Fraction:
        values = [code(i, a) for i in part if code(i, a) is not None]
        if heuristic == "width":
            return Fraction(max(values) - min(values), spans[a])
        if heuristic == "distinct":
            return Fraction(len(set(values)))
        strictly = classes_cut_size(part, a)
        return Fraction(-abs(len(part) - 2 * strictly))

    def classes_cut_size(part: list[int], a: int) -> int:
        nonlocal strict
        before, strict = strict, True
        size = len(cut(part, a)[0])
        strict = before
        return size

    def cuts(part: list[int]) -> Iterator[tuple[list[int], list[int]]]:
        usable = [a for a in range(len(spans)) if len({code(i, a) for i in part if code(i, a) is not None}) > 1]
        for a in sorted(usable, key=lambda a: (-score(part, a), a)) if len(part) >= 2 * k else []:
            yield cut(part, a)

    def worst(part: list[int], size: int) -> bool:
        """Whether the rows with the most frequent values satisfy the principle, if so many are chosen."""
        counts = Counter(rows[i][1] for i in part)
        return satisfies(sorted(part, key=lambda i: (-counts[rows[i][1]], rows[i][1]))[:size])

    def divided(part: list[int]) -> list[tuple[int, ...]]:
        for left, right in cuts(part):
            if all(worst(part, len(side)) if by == "counts" else satisfies(side) for side in (left, right)):
                return divided(left) + divided(right)
        return [tuple(part)]

    def merged(part: list[int]) -> list[tuple[int, ...]]:
        for left, right in cuts(part):
            if len(left) >= k and len(right) >= k:
                one, other = merged(left), merged(right)
                if one and other:
                    return one + other
                break
        return [tuple(part)] if satisfies(part) else []

    everyone = list(range(len(rows)))
    if by == "quasi-identifiers":
        return merged(everyone)
    return divided(everyone) if satisfies(everyone) else []
