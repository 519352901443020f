"""The paper map and the code agree: every tagged item is in PAPER.md, and every row of PAPER.md is real."""

import importlib
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MAPS = sorted((ROOT / "reanon_core" / "techniques").glob("*/PAPER.md"))
KINDS = "Definitions?|Lemmas?|Figures?|Sections?|Algorithms?|Theorems?|Examples?|Tables?"
TAG = re.compile(rf"Paper: \[([A-Z]+\d*)\] ((?:{KINDS}) [\d.]+)")
ROW = re.compile(r"^\| ([^|]+) \| ([^|]+) \| `([\w.]+)` \| `([\w/.:]+)` \|$", re.MULTILINE)


def key_of(path: Path) -> str:
    found = re.search(r"\[([A-Z]+\d*)\]", path.read_text())
    assert found, f"{path} names no paper key"
    return found.group(1)


def tags() -> dict[str, set[str]]:
    """The items of each paper that docstrings name."""
    found: dict[str, set[str]] = {}
    for path in (ROOT / "reanon_core").rglob("*.py"):
        for key, item in TAG.findall(path.read_text()):
            found.setdefault(key, set()).add(item.rstrip(".").replace("Definitions", "Definition"))
    return found


def resolve(symbol: str) -> object:
    parts = symbol.split(".")
    for cut in range(len(parts), 0, -1):
        try:
            found: object = importlib.import_module(".".join(parts[:cut]))
        except ModuleNotFoundError:
            continue
        for name in parts[cut:]:
            found = getattr(found, name)
        return found
    raise AssertionError(f"{symbol} does not exist")


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.parent.name)
def test_every_item_that_the_code_names_is_in_the_map(path: Path) -> None:
    listed = {item.strip() for item, *_ in ROW.findall(path.read_text())}
    named = tags().get(key_of(path), set())
    assert named, "the code names no item of this paper"
    assert not named - listed, f"missing in {path.parent.name}/PAPER.md: {sorted(named - listed)}"


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.parent.name)
def test_every_row_of_the_map_names_a_symbol_and_a_test_that_exist(path: Path) -> None:
    rows = ROW.findall(path.read_text())
    assert rows
    for _, _, symbol, test in rows:
        resolve(symbol)
        file, _, name = test.partition("::")
        assert f"def {name}(" in (ROOT / "tests" / file).read_text(), f"{test} does not exist"


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.parent.name)
def test_departures_and_errata_that_the_code_names_are_written_down(path: Path) -> None:
    written = set(re.findall(r"^\*\*([DE]\d+)\*\*", path.read_text(), re.MULTILINE))
    rooms = [path.parent, ROOT / "reanon_core" / "bucketing"]
    named = {
        mark
        for folder in rooms
        for file in folder.rglob("*.py")
        for mark in re.findall(r"departure ([DE]\d+)", file.read_text(), re.IGNORECASE)
    }
    assert named <= written, sorted(named - written)
