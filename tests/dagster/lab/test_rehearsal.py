"""A rehearsal finds every dead end that the snapshots on the disk show, and writes nothing."""

import json
from datetime import date
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from builders.rehearsed import with_surplus, written
from builders.series import DEFAULT_BRAKES, DISEASES, SERIES, lively, people, write_series

from reanon_core.model.snapshot import Snapshot
from reanon_dagster.cli import main
from reanon_dagster.lab.projection import Projection, observed_churn
from reanon_dagster.lab.rehearsal import Rehearsal, rehearsed_releases
from reanon_dagster.lab.snapshots_on_disk import snapshots_on_disk
from reanon_dagster.releasing.release import publish_ready_releases
from reanon_dagster.series.series_file import load_series

TODAY = date(2030, 1, 1)


def rehearsed(path: Path, capsys: pytest.CaptureFixture[str], *more: str) -> tuple[int, dict, str, str]:
    target = path.parent.parent / "rehearsal.json"
    code = main(["rehearse", str(path), "--json", str(target), "--seed", "1", *more])
    printed = capsys.readouterr()
    return code, json.loads(target.read_text()), printed.out, printed.err


def test_a_dead_end_in_the_third_release_is_found_with_its_date_and_nothing_is_written(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = with_surplus(lively(releases=4, size=72), "r3", 30)
    path = write_series(tmp_path / "series", snapshots=frames)
    before = written(path.parent)
    code, document, out, err = rehearsed(path, capsys)
    assert code == 1
    assert written(path.parent) == before
    results = [(one["release"], one["refused"], one["published"]) for one in document["releases"]]
    assert results == [("r1", False, True), ("r2", False, True), ("r3", True, False)]
    assert "release r3 would be refused: new rows are not 3-eligible" in err
    assert "r3 blocks the releases after it, so r4 cannot be rehearsed" in err
    assert "`reanon advise` says which techniques and parameters get through these snapshots" in err
    assert "nothing is written" in out


def test_what_a_rehearsal_finds_is_what_backfill_does(tmp_path: Path) -> None:
    frames = with_surplus(lively(releases=5, size=72), "r4", 30)
    series = load_series(write_series(tmp_path, snapshots=frames))
    found = snapshots_on_disk(series, TODAY)
    outcomes = list(rehearsed_releases(Rehearsal(series, seed=3), found))
    published = publish_ready_releases(series, TODAY, seed=3)
    for outcome in outcomes[:-1]:
        candidate = next(published).candidate
        assert candidate is not None
        assert outcome.counterfeits == candidate.entry.auxiliary.total
        assert outcome.people == candidate.people
        assert sum(outcome.withheld.values()) == sum(candidate.withheld.values())
    with pytest.raises(Exception, match="not 3-eligible"):
        next(published)
    assert [one.published for one in outcomes] == [True, True, True, False]


def test_an_episode_dead_end_says_how_many_people_it_concerns_and_goes_on_without_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SERIES.replace("m: 3}", "m: 4, balancing: filled, on_sensitive_change: episode}")
    frame = people(120)
    changed = frame.copy()
    for number, disease in enumerate(DISEASES[1:]):  # of six values a signature has four: two have no room for another
        changed.loc[6 * number, "disease"] = disease
    path = write_series(tmp_path / "series", text=text, snapshots={"r1": frame, "r2": frame, "r3": changed})
    before = written(path.parent)
    code, document, _, err = rehearsed(path, capsys, "--ahead", "0")
    assert code == 1
    assert [one["refused"] for one in document["releases"]] == [False, False, True]
    (obstacle,) = document["releases"][2]["obstacles"]
    assert 1 <= obstacle["people"] <= 4
    assert obstacle["went_on"].startswith(f"without {obstacle['people']} p")
    assert document["releases"][2]["rows"] - document["releases"][2]["counterfeits"] == 120 - obstacle["people"]
    assert "writes who to refused/r3.csv in the private folder" in err
    assert "Zacharias" not in err + json.dumps(document)
    assert document["releases"][-1]["published"]
    assert written(path.parent) == before


def test_a_brake_is_told_and_the_rehearsal_goes_on_as_if_it_were_accepted(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = {"r1": people(120), "r2": people(600)}
    path = write_series(tmp_path / "series", text=DEFAULT_BRAKES, snapshots=frames)
    code, document, _, err = rehearsed(path, capsys, "--ahead", "0")
    assert code == 1
    assert [one["published"] for one in document["releases"]] == [True, True]
    assert "the number of people changed too much" in err
    assert "goes on as if you accepted it with --accept-drift" in err


def test_a_key_that_would_sign_and_is_not_there_is_found_before_the_rehearsal(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = SERIES + "publish: {sign: steward.key}\n"
    path = write_series(tmp_path / "series", text=text, snapshots={"r1": people(120)})
    for command in ("rehearse", "backfill"):
        assert main([command, str(path), "--quiet"]) == 2
        assert "publish.sign" in capsys.readouterr().err


@pytest.mark.parametrize("command", ["advise", "compare", "rehearse"])
def test_a_snapshot_that_cannot_be_read_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], command: str
) -> None:
    frames = {"r1": people(120), "r2": people(120).assign(age="old")}
    path = write_series(tmp_path / "series", snapshots=frames)
    assert main([command, str(path), "--quiet"]) == 2
    told = capsys.readouterr().err
    assert "release r2" in told
    assert "`reanon advise` says" not in told


def test_projected_releases_are_marked_and_a_refusal_among_them_fails_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path / "series", snapshots=dict(list(lively(size=72).items())[:3]))
    code, document, out, _ = rehearsed(path, capsys, "--ahead", "3")
    assert code == 0
    assert [one["projected"] for one in document["releases"][:3]] == [False] * 3
    assert all(one["projected"] for one in document["releases"][3:])
    assert document["releases"][3]["release"] == "r4"
    assert "(projected)" in out
    assert "forecast nothing" in out


