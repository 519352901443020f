"""Linkage: follow the rows of people from release to release, and count whom a followed row may show."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from reanon_core.inference.view.linkage import chain_candidates, chains
from reanon_core.inference.view.value_sets import full_masks, group_masks, highest_value, mask_sizes, only_values
from reanon_core.model.arrays import Int64, UInt64
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.finding import Findings
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge
from reanon_core.model.release import PersonRows

NOTE = "a row is followed if one row alone of the next release has its signature and an overlapping box"

FOLLOWED = 0.5
"""The confidence in a chain with one candidate: it shows this person, or the rows of several people."""


@dataclass(frozen=True, kw_only=True)
class LinkageAttack:
    """Follow rows of a decoupled series, and expose the people whom a followed row must show, with one value left.

    A row is followed over all releases: its boxes leave the people who lie in all of them, its groups leave the values
    that all of them show. The row may still be wrong, because another person may have come with the same signature.
    Paper: none.
    """

    name: ClassVar[str] = "linkage"
    any_size: ClassVar[bool] = False
    people_only: ClassVar[bool] = False
    has_posteriors: ClassVar[bool] = False
    knows: ClassVar[str] = "who is in each release, and everyone's quasi-identifiers"
    blind_to: ClassVar[str] = "rows with more than one possible successor, and releases with boxes of groups"

    def run(self, history: History, knowledge: Knowledge) -> Findings:
        """Find the people who are the only one that a chain of rows may show, with the only value of its groups.

        Raises: InvalidParameter if a release shows no rows of people.
        """
        people_rows = _people_rows(history)
        releases = [published.release for published in history.releases]
        persons = np.unique(np.concatenate([np.empty(0, np.int64), *(p.persons for p in knowledge.presences)]))
        chain = chains(releases)
        length = (chain >= 0).sum(axis=1)
        followed = chain[length > 1]
        count, first = chain_candidates(followed, people_rows, knowledge.presences, persons)
        values = _values_left(followed, history, people_rows)
        left = mask_sizes(values)
        certain = np.flatnonzero((count == 1) & (left == 1))
        exposed, at = np.unique(first[certain], return_index=True)
        smallest = min((int(np.bincount(rows.box).min()) for rows in people_rows if len(rows.box)), default=0)
        return Findings(
            attack=self.name,
            of=len(persons),
            persons=persons[exposed],
            inferred=only_values(values[certain[at]]),
            confidence=np.full(len(exposed), FOLLOWED),
            note=self._note(int(length[length > 1].sum()), int(length.sum()), int(np.count_nonzero(count < smallest))),
            extra={
                "rows": float(length.sum()),
                "rows in chains": float(length[length > 1].sum()),
                "chains": float(len(followed)),
                "longest chain": float(length.max(initial=0)),
                "smallest box": float(smallest),
                "chains that leave fewer people than the smallest box": float(np.count_nonzero(count < smallest)),
                "chains that leave one person": float(np.count_nonzero(count == 1)),
                "chains that no person fits": float(np.count_nonzero(count == 0)),
                "fewest values of a chain": float(left.min()) if len(left) else 0.0,
            },
        )

    def _note(self, followed: int, rows: int, few: int) -> str:
        return f"{NOTE}: {followed:,} of {rows:,} rows are; {few:,} chains leave fewer people than the smallest box"


def _people_rows(history: History) -> list[PersonRows]:
    """The rows of people in each release.

    Raises: InvalidParameter.
    """
    found = [published.release.person_rows for published in history.releases]
    rows = [one for one in found if one is not None]
    if len(rows) < len(found):
        rule = "be given decoupled releases: in others the rows of a group share one box"
        raise InvalidParameter(Problem("the attack linkage", rule, help="use the attack intersection"))
    return rows


def _values_left(followed: Int64, history: History, people_rows: list[PersonRows]) -> UInt64:
    """The values that all groups of a chain show, as bit masks."""
    releases = tuple(published.release for published in history.releases)
    values = max(len(history.schema.sensitive.values), highest_value(releases) + 1, 1)
    left = full_masks(len(followed), values)
    for time, (release, rows) in enumerate(zip(releases, people_rows, strict=True)):
        here = np.flatnonzero(followed[:, time] >= 0)
        left[here] &= group_masks(release, values)[rows.group[followed[here, time]]]
    return left
