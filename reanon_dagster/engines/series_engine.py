"""The engine that a series names, ready to run tasks."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core.engine.engine import EmbeddedEngine, Engine
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.engines.scratch import SCRATCH
from reanon_dagster.engines.spark_engine import spark_engine

if TYPE_CHECKING:
    from reanon_core.engine.column_folder import ColumnFolder
    from reanon_dagster.series.series import Series


def scratch_place(series: "Series") -> Path:
    """Where the scratch folders of a series lie; `scratch_folder` makes one."""
    spark = series.config.engine.spark
    if spark is None or spark.scratch is None:
        return series.private_folder / SCRATCH
    return series.folder / spark.scratch / series.name


@contextmanager
def engine_for(series: "Series", folder: "ColumnFolder", chunk_rows: int) -> Iterator[Engine]:
    """The engine of the series, working in this folder, until the end of the block.

    Raises: InvalidParameter if something that it needs is not installed or readable; EngineUnavailable if it cannot
    work.
    """
    spark = series.config.engine.spark
    if spark is None:
        yield EmbeddedEngine(folder, chunk_rows)
        return
    secret = None if spark.secret is None else read_secret(series.folder / spark.secret)
    with spark_engine(spark, folder, chunk_rows, secret, dict(os.environ)) as engine:
        yield engine


def read_secret(path: Path) -> str:
    """The secret of a cluster.

    Raises: InvalidParameter if the file cannot be read, is empty, or can be read by others.
    """
    what = "engine.spark.secret"
    try:
        open_to_others = path.stat().st_mode & 0o077
        secret = path.read_text(encoding="utf-8").strip()
    except (OSError, UnicodeDecodeError):
        raise InvalidParameter(Problem(what, "be a file that you can read", str(path))) from None
    if open_to_others:
        raise InvalidParameter(Problem(what, "be readable by you alone", str(path), "run chmod 600 on it"))
    if not secret or "\n" in secret:
        raise InvalidParameter(Problem(what, "hold one line, the secret", str(path)))
    return secret
