"""The Java that Spark runs on."""

import os
import re
import shutil
import subprocess
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem

OLDEST = 17
"""The oldest Java that Spark 4 runs on."""
WHAT = "engine.spark"
ADVICE = f"install Java {OLDEST}, such as Debian's openjdk-{OLDEST}-jre-headless, or point JAVA_HOME to it"
SECONDS = 30


def require_java() -> None:
    """Find Java, and see that it is not too old.

    Raises: InvalidParameter.
    """
    program = _java()
    if program is None:
        raise InvalidParameter(Problem(WHAT, "have Java, which was not found", help=ADVICE))
    try:
        answer = subprocess.run(  # noqa: S603  Java as the steward installed it
            [program, "-version"], capture_output=True, text=True, timeout=SECONDS, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        raise InvalidParameter(Problem(WHAT, "have a Java that starts", program, ADVICE)) from None
    found = java_version(answer.stderr + answer.stdout)
    if found is None:
        raise InvalidParameter(Problem(WHAT, "have a Java that states its version", program, ADVICE))
    if found < OLDEST:
        raise InvalidParameter(Problem(WHAT, f"have Java {OLDEST} or later, not {found}", program, ADVICE))


def java_version(said: str) -> int | None:
    """The version that `java -version` prints: 8 for "1.8.0_402", 17 for "17.0.15"."""
    found = re.search(r'version "(?:1\.)?(\d+)', said)
    return int(found[1]) if found else None


def _java() -> str | None:
    """What Spark's own scripts start: the Java of JAVA_HOME, or the first of the path."""
    home = os.environ.get("JAVA_HOME")
    if home:
        return str(Path(home) / "bin" / "java")
    return shutil.which("java")
