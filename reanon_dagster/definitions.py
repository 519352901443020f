"""The Dagster definitions: assets, checks, job, schedule and sensor of every series that is found."""

import logging
from pathlib import Path

import dagster as dg

from reanon_core.model.errors import ReanonError
from reanon_dagster.asset_checks.standalone.audit import build_audit
from reanon_dagster.asset_checks.standalone.on_time import build_on_time, on_time_schedule
from reanon_dagster.assets.described import described_assets
from reanon_dagster.assets.release import build_release
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.automation import cadence_schedule, landing_sensor, release_job
from reanon_dagster.series.discovery import find_series
from reanon_dagster.series.series_file import load_series

CHECKOUT = Path(__file__).parents[1]
ROOT = CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else Path.cwd()
"""Where `data/` is: in a checkout beside this package; installed from a wheel, in the folder that Dagster runs in."""
LOG = logging.getLogger("reanon")


def series_definitions(path: Path) -> dg.Definitions:
    """The definitions of one series file.

    Raises: every error of ours.
    """
    assets = SeriesAssets(load_series(path))
    job = release_job(assets)
    schedule = cadence_schedule(assets, job)
    check_jobs, check_schedules = on_time_schedule(assets)
    return dg.Definitions(
        assets=[build_release(assets), *described_assets(assets)],
        asset_checks=[build_audit(assets), *build_on_time(assets)],
        jobs=[job, *check_jobs],
        schedules=[*([schedule] if schedule else []), *check_schedules],
        sensors=[landing_sensor(assets, job)],
    )


def broken_definitions(path: Path, error: ReanonError) -> dg.Definitions:
    """An asset in place of an invalid series file, which shows its errors; other series are not affected."""
    name = "".join(letter if letter.isalnum() else "_" for letter in path.parent.name)
    spec = dg.AssetSpec(
        dg.AssetKey([name, "broken"]),
        group_name=name,
        description=f"**{path.parent.name}/{path.name} is invalid and was not loaded.**\n\n"
        + "\n".join(f"- {sentence}" for sentence in error.redacted().splitlines()),
    )
    return dg.Definitions(assets=[spec])


def build_definitions(root: Path = ROOT) -> dg.Definitions:
    """All series under data/ and in REANON_SERIES; the errors of all invalid files are reported together."""
    loaded, problems = [], []
    seen: set[dg.AssetKey] = set()
    for path in find_series(root):
        try:
            definitions = series_definitions(path)
        except ReanonError as error:
            problems += [f"{path.parent.name}: {sentence}" for sentence in error.redacted().splitlines()]
            definitions = broken_definitions(path, error)
        keys = {key for asset in definitions.assets or () for key in _keys(asset)}
        if keys & seen:
            problems.append(f"{path.parent.name}: another series has the same name; rename one of the two")
            continue
        seen |= keys
        loaded.append(definitions)
    if problems:
        LOG.error("invalid series files:\n%s", "\n".join(problems))
    return dg.Definitions.merge(*loaded, dg.Definitions(executor=dg.in_process_executor))


def _keys(asset: object) -> set[dg.AssetKey]:
    if isinstance(asset, dg.AssetsDefinition):
        return set(asset.keys)
    return {asset.key} if isinstance(asset, dg.AssetSpec) else set()


defs = build_definitions()
