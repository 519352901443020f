"""The paper map and the code agree: every tagged item is in PAPER.md, and every row of PAPER.md is real."""

import importlib
import inspect
import re
from pathlib import Path

import pytest
from architecture.paper_items import ITEMS

ROOT = Path(__file__).parents[2]
MAPS = sorted((ROOT / "reanon_core" / "techniques").glob("*/PAPER.md"))
KINDS = "Definitions?|Lemmas?|Figures?|Sections?|Algorithms?|Theorems?|Examples?|Tables?|Listings?"
TAG = re.compile(rf"Paper: \[([A-Z]+\d*)\] ((?:{KINDS}) [\d.]+)")
LISTED = re.compile(rf"({KINDS.replace('s?', '')})s? (\d[\d.]*(?:(?:,| and| to) \d[\d.]*)*)")
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


def numbers_of(numbers: str) -> list[str]:
    """`1, 2 and 4`, or `3.1 to 3.3`, number by number."""
    named = re.findall(r"\d+(?:\.\d+)*", numbers)
    if " to " in numbers and len(named) == 2:
        *room, first = named[0].split(".")
        return [".".join([*room, str(n)]) for n in range(int(first), int(named[1].split(".")[-1]) + 1)]
    return named


@pytest.mark.parametrize("path", [path for path in MAPS if key_of(path) in ITEMS], ids=lambda path: path.parent.name)
def test_every_numbered_item_of_the_paper_has_a_line(path: Path) -> None:
    first = [line.split("|")[1] for line in path.read_text().splitlines() if line.startswith("| ")]
    listed = {(kind, number) for cell in first for kind, found in LISTED.findall(cell) for number in numbers_of(found)}
    wanted = {(kind, number) for kind, numbers in ITEMS[key_of(path)].items() for number in numbers}
    assert not wanted - listed, sorted(wanted - listed)


def test_every_paper_has_its_list_of_items() -> None:
    assert {key_of(path) for path in MAPS} - set(ITEMS) == {"LDR06"}


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


def source_of(symbol: str) -> str:
    """The docstring of a class, or the source of any other symbol."""
    found = resolve(symbol)
    if inspect.isclass(found):
        return inspect.getdoc(found) or ""
    return inspect.getsource(inspect.unwrap(getattr(found, "py_func", found)))  # type: ignore[arg-type]


def items_of(text: str, key: str) -> set[str]:
    """The items of one paper that a text names: `[ST15] Definition 2.3`, `Definitions 1 and 2`, `Examples 3.1 to 3.3`.

    A tag holds until the next paper's tag or the end of the paragraph: `[ST15] Algorithm 1; Lemma 8.1` names both.
    """
    found: set[str] = set()
    for part in re.split(r"(?=\[[A-Z]+\d*\])", text):
        if not part.startswith(f"[{key}]"):
            continue
        for kind, numbers in LISTED.findall(part.split("\n\n")[0]):
            found |= {f"{kind} {number}" for number in numbers_of(numbers)}
    return found


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.parent.name)
def test_the_symbol_of_every_row_names_its_item(path: Path) -> None:
    """A row leads to the item itself; the symbol of an item without a number cites the paper."""
    key = key_of(path)
    lost = [
        f"{item}: {symbol}"
        for item, _, symbol, _ in ROW.findall(path.read_text())
        if not (
            item.strip() in items_of(source_of(symbol), key) if LISTED.match(item) else f"[{key}]" in source_of(symbol)
        )
    ]
    assert not lost, lost


def test_items_are_read_from_lists_and_ranges() -> None:
    text = (
        "Paper: [ST15] Definitions 3.1 to 3.3; Example 3.1 has two. [XT07] Lemmas 1, 2 and 4.\n\nSection 9 is no tag."
    )
    assert items_of(text, "ST15") == {"Definition 3.1", "Definition 3.2", "Definition 3.3", "Example 3.1"}
    assert items_of(text, "XT07") == {"Lemma 1", "Lemma 2", "Lemma 4"}


@pytest.mark.parametrize("path", MAPS, ids=lambda path: path.parent.name)
def test_departures_and_errata_that_the_code_names_are_written_down(path: Path) -> None:
    written = set(re.findall(r"^\*\*([DE]\d+)\*\*", path.read_text(), re.MULTILINE))
    shared = [ROOT / "reanon_core" / "bucketing"] if path.parent.name == "m_invariance" else []
    rooms = [path.parent, *shared]  # what techniques share is explained where it came from
    named = {
        mark
        for folder in rooms
        for file in folder.rglob("*.py")
        for mark in re.findall(r"departure ([DE]\d+)", file.read_text(), re.IGNORECASE)
    }
    assert named <= written, sorted(named - written)
