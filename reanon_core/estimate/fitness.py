"""What a release is good for, in numbers that anyone can compute from its files: counts, trends, tables, relations."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Any

from reanon_core.estimate.answers import Estimate
from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.model.schema import Schema

if TYPE_CHECKING:
    import pyarrow as pa

MOST_ROWS = 200_000
"""Of a larger release nothing is computed, so that its README takes no time."""
FEWEST, MOST_VALUES = 50, 200
"""Values of so many people are looked at, and so many of them at most."""
KEPT, WEAK = 0.8, 0.5
"""From which part on a relation is seen nearly as it is, and below which it is mostly hidden."""
CHANGE = 2**0.5
"""A change is uncertain by as much as two counts together."""


@dataclass(frozen=True)
class Fitness:
    """What a release is good for."""

    sensitive: str
    typical: float | None
    """How far a usual count by value may be off, nine times in ten, as a part of it; None if it shows no value."""
    worst: tuple[str, float] | None
    widths: dict[str, float]
    """The mean part of each quasi-identifier's range that a box spans."""
    kept: dict[str, float]
    """How much of a relation between each quasi-identifier and the sensitive value plain counting shows."""


def estimates_of(
    tables: "Mapping[str, pa.Table]", schema: Schema, technique: Mapping[str, Any], withheld: int
) -> ReleaseEstimates:
    """The estimates of published tables, whose columns the schema describes as the dictionary of the folder would."""
    columns: dict[str, dict[str, Any]] = {
        one.name: {"granularity": one.granularity} | ({"order": one.taxonomy.leaves} if one.taxonomy else {})
        for one in schema.quasi_identifiers
    }
    columns |= {name: {"role": "non-identifier"} for name in schema.other}
    columns[schema.sensitive.name] = {"role": "sensitive"}
    manifest = {"technique": technique, "withheld": withheld}
    return ReleaseEstimates(**tables, manifest=manifest, dictionary={"reanon": {"columns": columns}})


def value_counts(asked: ReleaseEstimates) -> dict[str, Estimate]:
    """How many people have each sensitive value, the most frequent first; of some values only, if they are many."""
    found = {label: asked.count({str(asked.sensitive): label}) for label in asked.labels[:MOST_VALUES]}
    return dict(sorted(found.items(), key=lambda one: (-round(one[1].value, 6), one[0])))


def fitness(asked: ReleaseEstimates) -> Fitness | None:
    """What a release is good for; None if no one is in it, or so many that it would take long."""
    if not 0 < asked.size <= MOST_ROWS:
        return None
    sensitive = str(asked.sensitive)
    reach = {
        label: (one.high - one.low) / 2 / one.value for label, one in value_counts(asked).items() if one.value >= FEWEST
    }
    widths = {name: asked.width(name) for name in asked.axes}
    kept = {} if asked.sensitive is None else {name: asked.kept(name) for name in asked.axes}
    worst = max(reach.items(), key=lambda one: one[1]) if reach else None
    return Fitness(sensitive, median(reach.values()) if reach else None, worst, widths, kept)


def fitness_lines(found: Fitness) -> Iterator[str]:
    """The same as sentences in Markdown, the most useful first."""
    if found.typical is not None and found.worst is not None:
        name, most = found.worst
        yield (
            f"**Counts by `{found.sensitive}`**: a usual one is within {_part(found.typical)} of the truth, nine "
            f"times in ten; the least certain, of {name}, within {_part(most)}."
        )
        yield (
            f"**Trends**: a change of the people with a value by more than {_part(CHANGE * found.typical)} from one "
            f"release to another is usually real."
        )
    elif found.typical is None and found.kept:
        yield f"**Counts by `{found.sensitive}`**: no value has {FEWEST} people, so each count is uncertain."
    if found.widths:
        told = ", ".join(
            f"`{name}` {_part(width) if width else 'nothing: it is exact'}" for name, width in found.widths.items()
        )
        yield f"**Tables of quasi-identifiers**: a box spans this much of the range of a column on average: {told}."
    if found.kept:
        ways = (
            ("seen nearly as it is", [name for name, part in found.kept.items() if part >= KEPT]),
            ("weakened", [name for name, part in found.kept.items() if WEAK <= part < KEPT]),
            ("mostly hidden", [name for name, part in found.kept.items() if part < WEAK]),
        )
        told = "; ".join(
            f"{how} with {', '.join(f'`{name}` ({found.kept[name]:.0%})' for name in names)}"
            for how, names in ways
            if names
        )
        yield (
            f"**Relations**: what goes with `{found.sensitive}` is {told}. The percentage is how much of a relation "
            f"plain counting shows; it is read from who is in which group."
        )
    yield "**Not** for single people, for joining rows of two releases, or for cells of a handful of people."


def _part(share: float) -> str:
    return f"{share:.0%}" if share >= 0.0995 else f"{share:.1%}" if share >= 0.0005 else "less than 0.1%"
