"""The assets that a release describes: `snapshot`, `state` and `evidence`, which no step of their own makes.

A backfill never runs an asset that depends on itself together with others, so `release` stands alone and fills the
partitions of these with what it knows (docs/decisions/0011-one-asset-for-a-release.md).
"""

import json
import time
from collections.abc import Iterable, Iterator, Sequence

import dagster as dg

from reanon_dagster.assets.metadata import (
    Metadata,
    evidence_metadata,
    release_metadata,
    snapshot_metadata,
    state_metadata,
)
from reanon_dagster.assets.series_assets import SeriesAssets, code_references
from reanon_dagster.releasing.evidence import evidence_of
from reanon_dagster.releasing.judged_candidate import Progress
from reanon_dagster.series.series import Series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.records import ReleaseRecord
from reanon_dagster.storage.series_store import read_state_summary

SNAPSHOT = """
The table of people at one time, as the source has it: private. Nothing of it is stored here. release reads it,
checks it and records here how many people it has. Once its release is published a snapshot is frozen: any other is
refused.
"""
STATE = """
What the series remembers after a release, so that the next one gives no one away: private, in the store. Each
release depends on the state of the release before. release writes it, in the same transaction as the release; the
arrow from release to state cannot be drawn, because Dagster allows no circle between two assets.
"""
EVIDENCE = """
What the releases reveal and what they are worth: all releases so far are attacked together, with the strongest
background knowledge that the technique assumes, and the usefulness of this release is measured. Numbers only; no person
is named.
"""
DESCRIBED = ("snapshot", "state", "evidence")
DATA_VERSION = "dagster/data_version"
"""The tag in which Dagster keeps the data version of a materialization."""
WITHOUT_ATTACKS = "-ledger"
"""What the data version of evidence ends with that was taken from the ledger, and computed nothing."""


def described_assets(assets: SeriesAssets, upstream: Iterable[dg.AssetKey] = ()) -> list[dg.AssetSpec]:
    """The three assets, with the release's partitions; `snapshot` depends on what is upstream of it."""
    file = code_references(assets.file)
    return [
        assets.spec("snapshot", SNAPSHOT, kinds={assets.series.source.format}, metadata=file, deps=upstream),
        assets.spec("state", STATE, kinds={"duckdb"}, metadata=file),
        assets.spec("evidence", EVIDENCE, kinds={"python"}, deps=[assets.key("release")], metadata=file),
    ]


def data_version(record: ReleaseRecord) -> str:
    """The data version of a release, and of all that describes it: the digest of its manifest."""
    return record.manifest_digest


def release_description(assets: SeriesAssets, series: Series, records: Sequence[ReleaseRecord]) -> Metadata:
    """The metadata of the last of these releases."""
    with opened(series.private_folder, read_only=True) as connection:
        texts = store_reader.manifests(connection)[: len(records)]
    manifests = [json.loads(text) for _, text in texts]
    return release_metadata(series, records, manifests, assets.key("snapshot"))


def descriptions(
    assets: SeriesAssets, series: Series, record: ReleaseRecord, wanted: Iterable[str], progress: Progress | None
) -> Iterator[dg.AssetMaterialization]:
    """What the wanted ones of the three assets say of a release. Without `progress` nothing is attacked.

    Raises: every error of ours; whatever goes wrong in the attacks, after the other two.
    """
    if "snapshot" in wanted:
        yield _filled(assets, "snapshot", record, snapshot_metadata(record))
    if "state" in wanted:
        yield _filled(
            assets, "state", record, state_metadata(record, read_state_summary(series.private_folder, record.position))
        )
    if "evidence" not in wanted:
        return
    if progress is None:
        reason = {"attacks": "not run: materialize `release` again, or run `reanon audit`"}
        yield _filled(assets, "evidence", record, {**evidence_metadata(record, {}), **reason}, WITHOUT_ATTACKS)
        return
    began = time.perf_counter()
    found = evidence_metadata(record, evidence_of(series, record.release, progress=progress))
    yield _filled(assets, "evidence", record, {**found, "seconds of attacks": round(time.perf_counter() - began, 3)})


def _filled(
    assets: SeriesAssets, asset: str, record: ReleaseRecord, metadata: Metadata, version: str = ""
) -> dg.AssetMaterialization:
    return dg.AssetMaterialization(
        assets.key(asset),
        partition=assets.series.calendar.partition_key(record.release),
        metadata=metadata,
        tags={DATA_VERSION: f"{data_version(record)}{version}"},
    )


def known_version(instance: dg.DagsterInstance, asset: dg.AssetKey, partition: str) -> str | None:
    """The data version that Dagster has of a partition; None if it has none."""
    only = dg.AssetRecordsFilter(asset, asset_partitions=[partition])
    records = instance.fetch_materializations(only, limit=1).records
    event = records[0].asset_materialization if records else None
    return None if event is None else (event.tags or {}).get(DATA_VERSION)
