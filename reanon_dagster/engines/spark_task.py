"""What a worker of Spark does: it sees that it fits the driver, then runs one task.

Spark writes exceptions of tasks to its logs. So nothing that is raised here holds a value: an error of ours is returned
as a sentence without values, and of any other error only its kind and its place in the code are passed on.
"""

import hashlib
import os
import pickle
import platform
import socket
import traceback
from collections.abc import Callable
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from typing import Any

from reanon_core.model.errors import ReanonError
from reanon_core.threads import thread_limit

PACKAGES = Path(__file__).parents[2]
CODE = ("reanon_core", "reanon_dagster/engines")
"""The folders of code that tasks run."""


@dataclass(frozen=True)
class Installation:
    """What must be the same for the driver and its workers, so that a task gives the same bytes anywhere."""

    python: str
    numpy: str
    numba: str
    reanon: str
    """The first digits of a digest of the code: two states of one version differ."""

    def difference(self, driver: "Installation") -> str | None:
        """What differs from the driver's, for a message; None if nothing does."""
        for field in fields(self):
            own, expected = getattr(self, field.name), getattr(driver, field.name)
            if own != expected:
                return f"{field.name} {own}, and the driver has {expected}"
        return None


@dataclass(frozen=True)
class Call:
    """One task as it is sent to a worker. The body is read only by a worker that fits."""

    driver: Installation
    marker: str
    token: str
    body: bytes
    """A function and its task, pickled: a function goes by its name, never as code."""


@dataclass(frozen=True)
class Outcome:
    """What a worker answers: a result, or a sentence that says why there is none."""

    result: Any = None
    misfit: str | None = None
    """Why this worker cannot take part."""
    refusal: str | None = None
    """The sentence of an error of ours, without values of the data."""


class TaskFailed(Exception):
    """A task raised an error that is not ours; the text says of which kind and where."""


def packed(function: Callable[[Any], Any], task: object) -> bytes:
    """A function of a module and its task, as bytes.

    Raises: ValueError for a function that workers cannot import.
    """
    if function.__module__ == "__main__" or "<" in function.__qualname__:
        raise ValueError(f"{function.__qualname__} is not a function of a module that workers can import")
    return pickle.dumps((function, task), pickle.HIGHEST_PROTOCOL)


@cache
def installation() -> Installation:
    """What this process works with."""
    import numba
    import numpy as np

    return Installation(platform.python_version(), np.__version__, numba.__version__, _code_digest())


def run_call(call: Call) -> Outcome:
    """Run the task of a call on this worker."""
    os.umask(0o077)
    misfit = _misfit(call)
    if misfit is not None:
        return Outcome(misfit=f"the worker on {socket.gethostname()} {misfit}")
    function, task = pickle.loads(call.body)  # noqa: S301  from the authenticated driver
    try:
        with thread_limit(1):
            return Outcome(function(task))
    except ReanonError as error:
        return Outcome(refusal=error.redacted())
    except Exception as error:
        raise TaskFailed(_described(error)) from None


def _misfit(call: Call) -> str | None:
    difference = installation().difference(call.driver)
    if difference is not None:
        return f"has {difference}; install the same versions on every worker"
    try:
        seen = Path(call.marker).read_text(encoding="utf-8")
    except OSError as error:
        seen = str(error.strerror)
    if seen != call.token:
        folder = Path(call.marker).parent.parent
        return (
            f"cannot read the scratch folder {folder}; set engine.spark.scratch to a folder that driver and workers "
            "share under the same path, and run the workers as the same user"
        )
    return None


def _described(error: Exception) -> str:
    """The kind of an error and where it was raised; of a failed call to the operating system also its reason."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" in {Path(frames[-1].filename).name}, line {frames[-1].lineno}" if frames else ""
    reason = f" ({error.strerror})" if isinstance(error, OSError) and error.strerror else ""
    return f"{type(error).__name__}{reason}{place}"


def _code_digest() -> str:
    digest = hashlib.sha256()
    for folder in CODE:
        for path in sorted((PACKAGES / folder).rglob("*.py")):
            digest.update(f"{path.relative_to(PACKAGES)}\0".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()[:12]
