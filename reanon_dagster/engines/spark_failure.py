"""What a failed run of Spark means, in one sentence."""

import re

MEANINGS: tuple[tuple[str, str], ...] = (
    (
        r"No module named '(?:reanon|numpy|numba)",
        "a worker cannot import reanon; install it with the same versions on every worker",
    ),
    (
        r"PYTHON_VERSION_MISMATCH",
        "a worker has another version of Python than the driver; install the same versions on every worker",
    ),
    (
        r"Cannot run program",
        "a worker has no Python where the driver has it; install reanon on every worker under the same path",
    ),
)
"""What the text of Spark's error contains, and what it means."""


def failure_sentence(text: str) -> str:
    """The sentence for an error of Spark. Of its text only what our own tasks put there is repeated."""
    for pattern, meaning in MEANINGS:
        if re.search(pattern, text):
            return meaning
    failed = re.search(r"TaskFailed: ([^\n]*)", text)
    reason = failed[1] if failed else "workers were lost, or the session ended"
    return (
        f"Spark could not finish the tasks of this release: {reason}; nothing was published, so run the command again"
    )
