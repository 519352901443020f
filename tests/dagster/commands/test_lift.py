"""A failed audit halts a series; nothing is published by any way until a person lifts the halt and says why."""

import hashlib
import json
import shutil
from datetime import date
from pathlib import Path

import duckdb
import pytest
from builders.series import lively, releases_in, write_series

from reanon_core.model.errors import Refused
from reanon_dagster.cli import main
from reanon_dagster.releasing.gate import accept
from reanon_dagster.releasing.release import make_candidate
from reanon_dagster.releasing.release_audit import audit_release
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series
from reanon_dagster.stored_series import open_series

TODAY = date(2030, 1, 1)


@pytest.fixture(scope="module")
def published(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A series with two published releases."""
    path = write_series(tmp_path_factory.mktemp("series"), snapshots=lively(3, 72))
    assert main(["backfill", str(path), "--to", "r2", "--quiet"]) == 0
    return path


@pytest.fixture
def series(published: Path, tmp_path: Path) -> Path:
    shutil.copytree(published.parent, tmp_path, dirs_exist_ok=True)
    return tmp_path / published.name


@pytest.fixture
def table(tmp_path: Path) -> Path:
    return tmp_path / "published" / "clinic" / "r1" / "table.csv"


def test_a_failed_audit_halts_the_series_until_a_person_lifts_the_halt(
    series: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    right = table.read_bytes()
    table.write_text("x")
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 1
    assert "clinic: r1/table.csv was changed" in capsys.readouterr().err
    for command in ("publish", "backfill", "validate"):
        assert main([command, str(series), "--quiet"]) == 1
        told = capsys.readouterr().err
        assert "clinic is halted since 20" in told
        assert "because the audit of release r2 failed: r1/table.csv was changed" in told
        assert "run `reanon lift SERIES.yaml --because REASON`" in told
    with pytest.raises(Refused, match="is halted"):
        open_series(series).publish()
    assert main(["status", str(series)]) == 1
    shown = capsys.readouterr()
    assert "clinic: r1/table.csv was changed" in shown.err
    assert "clinic is halted since" in shown.err
    assert "halted" in shown.out
    table.write_bytes(right)
    assert main(["lift", str(series), "--because", "restored from the backup"]) == 0
    lifted = capsys.readouterr()
    assert "is lifted; the series may go on" in lifted.out
    assert lifted.err == ""
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 0
    assert main(["backfill", str(series), "--quiet"]) == 0


def test_the_halt_and_why_it_was_lifted_are_kept(series: Path, table: Path, tmp_path: Path) -> None:
    table.unlink()
    for _ in range(2):  # the same audit again is the same halt
        main(["audit", str(series), "--attack", "intersection", "--quiet"])
    assert main(["lift", str(series), "--because", "the file is on the mirror", "--quiet"]) == 0
    with duckdb.connect(str(tmp_path / "private" / "clinic" / "store.duckdb"), read_only=True) as connection:
        rows = connection.execute("SELECT release, reason, lifted >= halted, because FROM private.halts").fetchall()
    assert rows == [("r2", "r1/table.csv is missing", True, "the file is on the mirror")]


def test_a_halt_may_be_lifted_while_the_cause_stands_with_a_warning_and_the_next_audit_halts_again(
    series: Path, table: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    table.unlink()
    main(["audit", str(series), "--attack", "intersection", "--quiet"])
    capsys.readouterr()
    assert main(["lift", str(series), "--because", "withdrawn by court order", "--quiet"]) == 0
    assert (
        "accepted, although the next audit may halt the series again: r1/table.csv is missing"
        in capsys.readouterr().err
    )
    assert main(["publish", str(series), "--quiet"]) == 0
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 1
    assert main(["publish", str(series), "--quiet"]) == 1


def test_a_reason_is_required(series: Path, table: Path, capsys: pytest.CaptureFixture[str]) -> None:
    table.unlink()
    main(["audit", str(series), "--attack", "intersection", "--quiet"])
    assert main(["lift", str(series), "--because", "  "]) == 2
    assert "--because must say why the series may go on" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["lift", str(series)])
    assert main(["publish", str(series), "--quiet"]) == 1


def test_a_series_that_is_not_halted_has_nothing_to_lift(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["lift", str(series), "--because", "why not"]) == 0
    assert "clinic is not halted" in capsys.readouterr().out
    shutil.rmtree(tmp_path / "private")
    shutil.rmtree(tmp_path / "published")
    assert main(["lift", str(series), "--because", "why not"]) == 0
    assert not (tmp_path / "private").exists()


def test_the_gate_refuses_a_candidate_that_was_made_before_the_halt(series: Path, table: Path, tmp_path: Path) -> None:
    loaded = load_series(series)
    candidate = make_candidate(loaded, read_view(loaded), "r3", TODAY)
    assert candidate is not None
    table.unlink()
    assert main(["audit", str(series), "--attack", "intersection", "--quiet"]) == 1
    with pytest.raises(Refused, match="is halted since"):
        accept(loaded, candidate)
    assert releases_in(tmp_path / "published" / "clinic") == ["r1", "r2"]
    assert len(read_view(loaded).records) == 2


def test_a_forged_release_with_matching_hashes_is_noticed_by_the_ledger(
    series: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "published" / "clinic" / "r2"
    forged = folder / "table.csv"
    forged.write_text(forged.read_text().replace("flu", "cold"))
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["files"]["table.csv"]["sha256"] = hashlib.sha256(forged.read_bytes()).hexdigest()
    (folder / "manifest.json").write_text(json.dumps(manifest))
    assert main(["verify", str(folder.parent), "--quiet"]) == 1
    assert "clinic.head.json has another sha256 of r2/manifest.json" in capsys.readouterr().err
    (folder.parent.parent / "clinic.head.json").unlink()
    assert main(["verify", str(folder.parent), "--quiet"]) == 0  # no later manifest names it
    found = audit_release(load_series(series), "r2")
    assert found is not None
    assert "r2/manifest.json is not the manifest that the ledger records" in found.flaws
    assert main(["publish", str(series), "--quiet"]) == 1
    assert "clinic.head.json has another sha256 of r2/manifest.json" in capsys.readouterr().err