def test_the_document_has_every_number_of_every_release(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path / "series", snapshots=lively(size=72))
    code, document, out, _ = rehearsed(path, capsys)
    assert code == 0
    assert set(document) == {
        "series", "technique", "parameters", "form", "remarks", "missing_snapshots", "releases", "attacks"
    }  # fmt: skip
    assert set(document["releases"][0]) == {
        "release", "projected", "refused", "published", "obstacles", "people", "rows", "withheld", "counterfeits",
        "dirty", "query_error", "relations", "lost", "share_changed", "values", "exposed", "attacked", "seconds",
        "notes",
    }  # fmt: skip
    assert all(one["exposed"] == 0 for one in document["releases"])
    assert document["attacks"]["people exposed by intersection"] == 0
    assert "the attack intersection exposes 0 of" in out
    assert (path.parent.parent / "rehearsal.json").stat().st_mode & 0o777 == 0o600


def test_a_series_with_releases_is_rehearsed_from_its_first_snapshot_and_stays_as_it_is(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(size=72)
    path = write_series(tmp_path / "series", snapshots=dict(list(frames.items())[:2]))
    assert main(["backfill", str(path), "--seed", "0", "--quiet"]) == 0
    write_series(tmp_path / "series", snapshots=frames)
    before = written(path.parent)
    code, document, _, err = rehearsed(path, capsys, "--ahead", "0")
    assert code == 0
    assert [one["release"] for one in document["releases"]] == list(frames)
    assert "2 releases are published already; the rehearsal does not continue them" in err
    assert written(path.parent) == before


def test_a_missing_snapshot_is_told_and_a_broken_one_is_bad_input(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    frames = lively(size=72)
    path = write_series(tmp_path / "series", snapshots={"r1": frames["r1"], "r3": frames["r3"]})
    code, document, _, err = rehearsed(path, capsys, "--ahead", "0")
    assert (code, document["missing_snapshots"]) == (1, ["r2"])
    assert "r2 has no snapshot" in err
    write_series(tmp_path / "series", snapshots={"r2": frames["r2"].drop(columns="disease")})
    code, document, _, _ = rehearsed(path, capsys, "--ahead", "0")
    assert code == 2
    assert [one["published"] for one in document["releases"]] == [True, False]


def test_validate_points_to_the_rehearsal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots=lively(size=72))
    assert main(["validate", str(path)]) == 0
    assert "reanon rehearse" in capsys.readouterr().out


def coded(path: Path) -> list[Snapshot]:
    rehearsal = Rehearsal(load_series(path), seed=0, attacked=False)
    list(rehearsed_releases(rehearsal, snapshots_on_disk(rehearsal.series, TODAY)))
    return [entry.snapshot for entry in rehearsal.entries]


def test_the_projection_repeats_the_churn_that_was_observed(tmp_path: Path) -> None:
    snapshots = coded(write_series(tmp_path, snapshots=dict(list(lively(size=1200).items())[:3])))
    churn = observed_churn(snapshots)
    for one, (first, second) in zip(churn, pairwise(snapshots), strict=True):
        gone = set(first.persons.tolist()) - set(second.persons.tolist())
        assert one.left == pytest.approx(len(gone) / first.size)
    projected = Projection(snapshots, np.random.default_rng(5)).next_snapshot()
    last, everyone = snapshots[-1], np.unique(np.concatenate([one.persons for one in snapshots]))
    stayed = np.isin(last.persons, projected.persons)
    new = ~np.isin(projected.persons, everyone)
    assert 1 - stayed.mean() == pytest.approx(0.2, abs=0.05)
    assert new.mean() == pytest.approx(np.mean([one.joined for one in churn]) / (projected.size / last.size), abs=0.03)
    kept = np.isin(projected.persons, last.persons)
    assert np.array_equal(projected.sensitive[kept], last.sensitive[stayed])  # no value changed on the disk either
    aged = projected.qi[0, kept] - last.qi[0, stayed]
    assert set(np.unique(aged)) <= {0, 1}
