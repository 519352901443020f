"""The process on a worker that forks one process for each task that runs at a time: `python -m` of this module.

It does what Spark's own daemon does, and saves time. Spark has its Python code imported from a zip file, whose index
Python then reads again for every task, which takes 50 ms of CPU time; here the installed package is imported. And what
every task needs is loaded once, before the first fork.
"""

import gc
import sys
from importlib.util import find_spec


def leave_archives() -> None:
    """Import nothing from Spark's zip files any more, if the package is also installed."""
    kept = [entry for entry in sys.path if not entry.endswith(".zip") or "spark" not in entry]
    before, sys.path[:] = list(sys.path), kept
    if find_spec("pyspark") is None or find_spec("py4j") is None:
        sys.path[:] = before
        return
    for entry in set(before) - set(kept):
        sys.path_importer_cache.pop(entry, None)


def main() -> None:
    """Load what tasks need, and become Spark's daemon."""
    leave_archives()
    from pyspark.daemon import manager

    from reanon_dagster.engines.spark_task import installation

    installation()
    gc.freeze()  # Spark collects garbage after every task; what is loaded here is none
    manager()


if __name__ == "__main__":
    main()
