"""The page on releases that reanon did not make: who is exposed, by which adversary, under which assumptions."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from reanon_core import __version__
from reanon_core.catalog import ATTACKS
from reanon_dagster.report.pages.page_template import page
from reanon_dagster.report.pages.pictures import columns, lines

MOST_PICTURES = 6
"""The releases whose group sizes are drawn, at most: the latest."""


@dataclass(frozen=True)
class AuditedRelease:
    """One release in numbers."""

    name: str
    rows: int
    groups: int
    people: int
    """How many people are known to be in it."""
    smallest: int
    """The rows of its smallest group; 0 if it has none."""
    fewest: int | None
    """The values in the group with the fewest; None if it shows no sensitive values."""
    sizes: Sequence[tuple[str, int]]
    alone: int
    """How many people it exposes by itself."""
    so_far: int
    """How many people it exposes together with those before it."""


@dataclass(frozen=True)
class AuditedAttack:
    """What one attack found."""

    name: str
    exposed: int
    of: int
    note: str


def audit_page(
    releases: Sequence[AuditedRelease],
    attacks: Sequence[AuditedAttack],
    *,
    exposed: int,
    of: int,
    compromised: int,
    unmatched: int,
    sensitive: str,
    quasi_identifiers: Sequence[str],
    left_out: Mapping[str, str],
) -> str:
    """The page for the steward: numbers only, no person. `exposed` are the people whom at least one attack exposes."""
    names = [one.name for one in releases]
    over_time = {"each release alone": [one.alone for one in releases], "together": [one.so_far for one in releases]}
    pictures = [(one.name, columns(one.sizes, "rows in a group", "groups")) for one in releases if len(one.sizes) > 2]
    return page(
        "audit.html",
        releases=releases,
        attacks=[{**attack_description(one.name), **vars(one)} for one in attacks],
        strongest=max(attacks, key=lambda one: one.exposed, default=None),
        exposed=exposed,
        of=of,
        compromised=compromised,
        unmatched=unmatched,
        sensitive=sensitive,
        quasi_identifiers=list(quasi_identifiers),
        left_out=left_out,
        over_time=lines(names, over_time, "people exposed"),
        pictures=pictures[-MOST_PICTURES:],
        version=__version__,
    )


def attack_description(name: str) -> dict[str, str]:
    """The texts of an attack in the catalog."""
    kind = ATTACKS[name]
    what = ((kind.__doc__ or "").splitlines() or [""])[0]
    return {"name": name, "what": what, "knows": kind.knows, "blind_to": kind.blind_to}
