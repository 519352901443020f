"""Recorded what must not change: `python tests/pins/record.py [CASE ...]`, run at version 0.1.0.

It writes published.json and stores/*.tar.xz. It is never to be run to make a failing test pass: a test that fails says
that people who publish a series with the next version get something else than with 0.1.0, or cannot read their store.
To pin a new case, name it: the others stay as they are.
"""

import io
import json
import lzma
import sys
import tarfile
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, not an installed one

import duckdb

from pins.case import Case
from pins.cases import CASES
from pins.runner import PINNED, SEED, STORED, answers, pinned, run, write


def recorded(case: Case, folder: Path) -> dict[str, Any]:
    """What one case gives."""
    path = write(case, folder)
    assert run("backfill", path, "--seed", SEED) == 0, case.name
    found = answers(path, case, folder)
    assert list(found["releases"]) == list(case.releases), case.name
    return found


def keep_store(case: Case, folder: Path) -> None:
    """Pack the series as it stands before its last release."""
    path = write(case, folder)
    assert run("backfill", path, "--to", case.releases[-2], "--seed", SEED) == 0
    with duckdb.connect(str(folder / "private" / case.name / "store.duckdb")) as connection:
        connection.execute("CHECKPOINT")
    assert not list(folder.rglob("*.wal"))
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.PAX_FORMAT) as archive:
        for file in sorted(folder.rglob("*")):
            archive.add(file, str(file.relative_to(folder)), recursive=False, filter=_nobody)
    STORED.mkdir(exist_ok=True)
    (STORED / f"{case.name}.tar.xz").write_bytes(lzma.compress(packed.getvalue(), preset=9 | lzma.PRESET_EXTREME))


def _nobody(file: tarfile.TarInfo) -> tarfile.TarInfo:
    """A member of the archive that tells nothing of the machine."""
    file.uid = file.gid = file.mtime = 0
    file.uname = file.gname = ""
    return file


def main(names: list[str]) -> None:
    """Record these cases, or all."""
    found = pinned() if names and PINNED.exists() else {}
    for name in names or CASES:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as base:
            found[name] = recorded(CASES[name], Path(base) / "whole")
            if CASES[name].store:
                keep_store(CASES[name], Path(base) / "store")
        sys.stdout.write(f"{name}: {time.process_time() - began:.1f} s\n")
    ordered = {name: found[name] for name in CASES if name in found}
    PINNED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
