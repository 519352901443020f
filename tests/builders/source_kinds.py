"""The same people in every kind of source: what writes the snapshots, and the lines of series.yaml that read them."""

import gzip
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.feather
import pyarrow.parquet as pq

from builders.series import begin
from reanon_dagster.cli import main

SCHEMA = pa.schema(
    [
        ("patient", pa.int64()),
        ("age", pa.int64()),
        ("weight", pa.float64()),
        ("since", pa.date32()),
        ("sex", pa.string()),
        ("disease", pa.string()),
    ]
)
SERIES = """
series: clinic
source: {%s, id: patient}
releases: {names: [r1, r2, r3]}
quasi_identifiers:
  age: {kind: numeric, min_width: 2, missing: separate}
  weight: {kind: numeric, granularity: 0.1}
  since: {kind: date}
  sex: {kind: categorical, order: [female, male, other]}
sensitive: disease
technique: {name: m-invariance, m: 3}
max_drift: 1
publish: {report: false, form: boxes}
"""
DISEASES = ["asthma", "Grippe", "fièvre", "7", "flu, other", "measles"]
RELEASES = ("r1", "r2", "r3")
TABLES = ("table.csv", "table.parquet", "counterfeits.csv")
Frames: TypeAlias = Mapping[str, pd.DataFrame]


def clinic(size: int = 120, seed: int = 3) -> dict[str, pd.DataFrame]:
    """Three snapshots with inserts, updates and deletes: ids near the largest exact number, gaps, dates, labels."""
    rng = np.random.default_rng(seed)
    everyone = pd.DataFrame(
        {
            "patient": 10**15 - 1 - 7 * np.arange(2 * size),
            "age": pd.array(rng.integers(18, 90, 2 * size), dtype="Int64"),
            "weight": rng.integers(400, 1200, 2 * size) / 10,
            "since": pd.to_datetime("2020-01-01") + pd.to_timedelta(rng.integers(0, 900, 2 * size), unit="D"),
            "sex": rng.choice(["female", "male", "other"], 2 * size),
            "disease": [DISEASES[at % len(DISEASES)] for at in range(2 * size)],
        }
    )
    everyone["since"] = everyone["since"].dt.date
    everyone.loc[rng.choice(2 * size, 9, replace=False), "age"] = pd.NA
    snapshots = {}
    for number, release in enumerate(RELEASES):
        here = everyone.iloc[18 * number : size + 24 * number].copy()
        here["age"] += number
        snapshots[release] = here.iloc[rng.permutation(len(here))].reset_index(drop=True)
    return snapshots


def arrow(frame: pd.DataFrame) -> pa.Table:
    """The frame with the types of SCHEMA."""
    return pa.Table.from_pandas(frame, SCHEMA, preserve_index=False)


@dataclass(frozen=True)
class SourceKind:
    """A kind of source: what writes snapshots into a folder, and the keys that read them."""

    keys: str
    write: Callable[[Path, Frames], None]


def each(path: str, write: Callable[[pd.DataFrame, Path], object]) -> SourceKind:
    """A kind with one file for each release."""

    def written(folder: Path, frames: Frames) -> None:
        for release, frame in frames.items():
            place = folder / path.replace("{release}", release)
            place.parent.mkdir(parents=True, exist_ok=True)
            write(frame, place)

    return SourceKind(f'path: "{path}"', written)


def csv_text(frame: pd.DataFrame) -> bytes:
    """The frame as csv."""
    return frame.to_csv(index=False).encode()


def _thirds(folder: Path, frames: Frames) -> None:
    """Three files for each release, in which the order of the rows is another one, and also that of the columns."""
    for release, frame in frames.items():
        (folder / release).mkdir(parents=True)
        frame[::3].to_csv(folder / release / "z.csv", index=False)
        frame[1::3][frame.columns[::-1]].to_csv(folder / release / "a.csv", index=False)
        frame[2::3].to_csv(folder / release / "m.csv", index=False)


def _mixed_list(folder: Path, frames: Frames) -> None:
    for release, frame in frames.items():
        frame[::2].astype({"age": "string", "since": "string"}).to_csv(folder / f"{release}-north.csv", index=False)
        texts = pa.table({name: frame[1::2][name].astype("string").array for name in frame.columns})
        pq.write_table(texts, folder / f"{release}-south.parquet")


def _partitioned(folder: Path, frames: Frames) -> None:
    for release, frame in frames.items():
        pq.write_to_dataset(arrow(frame), folder / release, partition_cols=["sex", "disease"])
        (folder / release / "_SUCCESS").touch()


def _spark_folder(folder: Path, frames: Frames) -> None:
    for release, frame in frames.items():
        (folder / f"{release}.parquet").mkdir(parents=True)
        for number in (0, 1):
            pq.write_table(arrow(frame[number::2]), folder / f"{release}.parquet" / f"part-{number}.snappy.parquet")


def _stream(frame: pd.DataFrame, path: Path) -> None:
    table = arrow(frame)
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as writer:
        writer.write_table(table, max_chunksize=50)


