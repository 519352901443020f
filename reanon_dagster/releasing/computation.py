"""How a release is computed: in memory, or in a private folder of columns, part by part."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.tables import Room
from reanon_core.judgement import judge
from reanon_core.model.ledger import Entry
from reanon_core.model.publication import Publication
from reanon_core.model.verdict import Verdict
from reanon_core.protocols import Check, Memory
from reanon_core.publishing import PartitionedTechnique, publish, publish_in_parts
from reanon_core.threads import thread_limit
from reanon_dagster.engines.scratch import scratch_folder, sweep
from reanon_dagster.engines.series_engine import engine_for, scratch_place
from reanon_dagster.releasing.memory_need import PartSizes, part_sizes
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.releasing.snapshot_intake import read_release, read_release_columns
from reanon_dagster.sources.snapshot_reader import Read

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from reanon_dagster.series.series import Series


@dataclass(frozen=True)
class InMemory:
    """A release whose tables are arrays in memory."""

    series: "Series"

    def read(self, view: SeriesView, release: str) -> Read:
        """The snapshot of a release.

        Raises: InvalidSnapshot; Refused if the release does not fit into memory.
        """
        return read_release(self.series, view, release)

    def state(self, view: SeriesView) -> Memory | None:
        """The state; None before the first release."""
        return view.state()

    def memories(self, view: SeriesView) -> "Mapping[str, Memory]":
        """What the checks remember."""
        return view.memories()

    def publication(self, read: Read, state: Any, rng: np.random.Generator) -> Publication[Any]:
        """The release, and what follows from it.

        Raises: Unpublishable.
        """
        with thread_limit(self.series.config.threads):
            return publish(self.series.technique, read.snapshot, state, rng)

    def verdicts(
        self, checks: "Sequence[Check]", entry: Entry, memories: "Mapping[str, Memory]"
    ) -> tuple[tuple[Verdict, ...], dict[str, Memory]]:
        """Every check's verdict, and what it will remember."""
        return judge(checks, entry, memories)


@dataclass(frozen=True)
class InParts:
    """A release whose tables are columns on disk. Arrays that are mapped from them outlive the folder."""

    series: "Series"
    folder: ColumnFolder
    sizes: PartSizes

    def read(self, view: SeriesView, release: str) -> Read:
        """The snapshot of a release.

        Raises: InvalidSnapshot.
        """
        return read_release_columns(self.series, view, release, self.folder, self.sizes.chunk_rows)

    def state(self, view: SeriesView) -> Memory | None:
        """The state; None before the first release."""
        return view.state(self.folder)

    def memories(self, view: SeriesView) -> "Mapping[str, Memory]":
        """What the checks remember."""
        return view.memories(self.folder)

    def publication(self, read: Read, state: Any, rng: np.random.Generator) -> Publication[Any]:
        """The release, and what follows from it.

        Raises: Unpublishable; EngineUnavailable.
        """
        technique: Any = self.series.technique
        if not isinstance(technique, PartitionedTechnique):
            raise TypeError(f"{technique} can be computed in memory only")
        with (
            thread_limit(self.series.config.threads),
            engine_for(self.series, self.folder, self.sizes.chunk_rows) as engine,
        ):
            return publish_in_parts(technique, read.snapshot, state, rng, engine)

    def verdicts(
        self, checks: "Sequence[Check]", entry: Entry, memories: "Mapping[str, Memory]"
    ) -> tuple[tuple[Verdict, ...], dict[str, Memory]]:
        """Every check's verdict, and what it will remember."""
        return judge(checks, entry, memories, Room(self.sizes.judges, self.folder))


Computation = InMemory | InParts


@contextmanager
def computation(series: "Series", release: str) -> Iterator[Computation]:
    """How the next release of the series is computed; its folder is deleted at the end, those of the killed at once.

    Raises: Refused if the release neither fits into memory nor can be computed in parts.
    """
    sweep(scratch_place(series))
    rows = series.source.rows(series.folder, release)
    guess = series.source.most_rows(series.folder, release) if rows is None else None
    sizes = part_sizes(series, rows, guess)
    if sizes is None:
        yield InMemory(series)
        return
    with scratch_folder(scratch_place(series)) as path:
        yield InParts(series, ColumnFolder(str(path)), sizes)
