"""The attacks on any releases together, word for word: every subset of them, every trace on it."""

from collections.abc import Sequence
from itertools import chain, combinations

from reanon_core.model.ledger import Entry

Shown = dict[int, tuple[int, int]]
Trace = tuple[int | None, ...]


def shown(entry: Entry) -> Shown:
    """The group and the published value of each person of a release."""
    rows = zip(entry.trace.persons.tolist(), entry.trace.rows.tolist(), strict=True)
    return {person: (int(entry.release.group[row]), int(entry.release.sensitive[row])) for person, row in rows}


def candidates(releases: Sequence[Shown]) -> dict[Trace, list[int]]:
    """The people with each trace on these releases, unless they are absent from all of them."""
    found: dict[Trace, list[int]] = {}
    for person in sorted(set(chain(*releases))):
        trace = tuple(release[person][0] if person in release else None for release in releases)
        found.setdefault(trace, []).append(person)
    return found


def breached(releases: Sequence[Shown], k: int, ell: int) -> int:
    """How many traces on exactly these releases leave fewer than k people, or fewer than ell values in one of them."""
    return sum(
        len(people) < k
        or any(
            len({release[person][1] for person in people}) < ell
            for release, group in zip(releases, trace, strict=True)
            if group is not None
        )
        for trace, people in candidates(releases).items()
    )


def atoms_breached(entries: Sequence[Entry], k: int, ell: int) -> int:
    """How many atoms of the whole history break the rule."""
    return breached([shown(entry) for entry in entries], k, ell)


def subsets_breached(entries: Sequence[Entry], k: int, ell: int) -> int:
    """How many traces on any subset of the releases break the rule."""
    releases = [shown(entry) for entry in entries]
    subsets = chain.from_iterable(combinations(releases, size) for size in range(1, len(releases) + 1))
    return sum(breached(subset, k, ell) for subset in subsets)
