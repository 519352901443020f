"""Private: what a reader of the source can compute who knows all but how the values of a few people are arranged."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from reanon_core.model.arrays import Float64, Int32, Int64, frozen


class Places(NamedTuple):
    """Some people, and their places in numbered readings; a person may have several."""

    persons: Int64  # [n]
    number: Int32  # [n] of the reading
    place: Int32  # [n]


@dataclass(frozen=True, eq=False, kw_only=True)
class Reading:
    """Arrangements of values over some people, and how likely each is to be published as the truth was.

    The adversary knows the algorithm, its parameters, who is in which group, and the values of everybody else; not the
    arrangement, and not the seeds. An arrangement gives each *place* a value; people at one place have the same value
    in all of them. A person whose value changed may have several. Beforehand all arrangements are equally likely.
    """

    persons: Int64  # [n]
    place: Int32  # [n] the place of each person
    values: Int32  # [a, places] the value at each place, arrangement by arrangement; the first is the truth
    log_likelihood: Float64  # [a] relative to the truth: 0 is equally likely, -inf is ruled out
    complete: bool
    """Whether these are all arrangements that show the same values in every group."""
    unread: int = 0
    """How many releases it leaves out, because the technique with these parameters does not decide like that."""
    unlisted: Callable[[], Iterator[Places]] | None = None
    """Where the people are, if they are too many to be listed in `persons`: some people at a time, with all of their
    places in such readings. It is the same for all readings of a history."""
    number: int = 0
    """The number that `unlisted` has for this reading."""

    def __post_init__(self) -> None:
        """Freeze the arrays."""
        for name, dtype in (
            ("persons", np.int64),
            ("place", np.int32),
            ("values", np.int32),
            ("log_likelihood", np.float64),
        ):
            object.__setattr__(self, name, frozen(getattr(self, name), dtype))
