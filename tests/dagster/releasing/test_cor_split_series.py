"""Cor-Split as a steward meets it: series file, gate, Dagster, Data Docs, audit with compromised people."""

import json
from pathlib import Path

import pandas as pd
import pytest
from builders.published_series import published_series
from builders.series import DISEASES, SERIES, lively, people, write_series

from reanon_core.catalog import own_checks
from reanon_dagster.cli import main
from reanon_dagster.definitions import series_definitions
from reanon_dagster.expectations.data_docs import verdict_suite
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

COR_SPLIT = SERIES.replace("{name: m-invariance, m: 3}", "{name: cor-split, m: 4, n: 3}")
OWN = ["well-formedness", "k-anonymity", "l-diversity", "hc-safety"]


def independent_problems(folder: Path, releases: list[str], m: int, n: int) -> list[str]:
    """Weak m-invariance and Figure 6 from published files and traces alone, with pandas."""
    found: list[str] = []
    signature: dict[str, frozenset[str]] = {}
    past: list[dict[str, int]] = []
    for release in releases:
        table = pd.read_parquet(folder / "published" / "clinic" / release / "table.parquet")
        trace = pd.read_parquet(folder / f"{release}.parquet")
        group_of = dict(zip(trace["id"], table["group_id"].to_numpy()[trace["row"].to_numpy()], strict=True))
        for group, rows in table.groupby("group_id"):
            counts = rows["disease"].value_counts()
            if len(counts) < m or counts.nunique() > 1:
                found.append(f"{release}: a group is not weakly {m}-unique")
            members = [person for person, own in group_of.items() if own == group]
            for person in members:
                if signature.setdefault(person, frozenset(counts.index)) != frozenset(counts.index):
                    found.append(f"{release}: somebody has another signature")
            for earlier in past:
                together = pd.Series([earlier[person] for person in members if person in earlier]).value_counts()
                if len(together) and len(rows) - n < together.max() < len(rows):
                    found.append(f"{release}: a group is hc-unsafe")
        past.append(group_of)
    return found


@pytest.mark.parametrize("technique", ["{name: cor-split, m: 4, n: 3}", "{name: cor-split, m: 4, n: 2, strict: false}"])
def test_an_outsider_finds_every_release_hc_safe(technique: str, tmp_path: Path) -> None:
    text = SERIES.replace("{name: m-invariance, m: 3}", technique)
    series = write_series(tmp_path, text=text, snapshots=lively())
    assert main(["backfill", str(series), "--quiet"]) == 0
    names = [f"r{i}" for i in range(1, 6)]
    for name in names:
        out = str(tmp_path / f"{name}.parquet")
        assert main(["trace", str(series), "--release", name, "--out", out, "--quiet"]) == 0
    n = 3 if "n: 3" in technique else 2
    assert independent_problems(tmp_path, names, 4, n) == []


def test_an_outsider_finds_plain_m_invariance_hc_unsafe(tmp_path: Path) -> None:
    """The outsider can find something: the same people without the defence."""
    series = write_series(tmp_path, text=SERIES.replace("m: 3", "m: 4"), snapshots=lively())
    assert main(["backfill", str(series), "--quiet"]) == 0
    names = [f"r{i}" for i in range(1, 6)]
    for name in names:
        out = str(tmp_path / f"{name}.parquet")
        main(["trace", str(series), "--release", name, "--out", out, "--quiet"])
    assert any("hc-unsafe" in problem for problem in independent_problems(tmp_path, names, 4, 3))


def test_the_checks_stand_in_the_gate_in_dagster_and_in_great_expectations(tmp_path: Path) -> None:
    path = write_series(tmp_path, text=COR_SPLIT, snapshots=lively(1))
    assert main(["publish", str(path), "--quiet"]) == 0
    manifest = json.loads((tmp_path / "published" / "clinic" / "r1" / "manifest.json").read_text())
    assert [verdict["check"] for verdict in manifest["verdicts"]] == OWN
    series = load_series(path)
    graph = series_definitions(path).get_repository_def().asset_graph
    names = {key.name for key in graph.asset_check_keys}
    assert {name.replace("-", "_") for name in OWN} <= {name.replace("-", "_") for name in names}
    with opened(series.private_folder, read_only=True) as connection:
        entry = store_reader.ledger(connection, series.schema).entries[0]
    checks = own_checks(series.technique)
    verdicts = [check.examine(entry, check.initial_memory())[0] for check in checks]
    assert list(verdict_suite(verdicts).frame.columns) == OWN


