"""What the reports read of a series: releases, manifests and verdicts, and for the internal one also the ledger."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from reanon_core.model.errors import OutOfOrder
from reanon_core.model.history import Published
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import Schema
from reanon_core.model.verdict import Verdict
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.records import AcceptedDrift, Halt, Refusal, ReleaseRecord

if TYPE_CHECKING:
    from reanon_dagster.series.series import Series


@dataclass(frozen=True, eq=False)
class PublicRelease:
    """One release as it was published, with its manifest and those before: everything here is public."""

    published: Published
    schema: Schema
    manifest: Mapping[str, Any]
    earlier: Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class StoredReleases:
    """The releases up to one of them, with the truth behind each: private."""

    ledger: Ledger
    records: list[ReleaseRecord]
    manifests: list[dict[str, Any]]
    verdicts: list[Verdict]
    """Those of the latest of these releases."""
    refusals: list[Refusal]
    accepted: Mapping[str, Sequence[AcceptedDrift]]
    halts: Sequence[Halt]

    def made_with_the_parameters_of(self, series: "Series") -> bool:
        """Whether all releases were made with the parameters of today: only then their making can be read."""
        now = json.loads(json.dumps({"name": series.technique.name, **series.parameters}, default=str))
        return all(one["technique"] == now for one in self.manifests)


def public_release(series: "Series", records: Sequence[ReleaseRecord], release: str | None) -> PublicRelease:
    """A release and its manifests; only the release itself is read of the tables.

    Raises: OutOfOrder if it is not published.
    """
    place = _place(series, records, release)
    with opened(series.private_folder, read_only=True) as connection:
        schema = store_reader.known_schema(connection, series.schema)
        entry = store_reader.entry(connection, place, schema)
        texts = [json.loads(text) for _, text in store_reader.manifests(connection)[: place + 1]]
    return PublicRelease(Published(entry.release, entry.auxiliary), schema, texts[-1], texts[:-1])


def stored_releases(
    series: "Series", records: Sequence[ReleaseRecord], release: str | None, refusals: Mapping[str, Refusal]
) -> StoredReleases:
    """Everything about the releases up to this one, the latest if none is named.

    Raises: OutOfOrder if it is not published.
    """
    place = _place(series, records, release)
    with opened(series.private_folder, read_only=True) as connection:
        ledger = store_reader.ledger(connection, series.schema, place + 1)
        return StoredReleases(
            ledger,
            list(records[: place + 1]),
            [json.loads(text) for _, text in store_reader.manifests(connection)[: place + 1]],
            store_reader.verdicts(connection, place),
            list(refusals.values()),
            store_reader.accepted_drifts(connection),
            store_reader.halts(connection),
        )


def _place(series: "Series", records: Sequence[ReleaseRecord], release: str | None) -> int:
    if not records:
        raise OutOfOrder(
            f"{series.name}: nothing is published yet, so there is nothing to report; run `reanon publish`"
        )
    if release is None:
        return len(records) - 1
    series.calendar.index(release)
    place = next((record.position for record in records if record.release == release), None)
    if place is None:
        raise OutOfOrder(f"release {release} is not published yet, so there is nothing to report")
    return place
