"""What an examination says."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


class Outcome(StrEnum):
    """How an examination ended."""

    SOUND = "sound"
    REPAIRED = "repaired"
    REPAIRABLE = "can be repaired"
    """In a dry run."""
    WRONG = "wrong"
    """Only a person can decide what to do."""


@dataclass(frozen=True)
class Remark:
    """One thing that was examined. No remark names a person or a value."""

    what: str
    outcome: Outcome
    sentence: str = ""


Examination = Callable[["Series", bool], Iterator[Remark]]
"""Examines one side of a series; the flag says whether to repair what can be repaired."""


def mended(what: str, sentence: str, *, repaired: bool) -> Remark:
    """The remark on something that is repaired, or would be in another run."""
    return Remark(what, Outcome.REPAIRED if repaired else Outcome.REPAIRABLE, sentence)