def test_the_series_of_the_issue_works_as_it_is_written(tmp_path: Path) -> None:
    technique = "{name: cor-split, m: 6, p: 0.04, max_lifespan: 24, threshold: 0.1}"
    text = SERIES.replace("{name: m-invariance, m: 3}", technique)
    path = write_series(tmp_path, text=text, snapshots=lively(3))
    assert main(["validate", str(path), "--quiet"]) == 0
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert load_series(path).technique.degree == 3


def test_where_no_n_fits_the_series_is_refused_with_advice(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    technique = "{name: cor-split, m: 6, p: 0.04, max_lifespan: 25, threshold: 0.1}"
    path = write_series(tmp_path, text=SERIES.replace("{name: m-invariance, m: 3}", technique))
    assert main(["validate", str(path)]) == 2
    assert "max_lifespan: 24, m: 7, a threshold above 0.107042" in capsys.readouterr().err


def test_a_snapshot_beyond_the_lifespan_is_refused_and_changes_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = COR_SPLIT.replace("n: 3", "n: 3, max_lifespan: 1")
    frame = people(24)
    path = write_series(tmp_path, text=text, snapshots={"r1": frame, "r2": frame})
    assert main(["publish", str(path), "--quiet"]) == 0
    assert main(["publish", str(path), "--quiet"]) == 1
    assert "24 people were published 1 times, which is max_lifespan" in capsys.readouterr().err
    assert not (tmp_path / "published" / "clinic" / "r2").exists()


@pytest.fixture
def published(tmp_path: Path) -> Path:
    return published_series(tmp_path, 3)


def audited(path: Path, *more: str) -> dict[str, dict[str, float]]:
    out = path.parent / "audit.json"
    names = "compromised,propagation,linear"
    assert main(["audit", str(path), "--attack", names, "--json", str(out), "--quiet", *more]) == 0
    return {found["attack"]: found for found in json.loads(out.read_text())["attacks"]}


def test_audit_draws_as_many_compromised_people_as_it_is_told(published: Path) -> None:
    nobody = audited(published)
    assert all(found["exposed"] == 0 and "no one is declared compromised" in found["note"] for found in nobody.values())
    some = audited(published, "--compromised", "0.2", "--seed", "3")
    assert some["compromised"]["compromised people"] == round(0.2 * (some["compromised"]["of"] / 0.8))
    assert some["propagation"]["exposed"] >= some["compromised"]["exposed"] > 0
    assert audited(published, "--compromised", "0.2", "--seed", "3") == some


def test_the_series_may_declare_its_adversary(published: Path) -> None:
    told = published.read_text()
    published.write_text(told + "adversary: {compromised: 0.2}\n")
    known = audited(published)
    assert known["compromised"]["compromised people"] > 0
    assert "groups known;" in known["compromised"]["note"]
    published.write_text(told + "adversary: {compromised: 0.2, groups: boxes}\n")
    boxes = audited(published)
    assert "groups derived from boxes" in boxes["compromised"]["note"]
    assert boxes["compromised"]["exposed"] <= known["compromised"]["exposed"]


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_audit_takes_a_file_of_compromised_people(published: Path, suffix: str) -> None:
    known = people(240)[["patient", "disease"]].head(50)
    file = published.parent / f"known.{suffix}"
    known.to_csv(file, index=False) if suffix == "csv" else known.to_parquet(file)
    assert audited(published, "--compromised", str(file))["compromised"]["compromised people"] == 50


def test_a_wrong_file_or_share_of_compromised_people_is_refused_without_an_id(
    published: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = published.parent / "known.csv"
    pd.DataFrame({"patient": ["Zacharias-000001"] * 2, "disease": [DISEASES[0], "plague"]}).to_csv(file, index=False)
    assert main(["audit", str(published), "--compromised", str(file)]) == 2
    err = capsys.readouterr().err
    assert "'plague'" in err
    assert "more than once" in err
    assert "Zacharias" not in err
    assert main(["audit", str(published), "--compromised", "1.5"]) == 2
    assert main(["audit", str(published), "--compromised", "nothing.csv"]) == 2
    err = capsys.readouterr().err
    assert "--compromised (1.5) must be a share" in err
    assert "nothing.csv must exist and be readable" in err
