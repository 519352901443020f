"""Fuzzed inputs: series files and snapshots with random damage, through `validate` and `publish --dry-run`.

Deterministic: the same count and seed give the same damage. Allowed are the exit codes 0, 1 and 2, with sentences;
everything else is an escape.
"""

import contextlib
import io
import re
import shutil
import traceback
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pandas as pd

from reanon_dagster.cli import main

ID = "Zacharias"
"""What every id begins with."""
YAML = """\
series: clinic
title: Fuzzed
source: {{path: "snapshots/{{release}}.{ending}", id: patient}}
releases: {{names: [r1, r2, r3]{more}}}
quasi_identifiers:
  age: {{kind: numeric, min_width: 2, domain: [0, 110]}}
  born: {{kind: date, missing: {missing}}}
  school: {{kind: categorical, taxonomy: school.csv}}
sensitive: disease
other: [{other}]
technique: {{name: {technique}}}
checks: [{checks}]
publish: {{to: published, formats: [csv]}}
private: {{to: private}}
"""
TAXONOMY = "primary,low,any\nsecondary,low,any\nbachelor,high,any\nmaster,high,any\n"
WORLDS = {"technique": "sequential, ell: 2", "missing": "refuse", "other": "remark", "checks": ""}
GROUPS = {
    "technique": "mondrian, k: 2, ell: 2",
    "missing": "separate",
    "other": "",
    "checks": "{name: t-closeness, t: 1}",
}
BASES = (
    (WORLDS | {"ending": "csv", "more": ""}, False),
    (GROUPS | {"ending": "csv", "more": ", select: {r1: 'age > 20 and born is not null'}"}, False),
    (GROUPS | {"ending": "parquet", "more": ""}, True),
    (GROUPS | {"ending": "csv", "more": ""}, True),
)
"""What each sound series fills in, and whether it has published a release."""
FRAGMENTS = (
    *(
        "\x00",
        "\ufeff",
        '"',
        "'",
        "\n",
        "\r\n",
        "\r",
        "\t",
        ",",
        ";",
        ": ",
        "- ",
        "[",
        "]",
        "{",
        "}",
        "&a ",
        "*a",
        "<<: ",
    ),
    *(
        "!!python/object:os.system",
        "? ",
        "| ",
        "> ",
        "%YAML 9",
        "---",
        "...",
        "null",
        "~",
        "true",
        "yes",
        "0x10",
        "1e400",
    ),
    *(
        "nan",
        "inf",
        "-inf",
        "-0",
        "1e-400",
        "9" * 400,
        "2" * 18,
        "-1",
        "0",
        "1.5",
        "2024-02-30",
        "9999-12-31",
        "0000-00-00",
    ),
    *(
        "10000-01-01",
        "=1+1",
        "@x",
        "{release}",
        "{",
        "../",
        "/dev/zero",
        "/proc/self/environ",
        "a" * 5000,
        "\U0001f600",
    ),
    *("\u202e", "\ud7ff", "e\u0301", "\u00a0", "[/b]", "[red]", "%s", "{0}", "${HOME}", "`id`", "$(id)", "kind: date"),
    *("technique: {name: bpg, k: 2, ell: 2}", "source: {duckdb: x, query: 'select {release}'}", "encoding: utf-16"),
    *("separator: '\\n'", "granularity: 0", "granularity: 1e-9", "min_width: -1", "domain: [5, 1]", "m: 1e9", "k: 0"),
)
MOST = 3
"""The most changes of one file."""


@dataclass
class FuzzedRuns:
    """What happened in all runs."""

    codes: Counter[int] = field(default_factory=Counter)
    """How often each exit code was returned."""
    escapes: list[str] = field(default_factory=list)
    """What must not happen: one line for each, with the number of the run."""
    seconds: float = 0.0


@dataclass(frozen=True)
class Base:
    """A sound series on disk, whose next snapshot and texts are damaged one at a time."""

    folder: Path
    files: dict[Path, bytes]
    """The sound content of what may be damaged."""


def fuzzed_runs(count: int, seed: int, folder: Path) -> FuzzedRuns:
    """Damage one file of a sound series so many times, each time in another way, and run both commands on it."""
    rng, runs = np.random.default_rng(seed), FuzzedRuns()
    bases = [_base(folder / f"base{number}", number) for number in range(len(BASES))]
    for number in range(count):
        base = bases[number % len(bases)]
        path = list(base.files)[int(rng.integers(len(base.files)))]
        content = damaged(base.files[path], rng)
        path.write_bytes(content)
        _run(number, base, content, runs)
        path.write_bytes(base.files[path])
    return runs


def damaged(content: bytes, rng: np.random.Generator) -> bytes:
    """The content after a few random changes."""
    for _ in range(int(rng.integers(1, MOST + 1))):
        content = CHANGES[int(rng.integers(len(CHANGES)))](content, rng)
    return content


def _flip(content: bytes, rng: np.random.Generator) -> bytes:
    if not content:
        return content
    at = int(rng.integers(len(content)))
    return content[:at] + bytes([content[at] ^ (1 << int(rng.integers(8)))]) + content[at + 1 :]


