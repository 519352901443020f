"""Data Docs as a steward finds them: aggregates only, closed to others, complete, and made on demand."""

import re
import stat
import sys
from datetime import UTC, date, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.faults import Forgetful
from builders.series import DISEASES, lively, people, write_series

from reanon_core.model.errors import InvalidSnapshot, OutOfOrder, Problem
from reanon_core.model.verdict import Verdict
from reanon_dagster.cli import main
from reanon_dagster.expectations.data_docs import FOLDER, Suite, verdict_suite, write_data_docs
from reanon_dagster.releasing import release_suites
from reanon_dagster.releasing.release import publish_release
from reanon_dagster.releasing.release_suites import JUDGED, DataDocs
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.expectations import Expectation
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage.connection import STORE


def text_of(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_names_and_titles_are_text_and_not_markup(tmp_path: Path) -> None:
    folder = tmp_path / "a $HOME & ${folder}"
    verdict = Verdict("<b>bold</b>", holds=True, sentence="$sentence <script>alert(1)</script>", observed={"<u>": 2})
    named = Expectation("series", "expect_column_to_exist", {"column": "<u>$age"})
    snapshot = Suite("snapshot", pd.DataFrame({"<u>$age": [1]}), [named])
    written = write_data_docs(folder, "<u>title</u> $HOME", "r1", [snapshot, verdict_suite([verdict])])
    assert written == (folder / "index.html", set())
    assert len(list(folder.rglob("*.html"))) == 3
    for page in folder.rglob("*.html"):
        assert not re.search(r"<(b|u|script)>", page.read_text()), page


def test_a_verdict_is_shown_as_it_was_given(tmp_path: Path) -> None:
    verdicts = [
        Verdict(
            "k-anonymity", holds=True, sentence="every group has at least 2 rows", observed={"smallest": 3, "few": 0}
        ),
        Verdict("m-invariance", holds=False, violations=1234, sentence="signatures stay", observed={"people": 5678}),
        Verdict("drift", holds=False, violations=1, sentence="only informs", required=False),
    ]
    write_data_docs(tmp_path, "title", "r1", [verdict_suite(verdicts)])
    (page,) = (tmp_path / "r1" / "release").glob("*.html")
    shown = re.sub(r"<[^>]+>|\s+", " ", page.read_text())
    for words in ("every group has at least 2 rows", "no violations; smallest 3", "1,234 violations; people 5,678"):
        assert words in re.sub(r"\s+", " ", shown)
    assert len(re.findall('<i class="fas fa-times', page.read_text())) == 3  # the overview's, m-invariance's, drift's
    assert "failed" in (tmp_path / "index.html").read_text()
    write_data_docs(tmp_path / "sound", "title", "r1", [verdict_suite([verdicts[0], verdicts[2]])])
    assert "failed" not in (tmp_path / "sound" / "index.html").read_text()


@pytest.fixture(scope="module")
def documented(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series of which three releases were published with Data Docs."""
    folder = tmp_path_factory.mktemp("documented")
    series = write_series(folder, snapshots=lively())
    for _ in range(3):
        assert main(["publish", str(series), "--data-docs", "--quiet"]) == 0
    return folder


def data_docs(folder: Path) -> Path:
    return folder / "private" / "clinic" / FOLDER


def test_data_docs_hold_no_id_no_row_and_no_value_of_a_person(documented: Path) -> None:
    files = [path for path in data_docs(documented).rglob("*") if path.is_file()]
    assert len(files) == 3 * 2 * 2 + 2
    shown = text_of(data_docs(documented))
    assert "Zacharias" not in shown
    assert not re.search(rf"\b({'|'.join(DISEASES)})\b", shown)
    side_by_side = {match.groups() for match in re.finditer(r"\b(\d+)(?=\W{1,12}(\d+)\b)", shown)}
    for path in sorted((documented / "snapshots").glob("*.csv")):
        rows = pd.read_csv(path, dtype=str)
        assert not side_by_side & set(zip(rows["age"], rows["zip"], strict=True)), path
    with duckdb.connect(str(documented / "private" / "clinic" / STORE), read_only=True) as store:
        pseudonyms = {str(abs(person)) for (person,) in store.execute("SELECT person FROM private.people").fetchall()}
    assert len(pseudonyms) > 240
    assert not pseudonyms & set(re.findall(r"\d+", shown))


def test_data_docs_hold_rules_and_counts_of_every_release(documented: Path) -> None:
    index = (data_docs(documented) / "index.html").read_text()
    assert re.findall(r'href="(r\d)/(\w+)', index) == [(f"r{n}", s) for n in (3, 2, 1) for s in ("snapshot", "release")]
    page = shown_page(documented, "r2", "release")
    assert "the release is published no violations" in page
    assert "everybody has the same signature in every release" in page
    assert "people compared 192" in page
    assert page.count("no violations") == 6
    page = shown_page(documented, "r2", "snapshot")
    assert "Must have greater than or equal to 0 and less than or equal to 480 rows." in page
    assert "age must lie from 0 to 110 0% unexpected" in page
    assert (
        "patient Status Expectation Observed Value is a required field. -- values must never be null. 100% not null"
        in (page)
    )


def shown_page(folder: Path, release: str, suite: str) -> str:
    """What a person reads on a page."""
    (page,) = (data_docs(folder) / release / suite).glob("*.html")
    text = re.sub(r"<style>.*?</style>|<[^>]+>", " ", page.read_text(), flags=re.DOTALL)
    return re.sub(r"\s+", " ", text)


def test_data_docs_fetch_nothing_and_every_link_leads_somewhere(documented: Path) -> None:
    for page in data_docs(documented).rglob("*.html"):
        text = page.read_text()
        assert "://" not in text, page
        assert "<script" not in text
        assert "default-src 'none'" in text
        for link in re.findall(r'(?:href|src)="([^"#]+)"', text):
            assert (page.parent / link).is_file(), (page, link)


def test_only_the_owner_can_read_data_docs(documented: Path) -> None:
    for path in (data_docs(documented), *data_docs(documented).rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        assert mode == (0o700 if path.is_dir() else 0o600), path


def test_publish_prints_where_the_pages_are(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    series = write_series(tmp_path, snapshots={"r1": people(60)})
    assert main(["publish", str(series), "--data-docs"]) == 0
    assert "private/clinic/data_docs/index.html" in capsys.readouterr().out
    assert main(["publish", str(series), "--data-docs", "--release", "r1"]) == 0
    assert "nothing to do" in capsys.readouterr().out


def test_a_refused_candidate_is_documented_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    series = write_series(tmp_path, snapshots=lively())
    monkeypatch.setitem(sys.modules["reanon_core.catalog"].TECHNIQUES, "m-invariance", Forgetful)
    assert main(["publish", str(series), "--quiet"]) == 0
    assert main(["publish", str(series), "--data-docs"]) == 1
    said = capsys.readouterr()
    assert "m-invariance fails" in said.err
    assert "private/clinic/data_docs/index.html" in said.out
    assert "refused: m-invariance fails" in shown_page(tmp_path, "r2", "release")
    (page,) = (data_docs(tmp_path) / "r2" / "release").glob("*.html")
    assert len(re.findall('<i class="fas fa-times', page.read_text())) == 3  # overview, decision, m-invariance
    main(["status", str(series)])
    assert "refused" in capsys.readouterr().out


@pytest.mark.parametrize("fault", ["a bad snapshot", "one value for all"])
def test_a_release_that_got_no_candidate_is_documented_too(fault: str, tmp_path: Path) -> None:
    frame = people(60)
    if fault == "a bad snapshot":
        frame.loc[3, "age"] = 173
    else:
        frame["disease"] = "flu"
    series = write_series(tmp_path, snapshots={"r1": frame})
    assert main(["publish", str(series), "--data-docs", "--quiet"]) == (2 if fault == "a bad snapshot" else 1)
    shown = text_of(data_docs(tmp_path))
    assert "fa-times" in shown
    assert not re.search(r"\b(173|flu)\b|Zacharias", shown)


def test_a_snapshot_that_is_not_there_leaves_nothing(tmp_path: Path) -> None:
    series = write_series(tmp_path)
    assert main(["publish", str(series), "--data-docs", "--release", "r1", "--quiet"]) == 2
    assert not (tmp_path / "private").exists()


def test_a_release_named_after_a_year_was_judged_today(tmp_path: Path) -> None:
    before = datetime.now(tz=UTC).replace(microsecond=0)
    index, _ = write_data_docs(
        tmp_path, "A title", "2018", [verdict_suite([Verdict("a", holds=True, sentence="a rule")])]
    )
    (at,) = re.findall(r"<td>([-\d]+ [:\d]+) UTC</td>", index.read_text())
    judged = datetime.strptime(at, "%Y-%m-%d %H:%M:%S").replace(tzinfo=UTC)
    assert before <= judged <= datetime.now(tz=UTC)
    (page,) = (tmp_path / "2018" / "release").glob("*.html")
    assert f"release of 2018, judged {judged:%Y-%m-%d %H:%M} UTC" in page.read_text()


def test_pages_are_written_after_the_decision(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Even a release whose checks all hold is not called published when the gate refuses it."""
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    seen: list[bool] = []

    def note(*given: object) -> None:
        seen.append((tmp_path / "published" / "clinic" / "r1").exists())

    publish_release(load_series(path), "r1", date(2030, 1, 1), observer=note)
    assert seen == [True]
    series = load_series(write_series(tmp_path / "refused", snapshots={"r1": people(60)}))

    def taken(*_: object) -> None:
        raise OutOfOrder("another release was published meanwhile")

    monkeypatch.setattr("reanon_dagster.releasing.release.accept", taken)
    assert main(["publish", str(series.folder), "--data-docs", "--quiet"]) == 1
    page = shown_page(tmp_path / "refused", "r1", "release")
    assert "refused: another release was published meanwhile" in page
    assert "the release is published" not in page


def test_a_refused_snapshot_shows_its_rules_and_neither_values_nor_advice(tmp_path: Path) -> None:
    series = load_series(write_series(tmp_path))  # without a snapshot: the pages show what was decided
    problems = [
        Problem("age", "lie in its domain, from 0 to 110", "173 in 1 row", "or did you mean 73"),
        Problem("source.query", "run for r1", help="cannot convert 'Zacharias-000012'"),
    ]
    documents = DataDocs(series, "r1")
    documents(read_view(series), None, InvalidSnapshot(problems))
    assert documents.page
    page = shown_page(tmp_path, "r1", "release")
    assert "refused: age must lie in its domain, from 0 to 110; source.query must run for r1" in page
    assert not re.search(r"Zacharias|\b173\b|did you mean", text_of(data_docs(tmp_path)))
    assert not (data_docs(tmp_path) / "r1" / "snapshot").exists()


def test_a_release_that_was_only_looked_at_is_not_called_published(tmp_path: Path) -> None:
    series = load_series(write_series(tmp_path, snapshots={"r1": people(60)}))
    documents = DataDocs(series, "r1", JUDGED)
    documents(read_view(series), None, None)
    assert documents.page == "private/clinic/data_docs/index.html"
    page = shown_page(tmp_path, "r1", "release")
    assert "the release is judged, and not published" in page


def test_a_disagreement_with_the_reader_is_told(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A reader that overlooks a domain does not deceive the expectations: they do not use its codes."""
    frame = people(60)
    frame.loc[7, "age"] = 111
    monkeypatch.setattr("reanon_core.model.coding._outside", lambda *_: [])
    main(["publish", str(write_series(tmp_path, snapshots={"r1": frame})), "--data-docs"])
    assert "index.html (the snapshot was read without a problem, but fails a rule there" in capsys.readouterr().out


def test_pages_that_cannot_be_written_do_not_fail_a_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def fail(*_: object) -> None:
        raise ValueError("Zacharias-000001")

    monkeypatch.setattr(release_suites, "write_data_docs", fail)
    assert main(["publish", str(write_series(tmp_path, snapshots={"r1": people(60)})), "--data-docs"]) == 0
    said = capsys.readouterr()
    assert "Data Docs: not written, because of an unexpected ValueError" in said.out
    assert "Zacharias" not in said.out + said.err
