"""`reanon report`: one file without scripts and requests; the public one is made of public data alone."""

import base64
import json
import re
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from builders.long_lists import sampled
from builders.private_texts import leaks, private_texts
from builders.series import SERIES, begin, lively, write_series

from reanon_core.attacks.insider import InsiderAttack
from reanon_core.catalog import TECHNIQUES, build_technique
from reanon_core.metrics.value_counts import value_counts
from reanon_core.model.ledger import Ledger
from reanon_core.replay import replay
from reanon_core.techniques.decoupled import decouple
from reanon_dagster.cli import main
from reanon_dagster.lab.baseline import exact_entry
from reanon_dagster.releasing.query_error import percentage
from reanon_dagster.report.exposure import candidates_over_time, exposed_people
from reanon_dagster.report.ledger_numbers import churn, example, margins, naive_ledger
from reanon_dagster.report.pages.pictures import bars
from reanon_dagster.report.pages.public_page import promise_of
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.storage.series_store import read_summary

SMALL = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1, r2, r3]").replace(
    "series: clinic", "series: clinic\ntitle: A clinic <script>alert(1)</script>"
)
QUICKLY = ["--quiet", "--attack", "intersection,linkage,insider"]
"""Without the attacks that take seconds even on a few people."""
POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:"


@pytest.fixture(scope="module")
def clinic(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Three published releases, and one report of each kind."""
    path = write_series(tmp_path_factory.mktemp("clinic"), text=SMALL, snapshots=lively(3, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["report", str(path), *QUICKLY]) == 0
    assert main(["report", str(path), "--quiet", "--public"]) == 0
    return path


def reports(path: Path) -> dict[str, Path]:
    folder = path.parent / "private" / "clinic" / "report"
    return {"internal": folder / "r3.html", "public": folder / "r3.public.html"}


def words(path: Path) -> str:
    """A page without its pictures."""
    return re.sub(r"base64,[A-Za-z0-9+/=]*", "", path.read_text())


def ledger_of(path: Path) -> Ledger:
    series = load_series(path)
    with opened(series.private_folder, read_only=True) as connection:
        return store_reader.ledger(connection, series.schema)


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_a_report_has_no_script_no_reference_and_a_strict_policy(clinic: Path, kind: str) -> None:
    text = words(reports(clinic)[kind])
    assert f'http-equiv="Content-Security-Policy" content="{POLICY}' in text
    assert "<script" not in text.lower()
    assert not re.search(r"https?:|//\w|@import|url\(", text)
    assert {found[:5] for found in re.findall(r'(?:src|href)="([^"]*)"', text)} == {"data:"}
    assert not re.search(r"\son\w+=", text)
    assert "A clinic &lt;script&gt;" in text


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_a_report_lies_in_the_private_folder_for_its_owner_alone(clinic: Path, kind: str) -> None:
    path = reports(clinic)[kind]
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700
    assert not list((clinic.parent / "published").rglob("*.html"))


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_the_same_releases_give_the_same_bytes(clinic: Path, kind: str) -> None:
    before = reports(clinic)[kind].read_bytes()
    assert main(["report", str(clinic), *QUICKLY, *(["--public"] if kind == "public" else [])]) == 0
    assert reports(clinic)[kind].read_bytes() == before


@pytest.mark.parametrize("kind", ["internal", "public"])
def test_no_report_has_an_id_or_a_pseudonym(clinic: Path, kind: str) -> None:
    text = reports(clinic)[kind].read_text()
    ids = {one for one in private_texts(clinic.parent / "snapshots") if not one.startswith(",")}
    assert leaks(ids, text) == []
    persons = np.unique(np.concatenate([entry.snapshot.persons for entry in ledger_of(clinic).entries]))
    assert not [person for person in persons if str(person) in text or f"{int(person) & (2**64 - 1):x}" in text]


def test_the_public_report_has_neither_rows_nor_what_compares_with_the_truth(clinic: Path) -> None:
    text = reports(clinic)["public"].read_text()
    assert leaks(private_texts(clinic.parent / "snapshots"), text) == []
    record = read_summary(load_series(clinic).private_folder).records[-1]
    for private in ("typical count", "exposes", "were tried", record.input_digest, record.candidate_digest):
        assert private not in text, private
    assert "Every check that this release must pass holds." in text
    assert all(check in text for check in ("m-invariance", "m-uniqueness", "well-formedness"))


def test_the_internal_report_shows_one_insider_and_what_was_not_tested(clinic: Path) -> None:
    text = " ".join(words(reports(clinic)["internal"]).split())
    ledger = ledger_of(clinic)
    found = InsiderAttack().run(ledger.history(), ledger.knowledge())
    assert found.exposed > 0
    assert f"One person who tells their disease makes up to {found.exposed} others certain" in text
    assert re.search(r"<td>linkage</td><td[^>]*>not tested</td>", text)
    assert "a single person who tells their own disease may make others certain" in words(reports(clinic)["public"])


def test_the_internal_report_begins_with_the_verdict_and_compares_with_the_naive_way(clinic: Path) -> None:
    text = reports(clinic)["internal"].read_text()
    assert text.index("Every required check of r3 holds.") < text.index("<h2>")
    found = re.search(r"An intersection of all 3 releases exposes (\d+) people.*expose (\d+)\.", text)
    assert found is not None
    assert int(found[1]) == 0
    assert int(found[2]) > 0


def test_exposure_and_the_example_agree_with_the_releases(clinic: Path) -> None:
    series, ledger = load_series(clinic), ledger_of(clinic)
    naive = naive_ledger(series, ledger)
    assert naive is not None
    own, other = (candidates_over_time(one.history(), one.knowledge()) for one in (ledger, naive))
    assert exposed_people(own) == [0, 0, 0]
    assert 0 == exposed_people(other)[0] < exposed_people(other)[-1]
    steps = example(ledger, ["r1", "r2", "r3"], own, other)
    assert all(len(step.series) >= 3 for step in steps)
    assert set(steps[-1].series) <= set(steps[0].series)
    assert len(steps[-1].naive) == 1


@pytest.mark.parametrize("release", ["r1", "r2", "r3"])
def test_the_first_screen_has_what_was_lost_by_value(clinic: Path, release: str) -> None:
    series, at = load_series(clinic), int(release[1]) - 1
    record, counts = read_summary(series.private_folder).records[at], value_counts(ledger_of(clinic).entries[at])
    assert counts is not None
    worst = counts.rows()[0]
    assert main(["report", str(clinic), *QUICKLY, "--release", release]) == 0
    first = words(reports(clinic)["internal"].with_name(f"{release}.html")).partition("<h2>")[0]
    assert f"{record.people:,} people are in the table, {record.withheld} of them withheld" in first
    assert f"A typical count is off by {percentage(record.query_error)}" in first
    told = f"Most is lost of {worst['value']}: of {worst['people']:,} people {worst['withheld']:,} are withheld"
    assert (told in first) == (worst["lost"] > 0)


def test_pictures_keep_text_in_any_script_without_a_warning() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        address = bars([("喘息", 3.0, 2.0, 4.0), ("ربو & <b>", 2.0, 1.0, 3.0)], "people")
    drawn = base64.b64decode(address.partition(",")[2]).decode()
    assert "喘息" in drawn
    assert "ربو &amp; &lt;b&gt;" in drawn


def test_churn_counts_who_joins_returns_leaves_and_changes(clinic: Path) -> None:
    snapshots = [entry.snapshot for entry in ledger_of(clinic).entries]
    known: set[int] = set()
    before: set[int] = set()
    for one, snapshot in zip(churn(["r1", "r2", "r3"], snapshots), snapshots, strict=True):
        here = set(snapshot.persons.tolist())
        assert (one.people, one.new, one.left) == (len(here), len(here - known), len(before - here))
        assert one.returned == len((here & known) - before)
        assert one.changed == 0
        known, before = known | here, here
    assert one.returned > 0


def test_exact_values_have_the_margins_and_pairs_of_the_original(clinic: Path) -> None:
    snapshot = ledger_of(clinic).entries[-1].snapshot
    shown, pairs = margins(exact_entry(snapshot, np.random.default_rng(0)))
    assert [one.column for one in shown] == ["age", "zip", "disease"]
    assert len(pairs) == 3
    assert max([one.distance for one in shown] + [pair[2] for pair in pairs]) == pytest.approx(0, abs=1e-12)
    assert sum(true for _, true, _ in shown[0].ranges) == snapshot.size
    published = replay(build_technique("m-invariance", {"m": 3}), [snapshot], np.random.default_rng(0)).entries[0]
    assert all(one.distance > 0 for one in margins(published)[0] if one.column != "disease")


def test_a_decoupled_release_is_compared_in_its_sensitive_column_too(clinic: Path) -> None:
    snapshot = ledger_of(clinic).entries[-1].snapshot
    technique = decouple(build_technique("m-invariance", {"m": 3}), 3)
    entry = replay(technique, [snapshot], np.random.default_rng(0)).entries[0]
    shown, pairs = margins(entry)
    off = entry.withheld + entry.auxiliary.total  # the order of people is another in every run, and so is chance
    assert off <= 6
    assert [one.column for one in shown] == ["age", "zip", "disease"]
    assert len(pairs) == 3
    assert sum(published for _, _, published in shown[-1].ranges) == pytest.approx(snapshot.size - entry.withheld)
    assert shown[-1].distance <= off / snapshot.size + 1e-9


def test_values_below_zero_are_compared_as_others_are(clinic: Path) -> None:
    snapshot = ledger_of(clinic).entries[-1].snapshot
    ages = replace(snapshot.schema.quasi_identifiers[0], domain=None)
    schema = replace(snapshot.schema, quasi_identifiers=(ages, *snapshot.schema.quasi_identifiers[1:]))
    earlier = replace(snapshot, schema=schema, qi=snapshot.qi - np.array([[200], [0]], np.int32))
    shown, _ = margins(exact_entry(earlier, np.random.default_rng(0)))
    assert [one.column for one in shown] == ["age", "zip", "disease"]
    assert sum(true for _, true, _ in shown[0].ranges) == snapshot.size


REPORTED = [
    "{name: sequential, ell: 3}",
    "{name: m-invariance, m: 3}",
    "{name: cor-split, m: 3, n: 2}",
    "{name: bpg, k: 4, ell: 2}",
    "{name: js-reduce, k: 4, t: 0.6, j: 0.9}",
    "{name: mondrian, k: 4, ell: 2}",
]


@pytest.mark.parametrize("technique", sampled(REPORTED, REPORTED[:2]))
def test_every_kind_of_release_has_both_reports(tmp_path: Path, technique: str) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1]").replace("{name: m-invariance, m: 3}", technique)
    decoupled = "publish: {form: decoupled, k: 3}\n" if "m-inv" in technique else ""
    path = write_series(tmp_path, text=text + decoupled, snapshots=lively(1, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    for options in ([], ["--public"]):
        out = tmp_path / f"report{len(options)}.html"
        assert main(["report", str(path), *QUICKLY, "--out", str(out), *options]) == 0
        assert "holds" in out.read_text()


def test_a_series_without_people_yet_has_both_reports(tmp_path: Path) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1]")
    path = write_series(tmp_path, text=text, snapshots={"r1": lively(1, 60)["r1"].iloc[:0]})
    assert main(["backfill", str(path), "--quiet", "--accept-drift", "opens in spring"]) == 0
    for options in ([], ["--public"]):
        out = tmp_path / f"report{len(options)}.html"
        assert main(["report", str(path), *QUICKLY, "--out", str(out), *options]) == 0
        assert "One person, release by release" not in out.read_text()


def test_rows_without_groups_are_not_called_groups(tmp_path: Path) -> None:
    text = SERIES.replace("[r1, r2, r3, r4, r5]", "[r1]").replace("m-invariance, m: 3", "sequential, ell: 3")
    path = write_series(tmp_path, text=text, snapshots=lively(1, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["report", str(path), *QUICKLY, "--out", str(tmp_path / "report.html")]) == 0
    told = words(tmp_path / "report.html")
    assert "The smallest set of rows with one box of r1 has" in told
    assert "the group with the fewest values" not in told


def test_an_earlier_release_is_reported_as_it_was(clinic: Path, tmp_path: Path) -> None:
    out = tmp_path / "r1.html"
    assert main(["report", str(clinic), "--quiet", "--release", "r1", "--public", "--out", str(out)]) == 0
    assert "r2" not in words(out)
    assert "r1" in words(out)


def test_what_cannot_be_reported_is_said(clinic: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    public = clinic.parent / "published" / "clinic" / "report.html"
    assert main(["report", str(clinic), "--quiet", "--out", str(public)]) == 2
    assert "--out" in capsys.readouterr().err
    assert main(["report", str(clinic), "--quiet", "--release", "r9"]) == 2
    table = clinic.parent / "snapshots" / "r1.csv"
    assert main(["report", str(clinic), "--quiet", "--out", str(table)]) == 2
    empty = write_series(tmp_path, text=SMALL, snapshots=lively(1, 60))
    capsys.readouterr()
    assert main(["report", str(empty), "--quiet"]) == 1
    assert "nothing is published yet" in capsys.readouterr().err
    assert not (tmp_path / "private").exists()


def test_a_withdrawn_release_has_no_public_report(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, text=SMALL, snapshots=lively(2, 60))
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["withdraw", str(path), "--quiet", "--release", "r2", "--because", "a test"]) == 0
    assert main(["report", str(path), "--quiet", "--public"]) == 1
    assert "withdrawn" in capsys.readouterr().err
    assert main(["report", str(path), *QUICKLY]) == 0


@pytest.mark.parametrize("name", TECHNIQUES)
def test_every_technique_says_in_one_sentence_what_it_does(name: str) -> None:
    assert promise_of(name).endswith(".")


def test_boxes_that_are_no_groups_are_called_boxes_and_withheld_people_are_said_to_differ(tmp_path: Path) -> None:
    technique = "m-invariance, m: 3, balancing: median, not_eligible: partial-blocks"
    text = SMALL.replace("m-invariance, m: 3", technique) + "publish: {report: true, form: decoupled, k: 3}\n"
    path = write_series(tmp_path, text=text, snapshots=lively(3, 60))
    begin(path)
    assert main(["backfill", str(path), "--quiet", "--seed", "1"]) == 0
    folder = tmp_path / "published" / "clinic"
    manifests = [json.loads((folder / name / "manifest.json").read_text()) for name in ("r1", "r2", "r3")]
    assert {one["withheld"] > 0 for one in manifests} == {False, True}
    for name, manifest in zip(("r1", "r2", "r3"), manifests, strict=True):
        page = words(folder / name / "report.html")
        assert re.search(r"Boxes have \d+ to \d+ rows, half of them \d+ or more", page)
        assert "the rows of a group are its values, counterfeits included. A group may have fewer people." in page
        assert ("need not have the same values" in page) == bool(manifest["withheld"])
        readme = (folder / name / "README.md").read_text()
        assert ("That withheld people have the values of the others." in readme) == bool(manifest["withheld"])
