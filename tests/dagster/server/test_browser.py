"""What a steward sees: the pages of a backfilled series in a real browser. The pictures are in build/screenshots."""

import pytest
from builders.browser import chromium, opened
from builders.server import MODULE, Server

from reanon_dagster.definitions import ROOT

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed (apt-get install chromium)"),
]

PICTURES = ROOT / "build" / "screenshots"
TRIES = 3
GROUP = f"/locations/{MODULE}/asset-groups/steady/lineage"
JUDGES = ("k_anonymity", "l_diversity", "m_invariance", "m_uniqueness", "well_formedness")
PAGES = {
    "all-series": ("/asset-groups", ("census", "hospital", "steady")),
    "lineage": (GROUP, ("steady", "snapshot", "candidate", "published", "evidence", "5 / 5 Passed", "filled")),
    "partitions": (
        "/assets/steady/candidate?view=partitions&partition=2024-05-01",
        ("Materialized (8)", "Failed (0)", "2024-05-01", "previous release", "counterfeits"),
    ),
    "checks": ("/assets/steady/candidate?view=checks&checkDetail=m_invariance", (*JUDGES, "Succeeded", "Passed")),
    "published": (
        "/assets/steady/published",
        ("What anyone may download", "Row count", "Freshness policy", "age_min", "disease", "manifest digest"),
    ),
    "evidence": (
        "/assets/steady/evidence?view=events",
        ("exposed by intersection", "query-error", "history", "peak memory"),
    ),
}
WRONG = ("unexpected error", "went wrong", "PythonError", "not found", "could not be loaded", "Failed to", "Traceback")


@pytest.fixture(scope="module")
def ui(server: Server, backfilled: tuple[str, str]) -> Server:
    """The server after a backfill, with the first-use modal dismissed."""
    assert backfilled[1] == "COMPLETED_SUCCESS"
    server.ask("mutation { setNuxSeen }")
    return server


@pytest.mark.parametrize("page", PAGES)
def test_the_page_opens_without_error_and_shows_the_series(ui: Server, page: str) -> None:
    path, expected = PAGES[page]
    picture = PICTURES / f"{page}.png"
    text, missing = "", list(expected)
    for _ in range(TRIES):  # on a busy machine the page may be shown before its data has come
        text = opened(f"{ui.url}{path}", picture)
        missing = [word for word in expected if word not in text]
        if not missing:
            break
    assert missing == [], f"{path} shows: {text[:3000]}"
    assert [word for word in WRONG if word.lower() in text.lower()] == [], text[:3000]
    assert picture.stat().st_size > 10_000
