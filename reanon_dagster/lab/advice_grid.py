"""A small grid: the techniques that apply, with a few parameters, on the real snapshots, each for a bounded time."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.catalog import TECHNIQUES
from reanon_core.model.errors import ReanonError
from reanon_core.protocols import Fit
from reanon_dagster.lab.applicability import Applicability, TableFacts
from reanon_dagster.lab.projection import no_projection
from reanon_dagster.lab.rehearsal import Reader, Rehearsal, RehearsalView, RehearsedRelease, projected_releases
from reanon_dagster.releasing.judged_candidate import Progress, silent
from reanon_dagster.releasing.snapshot_intake import read_release
from reanon_dagster.series.config import Publish, TechniqueConfig
from reanon_dagster.series.series import build_technique
from reanon_dagster.sources.snapshot_reader import Read

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series

TRIED = (2, 3, 5, 10, 20)
"""The numbers of values that are tried, beside the largest possible one and that of the series file."""
MOST_TRIED = 3
VALUES = ("m", "ell")
"""What techniques call the number of values that everyone is hidden among."""
MANY_WITHHELD = 0.2
"""The share of people from which on a release that withholds them counts as the end of a series."""
SMALLEST_TABLE = 100
"""The least number of people in a table from which on k = 10 people may share a box; half of that for k = 5."""

Reads = Callable[[str, "Series", RehearsalView], Read]


@dataclass(frozen=True)
class Cell:
    """One technique with its parameters, in one form."""

    technique: str
    among: int
    """The number of values that everyone is hidden among."""
    parameters: Mapping[str, object]
    k: int | None = None
    """The people who share a box in the decoupled form; None for boxes."""

    def series(self, series: "Series") -> "Series":
        """The series with this technique in this form."""
        technique = TechniqueConfig(name=self.technique, **self.parameters)
        config = series.config.model_copy(update={"technique": technique, "publish": self.publish(series)})
        return replace(series, config=config)

    def publish(self, series: "Series") -> Publish:
        """What `publish` in the series file would say."""
        kept = series.config.publish.model_dump(exclude_unset=True, exclude={"form", "k"})
        if self.k is not None:
            return Publish(**kept, form="decoupled", k=self.k)
        # Boxes are named where a technique has another form, which may be its default.
        return Publish(**kept, form="boxes") if TECHNIQUES[self.technique].declaration.decouples else Publish(**kept)

    @property
    def text(self) -> str:
        """The technique with its parameters, in one line."""
        listed = ", ".join(f"{key} = {value}" for key, value in self.parameters.items())
        return f"{self.technique}, {listed}"


@dataclass(frozen=True)
class Horizon:
    """The release at which a series with these parameters ends, or stops being of use."""

    release: str
    projected: bool
    why: str
    redacted: str
    """Without any value of the data."""


@dataclass(frozen=True)
class Measured:
    """What a cell of the grid costs on the snapshots."""

    cell: Cell
    releases: tuple[RehearsedRelease, ...]
    on_disk: int
    """How many snapshots there are."""
    exposed: int

    @property
    def published(self) -> tuple[RehearsedRelease, ...]:
        """The releases on the disk that would be published."""
        return tuple(one for one in self.releases if one.published and not one.projected)

    @property
    def query_error(self) -> float | None:
        """The mean query error."""
        return _mean(one.utility.error for one in self.published)

    @property
    def relations(self) -> float | None:
        """The mean share of the relations that is kept."""
        return _mean(one.utility.relations for one in self.published)

    @property
    def lost(self) -> float | None:
        """The greatest share of the people with one value who are lost in any release."""
        return max((one.utility.lost for one in self.published if one.utility.lost is not None), default=None)

    @property
    def counterfeits(self) -> float:
        """Counterfeits of a release, on average."""
        return float(np.mean([one.counterfeits for one in self.published])) if self.published else 0.0

    @property
    def withheld(self) -> float:
        """Withheld people of a release, on average."""
        return float(np.mean([sum(one.withheld.values()) for one in self.published])) if self.published else 0.0

    @property
    def horizon(self) -> Horizon | None:
        """The first release that is refused, holds more counterfeits than people, or withholds many; None if none."""
        for one in self.releases:
            why = redacted = ""
            if not one.published:
                last = one.obstacles[-1]
                why, redacted = f"refused: {last.sentence}", f"refused: {last.redacted}"
            elif one.counterfeits > one.people:
                why = redacted = f"cascade: {one.counterfeits:,} counterfeits for {one.people:,} people"
            elif sum(one.withheld.values()) > MANY_WITHHELD * one.people:
                why = redacted = f"{sum(one.withheld.values()):,} of {one.people:,} people are withheld"
            if why:
                return Horizon(one.release, one.projected, why, redacted)
        return None

    @property
    def complete(self) -> bool:
        """Whether every snapshot was tried."""
        return len(self.published) == self.on_disk

    @property
    def works(self) -> bool:
        """Whether no snapshot that was tried ends the series."""
        return bool(self.published) and (self.horizon is None or self.horizon.projected)


def _mean(measured: Iterable[float | None]) -> float | None:
    """The mean of those that are known."""
    known = [number for number in measured if number is not None]
    return float(np.mean(known)) if known else None


def numbers_tried(largest: int, least: int, own: int | None) -> list[int]:
    """A few numbers of values up to the largest possible one, which is among them, as is that of the file."""
    listed = [among for among in TRIED if least <= among < largest]
    chosen = {largest} | ({own} if own is not None and least <= own <= largest else set())
    for among in reversed(listed):
        if len(chosen) >= MOST_TRIED:
            break
        chosen.add(among)
    return sorted(chosen)


def cells(series: "Series", facts: TableFacts, found: Sequence[Applicability]) -> list[Cell]:
    """The grid: every technique that applies, a few numbers of values, and both forms."""
    own = asked(series)
    bound = max(facts.largest_m if facts.largest_m >= 2 else facts.fewest_values, own or 0)
    k = series.config.publish.k if series.form == "decoupled" else shared_box(facts)
    grid: list[Cell] = []
    for one in found:
        if not one.applies or one.fit is None:
            continue
        declared = TECHNIQUES[one.technique].declaration
        numbers = numbers_tried(max(min(one.largest, bound), one.fit.least), one.fit.least, own)
        if own is not None and numbers[-1] < own <= facts.fewest_values:
            numbers.append(own)
        forms = (None, k) if declared.decouples and k is not None else (None,)
        grid += [
            Cell(one.technique, among, _with_own(series, one, one.fit.parameters(among)), form)
            for among in numbers
            for form in forms
        ]
    return grid


def _with_own(series: "Series", one: Applicability, parameters: Mapping[str, object]) -> dict[str, object]:
    """The parameters, what the table needs, and what else the file sets if it names this technique already."""
    needed = {**parameters, **one.additions}
    written = series.config.technique
    if written.name != one.technique or one.fit is None:
        return needed
    values = _number_of_values(one.fit)
    counts = {key for key, value in one.fit.parameters(3).items() if one.fit.parameters(9)[key] != value}
    kept = {key: value for key, value in written.params.items() if key not in counts}
    # No other number, such as that of the people in a group, becomes less than the file asks for.
    for key in counts - {values}:
        if isinstance(asked_for := written.params.get(key), int):
            kept[key] = max(asked_for, int(str(needed[key])))
    try:
        build_technique(TechniqueConfig(name=one.technique, **{**needed, **kept, **one.additions}), series.background)
    except ReanonError:  # what the file sets excludes one of these, such as p excludes n
        return needed
    return {**needed, **kept, **one.additions}


def resized(cell: Cell, among: int) -> Cell:
    """The same cell with another number of values."""
    fit = TECHNIQUES[cell.technique].declaration.fit
    if fit is None:
        raise AssertionError("a technique without a fit is in no grid")
    counts = {key: value for key, value in fit.parameters(among).items() if key in cell.parameters}
    moving = {key: value for key, value in counts.items() if fit.parameters(3)[key] != fit.parameters(9)[key]}
    return replace(cell, among=among, parameters={**cell.parameters, **moving})


def asked(series: "Series") -> int | None:
    """The number of values that the series file asks for; None if its technique counts none."""
    fit = series.technique.declaration.fit
    number = None if fit is None else series.parameters.get(_number_of_values(fit))
    return number if isinstance(number, int) and number >= 2 else None


def _number_of_values(fit: Fit) -> str:
    """The parameter that is the number of values: m, or ell where k is the number of people."""
    few, many = fit.parameters(3), fit.parameters(9)
    following = [key for key in few if (few[key], many[key]) == (3, 9)]
    return next((key for key in following if key in VALUES), following[0])


def shared_box(facts: TableFacts) -> int | None:
    """How many people may share a box in the decoupled form; None if the smallest table has too few people."""
    fewest = min(facts.people)
    return 10 if fewest >= SMALLEST_TABLE else 5 if fewest >= SMALLEST_TABLE // 2 else None


def measured_cells(
    series: "Series",
    names: Sequence[str],
    grid: Sequence[Cell],
    *,
    seed: int,
    seconds: float,
    ahead: int,
    progress: Progress = silent,
) -> Iterator[Measured]:
    """Run each cell on the snapshots until its share of the CPU time is spent; one release at least."""
    reads = shared_reads()
    end = time.process_time() + seconds
    for number, cell in enumerate(grid):
        share = (end - time.process_time()) / (len(grid) - number)
        told = _told(f"{number + 1} of {len(grid)}: {cell.text}", progress)
        yield _measured(cell.series(series), cell, names, reads, seed, share, ahead, told)


def whole_cell(
    series: "Series", names: Sequence[str], one: Measured, *, seed: int, ahead: int, progress: Progress = silent
) -> Measured:
    """The same cell on every snapshot and in the projection, however long that takes."""
    return _measured(one.cell.series(series), one.cell, names, shared_reads(), seed, float("inf"), ahead, progress)


def _measured(
    series: "Series",
    cell: Cell,
    names: Sequence[str],
    reads: Reads,
    seed: int,
    seconds: float,
    ahead: int,
    progress: Progress,
) -> Measured:
    began = time.process_time()
    rehearsal = Rehearsal(series, seed=seed, attacked=False, patient=False)
    releases: list[RehearsedRelease] = []
    for name in names:
        try:
            outcome = rehearsal.release(name, _reader(reads, name, series), progress=progress)
        except ReanonError as error:  # a technique may find only here that it cannot work with such a table
            outcome = rehearsal.failed(name, error)
        releases.append(outcome)
        ended = Measured(cell, tuple(releases), len(names), 0).horizon is not None
        if ended or time.process_time() - began > seconds:
            break
    tables = [entry.snapshot.in_table() for entry in rehearsal.entries]
    whole = len(releases) == len(names) and not ended
    if whole and time.process_time() - began <= seconds and no_projection(series, tables) is None:
        rng = np.random.default_rng(seed)
        releases += projected_releases(rehearsal, names[-1], ahead, rng, progress=progress)
    return Measured(cell, tuple(releases), len(names), rehearsal.exposed() if rehearsal.entries else 0)


def shared_reads() -> Reads:
    """Reads every snapshot once for all cells, and once more for techniques that answer queries."""
    known: dict[tuple[str, bool], Read] = {}

    def read(name: str, series: "Series", view: RehearsalView) -> Read:
        key = (name, series.technique.declaration.answers_queries)
        if key not in known:
            known[key] = read_release(series, view, name)
        return known[key]

    return read


def _reader(reads: Reads, name: str, series: "Series") -> Reader:
    return lambda view: reads(name, series, view)


def _told(what: str, progress: Progress) -> Progress:
    return lambda step: progress(f"{what}: {step}")
