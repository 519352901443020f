"""Records what must not change: `python tests/pins/record.py [CASE ...]` writes published.json.

It is never to be run to make a failing test pass: a test that fails says that people who publish a series with the next
version get something else than with this one. To pin a new case, name it: the others stay as they are.
"""

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parents[2]))  # this checkout, not an installed one

from pins.case import Case
from pins.cases import CASES
from pins.runner import PINNED, answers, backfill, pinned, write


def recorded(case: Case, folder: Path) -> dict[str, Any]:
    """What one case gives."""
    path = write(case, folder)
    assert backfill(path) == 0, case.name
    found = answers(path, case, folder)
    assert list(found["releases"]) == list(case.releases), case.name
    return found


def main(names: list[str]) -> None:
    """Record these cases, or all."""
    found = pinned() if names and PINNED.exists() else {}
    for name in names or CASES:
        began = time.process_time()
        with tempfile.TemporaryDirectory() as base:
            found[name] = recorded(CASES[name], Path(base) / "whole")
        sys.stdout.write(f"{name}: {time.process_time() - began:.1f} s\n")
    ordered = {name: found[name] for name in CASES if name in found}
    PINNED.write_text(json.dumps(ordered, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main(sys.argv[1:])
