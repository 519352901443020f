"""What a command says about an error: sentences and an exit code, never a traceback."""

import traceback
from errno import ENOSPC
from pathlib import Path

from reanon_core.model.errors import ReanonError

FULL = "no space left"
LATER = "run `reanon status` to see where the series stands"


def failure(error: Exception) -> tuple[list[str], int]:
    """The sentences about an error, and the exit code."""
    if isinstance(error, ReanonError):
        return str(error).splitlines(), error.exit_code
    if isinstance(error, OSError):
        if error.errno == ENOSPC or FULL in str(error).lower():  # Arrow gives no number
            return [f"the disk is full, so a file could not be written; free some space, then {LATER}"], 1
        place = "" if error.filename is None else f"{error.filename}: "
        return [f"{place}{error.strerror or error}; {LATER}"], 1
    if isinstance(error, MemoryError):
        return [f"there is not enough memory for this table; {LATER}"], 1
    last = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{Path(last.filename).name}, line {last.lineno}"
    # The text of an unexpected error may quote the data, so only its kind is shown.
    sentence = (
        f"unexpected {type(error).__name__} in {where}: this is a defect of reanon, please report it; {LATER}, and set "
        f"REANON_DEBUG=1 to see the traceback, which may contain values of your data"
    )
    return [sentence], 1
