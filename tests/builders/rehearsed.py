"""Snapshots with a planted dead end, and what a folder holds, for tests of rehearsals and advice."""

import hashlib
from pathlib import Path

import pandas as pd

from builders.series import people


def written(folder: Path) -> dict[str, str]:
    """Every file of a folder with its bytes and its mode, and every folder."""
    return {
        str(path.relative_to(folder)): f"{path.stat().st_mode:o} "
        + (hashlib.sha256(path.read_bytes()).hexdigest() if path.is_file() else "folder")
        for path in folder.rglob("*")
    }


def with_surplus(frames: dict[str, pd.DataFrame], release: str, count: int) -> dict[str, pd.DataFrame]:
    """The same snapshots, and from this release on so many more people with one disease."""
    more = people(count, seed=99).assign(disease="flu")
    more["patient"] = [f"Late-{number}" for number in range(count)]
    names = list(frames)
    at = names.index(release)
    return {name: pd.concat([frames[name], more]) if names.index(name) >= at else frames[name] for name in names}
