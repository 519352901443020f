"""A series as a rehearsal sees it: records, state and memories in memory, nothing on the disk."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.protocols import Memory
from reanon_dagster.releasing.candidate import Candidate
from reanon_dagster.releasing.series_view import SeriesView
from reanon_dagster.storage import series_store
from reanon_dagster.storage.pseudonym_key import KEY_BYTES, pseudonym_key
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import KnownPast, StoreSummary, counted_among

if TYPE_CHECKING:
    from reanon_core.model.arrays import Int64
    from reanon_dagster.series.series import Series

NO_PAST = KnownPast((), ())


@dataclass(frozen=True, eq=False)
class RehearsalView(SeriesView):
    """What the store would know if the rehearsed releases were published."""

    scratch_key: bytes = b""
    scratch_past: KnownPast = NO_PAST
    scratch_state: Memory | None = None
    scratch_memories: Mapping[str, Memory] = field(default_factory=dict)
    scratch_persons: "Int64 | None" = None
    """The people in the table of the latest release."""

    @cached_property
    def key(self) -> bytes:
        """The key of the pseudonyms: that of the series if it has one, otherwise one that is never stored."""
        return self.scratch_key

    @cached_property
    def past(self) -> KnownPast:
        """What the next snapshot is compared with."""
        return self.scratch_past

    def state(self, folder: ColumnFolder | None = None) -> Memory | None:  # noqa: ARG002  a rehearsal is in memory
        """What the next plan builds on; None before the first release."""
        return self.scratch_state

    def memories(self, folder: ColumnFolder | None = None) -> Mapping[str, Memory]:  # noqa: ARG002
        """What each check builds on, by its name."""
        return self.scratch_memories

    def returning(self, persons: "Int64") -> tuple[int, int]:
        """How many people of the latest release's table are among these, which ascend; and how many it had."""
        return counted_among([] if self.scratch_persons is None else [self.scratch_persons], persons)

    def after(self, candidate: Candidate) -> "RehearsalView":
        """The view after this candidate, as if the gate had accepted it."""
        schema, table = candidate.entry.snapshot.schema, candidate.entry.snapshot.in_table()
        record = ReleaseRecord(
            position=candidate.position,
            release=candidate.release,
            input_digest=candidate.input_digest,
            candidate_digest=candidate.judged,
            manifest_digest="",
            people=candidate.people,
            withheld=sum(candidate.withheld.values()),
            seconds=candidate.seconds,
            query_error=candidate.query_error,
            relations=candidate.relations,
        )
        return RehearsalView(
            self.private_folder,
            replace(self.summary, records=[*self.records, record]),
            scratch_key=self.scratch_key,
            scratch_past=KnownPast(schema.sensitive.values, schema.other_values),
            scratch_state=candidate.state,
            scratch_memories=candidate.memories,
            scratch_persons=table.persons,
        )


def first_view(series: "Series", seed: int | None) -> RehearsalView:
    """The view before the first release. Where people are forgotten they stay so, which needs the key of the series.

    Raises: Refused if the store or the key cannot be read.
    """
    folder = series.private_folder
    known = series_store.read_summary(folder)
    key = secrets.token_bytes(KEY_BYTES) if seed is None else np.random.default_rng(seed).bytes(KEY_BYTES)
    if known.marks:
        key = pseudonym_key(folder, known.frozen.get("key"))
    return RehearsalView(folder, StoreSummary(marks=known.marks), scratch_key=key)
