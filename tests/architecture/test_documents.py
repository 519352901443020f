"""The documents are true: links lead somewhere, named files and tests exist, and the README's commands and code run."""

import re
import shutil
import subprocess
import sys
import tomllib
import warnings
from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from reanon_core import Caution
from reanon_dagster.cli import main

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("reanon_core/**/*.md"), *ROOT.glob("data/*/*.md")]
)
"""Without what the demo publishes below the folders of data."""
WRITTEN = [path for path in DOCUMENTS if path.name not in {"series-yaml.md", "PAPER.md"}]
"""The documents that are neither generated nor maps of a paper."""
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#]*)(?:#([^)]*))?\)")
TEST = re.compile(r"`((?:\w+/)+test_\w+\.py)(?:::(\w+))?`")
FILE = re.compile(r"`((?:\w+/)+\w+\.(?:py|md|yaml))`")
OLD_WORDS = re.compile(r"\b(?:looms?|puzzles?|stabbing|standings|publishers?)\b", re.IGNORECASE)
QUOTES_OLD_WORDS = {"0009-rooms-and-words.md"}


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def prose(text: str) -> Iterator[str]:
    """The lines outside of code blocks and tables."""
    code = False
    for line in text.splitlines():
        code ^= line.lstrip().startswith("```")
        if not code and not line.lstrip().startswith(("|", "![", "```")):
            yield line


def anchors(path: Path) -> set[str]:
    """The anchors of a document's headings, as GitHub and MyST make them."""
    headings = [line.lstrip("#").strip() for line in prose(path.read_text()) if re.match(r"#+ ", line)]
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_link_leads_to_a_file_and_a_heading(path: Path) -> None:
    for target, anchor in LINK.findall(path.read_text()):
        file = (path.parent / target).resolve() if target else path
        assert file.exists(), target
        assert not anchor or anchor in anchors(file), f"{target}#{anchor}"


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_every_test_that_a_document_names_exists(path: Path) -> None:
    for file, name in TEST.findall(path.read_text()):
        tests = ROOT / "tests" / file.removeprefix("tests/")
        assert tests.exists(), file
        assert not name or f"def {name}(" in tests.read_text(), f"{file}::{name}"


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_every_file_of_ours_that_a_document_names_exists(path: Path) -> None:
    rooms = [ROOT, path.parent, ROOT / "tests", ROOT / "reanon_core", ROOT / "reanon_dagster"]
    made_by_a_user = ("my-series/", "taxonomies/", "knowledge/")
    missing = {
        file
        for file in FILE.findall(path.read_text())
        if not any((room / file).exists() for room in rooms) and not file.startswith(made_by_a_user)
    }
    assert not missing


def test_every_document_that_the_code_names_exists() -> None:
    folders = ("reanon_core", "reanon_dagster", "tests", "data")
    files = [file for folder in folders for file in (ROOT / folder).rglob("*") if file.suffix in {".py", ".yaml"}]
    named_in_code = {page for file in files for page in re.findall(r"docs/[\w/-]+\.md", file.read_text())}
    assert {page for page in named_in_code if not (ROOT / page).exists()} == set()


@pytest.mark.parametrize("path", WRITTEN, ids=named)
def test_lines_of_prose_have_at_most_120_columns(path: Path) -> None:
    assert not [line for line in prose(path.read_text()) if len(line) > 120]


@pytest.mark.parametrize("path", DOCUMENTS, ids=named)
def test_no_document_speaks_the_old_language(path: Path) -> None:
    assert path.name in QUOTES_OLD_WORDS or not OLD_WORDS.findall(path.read_text())


def test_every_page_can_be_reached_from_the_index() -> None:
    reached: set[Path] = set()
    waiting = [ROOT / "docs" / "index.md"]
    while waiting:
        page = waiting.pop()
        if page not in reached:
            reached.add(page)
            targets = [(page.parent / target).resolve() for target, _ in LINK.findall(page.read_text()) if target]
            waiting += [target for target in targets if target.suffix == ".md"]
    pages = {path for path in DOCUMENTS if path.is_relative_to(ROOT / "docs")}
    assert not {named(page) for page in pages - reached}


def test_there_is_one_tagline() -> None:
    tagline = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["description"]
    for path in ("README.md", "docs/index.md", "CITATION.cff"):
        assert tagline in (ROOT / path).read_text(), path


def blocks(path: Path, language: str) -> list[str]:
    """The blocks of one language."""
    return re.findall(rf"^```{language}\n(.*?)^```", path.read_text(), re.MULTILINE | re.DOTALL)


def code(path: Path, language: str) -> str:
    """The blocks of one language, as one text."""
    return "\n".join(blocks(path, language))


def commands() -> str:
    """The shell blocks of the README; making the environment is left out, because it is there."""
    text = code(ROOT / "README.md", "sh")
    assert "reanon init" in text
    return text.replace("make install\n", "").replace(".venv/bin/reanon", f'"{sys.executable}" -m reanon_dagster.cli')


def test_the_commands_of_the_readme_and_the_analysts_code_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    script = tmp_path / "readme.sh"
    script.write_text(f"set -e\n{commands()}")
    ran = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "published 12 rows" in ran.stdout
    assert (tmp_path / "my-series" / "private" / "trace.parquet").exists()
    decoding, in_boxes, decoupled = blocks(ROOT / "docs" / "using-a-release.md", "python")[:3]
    text = (tmp_path / "my-series" / "series.yaml").read_text()
    boxes = tmp_path / "my-series" / "boxes.yaml"
    boxes.write_text(text.replace("k: 4}", "form: boxes}").replace("series: hospital", "series: boxes"))
    assert main(["backfill", str(boxes), "--quiet"]) == 0
    monkeypatch.chdir(tmp_path / "my-series" / "published" / "boxes" / "2024-Q2")
    names: dict[str, object] = {}
    exec(decoding, names)
    assert set(names["interval"]) <= {"primary", "secondary", "vocational", "bachelor", "master"}
    exec(in_boxes, names)
    assert 0 <= names["estimate"] <= len(names["table"])
    assert names["real"].sum() == pytest.approx(len(names["table"]) - names["counterfeits"].sum())
    monkeypatch.chdir(tmp_path / "my-series" / "published" / "hospital" / "2024-Q2")
    names = {}
    exec(decoupled, names)
    with duckdb.connect() as connection:
        connection.execute(Path("view.sql").read_text())
        query = (
            "SELECT sum(weight * greatest(0, least(age_max, 39) - greatest(age_min, 30) + 1) / (age_max - age_min + 1))"
        )
        joined = connection.execute(f"{query} FROM people WHERE disease = 'gastritis'").fetchall()[0][0]
    assert names["estimate"] == pytest.approx(joined)
    assert 0 < names["estimate"] < len(names["rows"])
    monkeypatch.undo()
    shutil.rmtree(tmp_path / "my-series")


def test_the_python_of_the_readme_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    names: dict[str, object] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("error", Caution)  # the first example gives nothing away
        exec(code(ROOT / "README.md", "python"), names)
    assert len(names["release"].to_pandas()) >= len(names["frame"])
