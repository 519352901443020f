"""Data Docs as a steward finds them: aggregates only, closed to others, complete, and made on demand."""

import re
import stat
import sys
from datetime import UTC, datetime
from pathlib import Path

import duckdb
import pandas as pd
import pytest
from builders.faults import Forgetful
from builders.series import DISEASES, lively, people, write_series

from reanon_dagster.cli import main
from reanon_dagster.expectations import data_docs as room
from reanon_dagster.expectations.data_docs import FOLDER, ROWS, write_data_docs
from reanon_dagster.expectations.suites import Result, Suite
from reanon_dagster.storage.connection import STORE


def text_of(folder: Path) -> str:
    return "\n".join(path.read_text() for path in sorted(folder.rglob("*")) if path.is_file())


def test_names_and_titles_are_text_and_not_markup(tmp_path: Path) -> None:
    folder = tmp_path / "a $HOME & ${folder}"
    result = Result("<b>bold</b>", success=True, sentence="$sentence <script>alert(1)</script>", column="age")
    docs = write_data_docs(folder, "<u>title</u> $HOME", [Suite("snapshot", "r1", (result,))])
    assert docs.index == folder / "index.html"
    for page in folder.rglob("*.html"):
        assert not re.search(r"<(b|u|script)>", page.read_text()), page


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
    assert len(files) > 3 * 3 * 2
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
    for name in ("r1", "r2", "r3"):
        for suite in ("snapshot", "release", ROWS):
            (page,) = (data_docs(documented) / "validations" / suite / name).rglob("*.html")
            assert str(page.relative_to(data_docs(documented))) in index
            assert "no violations" in page.read_text()
    page = next((data_docs(documented) / "validations" / "release" / "r2").rglob("*.html")).read_text()
    assert "everybody has the same signature in every release" in page
    assert "people compared 192" in page
    page = next((data_docs(documented) / "validations" / "snapshot" / "r2").rglob("*.html")).read_text()
    assert "age must lie in its domain, from 0 to 110" in page
    assert "people before 240" in page


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
    (page,) = (data_docs(tmp_path) / "validations" / "release" / "r2").rglob("*.html")
    assert len(re.findall('<i class="fas fa-times', page.read_text())) == 2  # the overview's, and m-invariance's
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
    docs = write_data_docs(tmp_path / "docs", "A title", [Suite("snapshot", "2018", (Result("a", True, "a rule"),))])
    (run,) = (tmp_path / "docs" / "results" / "snapshot" / "2018").iterdir()
    judged = datetime.strptime(run.name[:15], "%Y%m%dT%H%M%S").replace(tzinfo=UTC)
    assert before <= judged <= datetime.now(tz=UTC)
    index = docs.index.read_text()
    assert re.search(rf"{judged:%Y-%m-%d}", index)
    assert "2018-" not in index


def test_old_runs_leave_the_list_and_stay_on_the_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(room, "LISTED", 2)
    for name in ("r1", "r2", "r3"):
        docs = write_data_docs(tmp_path / "docs", "A title", [Suite("snapshot", name, (Result("a", True, "a rule"),))])
    assert re.findall(r"validations/snapshot/(r\d)/", docs.index.read_text()) == ["r3", "r2"]
    assert len(list((tmp_path / "docs" / "validations").rglob("*.html"))) == 3
