"""The settings of a Spark session, and the files that carry them."""

from pathlib import Path

import pytest

from reanon_dagster.engines.spark_settings import SparkFolders, master_addresses, properties, spark_settings
from reanon_dagster.series.engine_config import Spark

FOLDERS = SparkFolders(Path("/private/run/spark"))
LOCAL = Spark(master="local[2]", memory_limit="6GB")
CLUSTER = Spark(master="spark://a.example:7077,b.example:7078", cores=3, executors=4, secret="s", memory_limit="500MB")


def settings(config: Spark, **environment: str) -> dict[str, str]:
    return spark_settings(config, FOLDERS, "hush", environment)


@pytest.mark.parametrize("config", [LOCAL, CLUSTER])
def test_a_session_authenticates_encrypts_and_shows_nothing(config):
    found = settings(config)
    on = ("spark.authenticate", "spark.network.crypto.enabled", "spark.io.encryption.enabled")
    off = (
        "spark.ui.enabled",
        "spark.ui.showConsoleProgress",
        "spark.eventLog.enabled",
        "spark.master.rest.enabled",
        "spark.network.crypto.saslFallback",
    )
    assert {found[key] for key in on} == {"true"}
    assert {found[key] for key in off} == {"false"}
    assert found["spark.authenticate.secret"] == "hush"
    assert found["spark.local.dir"].startswith("/private/run/spark/")


def test_a_local_run_begins_a_task_again_and_listens_on_loopback_only():
    found = settings(LOCAL)
    assert found["spark.master"] == "local[2,4]"
    assert found["spark.driver.bindAddress"] == found["spark.driver.host"] == "127.0.0.1"
    assert master_addresses(LOCAL) == []


def test_a_cluster_reserves_cores_and_memory():
    found = settings(CLUSTER)
    assert (found["spark.executor.cores"], found["spark.cores.max"]) == ("3", "12")
    assert found["spark.executor.memory"] == "1024m"
    assert "spark.driver.host" not in found
    assert settings(LOCAL)["spark.executor.memory"] == "5722m"
    assert master_addresses(CLUSTER) == [("a.example", 7077), ("b.example", 7078)]


def test_the_tasks_of_an_executor_share_its_memory():
    assert LOCAL.task_memory(machine_cores=8) == 3_000_000_000
    assert Spark(master="local[*]", memory_limit="8GB").task_memory(machine_cores=4) == 2_000_000_000
    assert CLUSTER.task_memory(machine_cores=8) == 500_000_000 // 3


def test_workers_get_single_threads_and_of_the_environment_only_what_they_need():
    found = settings(LOCAL, PYTHONPATH="/code", CLINIC_DSN="password=1", NUMBA_CACHE_DIR="")
    handed = {key.removeprefix("spark.executorEnv."): value for key, value in found.items() if "executorEnv" in key}
    assert handed == {"PYTHONPATH": "/code"} | dict.fromkeys(
        ("NUMBA_NUM_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1"
    )


def test_a_setting_of_two_lines_is_an_error():
    with pytest.raises(ValueError, match="one line"):
        properties({"spark.a": "b\nspark.ui.enabled true"})


def test_letters_that_java_reads_otherwise_are_escaped():
    assert properties({"spark.a": "x = ü"}) == "spark.a x\\ \\=\\ \\u00fc\n"
