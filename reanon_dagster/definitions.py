"""The Dagster definitions: assets, checks, job, schedule and sensor of every series that is found, or of one."""

import logging
import os
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import dagster as dg
import yaml
from pydantic import Field

from reanon_core.model.errors import InvalidParameter, Problem, ReanonError
from reanon_dagster.asset_checks.standalone.audit import build_audit
from reanon_dagster.asset_checks.standalone.on_time import build_on_time, on_time_schedule
from reanon_dagster.assets.described import described_assets
from reanon_dagster.assets.release import build_release
from reanon_dagster.assets.series_assets import SeriesAssets
from reanon_dagster.automation import cadence_schedule, release_job, triggers
from reanon_dagster.ledger_sensor import ledger_job, ledger_sensor
from reanon_dagster.resources import ENVIRONMENT, SeriesEnvironment
from reanon_dagster.series.series_file import FILE, find_series, load_series
from reanon_dagster.series.template import write_example

CHECKOUT = Path(__file__).parents[1]
ROOT = CHECKOUT if (CHECKOUT / "pyproject.toml").is_file() else Path.cwd()
"""Where `data/` is: in a checkout beside this package; installed from a wheel, in the folder that Dagster runs in."""
LOG = logging.getLogger("reanon")
STRICT = "REANON_STRICT"
"""With this variable an invalid series file fails the whole code location, and so `dg check defs`."""


def series_definitions(
    path: Path,
    environment: SeriesEnvironment = ENVIRONMENT,
    settings: Mapping[str, Any] | None = None,
    upstream: Iterable[dg.AssetKey] = (),
) -> dg.Definitions:
    """The definitions of one series file, or of settings in its place; `snapshot` depends on what is upstream of it.

    Raises: every error of ours.
    """
    assets = SeriesAssets(load_series(path, settings=settings), path if settings is None else None)
    job = release_job(assets)
    schedule = cadence_schedule(assets, job)
    check_jobs, check_schedules = on_time_schedule(assets)
    return dg.Definitions(
        assets=[build_release(assets), *described_assets(assets, upstream)],
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
        description=f"{path.parent.name}/{path.name} is invalid and was not loaded.\n\n"
        + "\n".join(f"- {sentence}" for sentence in errors),
    )
    return dg.Definitions(assets=[spec])


def examined_definitions(
    path: Path,
    environment: SeriesEnvironment = ENVIRONMENT,
    settings: Mapping[str, Any] | None = None,
    upstream: Iterable[dg.AssetKey] = (),
) -> tuple[dg.Definitions, Sequence[str]]:
    """The definitions of a series file, or an asset in its place and the errors of the file."""
    try:
        return series_definitions(path, environment, settings, upstream), []
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
    if problems and os.environ.get(STRICT):
        raise dg.DagsterInvalidDefinitionError("invalid series files:\n" + "\n".join(problems))
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


class SeriesScaffolder(dg.Scaffolder[Any]):
    """Writes a component with a small example that can be published at once."""

    def scaffold(self, request: dg.ScaffoldRequest[Any]) -> None:
        """Write defs.yaml, series.yaml, two snapshots and a taxonomy."""
        if request.scaffold_format != "yaml":
            raise InvalidParameter(Problem("--format", "be yaml", request.scaffold_format))
        write_example(request.target_path)
        component = {"type": request.type_name, "attributes": {"series": FILE}}
        (request.target_path / "defs.yaml").write_text(yaml.safe_dump(component, sort_keys=False), encoding="utf-8")


@dg.scaffold_with(SeriesScaffolder)
class SeriesComponent(dg.Component, dg.Model, dg.Resolvable):
    """A series in a `dg` project: the assets, checks, jobs, schedules and sensors that its series.yaml describes.

    An invalid series becomes an asset that shows its errors, and other components are not affected, unless `strict`.
    """

    series: str = Field(
        default=FILE, description="The series file, or its folder. A relative path starts in the component's folder."
    )
    settings: dict[str, Any] | None = Field(
        default=None, description="The settings of series.yaml, instead of the file. Paths start in the same folder."
    )
    upstream: list[str] = Field(
        default=[], description="The assets that snapshots come from, such as raw/patients: `snapshot` depends on them."
    )
    strict: bool = Field(default=False, description="Whether an invalid series fails the project (`dg check defs`).")

    def build_defs(self, context: dg.ComponentLoadContext) -> dg.Definitions:
        """The definitions of the series.

        Raises: DagsterInvalidDefinitionError if the series is invalid and `strict` is set.
        """
        path = context.path / self.series
        path = path / FILE if path.is_dir() else path
        upstream = [dg.AssetKey.from_user_string(key) for key in self.upstream]
        settings = None if self.settings is None else _as_written(self.settings)
        definitions, errors = examined_definitions(path, settings=settings, upstream=upstream)
        if errors and self.strict:
            raise dg.DagsterInvalidDefinitionError(f"{path.parent.name}/{path.name}:\n" + "\n".join(errors))
        if errors:
            LOG.error("invalid series file %s/%s:\n%s", path.parent.name, path.name, "\n".join(errors))
        return definitions


def _as_written(value: Any) -> Any:
    """Settings as a series file has them, in which every scalar is a text."""
    if isinstance(value, Mapping):
        return {str(key): _as_written(one) for key, one in value.items()}
    if isinstance(value, list):
        return [_as_written(one) for one in value]
    if isinstance(value, bool):
        return str(value).lower()
    return value if value is None else str(value)
