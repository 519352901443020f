"""docs/python.md: its code runs, prints what the page shows, and the page names everything that is exported.

`python tests/core/test_python_page.py` writes the outputs and the figure anew.
"""

import contextlib
import importlib.util
import io
import os
import re
import shlex
import sys
import tempfile
from pathlib import Path
from typing import Any

import pytest

import reanon_core
import reanon_dagster
from reanon_dagster.cli import main

DOCS = Path(__file__).parents[2] / "docs"
PAGE = DOCS / "python.md"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
FIGURE = "python-door.png"


def run(folder: Path) -> dict[int, str]:
    """Run the blocks of the page in a folder and give the output of each; polars is left out where it is absent."""
    space: dict[str, Any] = {}
    outputs = {}
    before = Path.cwd()
    os.chdir(folder)
    try:
        for place, (language, code) in enumerate(BLOCK.findall(PAGE.read_text())):
            printed = io.StringIO()
            if language == "sh":
                for line in code.splitlines():
                    assert main([*shlex.split(line)[1:], "--quiet"]) == 0
            elif language == "python" and not ("import polars" in code and not importlib.util.find_spec("polars")):
                with contextlib.redirect_stdout(printed):
                    exec(compile(code, f"python.md, block {place}", "exec"), space)
                outputs[place] = printed.getvalue()
    finally:
        os.chdir(before)
    return outputs


def test_the_code_of_the_page_prints_what_the_page_shows(tmp_path: Path) -> None:
    blocks = BLOCK.findall(PAGE.read_text())
    outputs = run(tmp_path)
    for place, printed in outputs.items():
        shown = blocks[place + 1][1] if blocks[place + 1 : place + 2] and blocks[place + 1][0] == "text" else ""
        assert printed == shown, f"block {place}"
    assert sum(language == "text" for language, _ in blocks) >= 7
    drawn = tmp_path / FIGURE
    assert drawn.stat().st_size > 10_000
    assert (DOCS / "figures" / FIGURE).stat().st_size > 10_000


def test_the_first_example_has_no_seed() -> None:
    first = next(code for language, code in BLOCK.findall(PAGE.read_text()) if "reanon.Series(" in code)
    assert "seed" not in first


@pytest.mark.parametrize("name", [*reanon_core.__all__, *reanon_dagster.__all__])
def test_every_exported_name_has_a_docstring_and_is_on_the_page(name: str) -> None:
    home = reanon_core if name in reanon_core.__all__ else reanon_dagster
    assert getattr(home, name).__doc__
    assert re.search(rf"`{name}\b", PAGE.read_text())


def test_both_packages_are_typed() -> None:
    for package in (reanon_core, reanon_dagster):
        assert (Path(str(package.__file__)).parent / "py.typed").exists()
    assert '"py.typed"' in (DOCS.parent / "pyproject.toml").read_text()


def rewrite() -> None:
    """Put what the code prints into the page, and the figure beside it."""
    with tempfile.TemporaryDirectory() as folder:
        outputs = run(Path(folder))
        (DOCS / "figures" / FIGURE).write_bytes((Path(folder) / FIGURE).read_bytes())
    text, blocks = PAGE.read_text(), list(BLOCK.finditer(PAGE.read_text()))
    for place in sorted(outputs, reverse=True):
        if outputs[place]:
            start, end = blocks[place + 1].span(2)
            text = text[:start] + outputs[place] + text[end:]
    PAGE.write_text(text)


if __name__ == "__main__":
    sys.exit(rewrite())