def _cut(content: bytes, rng: np.random.Generator) -> bytes:
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    return content[: max(first, last - 40)] + content[last:] if rng.random() < 0.7 else content[:last]


def _insert(content: bytes, rng: np.random.Generator) -> bytes:
    at = int(rng.integers(len(content) + 1))
    fragment = FRAGMENTS[int(rng.integers(len(FRAGMENTS)))].encode("utf-8", "surrogatepass")
    return content[:at] + fragment + content[at:]


def _replace(content: bytes, rng: np.random.Generator) -> bytes:
    """Another value instead of a token."""
    tokens = list(re.finditer(rb"[\w.-]+", content))
    if not tokens:
        return content
    token = tokens[int(rng.integers(len(tokens)))]
    fragment = FRAGMENTS[int(rng.integers(len(FRAGMENTS)))].encode("utf-8", "surrogatepass")
    return content[: token.start()] + fragment + content[token.end() :]


def _swap(content: bytes, rng: np.random.Generator) -> bytes:
    """Two tokens exchange their places."""
    tokens = list(re.finditer(rb"[\w.-]+", content))
    if len(tokens) < 2:
        return content
    one, two = (tokens[at] for at in sorted(rng.choice(len(tokens), 2, replace=False).tolist()))
    middle = content[one.end() : two.start()]
    return content[: one.start()] + two.group() + middle + one.group() + content[two.end() :]


def _splice(content: bytes, rng: np.random.Generator) -> bytes:
    """A piece of the content once more, somewhere else."""
    first, last = sorted(rng.integers(len(content) + 1, size=2).tolist())
    at = int(rng.integers(len(content) + 1))
    return content[:at] + content[first : min(last, first + 200)] + content[at:]


CHANGES: tuple[Callable[[bytes, np.random.Generator], bytes], ...] = (_flip, _cut, _insert, _replace, _swap, _splice)


def _run(number: int, base: Base, content: bytes, runs: FuzzedRuns) -> None:
    before = _listed(base.folder)
    series = str(base.folder / "series.yaml")
    for command in (["validate", series], ["publish", series, "--dry-run", "--quiet"]):
        what = f"run {number}, {command[0]}"
        code, text = _outcome(command, what, runs)
        if code is not None:
            runs.codes[code] += 1
            if code not in {0, 1, 2}:
                runs.escapes.append(f"{what}: exit code {code}")
        header = content.splitlines()[0] if content else b""
        if ID in text and ID.encode() not in header:  # a damaged header has an id for a column's name
            line = next(line for line in text.splitlines() if ID in line)
            runs.escapes.append(f"{what}: an id is printed: {line[:300]}")
    if _listed(base.folder) != before:
        runs.escapes.append(f"run {number}: files were written: {_listed(base.folder) ^ before}")


def _outcome(command: list[str], what: str, runs: FuzzedRuns) -> tuple[int | None, str]:
    """The exit code, None if there is none, and everything that was printed."""
    out, err = io.StringIO(), io.StringIO()
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err), warnings.catch_warnings():
            warnings.simplefilter("error")
            code = main(command)
    except Exception:
        runs.escapes.append(f"{what}: {traceback.format_exc()}")
        code = None
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else None
    return code, out.getvalue() + err.getvalue()


def _listed(folder: Path) -> set[str]:
    """Every file and folder of a series, with the size of what is public."""
    return {f"{path}" for path in folder.rglob("*")}


def _base(folder: Path, number: int) -> Base:
    """A sound series; its first release is published if the base says so."""
    settings, begun = BASES[number]
    ending = settings["ending"]
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "snapshots").mkdir(parents=True)
    text, tree = folder / "series.yaml", folder / "school.csv"
    text.write_text(YAML.format(**settings))
    tree.write_text(TAXONOMY)
    first, second = (folder / "snapshots" / f"{release}.{ending}" for release in ("r1", "r2"))
    _write(_people(24, number), first)
    if begun:
        _require_sound(["publish", str(text), "--quiet"])
        _write(_people(30, number), second)
    _require_sound(["validate", str(text)])
    damaged_files = [text, second if begun else first, second if begun else first, tree]
    return Base(folder, {path: path.read_bytes() for path in damaged_files})


def _require_sound(command: list[str]) -> None:
    """Fail unless a command on an undamaged series ends with 0."""
    code, text = _outcome(command, "an undamaged series", FuzzedRuns())
    if code != 0:
        raise AssertionError(text)


def _people(count: int, seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    schools = [line.split(",")[0] for line in TAXONOMY.splitlines()]
    born = pd.to_datetime("1960-01-01") + pd.to_timedelta(rng.integers(0, 9000, count), unit="D")
    return pd.DataFrame(
        {
            "patient": [f"{ID}-{person:06d}" for person in range(count)],
            "age": rng.integers(21, 90, count),
            "born": [f"{day:%Y-%m-%d}" for day in born],
            "school": [schools[person % 4] for person in range(count)],
            "disease": [("flu", "cold", "asthma", "measles")[person % 4] for person in range(count)],
            "remark": [("none", "seen")[person % 2] for person in range(count)],
        }
    )


def _write(frame: pd.DataFrame, path: Path) -> None:
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path, index=False)
