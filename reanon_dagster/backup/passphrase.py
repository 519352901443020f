"""The passphrase of a backup: from a file, the environment, a keyring or a terminal, never from the command line."""

import getpass
import os
import sys
from pathlib import Path

from reanon_core.model.errors import InvalidParameter, Problem
from reanon_dagster.series.store_key import KeyPlace
from reanon_dagster.storage.secret import SERVICE, keyring_secret, secret_at

ENVIRONMENT = "REANON_BACKUP_PASSPHRASE"
OPTION = "--passphrase-file"
SHORTEST = 12
WHAT = "passphrase"


def find_passphrase(series: str, file: Path | None, *, new: bool) -> str:
    """The passphrase from the first place that has one; a new one is asked for twice and must be long enough.

    Raises: InvalidParameter.
    """
    if file is not None:
        found: str | None = secret_at(KeyPlace("file", str(file)), OPTION)
    else:
        found = os.environ.get(ENVIRONMENT) or keyring_secret(series)
    if not found:
        found = _asked(series, twice=new)
    if new and len(found) < SHORTEST:
        raise InvalidParameter(Problem(WHAT, f"have at least {SHORTEST} characters"))
    return found


def _asked(series: str, *, twice: bool) -> str:
    if not sys.stdin.isatty():
        rule = (
            f"be given by {OPTION}, by the environment variable {ENVIRONMENT}, by a keyring (service {SERVICE}, user "
            f"{series}), or at a terminal"
        )
        raise InvalidParameter(Problem(WHAT, rule))
    found = getpass.getpass("Passphrase of the backup: ")
    if twice and getpass.getpass("The same again: ") != found:
        raise InvalidParameter(Problem(WHAT, "be the same both times"))
    return found
