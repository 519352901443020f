"""The steps that a page of the documentation shows, so that a test can take them."""

import re
from pathlib import Path

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
HEADING = re.compile(r"^#{2,4} ", re.MULTILINE)


def blocks(page: Path, heading: str, language: str) -> list[str]:
    """The code blocks in a language under a heading."""
    (section,) = [part for part in HEADING.split(page.read_text()) if part.startswith(f"{heading}\n")]
    found = [text for kind, text in BLOCK.findall(section) if kind == language]
    assert found, f"{page.name} shows no {language} under {heading}"
    return found


def commands(block: str) -> list[str]:
    """The commands after the prompts of a block."""
    return [line.removeprefix("$ ") for line in block.splitlines() if line.startswith("$ ")]
