"""Taking back a release: tombstone, chain, lessons."""

import hashlib
import json
from pathlib import Path

import dagster as dg
import pytest
from builders.assets import Maker
from builders.series import people, write_series

from reanon_core.model.errors import OutOfOrder, Refused
from reanon_dagster import open_series
from reanon_dagster.cli import main
from reanon_dagster.storage import published_folder
from reanon_dagster.verification.published_chain import verify_published


def run(*arguments: object) -> int:
    return main([str(argument) for argument in arguments])


@pytest.fixture
def series(tmp_path: Path) -> Path:
    return write_series(tmp_path, snapshots={f"r{at}": people(60 + 6 * at) for at in range(1, 5)})


@pytest.fixture
def published(series: Path) -> Path:
    assert run("backfill", series, "--to", "r3", "--quiet") == 0
    return series.parent / "published" / "clinic"


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_withdrawn_release_keeps_its_manifest_and_loses_its_tables(series: Path, published: Path) -> None:
    before = (published / "r3" / "manifest.json").read_bytes()
    assert run("withdraw", series, "--release", "r3", "--because", "Zacharias complained", "--quiet") == 0
    assert files(published / "r3") == ["manifest.json", "withdrawn.json"]
    assert (published / "r3" / "manifest.json").read_bytes() == before
    assert "Zacharias" not in (published / "r3" / "withdrawn.json").read_text()
    assert (published / "r3" / "withdrawn.json").stat().st_mode & 0o777 == 0o644
    assert run("verify", published, "--quiet") == 0
    assert run("audit", series, "--quiet") == 0