def changes(before: pd.DataFrame | None, after: pd.DataFrame) -> pd.DataFrame:
    """The inserts, updates and deletes that lead from one table to another; a delete has its id alone."""
    if before is None:
        return after.assign(operation="insert")
    both = after.merge(before, how="left", indicator=True)  # on all columns: the rows that are as before
    changed = after[(both["_merge"] == "left_only").to_numpy()]
    known = changed["patient"].isin(before["patient"])
    gone = before.loc[~before["patient"].isin(after["patient"]), ["patient"]]
    written = changed.assign(operation=np.where(known, "update", "insert"))
    return pd.concat([written, gone.assign(operation="delete")]).sample(frac=1, random_state=1)


def _changes_since(start: int) -> Callable[[Path, Frames], None]:
    """Writes the changes of each release, from the whole table of the release with this position, if there is one."""

    def written(folder: Path, frames: Frames) -> None:
        before = None
        for position, (release, frame) in enumerate(frames.items()):
            if position == start:
                frame.to_csv(folder / f"{release}.csv", index=False)
            elif position > start:
                changes(before, frame).to_csv(folder / f"{release}-changes.csv", index=False)
            before = frame

    return written


CSV = each("snapshots/{release}.csv", lambda frame, path: path.write_bytes(csv_text(frame)))
KINDS: dict[str, SourceKind] = {
    "gzip": each("{release}.csv.gz", lambda frame, path: path.write_bytes(gzip.compress(csv_text(frame)))),
    "zstd": each(
        "{release}.csv.zst",
        lambda frame, path: path.write_bytes(pa.compress(csv_text(frame), codec="zstd", asbytes=True)),
    ),
    "several files": SourceKind('path: "{release}/*.csv"', _thirds),
    "a list of files": SourceKind('path: ["{release}-south.parquet", "{release}-north.csv"]', _mixed_list),
    "parquet": each("{release}.parquet", lambda frame, path: pq.write_table(arrow(frame), path)),
    "a partitioned folder": SourceKind('path: "{release}/"', _partitioned),
    "a folder of Spark": SourceKind('path: "{release}.parquet"', _spark_folder),
    "feather": each("{release}.feather", lambda frame, path: pyarrow.feather.write_feather(arrow(frame), path)),
    "changes alone": SourceKind('changes: "{release}-changes.csv"', _changes_since(-1)),
    "changes of a table": SourceKind('changes: "{release}-changes.csv", path: "{release}.csv"', _changes_since(0)),
    "an Arrow stream": each("{release}.arrow", _stream),
}
"""The kinds that need no further package."""


def _coded(frame: pd.DataFrame) -> tuple[pd.DataFrame, dict[str, dict[int, str]]]:
    """The frame as a statistics program keeps it: numbers as floating point, categories as numbers with labels."""
    labels = dict(enumerate(["female", "male", "other"], 1))
    codes = frame["sex"].map({label: code for code, label in labels.items()})
    floats = {name: frame[name].astype("float64") for name in ("patient", "age")}
    return frame.assign(**floats, sex=codes), {"sex": labels}


def _stata(frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    coded, labels = _coded(frame)
    pyreadstat.write_dta(coded, path, variable_value_labels=labels)


def _spss(frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    coded, labels = _coded(frame)
    pyreadstat.write_sav(coded, path, variable_value_labels=labels)


def _sas(frame: pd.DataFrame, path: Path) -> None:
    import pyreadstat

    pyreadstat.write_xport(_coded(frame)[0].assign(sex=frame["sex"]), path)


def _delta(frame: pd.DataFrame, path: Path) -> None:
    import deltalake

    half = len(frame) // 2
    deltalake.write_deltalake(path, arrow(frame[:half]))
    deltalake.write_deltalake(path, arrow(frame[half:]), mode="append")


def _delta_of_all_releases(folder: Path, frames: Frames) -> None:
    import deltalake

    for release, frame in frames.items():
        table = arrow(frame).append_column("quarter", pa.array([release] * len(frame)))
        deltalake.write_deltalake(folder / "visits", table, mode="append", partition_by=["quarter"])


EXTRA_KINDS: dict[str, tuple[str, SourceKind]] = {
    "Excel": ("fastexcel", each("{release}.xlsx", lambda frame, path: frame.to_excel(path, index=False))),
    "Stata": ("pyreadstat", each("{release}.dta", _stata)),
    "SPSS": ("pyreadstat", each("{release}.sav", _spss)),
    "SAS": ("pyreadstat", each("{release}.xpt", _sas)),
    "Delta": ("deltalake", replace(each("{release}", _delta), keys='delta: "{release}"')),
    "one Delta table": ("deltalake", SourceKind("delta: visits, release_column: quarter", _delta_of_all_releases)),
}
"""The kinds that need a further package, and its name."""


def publish(folder: Path, kind: SourceKind, frames: Frames | None = None) -> dict[str, bytes]:
    """Publish all releases from this kind of source, and return the tables."""
    folder.mkdir()
    kind.write(folder, frames or clinic())
    path = folder / "series.yaml"
    path.write_text(SERIES % kind.keys)
    begin(path)
    assert main(["backfill", str(path), "--seed", "5", "--quiet"]) == 0
    files = [folder / "published" / "clinic" / release / name for release in RELEASES for name in TABLES]
    return {f"{file.parent.name}/{file.name}": file.read_bytes() for file in files if file.exists()}
