"""Making releases through the assets, in process."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

import dagster as dg

from reanon_dagster.definitions import series_definitions
from reanon_dagster.expectations.data_docs import write_data_docs
from reanon_dagster.releasing import release_suites
from reanon_dagster.series.series_file import load_series

FILLED = ("snapshot", "state", "evidence")
"""The assets that `release` describes."""
QUIET = {"loggers": {"console": {"config": {"log_level": "CRITICAL"}}}}


@dataclass(frozen=True)
class Maker:
    """The assets of one series on one instance."""

    path: Path
    instance: dg.DagsterInstance
    loud: bool = False
    """Whether Dagster says on the console what it does."""
    documented: bool = False
    """Whether the pages of Data Docs are written, which would cost more than a small release itself."""

    @property
    def name(self) -> str:
        """The series' name as Dagster allows it."""
        return load_series(self.path).name.replace("-", "_")

    def make(self, release: str, config: dict[str, object] | None = None) -> dg.ExecuteInProcessResult:
        """Materialize a release and give what happened; a failure is an answer too."""
        job = series_definitions(self.path).resolve_job_def(f"{self.name}_release")
        with patch.object(release_suites, "write_data_docs", self._write_data_docs):
            return job.execute_in_process(
                partition_key=load_series(self.path).calendar.partition_key(release),
                instance=self.instance,
                run_config={
                    **({} if self.loud else QUIET),
                    "ops": {f"{self.name}__release": {"config": config or {}}},
                },
                raise_on_error=False,
            )

    def _write_data_docs(self, folder: Path, *told: Any) -> tuple[Path, set[str]]:
        return write_data_docs(folder, *told) if self.documented else (folder / "index.html", set())

    def refusal(self, release: str) -> str:
        """The sentence with which a release is refused."""
        result = self.make(release)
        assert not result.success, f"{release} was not refused"
        return said(result)

    def key(self, asset: str) -> dg.AssetKey:
        """The key of an asset."""
        return dg.AssetKey([self.name, asset])

    def made(self, asset: str) -> list[str]:
        """The partitions of an asset's materializations, the oldest first."""
        records = self.instance.fetch_materializations(self.key(asset), limit=100).records
        return [str(record.partition_key) for record in reversed(records)]

    def metadata(self, asset: str) -> dict[str, dg.MetadataValue]:
        """The metadata of an asset's latest materialization."""
        event = self.instance.get_latest_materialization_event(self.key(asset))
        assert event is not None
        assert event.asset_materialization is not None
        return dict(event.asset_materialization.metadata)


def said(result: dg.ExecuteInProcessResult) -> str:
    """What a failed step told the steward."""
    failures = [event.step_failure_data for event in result.all_node_events if event.is_step_failure]
    assert len(failures) == 1
    told = failures[0].user_failure_data
    assert told is not None, f"no sentence of ours: {failures[0].error_display_string}"
    return str(told.description)


def checked(result: dg.ExecuteInProcessResult) -> dict[str, bool]:
    """The checks that a run has recorded, by name."""
    return {one.check_name: one.passed for one in result.get_asset_check_evaluations()}


def severities(result: dg.ExecuteInProcessResult) -> dict[str, str]:
    """How bad the checks are that did not pass, by name."""
    return {one.check_name: one.severity.value for one in result.get_asset_check_evaluations() if not one.passed}
