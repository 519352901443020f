"""The documents are true: links lead somewhere, named tests exist, and the README's commands run."""

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted(
    [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("reanon_core/**/*.md"), *ROOT.glob("data/**/*.md")]
)
LINK = re.compile(r"\[[^\]]*\]\((?!https?:)([^)#]+)(?:#[^)]*)?\)")
TEST = re.compile(r"`((?:\w+/)+test_\w+\.py)(?:::(\w+))?`")


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_link_leads_to_a_file(path: Path) -> None:
    broken = [target for target in LINK.findall(path.read_text()) if not (path.parent / target).exists()]
    assert not broken


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_test_that_a_document_names_exists(path: Path) -> None:
    for file, name in TEST.findall(path.read_text()):
        tests = ROOT / "tests" / file.removeprefix("tests/")
        assert tests.exists(), file
        assert not name or f"def {name}(" in tests.read_text(), f"{file}::{name}"


def blocks() -> str:
    """The shell blocks of the README, as one script; making the environment is left out, because it is there."""
    text = "\n".join(re.findall(r"^```sh\n(.*?)^```", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL))
    assert "reanon init" in text
    return text.replace("make install\n", "").replace(".venv/bin/reanon", f'"{sys.executable}" -m reanon_dagster.cli')


def test_the_commands_of_the_readme_run(tmp_path: Path) -> None:
    script = tmp_path / "readme.sh"
    script.write_text(f"set -e\n{blocks()}")
    ran = subprocess.run(["bash", script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "published 12 rows" in ran.stdout
    assert (tmp_path / "my-series" / "private" / "trace.parquet").exists()
    shutil.rmtree(tmp_path / "my-series")
