"""What must not be found outside of a private folder: the ids of a snapshot, and its rows."""

from collections.abc import Iterable
from pathlib import Path


def private_texts(snapshots: Path) -> set[str]:
    """The ids of all snapshots in a folder, and their rows without the id, as the files have them."""
    texts = set()
    for path in snapshots.glob("*.csv"):
        for line in path.read_text().splitlines()[1:]:
            person, rest = line.split(",", 1)
            texts |= {person, f",{rest}"} if person else set()
    return texts


def leaks(private: Iterable[str], text: str) -> list[str]:
    """The private texts that a text holds: ids anywhere, rows at the end of a line."""
    return [one for one in private if (f"{one}\n" if one.startswith(",") else one) in text]
