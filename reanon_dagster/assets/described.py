"""The assets that a release describes: `snapshot`, `state` and `evidence`, which no step of their own makes.

A backfill never runs an asset that depends on itself together with others, so `release` stands alone and fills the
partitions of these with what it knows (docs/decisions/0011-one-asset-for-a-release.md).
"""

import dagster as dg

from reanon_dagster.assets.series_assets import SeriesAssets, code_references

SNAPSHOT = """
The table of people at one time, as the source has it: **private**. Nothing of it is stored here. `release` reads it,
checks it and records here how many people it has. Once its release is published a snapshot is frozen: any other is
refused.
"""
STATE = """
What the series remembers after a release, so that the next one gives no one away: **private**, in the store. Each
release depends on the state of the release before. `release` writes it, in the same transaction as the release; the
arrow from `release` to `state` cannot be drawn, because Dagster allows no circle between two assets.
"""
EVIDENCE = """
What the releases reveal and what they are worth: all releases so far are attacked together, with the strongest
background knowledge that the technique assumes, and the usefulness of this release is measured. Numbers only; no person
is named.
"""


def described_assets(assets: SeriesAssets) -> list[dg.AssetSpec]:
    """The three assets, with the release's partitions."""
    file = code_references(assets.file)
    return [
        assets.spec("snapshot", SNAPSHOT, kinds={assets.series.source.format}, metadata=file),
        assets.spec("state", STATE, kinds={"duckdb"}, metadata=file),
        assets.spec("evidence", EVIDENCE, kinds={"python"}, deps=[assets.key("release")], metadata=file),
    ]
