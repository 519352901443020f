"""What a person sees of the pages: a real browser opens them without an error and without a request."""

from pathlib import Path

import pytest
from builders.browser import browsing, chromium
from builders.series import SERIES, lively, write_series

from reanon_dagster.cli import main

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed (apt-get install chromium)"),
]
ELSEWHERE = Path(__file__).parents[3] / "data" / "elsewhere"
PHONE = 390
A4 = 680
"""The width of A4 without margins of 15 mm, in pixels."""


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("clinic")
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1, r2, r3]")
    path = write_series(folder, text=text, snapshots=lively(3, 60))
    found = {kind: folder / f"{kind}.html" for kind in ("internal", "public", "comparison")}
    assert main(["backfill", str(path), "--quiet"]) == 0
    quickly = ["--quiet", "--attack", "intersection,linkage"]
    assert main(["report", str(path), *quickly, "--out", str(found["internal"])]) == 0
    assert main(["report", str(path), "--quiet", "--public", "--out", str(found["public"])]) == 0
    options = ["--attack", "intersection,linkage", "--html", str(found["comparison"])]
    assert main(["compare", str(path), "--quiet", *options]) == 0
    found["audit"] = folder / "audit.html"
    files = [str(ELSEWHERE / name) for name in ("2023.csv", "2024.csv")]
    given = ["--schema", str(ELSEWHERE / "schema.yaml"), "--people", str(ELSEWHERE / "people.csv")]
    assert main(["audit", "--releases", *files, *given, "--html", str(found["audit"]), *quickly[:1]]) == 0
    return found


SHOWN = {
    "internal": ("m-invariance", "holds"),
    "public": ("m-invariance", "holds"),
    "comparison": ("m-invariance", "People exposed", "Questions of an analyst"),
    "audit": ("12 of 78 people are exposed", "Cannot see"),
}


@pytest.mark.parametrize("kind", SHOWN)
def test_a_page_opens_without_error_or_request_fits_a_telephone_and_can_be_printed(
    pages: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    with browsing(width=PHONE, height=900) as page:
        page.watch()
        page.open(pages[kind].as_uri())
        page.show(*SHOWN[kind])
        asked = [event["request"]["url"] for event in page.told("Network.requestWillBeSent")]
        assert pages[kind].as_uri() in asked
        assert [url for url in asked if not url.startswith(("data:", "file:"))] == []
        assert len([url for url in asked if url.startswith("file:")]) == 1
        for method in ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Audits.issueAdded"):
            assert page.told(method) == [], method
        assert page.widest() <= PHONE
        page.as_paper(A4)
        assert page.widest() <= A4
        page.printed(tmp_path / "page.pdf")
        assert (tmp_path / "page.pdf").read_bytes().startswith(b"%PDF")
