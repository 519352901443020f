"""Sizes of memory: as the series file writes them, as a message shows them, and what the machine has left."""

import os
import re
from pathlib import Path
from typing import Annotated, TypeAlias

from pydantic import AfterValidator

from reanon_dagster.series.field_types import Text

_UNITS = {"KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
_MEMORY = Path("/proc/meminfo")


def _size(value: str) -> str:
    if _parsed(value) is None:
        raise ValueError("be a size such as 500MB or 4GB")
    return value


Size: TypeAlias = Annotated[Text, AfterValidator(_size)]
"""A number with a unit, such as 4GB."""


def bytes_of(size: str) -> int:
    """The number of bytes of a valid size."""
    found = _parsed(size)
    if found is None:
        raise AssertionError("the series file was validated")
    return found


def shown_bytes(count: int) -> str:
    """Bytes for a message, in the largest unit of which there is one."""
    unit = max((unit for unit, size in _UNITS.items() if size <= count), key=_UNITS.__getitem__, default="KB")
    return f"{count / _UNITS[unit]:.3g} {unit}"


def available_memory() -> int:
    """What new data may take without swapping; without Linux' estimate of it, all memory that the machine has."""
    if _MEMORY.exists():
        found = re.search(r"^MemAvailable:\s*(\d+) kB", _MEMORY.read_text(), re.MULTILINE)
        if found:
            return int(found[1]) * 1024
    return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def _parsed(size: str) -> int | None:
    found = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([KMGT]B)\s*", size, re.ASCII | re.IGNORECASE)
    return int(float(found[1]) * _UNITS[found[2].upper()]) if found else None
