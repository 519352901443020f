"""The Dagster definitions: assets, checks, job, schedule and sensor of every series that is found, or of one."""

import logging
from collections.abc import Sequence
from pathlib import Path

import dagster as dg
from pydantic import Field

from reanon_core.model.errors import ReanonError
from reanon_dagster.asset_checks.standalone.audit import build_audit
from reanon_dagster.asset_checks.standalone.on_time import build_on_time, on_time_schedule
from reanon_dagster.assets.described import described_assets
from reanon_dagster.assets.release import build_release
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.automation import cadence_schedule, release_job, triggers
from reanon_dagster.ledger_sensor import ledger_job, ledger_sensor
from reanon_dagster.resources import ENVIRONMENT, SeriesEnvironment
from reanon_dagster.series.series_file import FILE, find_series, load_series

CHECKOUT = Path(__file__).parents[1]
ROOT = CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else Path.cwd()
"""Where `data/` is: in a checkout beside this package; installed from a wheel, in the folder that Dagster runs in."""
LOG = logging.getLogger("reanon")


def series_definitions(path: Path, environment: SeriesEnvironment = ENVIRONMENT) -> dg.Definitions:
    """The definitions of one series file.

    Raises: every error of ours.
    """
    assets = SeriesAssets(load_series(path), path)
    job = release_job(assets)
    schedule = cadence_schedule(assets, job)
    check_jobs, check_schedules = on_time_schedule(assets)
    return dg.Definitions(
        assets=[build_release(assets), *described_assets(assets)],
        asset_checks=[build_audit(assets), *build_on_time(assets)],
        jobs=[job, ledger_job(assets), *check_jobs],
        schedules=[*([schedule] if schedule else []), *check_schedules],
        sensors=[*triggers(assets, job), ledger_sensor(assets, job)],
        resources={"series_environment": environment},
    )


def broken_definitions(path: Path, errors: Sequence[str]) -> dg.Definitions:
    """An asset in place of an invalid series file, which shows its errors; other series are not affected."""
    name = path.parent.name if path.name == FILE else f"{path.parent.name}_{path.stem}"
    group = "".join(letter if letter.isalnum() else "_" for letter in name)
    spec = dg.AssetSpec(
        dg.AssetKey([group, "broken"]),
        group_name=group,
        description=f"**{path.parent.name}/{path.name} is invalid and was not loaded.**\n\n"
        + "\n".join(f"- {sentence}" for sentence in errors),
    )
    return dg.Definitions(assets=[spec])


def examined_definitions(
    path: Path, environment: SeriesEnvironment = ENVIRONMENT
) -> tuple[dg.Definitions, Sequence[str]]:
    """The definitions of a series file, or an asset in its place and the errors of the file."""
    try:
        return series_definitions(path, environment), []
    except ReanonError as error:
        errors = error.redacted().splitlines()
    except Exception as error:
        errors = [f"unexpected {type(error).__name__}; run `reanon validate` to see it"]
    return broken_definitions(path, errors), errors


def build_definitions(root: Path = ROOT, environment: SeriesEnvironment = ENVIRONMENT) -> dg.Definitions:
    """All series under data/ and in REANON_SERIES; the errors of all invalid files are reported together."""
    loaded, problems = [], []
    seen: set[dg.AssetKey] = set()
    for path in find_series(root):
        definitions, errors = examined_definitions(path, environment)
        problems += [f"{path.parent.name}: {sentence}" for sentence in errors]
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


@dg.definitions
def defs() -> dg.Definitions:
    """What `workspace.yaml` and `dg` load. Nothing is read before they do."""
    return build_definitions()


class SeriesComponent(dg.Component, dg.Model, dg.Resolvable):
    """A series in a `dg` project: the assets, checks, job, schedule and sensor that its series.yaml describes.

    An invalid series file becomes an asset that shows its errors, and other components are not affected.
    """

    series: str = Field(description="The series file, or its folder. A relative path starts in the component's folder.")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the series."""
        path = context.path / self.series
        path = path / FILE if path.is_dir() else path
        definitions, errors = examined_definitions(path)
        if errors:
            LOG.error("invalid series file %s/%s:\n%s", path.parent.name, path.name, "\n".join(errors))
        return definitions
