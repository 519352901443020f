"""How many examples are tried of properties that take long: all with `make test-all`, else a share of them."""

import os

ALL = "REANON_ALL_EXAMPLES"
"""The environment variable with which all are tried."""
SHARE = 4


def share_of(count: int) -> int:
    """The number of examples to try of so many."""
    return count if os.environ.get(ALL) else count // SHARE
