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
    return found


@pytest.mark.parametrize("kind", ["internal", "public", "comparison"])
def test_a_page_opens_without_error_or_request_fits_a_telephone_and_can_be_printed(
    pages: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    with browsing(width=PHONE, height=900) as page:
        page.watch()
        page.open(pages[kind].as_uri())
        page.show("m-invariance", "holds" if kind != "comparison" else "People exposed")
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
