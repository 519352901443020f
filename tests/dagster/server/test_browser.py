"""What a steward sees: the pages of two series in a real browser. The pictures are in build/screenshots."""

import re
from collections.abc import Iterator

import pytest
from builders.browser import Page, browsing, chromium
from builders.server import MODULE, Server

from reanon_dagster.definitions import ROOT

pytestmark = [
    pytest.mark.server,
    pytest.mark.skipif(chromium() is None, reason="chromium is not installed (apt-get install chromium)"),
]

PICTURES = ROOT / "build" / "screenshots"
GROUP = f"/locations/{MODULE}/asset-groups"
JUDGES = ("k_anonymity", "l_diversity", "m_invariance", "m_uniqueness", "well_formedness")
PAGES = {
    "all-series": ("/asset-groups", ("census", "hospital", "steady")),
    "lineage": (f"{GROUP}/steady/lineage", ("snapshot", "state", "release", "evidence", "filled", "DuckDB")),
    "release": (
        "/assets/steady/release",
        (
            "what anyone may download",
            "Row count",
            "age_min",
            "reanon/role: sensitive",
            "non-nullable",
            "This asset depends on earlier partitions of itself",
        ),
    ),
    "partition": (
        "/assets/steady/release?view=partitions&partition=2024-05",
        ("Materialized (5)", "Failed (0)", "2024-05", "history", "previous release", "counterfeits"),
    ),
    "check": ("/assets/steady/release?view=checks&checkDetail=m_invariance", (*JUDGES, "Succeeded", "Passed")),
    "evidence": ("/assets/steady/evidence", ("people exposed by intersection", "(GCP)", "query error")),
}
WRONG = ("unexpected error", "went wrong", "PythonError", "could not be loaded", "Failed to load", "Traceback")


@pytest.fixture(scope="module")
def page(server: Server, backfilled: tuple[str, str], halted: tuple[str, str]) -> Iterator[Page]:
    """A browser beside the server, after the backfills."""
    with browsing() as opened:
        yield opened


def picture(page: Page, name: str) -> None:
    path = PICTURES / f"{name}.png"
    page.picture(path)
    assert path.stat().st_size > 10_000


@pytest.mark.parametrize("name", PAGES)
def test_the_page_opens_without_error_and_shows_the_series(server: Server, page: Page, name: str) -> None:
    path, expected = PAGES[name]
    page.open(f"{server.url}{path}")
    text = page.show(*expected)
    assert [word for word in WRONG if word.lower() in text.lower()] == [], text
    assert "newsletter" not in text
    picture(page, name)


def test_the_numbers_of_all_releases_are_plotted(server: Server, page: Page) -> None:
    page.open(f"{server.url}/assets/steady/release")
    page.show("previous release")
    page.click("Plots")
    text = page.show("counterfeits", "groups", "people")
    assert [word for word in WRONG if word.lower() in text.lower()] == [], text
    picture(page, "plots")


def test_which_release_failed_and_why_is_read_after_one_click_in_the_lineage(server: Server, page: Page) -> None:
    page.open(f"{server.url}{GROUP}/faulty/lineage")
    text = page.show("1 failed", "Passed")
    picture(page, "lineage-after-a-fault")
    judged = re.search(r"\d+ / \d+ Passed", text)
    assert judged is not None
    page.click(judged[0])
    text = page.show("patient must be unique in a snapshot", "2024-04-30")
    assert "Stack" not in text
    assert "Traceback" not in text
    picture(page, "checks-after-a-fault")


def test_the_latest_event_of_the_asset_has_the_sentence(server: Server, page: Page) -> None:
    page.open(f"{server.url}/assets/faulty/release?view=events")
    page.show("Partition 2024-04-30 observed in run", "refused", "patient must be unique in a snapshot")
    picture(page, "events-after-a-fault")


def test_the_page_of_the_partition_that_failed_leads_to_the_sentence(server: Server, page: Page) -> None:
    page.open(f"{server.url}/assets/faulty/release?view=partitions&partition=2024-04-30")
    page.show("Failed (1)", "Materialized (3)", "failed, and did not materialize this asset")
    picture(page, "partition-after-a-fault")
    page.click("View logs")
    text = page.show("STEP_FAILURE", "RUN_FAILURE", "patient must be unique in a snapshot")
    assert "Stack" not in text
    assert "site-packages" not in text
    picture(page, "logs-after-a-fault")