def test_the_next_manifest_records_the_withdrawal_and_the_one_after_it_does_not(
    series: Path, published: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_series(series).withdraw("r3", because="wrong table", public_reason="wrong table")
    open_series(series).withdraw("r2", because="wrong table")
    assert json.loads((published / "r3" / "withdrawn.json").read_text())["reason"] == "wrong table"
    assert run("publish", series, "--quiet") == 0
    manifest = json.loads((published / "r4" / "manifest.json").read_text())
    assert sorted(manifest["withdrawn"]) == ["r2", "r3"]
    people(90).to_csv(series.parent / "snapshots" / "r5.csv", index=False)
    assert run("publish", series, "--quiet") == 0
    assert "withdrawn" not in json.loads((published / "r5" / "manifest.json").read_text())
    capsys.readouterr()
    assert run("verify", published, "--json", tmp_path / "verified.json") == 0
    assert "withdrawn: r2, r3" in capsys.readouterr().out
    told = json.loads((tmp_path / "verified.json").read_text())["releases"]
    assert [one["release"] for one in told if one.get("withdrawn")] == ["r2", "r3"]
    assert run("audit", series, "--quiet") == 0
    assert run("status", series) == 0
    assert capsys.readouterr().out.count("withdrawn") == 2


def test_only_the_newest_release_that_stands_can_be_withdrawn(series: Path, published: Path) -> None:
    own = open_series(series)
    with pytest.raises(OutOfOrder, match="withdraw r3 first"):
        own.withdraw("r2", because="b")
    assert files(published / "r2") == [
        "README.md",
        "counterfeits.csv",
        "counterfeits.parquet",
        "datapackage.json",
        "manifest.json",
        "table.csv",
        "table.parquet",
        "view.sql",
    ]
    assert run("withdraw", series, "--release", "r9", "--because", "b") == 2
    assert run("withdraw", series, "--release", "r3", "--because", " ") == 2
    own.withdraw("r3", because="b")
    own.withdraw("r3", because="b")
    own.withdraw("r2", because="b")


def test_a_withdrawn_release_is_never_published_again(
    series: Path, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    open_series(series).withdraw("r3", because="b")
    assert run("publish", series, "--release", "r3") == 1
    assert "release r3 was withdrawn on" in capsys.readouterr().err
    assert files(published / "r3") == ["manifest.json", "withdrawn.json"]
    with dg.DagsterInstance.ephemeral() as instance:
        assert "release r3 was withdrawn on" in Maker(series, instance).refusal("r3")


def test_state_trace_and_ledger_still_know_a_withdrawn_release(series: Path, published: Path, tmp_path: Path) -> None:
    own = open_series(series)
    before = own.ledger().entries[-1]
    own.withdraw("r3", because="b")
    assert (own.ledger().entries[-1].trace.persons == before.trace.persons).all()
    assert run("trace", series, "--release", "r3", "--out", tmp_path / "t.csv", "--quiet") == 0
    assert len((tmp_path / "t.csv").read_text().splitlines()) == 1 + len(before.trace.persons)


@pytest.mark.parametrize("step", ["replace_file", "_listed"])
def test_the_next_command_finishes_an_interrupted_withdrawal(
    series: Path, published: Path, step: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def killed(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(published_folder, step, killed)
        with pytest.raises(KeyboardInterrupt):
            open_series(series).withdraw("r3", because="b")
    assert "table.csv" in files(published / "r3")
    assert run("status", series, "--quiet") == 0
    assert files(published / "r3") == ["manifest.json", "withdrawn.json"]


def test_a_published_folder_that_cannot_be_changed_now_is_changed_later(
    series: Path, published: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(published_folder, "replace_file", full)
        with pytest.raises(Refused, match=r"withdrawn in the store.*No space left on device"):
            open_series(series).withdraw("r3", because="b")
        assert run("status", series, "--quiet") == 1
        assert run("audit", series, "--quiet", "--attack", "intersection") == 1
    assert run("lift", series, "--because", "there is space again", "--quiet") == 0
    assert files(published / "r3") == ["manifest.json", "withdrawn.json"]


def test_a_verifier_notices_whatever_is_wrong_with_a_withdrawal(series: Path, published: Path) -> None:
    table = (published / "r3" / "table.csv").read_bytes()
    open_series(series).withdraw("r3", because="b")
    assert run("publish", series, "--quiet") == 0
    tombstone = published / "r3" / "withdrawn.json"
    text = tombstone.read_text()

    def flaws() -> str:
        return "\n".join(flaw.sentence for flaw in verify_published(published).flaws)

    assert flaws() == ""
    (published / "r3" / "table.csv").write_bytes(table)
    assert "r3/table.csv is still there, although the release is withdrawn" in flaws()
    (published / "r3" / "table.csv").unlink()
    tombstone.write_text(text.replace("withdrawn", "Withdrawn"))
    assert "r3/withdrawn.json was changed: it is not the one that r4 records" in flaws()
    tombstone.write_text(text.replace('"manifest": "', '"manifest": "0'))
    assert "withdraws another manifest" in flaws()
    tombstone.write_text("{")
    assert "r3/withdrawn.json is not valid JSON" in flaws()
    tombstone.unlink()
    assert "r3 was withdrawn, as r4 records, and its withdrawn.json is missing" in flaws()
    tombstone.write_text(text)
    other = json.loads((published / "r2" / "manifest.json").read_text())
    forged = {"series": "clinic", "release": "r2", "manifest": "", "withdrawn": "2026-01-01"}
    forged["manifest"] = hashlib.sha256((published / "r2" / "manifest.json").read_bytes()).hexdigest()
    for name in other["files"]:
        (published / "r2" / name).unlink()
    (published / "r2" / "withdrawn.json").write_text(json.dumps(forged))
    assert "release r2 is withdrawn, and no later manifest records it" in flaws()


def test_a_withdrawal_that_the_ledger_does_not_know_fails_the_audit(
    series: Path, published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    manifest = published / "r3" / "manifest.json"
    digest = hashlib.sha256(manifest.read_bytes()).hexdigest()
    for name in json.loads(manifest.read_text())["files"]:
        (published / "r3" / name).unlink()
    forged = {"series": "clinic", "release": "r3", "manifest": digest, "withdrawn": "2026-01-01"}
    (published / "r3" / "withdrawn.json").write_text(json.dumps(forged))
    assert run("verify", published, "--quiet") == 0  # no one but the steward can know
    assert run("audit", series, "--quiet") == 1
    assert "release r3 is not withdrawn in the ledger, and withdrawn in the published folder" in capsys.readouterr().err
