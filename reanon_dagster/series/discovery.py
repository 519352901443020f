"""Finds series files: under data/ of a folder, and in the folders that REANON_SERIES lists."""

import os
from pathlib import Path

VARIABLE = "REANON_SERIES"
FILE = "series.yaml"


def find_series(root: Path | None = None) -> list[Path]:
    """The series files under `root`/data/* and under the folders of REANON_SERIES, each once, sorted."""
    base = root or Path.cwd()
    found = {path.resolve(): path for path in (base / "data").glob(f"*/{FILE}")}
    for listed in filter(None, os.environ.get(VARIABLE, "").split(os.pathsep)):
        folder = Path(listed)
        for path in (folder / FILE, *folder.glob(f"*/{FILE}")):
            if path.is_file():
                found.setdefault(path.resolve(), path)
    return [found[key] for key in sorted(found)]
