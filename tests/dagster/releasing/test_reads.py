"""How often a command, a Dagster release and the sensor unpack the series' memory and read a snapshot."""

import shutil
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import dagster as dg
import pytest
from builders.assets import Maker
from builders.series import lively, write_series

from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.sources import snapshot_reader
from reanon_dagster.storage import memory_tables

COUNTED: dict[str, tuple[ModuleType, str]] = {
    "state": (memory_tables, "read_state"),
    "memories": (memory_tables, "read_memories"),
    "table": (snapshot_reader, "read_table"),
    "coding": (snapshot_reader, "coded_columns"),
}
"""What is counted: unpacking the state, unpacking the checks' memories, parsing a snapshot, coding it."""


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    counts: Counter[str] = Counter()

    def counting(name: str, function: Callable[..., object]) -> Callable[..., object]:
        def counted(*given: object, **named: object) -> object:
            counts[name] += 1
            return function(*given, **named)

        return counted

    for name, (module, function) in COUNTED.items():
        monkeypatch.setattr(module, function, counting(name, getattr(module, function)))
    return counts


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a series with two releases published, and the snapshots of three more. Tests work on copies."""
    path = write_series(tmp_path_factory.mktemp("published"), snapshots=lively())
    assert main(["backfill", str(path), "--to", "r2", "--quiet"]) == 0
    return path.parent


@pytest.fixture
def series(published: Path, tmp_path: Path) -> Path:
    """The file of such a series, for one test alone."""
    return Path(shutil.copytree(published, tmp_path / "series")) / "series.yaml"


@pytest.mark.parametrize(
    ("command", "expected"),
    [
        (["publish"], {"state": 1, "memories": 1, "table": 1, "coding": 1}),
        (["publish", "--release", "r3"], {"state": 1, "memories": 1, "table": 1, "coding": 1}),
        (["publish", "--data-docs"], {"state": 1, "memories": 1, "table": 2, "coding": 1}),  # the pages' own look
        (["publish", "--release", "r2"], {}),  # the latest again: a file's digest is enough
        (["backfill"], {"state": 3, "memories": 3, "table": 3, "coding": 3}),  # three releases
        (["validate"], {"state": 1, "memories": 1, "table": 1, "coding": 1}),
        (["status"], {}),
        (["trace", "--release", "r2", "--out", "traced.parquet"], {"table": 1}),  # the ids alone
        (["audit", "--attack", "intersection"], {}),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_reads_each_thing_once_and_only_what_it_uses(
    series: Path,
    reads: Counter[str],
    command: list[str],
    expected: dict[str, int],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    monkeypatch.chdir(tmp_path)
    reads.clear()
    assert main([command[0], str(series), *command[1:], "--quiet"]) == 0
    assert dict(reads) == expected


def test_a_first_release_unpacks_nothing(tmp_path: Path, reads: Counter[str]) -> None:
    assert main(["publish", str(write_series(tmp_path, snapshots=lively(1))), "--quiet"]) == 0
    assert dict(reads) == {"table": 1, "coding": 1}


def test_a_release_in_dagster_reads_each_thing_once_and_its_table_again_for_data_docs(
    series: Path, reads: Counter[str]
) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(series, instance)
        reads.clear()
        assert maker.make("r3").success
    assert dict(reads) == {"state": 1, "memories": 1, "table": 2, "coding": 1}  # Data Docs look at the table themselves


def test_the_sensor_reads_records_only(series: Path, reads: Counter[str]) -> None:
    repository = series_definitions(series).get_repository_def()
    reads.clear()
    with dg.DagsterInstance.ephemeral() as instance:
        resources = repository.get_top_level_resources()
        context = dg.build_sensor_context(instance, repository_def=repository, resources=resources)
        tick = repository.get_sensor_def("clinic_snapshot_landed").evaluate_tick(context)
    assert [request.partition_key for request in tick.run_requests or []] == ["r3"]
    assert dict(reads) == {}
