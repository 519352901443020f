"""What a test asks of a running Dagster: in GraphQL, as the UI does."""

import json
import subprocess
import time
import urllib.request
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

MODULE = "reanon_dagster.definitions"
REPOSITORY = "__repository__"
ENDED = {"COMPLETED", "COMPLETED_SUCCESS", "COMPLETED_FAILED", "FAILED", "CANCELED"}
RUN_ENDED = {"SUCCESS", "FAILURE", "CANCELED"}

LAUNCH = """mutation($params: LaunchBackfillParams!) { launchPartitionBackfill(backfillParams: $params) {
  __typename ... on LaunchBackfillSuccess { backfillId } ... on PythonError { message } } }"""
LAUNCH_RUN = """mutation($params: ExecutionParams!) { launchRun(executionParams: $params) {
  __typename ... on LaunchRunSuccess { run { runId } } ... on PythonError { message } } }"""
STATUS = """query($id: String!) { partitionBackfillOrError(backfillId: $id) {
  __typename ... on PartitionBackfill { status error { message } } } }"""
RUNS = """query($filter: RunsFilter!) { runsOrError(filter: $filter) {
  ... on Runs { results { runId status startTime endTime tags { key value } } } } }"""
FAILURE = """query($id: ID!) { logsForRun(runId: $id) { ... on EventConnection { events {
  ... on ExecutionStepFailureEvent { error { message stack } failureMetadata { description } } } } } }"""
CHECKS = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode { assetChecksOrError {
  ... on AssetChecks { checks { name } } } } } }"""
RESULTS = """query($key: AssetKeyInput!, $check: String!, $partition: String) {
  assetCheckExecutions(assetKey: $key, checkName: $check, partition: $partition, limit: 20) {
    runId status partition evaluation { severity description success targetMaterialization { runId } } } }"""
DEPENDENCIES = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  dependencies { asset { assetKey { path } } partitionMapping { className description } } } } }"""
PARTITIONS = """query($key: AssetKeyInput!) { assetNodeOrError(assetKey: $key) { ... on AssetNode {
  assetPartitionStatuses { ... on TimePartitionStatuses { ranges { status startKey endKey } } } } } }"""
OBSERVED = """query($key: AssetKeyInput!, $partitions: [String!]) { assetOrError(assetKey: $key) { ... on Asset {
  assetObservations(partitions: $partitions) { metadataEntries { label ... on TextMetadataEntry { text } } } } } }"""

T = TypeVar("T")


@dataclass(frozen=True)
class Run:
    """One run."""

    partition: str
    status: str
    start: float
    end: float
    id: str
    tags: dict[str, str]


@dataclass(frozen=True)
class CheckResult:
    """The answer of one check for one partition."""

    success: bool
    severity: str
    description: str
    run: str
    judged_materialization_of: str | None
    """The run that made the materialization to which the answer is tied."""


