"""Public: all releases so far, which anyone can download."""

from dataclasses import dataclass

from reanon_core.model.release import Auxiliary, Release
from reanon_core.model.schema import Schema


@dataclass(frozen=True, eq=False)
class Published:
    """One release with the counterfeit counts that were published with it."""

    release: Release
    auxiliary: Auxiliary


@dataclass(frozen=True, eq=False)
class History:
    """The releases in order: the adversary's view."""

    schema: Schema
    releases: tuple[Published, ...]
