"""The engine that a series names, and the sentences where something that it needs is missing."""

import stat
import sys

import pytest
from builders.deployment import free_port
from builders.series import HOSPITAL, writer
from builders.spark import needs_spark

from reanon_core.engine.column_folder import ColumnFolder
from reanon_core.engine.engine import EmbeddedEngine
from reanon_core.model.errors import InvalidParameter
from reanon_dagster.engines import java
from reanon_dagster.engines.series_engine import engine_for, read_secret, scratch_place
from reanon_dagster.engines.spark_failure import failure_sentence
from reanon_dagster.engines.unavailable import EngineUnavailable
from reanon_dagster.series.series_file import load_series

LOCAL = 'engine: {spark: {master: "local[2]"}}\n'


@pytest.fixture
def series(tmp_path):
    write = writer(tmp_path)
    return lambda engine: load_series(write(HOSPITAL + engine))


def refused(series, folder, error=InvalidParameter):
    with pytest.raises(error) as caught, engine_for(series, ColumnFolder(str(folder)), 10):
        raise AssertionError("the engine started")
    assert list(folder.glob("spark*")) == []
    return str(caught.value)


def test_a_series_without_spark_runs_in_this_process(series, tmp_path):
    with engine_for(series("engine: embedded\n"), ColumnFolder(str(tmp_path)), 10) as engine:
        assert engine == EmbeddedEngine(ColumnFolder(str(tmp_path)), 10)


def test_scratch_lies_in_the_private_folder_or_where_the_series_says(series, tmp_path):
    assert scratch_place(series(LOCAL)) == series(LOCAL).private_folder / "scratch"
    elsewhere = series('engine: {spark: {master: "local[2]", scratch: /shared}}\n')
    assert str(scratch_place(elsewhere)) == f"/shared/{elsewhere.name}"


def test_without_pyspark_the_extra_is_named(series, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspark", None)
    assert refused(series(LOCAL), tmp_path) == (
        "engine.spark must have the package pyspark, which is not installed; install reanon[spark]"
    )


@needs_spark
def test_without_java_its_package_is_named(series, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    assert refused(series(LOCAL), tmp_path) == (
        "engine.spark must have Java, which was not found; install Java 17, such as Debian's openjdk-17-jre-headless, "
        "or point JAVA_HOME to it"
    )
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "nowhere"))
    assert refused(series(LOCAL), tmp_path).startswith("engine.spark (")


@needs_spark
@pytest.mark.parametrize(
    ("said", "rule"), [('openjdk version "1.8.0_402"', "17 or later, not 8"), ("no Java", "states its version")]
)
def test_an_old_or_strange_java_is_refused(series, tmp_path, monkeypatch, said, rule):
    program = tmp_path / "bin" / "java"
    program.parent.mkdir()
    program.write_text(f"#!/bin/sh\necho '{said}' >&2\n")
    program.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))
    assert rule in refused(series(LOCAL), tmp_path)


def test_versions_of_java_are_read():
    assert java.java_version('openjdk version "17.0.15" 2025-04-15') == 17
    assert java.java_version('java version "21" 2023-09-19') == 21


@needs_spark
def test_a_master_that_does_not_answer_is_named_at_once(series, tmp_path):
    (tmp_path / "secret").write_text("hush")
    (tmp_path / "secret").chmod(0o600)
    address = f"spark://127.0.0.1:{free_port()}"
    text = f"engine: {{spark: {{master: '{address}', secret: secret}}}}\n"
    said = refused(series(text), tmp_path, EngineUnavailable)
    assert said.startswith(f"the Spark master {address} cannot be reached (Connection refused); start it, or correct")


def test_a_secret_is_one_line_that_others_cannot_read(tmp_path):
    path = tmp_path / "secret"
    path.write_text("hush\n")
    path.chmod(stat.S_IRUSR | stat.S_IRGRP)
    with pytest.raises(InvalidParameter, match="readable by you alone; run chmod 600 on it"):
        read_secret(path)
    path.chmod(0o600)
    assert read_secret(path) == "hush"
    path.write_text("\n")
    with pytest.raises(InvalidParameter, match="hold one line"):
        read_secret(path)
    with pytest.raises(InvalidParameter, match="be a file that you can read"):
        read_secret(tmp_path / "nowhere")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("ModuleNotFoundError: No module named 'reanon_dagster'", "a worker cannot import reanon"),
        ("[PYTHON_VERSION_MISMATCH] Python in worker", "a worker has another version of Python"),
        ('java.io.IOException: Cannot run program "/x/python"', "a worker has no Python where the driver has it"),
        ("TaskFailed: OSError (No space left on device) in a.py, line 3\n at", "OSError (No space left on device) in"),
        ("org.apache.spark.SparkException: Job aborted: Ann has flu", "workers were lost, or the session ended"),
    ],
)
def test_what_a_failed_run_means(text, said):
    sentence = failure_sentence(text)
    assert said in sentence
    assert "Ann" not in sentence
    assert "\n" not in sentence