@dataclass(frozen=True)
class Server:
    """Where the webserver listens, and where the instance is."""

    port: int
    home: Path
    processes: tuple[subprocess.Popen[bytes], ...]

    @property
    def url(self) -> str:
        """The address of the UI."""
        return f"http://127.0.0.1:{self.port}"

    def ask(self, query: str, **variables: object) -> dict[str, Any]:
        """The answer to a GraphQL question, asked as the UI asks it."""
        body = json.dumps({"query": query, "variables": variables}).encode()
        request = urllib.request.Request(f"{self.url}/graphql", body, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=180) as answer:
            told = json.load(answer)
        assert not told.get("errors"), told["errors"]
        return dict(told["data"])

    def backfill_assets(self, series: str, partitions: Sequence[str]) -> str:
        """Launch an asset backfill of the releases, as the lineage page does; gives its id."""
        return self._launch(assetSelection=[{"path": [series, "release"]}], partitionNames=list(partitions))

    def backfill_job(self, series: str, partitions: Sequence[str]) -> str:
        """Launch a backfill of the job, as the job's own page does; gives its id."""
        selector = {"repositorySelector": where(), "partitionSetName": f"{series}_release_partition_set"}
        return self._launch(selector=selector, partitionNames=list(partitions))

    def _launch(self, **params: object) -> str:
        told = self.ask(LAUNCH, params=params)["launchPartitionBackfill"]
        assert told["__typename"] == "LaunchBackfillSuccess", told
        return str(told["backfillId"])

    def launch_run(self, series: str, tags: Mapping[str, str]) -> str:
        """Launch one run of a series' job with these tags; gives its id."""
        listed = [{"key": key, "value": value} for key, value in tags.items()]
        selector = {**where(), "jobName": f"{series}_release"}
        params = {"selector": selector, "runConfigData": "{}", "executionMetadata": {"tags": listed}}
        told = self.ask(LAUNCH_RUN, params=params)["launchRun"]
        assert told["__typename"] == "LaunchRunSuccess", told
        return str(told["run"]["runId"])

    def end_of(self, backfill: str, seconds: float) -> str:
        """The status with which a backfill ends."""

        def ended() -> str | None:
            told = self.ask(STATUS, id=backfill)["partitionBackfillOrError"]
            return told["status"] if told["status"] in ENDED else None

        return self.wait(ended, seconds, f"the backfill {backfill} to end")

    def end_of_run(self, run: str, seconds: float) -> Run:
        """A run when it has ended."""

        def ended() -> Run | None:
            (found,) = self.find_runs(runIds=[run])
            return found if found.status in RUN_ENDED else None

        return self.wait(ended, seconds, f"the run {run} to end")

    def runs(self, backfill: str) -> list[Run]:
        """The runs of a backfill in the order in which they began."""
        return self.find_runs(tags=[{"key": "dagster/backfill", "value": backfill}])

    def find_runs(self, **filters: object) -> list[Run]:
        """The runs that meet the filters, in the order in which they began."""
        listed = []
        for run in self.ask(RUNS, filter=filters)["runsOrError"]["results"]:
            tags = {tag["key"]: tag["value"] for tag in run["tags"]}
            begun, ended = run["startTime"] or 0.0, run["endTime"] or 0.0
            listed.append(Run(tags.get("dagster/partition", ""), run["status"], begun, ended, run["runId"], tags))
        return sorted(listed, key=lambda run: run.start)

    def failure(self, run: str) -> str:
        """What the one failed step of a run told the steward: a sentence, and no stack trace."""
        events = self.ask(FAILURE, id=run)["logsForRun"]["events"]
        (failed,) = [event for event in events if event]
        assert failed["error"] == {
            "message": f"reanon.Refusal: {failed['failureMetadata']['description']}\n",
            "stack": [],
        }
        return str(failed["failureMetadata"]["description"])

    def checks(self, series: str) -> list[str]:
        """The names of the checks of a series' releases."""
        told = self.ask(CHECKS, key={"path": [series, "release"]})["assetNodeOrError"]
        return [check["name"] for check in told["assetChecksOrError"]["checks"]]

    def check_result(self, series: str, check: str, partition: str) -> CheckResult:
        """The latest answer of a check for a partition."""
        key = {"path": [series, "release"]}
        told = self.ask(RESULTS, key=key, check=check, partition=partition)["assetCheckExecutions"]
        latest = next(one for one in told if one["evaluation"])
        answer, tied = latest["evaluation"], latest["evaluation"]["targetMaterialization"]
        return CheckResult(
            answer["success"], answer["severity"], answer["description"], latest["runId"], tied and tied["runId"]
        )

    def partition_ranges(self, series: str) -> list[tuple[str, str, str]]:
        """Status, first and last key of each range of a series' releases that is not missing."""
        told = self.ask(PARTITIONS, key={"path": [series, "release"]})["assetNodeOrError"]["assetPartitionStatuses"]
        return [(one["status"], one["startKey"], one["endKey"]) for one in told["ranges"]]

    def observed(self, series: str, partition: str) -> dict[str, str]:
        """What the page of a release's partition says beside its materializations."""
        told = self.ask(OBSERVED, key={"path": [series, "release"]}, partitions=[partition])["assetOrError"]
        entries = [entry for one in told["assetObservations"] for entry in one["metadataEntries"]]
        return {entry["label"]: entry["text"] for entry in entries if "text" in entry}

    def dependencies(self, series: str) -> dict[str, dict[str, str] | None]:
        """The assets that a release depends on, with the mapping of their partitions."""
        told = self.ask(DEPENDENCIES, key={"path": [series, "release"]})["assetNodeOrError"]["dependencies"]
        return {one["asset"]["assetKey"]["path"][-1]: one["partitionMapping"] for one in told}

    def wait(self, condition: Callable[[], T | None], seconds: float, what: str) -> T:
        """What the condition gives, as soon as it gives something; a failure that says what was waited for."""
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if (found := condition()) is not None:
                return found
            for process in self.processes:
                assert process.poll() is None, f"a process of the server ended while waiting for {what}\n{self.log()}"
            time.sleep(0.5)
        raise AssertionError(f"waited {seconds:.0f} s for {what}\n{self.log()}")

    def log(self) -> str:
        """The last lines of what the processes said."""
        texts = [path.read_text(errors="replace")[-3000:] for path in sorted(self.home.glob("*.log"))]
        return "\n".join(texts)


def where(location: str = MODULE) -> dict[str, str]:
    """A repository as GraphQL names it."""
    return {"repositoryName": REPOSITORY, "repositoryLocationName": location}
