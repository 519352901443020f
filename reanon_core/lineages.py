"""What this process knows of the series made in it: copies of one series, and several series about the same people.

Two objects that publish about the same people do not know each other's releases, and comparing these can determine
values. Nothing here outlives the process.
"""

import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.model.arrays import Int64
from reanon_core.model.errors import Refused
from reanon_core.tables.ids import KEY_BYTES, ascending_order, pseudonyms
from reanon_core.tables.spellings import among

if TYPE_CHECKING:
    import pyarrow as pa

TOKEN_BYTES = 16
SAMPLED = 1024
"""How many people of a series are kept to find them in others: those with the least pseudonyms under PROCESS_KEY."""
PROCESS_KEY = secrets.token_bytes(KEY_BYTES)
"""The key of these pseudonyms, which nothing but this process ever has."""
LOST = "neither knows the other's releases, so that comparing them can determine people's values"
COPIED = (
    "this Series is copied or pickled, with its key and everyone's ids and values; publish with one copy only, because "
    f"if both publish, {LOST}"
)
NEIGHBOUR = (
    f"another Series of this process has published some of the same people: {LOST}; publish every frame with one "
    "Series, or keep the series on disk"
)


class Lineage:
    """A series and its copies in this process."""

    def __init__(self, columns: tuple[str, str]) -> None:
        self.columns = columns
        """The id column and the sensitive one."""
        self.releases = 0
        """How many releases the copy with the most of them has."""
        self.sample = np.empty(0, dtype=np.int64)
        """Some of the people, if the series remembers its releases and no seed made its key; in ascending order."""
        self._lock = Lock()

    @contextmanager
    def turn(self, process: int, releases: Callable[[], int]) -> Iterator[None]:
        """Wait until no other thread publishes, and refuse a copy that does not have all releases.

        Raises: Refused.
        """
        if process != os.getpid():
            raise Refused(
                f"this Series was made in another process, and a fork copied it; publish in that process, because if "
                f"both publish, {LOST}"
            )
        with self._lock:
            missed = self.releases - releases()
            if missed:
                raise Refused(
                    f"a copy of this Series has published {missed} more; go on with that copy, because if both "
                    f"publish, {LOST}"
                )
            yield

    def published(self, persons: Int64) -> None:
        """Count a release, and keep some of its people, whose pseudonyms under PROCESS_KEY ascend."""
        self.releases += 1
        self.sample = np.union1d(self.sample, persons[:SAMPLED])[:SAMPLED]

    def neighbour(self, persons: Int64) -> bool:
        """Whether another series about the same columns has published some of these people, who ascend."""
        others = [one for one in tuple(_LINEAGES.values()) if one is not self and one.columns == self.columns]
        return any(among(other.sample, persons).any() for other in others)


_LINEAGES: dict[bytes, Lineage] = {}


def new_token() -> bytes:
    """The name of a new series and all its copies."""
    return secrets.token_bytes(TOKEN_BYTES)


def lineage(token: bytes, columns: tuple[str, str], releases: int) -> Lineage:
    """The lineage of a series with this token, of which there is a copy with so many releases."""
    found = _LINEAGES.setdefault(token, Lineage(columns))
    found.releases = max(found.releases, releases)
    return found


def process_people(texts: "pa.StringArray") -> Int64:
    """The people with these ids under PROCESS_KEY, in ascending order."""
    persons = pseudonyms(texts, PROCESS_KEY)
    return persons[ascending_order(persons)]
