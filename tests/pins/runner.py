"""Running a pinned series through the command, and digests of what comes out."""

import atexit
import csv
import hashlib
import json
import math
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet
from builders.series import begin

from pins.case import Case
from pins.cases import CASES
from reanon_dagster.cli import main

HERE = Path(__file__).parent
PINNED = HERE / "published.json"
SEED = 7
KEY = bytes(range(16))
APART = ("files", "series_files", "previous_manifest", "reanon")
"""What is not pinned of a manifest as it is: digests are compared by themselves, the version changes."""
DOCUMENTS = {"README.md", "datapackage.json"}
"""What lies beside the tables and is not pinned. The names are data here, not those of the product."""
MISSING = "nothing"


def run(*arguments: object) -> int:
    """The exit code of a command that says nothing but errors."""
    return main([*(str(argument) for argument in arguments), "--quiet"])


def backfill(path: Path, *more: object) -> int:
    """Publish a pinned series under its seed, also where a brake says that a value loses many people."""
    return run("backfill", path, "--seed", SEED, "--accept-drift", "the series is pinned as it is", *more)


def write(case: Case, folder: Path) -> Path:
    """The series on disk before its first release, with a key that is always the same; gives its file."""
    (folder / "snapshots").mkdir(parents=True)
    for name, text in case.files.items():
        (folder / name).write_text(text)
    for release, rows in zip(case.releases, case.crowd.snapshots(), strict=True):
        names = [name for name in rows[0] if name not in case.drop.get(release, ())]
        _write_snapshot(case, folder / "snapshots" / release, names, rows)
    path = folder / "series.yaml"
    path.write_text(case.text)
    begin(path, KEY)
    return path


def copied(name: str, folder: Path) -> Path:
    """A pinned series with all its releases, which is published once in a process; gives its file."""
    shutil.copytree(_original(name), folder, dirs_exist_ok=True)
    return folder / "series.yaml"


@cache
def _original(name: str) -> Path:
    """The folder that is copied."""
    folder = Path(tempfile.mkdtemp(prefix="reanon-pinned-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    assert backfill(write(CASES[name], folder)) == 0
    return folder


def _write_snapshot(case: Case, path: Path, names: Sequence[str], rows: Sequence[dict[str, str]]) -> None:
    if "duckdb" in case.source:
        given = pa.table(
            {"wave": [path.name] * len(rows)} | {name: [row[name] or None for row in rows] for name in names}
        )
        with duckdb.connect(str(path.parents[1] / "visits.duckdb")) as connection:
            kinds = {"age": "INTEGER", "zip": "INTEGER", "born": "DATE"}
            columns = ", ".join(f"{name} {kinds.get(name, 'VARCHAR')}" for name in given.column_names)
            connection.execute(f"CREATE TABLE IF NOT EXISTS visits ({columns})")
            connection.register("given", given)
            connection.execute("INSERT INTO visits SELECT * FROM given")
        return
    if ".parquet" in case.source:
        typed: dict[str, Any] = {name: [row[name] for row in rows] for name in names}
        typed |= {name: [int(text) for text in typed[name]] for name in ("age", "zip")}
        typed["born"] = pa.array(typed["born"]).cast(pa.date32())
        pyarrow.parquet.write_table(pa.table(typed), path.with_name(f"{path.name}.parquet"))
        return
    between = ";" if "separator" in case.source else ","
    with path.with_name(f"{path.name}.csv").open("w", newline="") as file:
        writer = csv.DictWriter(file, names, delimiter=between, extrasaction="ignore", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def published(path: Path, case: Case) -> dict[str, Any]:
    """Everything that is pinned of each release that is out."""
    base = path.parent / "published" / case.name
    return {release: of_release(base / release) for release in case.releases if (base / release).exists()}


def of_release(folder: Path) -> dict[str, Any]:
    """The digests of a release's files, and its manifest without what changes."""
    manifest = json.loads((folder / "manifest.json").read_text(encoding="utf-8"))
    files = sorted(file for file in folder.iterdir() if file.name not in {"manifest.json", "report.html", *DOCUMENTS})
    return {
        "files": {file.name: sha256(file.read_bytes()) for file in files},
        "content": {file.name: content(file) for file in files},
        "manifest": {name: value for name, value in manifest.items() if name not in APART},
    }


def content(file: Path) -> str:
    """A digest of the decoded table: names, types and rows in order, whatever library wrote the file."""
    if file.suffix == ".sql":
        return sha256(file.read_bytes())
    if file.suffix == ".csv":
        with file.open(newline="", encoding="utf-8") as lines:
            return digest(list(csv.reader(lines)))
    table = pyarrow.parquet.read_table(file)
    return digest([[field.name, str(field.type), table[field.name].to_pylist()] for field in table.schema])


def audited(path: Path, case: Case, out: Path) -> dict[str, Any]:
    """What `reanon audit` answers, without the words."""
    assert run("audit", path, "--attack", ",".join(case.attacks), "--json", out) == 0
    answers = json.loads(out.read_text(encoding="utf-8"))
    for attack in answers["attacks"]:
        del attack["note"]
    return answers


def traced(path: Path, release: str, out: Path) -> dict[str, Any]:
    """How many people a release shows, and a digest of who is in which row."""
    out.unlink(missing_ok=True)
    assert run("trace", path, "--release", release, "--out", out) == 0
    table = pyarrow.parquet.read_table(out)
    pairs = sorted(zip(table["id"].to_pylist(), table["row"].to_pylist(), strict=True))
    return {"people": len(pairs), "digest": digest(pairs)}


def answers(path: Path, case: Case, folder: Path) -> dict[str, Any]:
    """Everything that is pinned of a series whose releases are all out."""
    return {
        "releases": published(path, case),
        "traces": traces(path, case, folder / "trace.parquet"),
        "audit": audited(path, case, folder / "audit.json"),
    }


def traces(path: Path, case: Case, out: Path) -> dict[str, Any]:
    """The traces of all releases."""
    return {release: traced(path, release, out) for release in case.releases}


def differences(found: Any, expected: Any, place: str = "") -> list[str]:
    """Every place where what was found is not what was pinned; fractions may differ by rounding."""
    if isinstance(found, dict) and isinstance(expected, dict):
        names = [*expected, *(name for name in found if name not in expected)]
        pairs = [(name, found.get(name, MISSING), expected.get(name, MISSING)) for name in names]
    elif isinstance(found, list) and isinstance(expected, list) and len(found) == len(expected):
        pairs = [(number, *pair) for number, pair in enumerate(zip(found, expected, strict=True))]
    elif isinstance(found, float) and isinstance(expected, float):
        return [] if math.isclose(found, expected, rel_tol=1e-9) else [f"{place}: {found} instead of {expected}"]
    else:
        return [] if found == expected else [f"{place}: {found!r} instead of {expected!r}"]
    return [line for name, one, other in pairs for line in differences(one, other, f"{place}/{name}")]


def pinned() -> dict[str, Any]:
    """What was recorded."""
    found: dict[str, Any] = json.loads(PINNED.read_text(encoding="utf-8"))
    return found


def sha256(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def digest(value: object) -> str:
    return sha256(json.dumps(value, default=str, ensure_ascii=False).encode())
