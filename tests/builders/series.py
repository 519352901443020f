"""Small series on disk for tests."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path

import numpy as np
import pandas as pd

from reanon_dagster.series.series import Series
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.pseudonym_key import keep_key
from reanon_dagster.storage.series_store import create_store

DISEASES = ["asthma", "cold", "diabetes", "flu", "gastritis", "measles"]
SERIES = """
series: clinic
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [r1, r2, r3, r4, r5]}
quasi_identifiers:
  age: {kind: numeric, min_width: 2, domain: [0, 110]}
  zip: {kind: numeric, min_width: 10}
sensitive: disease
technique: {name: m-invariance, m: 3}
max_drift: 1
"""


DEFAULT_BRAKES = SERIES.replace("max_drift: 1\n", "")
"""`lively` nearly doubles with its last release, so that SERIES allows more than the default."""


def people(count: int, seed: int = 0) -> pd.DataFrame:
    """People with ids that would be noticed anywhere; values in turn, so that any six in a row are eligible."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "patient": [f"Zacharias-{i:06d}" for i in range(count)],
            "age": rng.integers(1, 100, count),
            "zip": rng.integers(10000, 10500, count),
            "disease": [DISEASES[i % len(DISEASES)] for i in range(count)],
        }
    )


BUCKETS = re.compile(r"\{name: (?:m-invariance|cor-split)[^{}]*\}|technique: (?:m-invariance|cor-split)\b")
PLAIN = {"balancing": "blind", "not_eligible": "refuse"}


def plainly_published(text: str) -> str:
    """A series file for tests that look at something else than what its technique and its form do by default.

    Unless the text says otherwise, a release has no report.html, which would cost more than a small release itself. A
    group has one box and everyone is published or the release is refused, so that there is one table to look at. The
    defaults are tested in dagster/releasing/test_default_series.py and by the conformance suite.
    """
    technique = BUCKETS.search(text)
    added = [] if "report:" in text else ["report: false"]
    if technique is not None:
        added += [] if "form:" in text else ["form: boxes"]
        told = "variant:" in text or "balancing: filled" in text or "regions:" in text
        more = "" if told else "".join(f", {key}: {value}" for key, value in PLAIN.items() if f"{key}:" not in text)
        if more and technique[0].endswith("}"):
            text = text.replace(technique[0], f"{technique[0][:-1]}{more}}}")
    if not added:
        return text
    if "publish: {" in text:
        return text.replace("publish: {", f"publish: {{{', '.join(added)}, ")
    return f"{text.rstrip()}\npublish: {{{', '.join(added)}}}\n"


def write_series(folder: Path, *, text: str = SERIES, snapshots: dict[str, pd.DataFrame] | None = None) -> Path:
    """A series file with its snapshots, published plainly unless the text says otherwise; gives its path."""
    (folder / "snapshots").mkdir(parents=True, exist_ok=True)
    for release, frame in (snapshots or {}).items():
        frame.to_csv(folder / "snapshots" / f"{release}.csv", index=False)
    path = folder / "series.yaml"
    path.write_text(plainly_published(text))
    return path


def begin(path: Path, key: bytes = bytes(16)) -> None:
    """Begin a series with this key, so that its releases can be made again: an empty store, and the key beside it."""
    series = load_series(path, lazily=True)
    create_store(series.private_folder, series.schema)
    keep_key(series.private_folder, key)


def lively(releases: int = 5, size: int = 240, seed: int = 0) -> dict[str, pd.DataFrame]:
    """Snapshots with inserts, deletes and returns: everybody who left comes back in the last release."""
    everyone = people(size * max(2, 1 + releases // 6 + 1), seed)
    rng = np.random.default_rng(seed)
    here = set(range(size))
    known, fresh, listed = set(here), size, {}
    for number in range(1, releases + 1):
        frame = everyone.iloc[rng.permutation(sorted(here))].copy()
        frame["age"] += number // 2  # people age
        listed[f"r{number}"] = frame
        gone = set(rng.choice(sorted(here), size // 5, replace=False).tolist())
        new = set(range(fresh, fresh + size // 6 // 6 * 6))
        fresh += len(new)
        here = (here - gone) | new if number < releases - 1 else known | new
        known |= new
    return listed


HOSPITAL = """\
series: hospital
source: {path: "releases/{release}.csv", id: name}
releases: {cadence: quarterly, first: 2024-Q1}
quasi_identifiers:
  age: {kind: numeric, min_width: 2}
sensitive: disease
technique: {name: m-invariance, m: 2}
"""
EDUCATION = "primary,school,any\nsecondary,school,any\nbachelor,higher,any\n"


def writer(folder: Path) -> Callable[..., Path]:
    """Writes a series file into the folder, beside a taxonomy: HOSPITAL, or another text, with replacements."""
    (folder / "education.csv").write_text(EDUCATION)

    def written(text: str = HOSPITAL, *replacements: tuple[str, str], more: str = "") -> Path:
        for old, new in replacements:
            assert old in text
            text = text.replace(old, new)
        path = folder / "series.yaml"
        path.write_text(text + more)
        return path

    return written


def declared(folder: Path, source: str, columns: Mapping[str, str], sensitive: str = "disease") -> Series:
    """A series of two named releases with this source and these quasi-identifiers."""
    lines = "\n".join(f"  {name}: {settings}" for name, settings in columns.items())
    (folder / "series.yaml").write_text(
        f"series: s\nsource: {source}\nreleases: {{names: [r1, r2]}}\nquasi_identifiers:\n{lines}\n"
        f"sensitive: {sensitive}\ntechnique: {{name: m-invariance, m: 2}}\n"
    )
    return load_series(folder, lazily=True)


def releases_in(folder: Path) -> list[str]:
    """The releases in the published folder of a series, without the documents beside them."""
    return sorted(path.name for path in folder.iterdir() if path.is_dir()) if folder.exists() else []


def correct(folder: Path, release: str, frame: pd.DataFrame) -> None:
    """Write another snapshot of a release."""
    frame.to_csv(folder / "snapshots" / f"{release}.csv", index=False)


def ineligible() -> pd.DataFrame:
    """Everybody of r1, and sixty new people of whom forty have one value."""
    frame = people(300)
    frame.loc[240:279, "disease"] = "flu"
    return frame
