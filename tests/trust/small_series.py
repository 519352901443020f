"""The series that are attacked: few people, every technique, both forms."""

from dataclasses import dataclass
from pathlib import Path

import pandas as pd
from builders.series import lively, people, plainly_published, write_series

NAME = "clinic"
RELEASES = ("r1", "r2", "r3")
HEAD = """\
series: clinic
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [%s]%s}
quasi_identifiers:
  age: {kind: numeric, min_width: 2, domain: [0, 120]}
  zip: {kind: numeric, min_width: 10, domain: [10000, 10600]}
sensitive: disease
technique: {%s}
"""


@dataclass(frozen=True)
class Shape:
    """One technique in one form."""

    name: str
    technique: str
    more: str = ""
    columns: str = ""
    grows: bool = False
    """Whether people only join: some techniques refuse those who leave."""

    def text(self, releases: tuple[str, ...] = RELEASES) -> str:
        """The series file."""
        return plainly_published(HEAD % (", ".join(releases), self.columns, self.technique) + self.more)


BOXES = Shape("m-invariance, boxes", "name: m-invariance, m: 3")
DECOUPLED = Shape("m-invariance, decoupled", "name: m-invariance, m: 3", "publish: {form: decoupled, k: 5}\n")
SEQUENTIAL = Shape(
    "sequential",
    "name: sequential, ell: 2",
    columns=", columns: {r1: [age, disease], r2: [zip, disease], r3: [age, zip, disease]}",
    grows=True,
)
COR_SPLIT = Shape("cor-split", "name: cor-split, m: 3, n: 2")
BPG = Shape("bpg", "name: bpg, k: 4, ell: 2")
JS_REDUCE = Shape("js-reduce", "name: js-reduce, k: 3, ell: 2, t: 0.5, j: 0.9", grows=True)
MONDRIAN = Shape("mondrian", "name: mondrian, k: 4, ell: 2")
TECHNIQUES = (BOXES, COR_SPLIT, BPG, JS_REDUCE, SEQUENTIAL, MONDRIAN)


def snapshots(shape: Shape, releases: tuple[str, ...] = RELEASES, size: int = 60) -> dict[str, pd.DataFrame]:
    """A snapshot for each release."""
    if shape.grows:
        everyone = people(size + 12 * len(releases))
        return {name: everyone.head(size + 12 * number) for number, name in enumerate(releases)}
    if len(releases) > 5:  # a few people are away in turn, and the table stays as large as it is
        everyone = people(size)
        away = [range(number % 4 * 6, number % 4 * 6 + 6) for number in range(len(releases))]
        return {name: everyone.drop(index=list(gone)) for name, gone in zip(releases, away, strict=True)}
    return dict(zip(releases, lively(len(releases), size).values(), strict=True))


def write(folder: Path, shape: Shape, releases: tuple[str, ...] = RELEASES, size: int = 60) -> Path:
    """The series in a folder; gives the path of series.yaml."""
    return write_series(folder, text=shape.text(releases), snapshots=snapshots(shape, releases, size))


def private(folder: Path) -> Path:
    """The private folder of the series."""
    return folder / "private" / NAME


def public(folder: Path) -> Path:
    """The published folder of the series."""
    return folder / "published" / NAME
