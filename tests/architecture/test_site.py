"""`make docs`: the site builds without a warning, and its pages load nothing from other hosts."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
GENERATOR = ("sphinx", "myst_parser", "furo")
BUILT = ROOT / "build/.site"
"""The file that `make docs` leaves when it has built the site in build/site without a warning."""
READ = ("*.md", "docs", "docs/**/*", "data/*/SOURCE.md", "reanon_core/**/*.md", "requirements-docs.lock")
"""What the site is made of. A folder changes with the pages that are added to it or removed from it."""
# What a page loads by itself, as opposed to a link that a reader follows.
LOADED = re.compile(
    r"<(?:script|img|iframe|source|link|object|embed)\b[^>]*?(?:src|href|data)=[\"']?((?:https?:)?//[^\"'> ]+)"
)
IMPORTED = re.compile(r"(?:@import\s+|url\(\s*)[\"']?((?:https?:)?//[^\"') ]+)")


def pins(path: Path) -> dict[str, str]:
    lines = [line for line in path.read_text().splitlines() if "==" in line and not line.startswith("#")]
    return dict(line.lower().rstrip(" \\").split("==") for line in lines)


def test_both_locks_agree_on_what_they_share() -> None:
    ours = pins(ROOT / "requirements.lock") | pins(ROOT / "requirements-dev.lock")
    docs = pins(ROOT / "requirements-docs.lock")
    assert {name: docs[name] for name in docs.keys() & ours.keys()} == {
        name: ours[name] for name in docs.keys() & ours.keys()
    }


def is_up_to_date() -> bool:
    """Whether `make docs` has built the site after the last change of what it is made of."""
    if not BUILT.exists():
        return False
    changed = max(path.stat().st_mtime_ns for pattern in READ for path in ROOT.glob(pattern))
    return BUILT.stat().st_mtime_ns > changed


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site that `make docs` has built, or else one that is built here."""
    if is_up_to_date():
        return ROOT / "build/site"
    if missing := [name for name in GENERATOR if find_spec(name) is None]:
        pytest.skip(f"{', '.join(missing)} not installed: run `make docs` once")
    folder = tmp_path_factory.mktemp("site")
    build = ["-q", "-W", "--keep-going", "-c", "docs", "-d", str(folder / "doctrees"), "-b", "html"]
    ran = subprocess.run(
        [sys.executable, "-m", "sphinx", *build, ".", str(folder / "html")],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr
    assert not ran.stderr
    return folder / "html"


def test_the_site_has_every_page_and_every_paper_map(site: Path) -> None:
    pages = [*ROOT.glob("docs/**/*.md"), *ROOT.glob("reanon_core/techniques/*/PAPER.md")]
    assert pages
    for page in pages:
        assert (site / page.relative_to(ROOT)).with_suffix(".html").exists(), page
    assert (site / "index.html").exists()


def test_no_page_loads_anything_from_another_host(site: Path) -> None:
    loaded = {url for page in site.rglob("*.html") for url in LOADED.findall(page.read_text())}
    loaded |= {url for sheet in site.rglob("*.css") for url in IMPORTED.findall(sheet.read_text())}
    assert not loaded
