"""The adversary who knows the algorithm, as a steward meets it: audit, evidence, and the doors for Python."""

import json
from pathlib import Path

import pandas as pd
import pytest

from reanon_core import InvalidParameter, MInvariance, Numeric, Series
from reanon_dagster import open_series
from reanon_dagster.cli import main
from reanon_dagster.releasing.evidence import evidence_of
from reanon_dagster.series.series_file import load_series

FIRST = {"id": ["A", "B"], "age": [10, 20], "disease": ["flu", "cold"]}
SECOND = {
    "id": ["A", "C", "D", "E"],
    "age": [10, 30, 40, 50],
    "disease": ["flu", "flu", "gastritis", "dyspepsia"],
}
SERIES = """\
series: clinic
title: The smallest case
source: {{path: "{{release}}.csv", id: id}}
releases: {{names: [r1, r2]}}
quasi_identifiers: {{age: {{kind: numeric}}}}
sensitive: disease
technique: {{name: m-invariance, m: 2{options}}}
publish: {{{publish}}}
"""
FILLED, BLIND = ", variant: paper", ", balancing: blind, not_eligible: refuse"


def published(folder: Path, options: str, publish: str = "form: boxes") -> Path:
    for name, table in (("r1", FIRST), ("r2", SECOND)):
        pd.DataFrame(table).to_csv(folder / f"{name}.csv", index=False)
    path = folder / "series.yaml"
    path.write_text(SERIES.format(options=options, publish=publish), encoding="utf-8")
    assert main(["backfill", str(path), "--quiet"]) == 0
    return path


@pytest.mark.parametrize(("options", "exposed"), [(FILLED, 2), (BLIND, 0)], ids=["filled", "blind"])
def test_audit_evidence_and_python_say_whom_a_reader_of_the_source_exposes(
    options: str, exposed: int, tmp_path: Path
) -> None:
    path, out = published(tmp_path, options), tmp_path / "audit.json"
    assert main(["audit", str(path), "--attack", "algorithm", "--json", str(out), "--quiet"]) == 0
    (answer,) = json.loads(out.read_text())["attacks"]
    assert (answer["attack"], answer["exposed"], answer["of"]) == ("algorithm", exposed, 5)
    assert answer["people with an uneven posterior"] == exposed
    assert answer["conclusions that are true"] == exposed
    assert "knows the source" in answer["note"]
    numbers = evidence_of(load_series(path), "r2")
    assert numbers["people exposed by algorithm"] == numbers["people with an uneven posterior"] == exposed
    assert open_series(path).attack("algorithm").exposed == exposed
    table = open_series(path).audit(attacks=["algorithm"]).to_pandas()
    assert table.loc[table["kind"] == "attack", "exposed"].tolist() == [exposed]


def test_files_alone_are_not_read_and_say_why(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    published(tmp_path, FILLED)
    tables = [str(tmp_path / "published" / "clinic" / name / "table.parquet") for name in ("r1", "r2")]
    schema, people = tmp_path / "schema.yaml", tmp_path / "people.csv"
    schema.write_text("id: id\nquasi_identifiers: {age: {}}\nsensitive: disease\n", encoding="utf-8")
    parts = [pd.DataFrame(table).assign(release=name) for name, table in (("r1", FIRST), ("r2", SECOND))]
    pd.concat(parts).drop(columns="disease").to_csv(people, index=False)
    files = ["--releases", *tables, "--schema", str(schema), "--people", str(people)]
    assert main(["audit", *files, "--attack", "algorithm"]) == 2
    assert "releases of a technique whose source it can read" in capsys.readouterr().err


def test_releases_that_were_made_with_other_options_are_not_read(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = published(tmp_path, BLIND)
    path.write_text(path.read_text().replace("not_eligible: refuse", "not_eligible: blocks"), encoding="utf-8")
    assert main(["audit", str(path), "--attack", "algorithm"]) == 2
    assert "some have another not_eligible" in capsys.readouterr().err
    assert main(["audit", str(path), "--quiet"]) == 0
    table = open_series(path).audit(attacks=["algorithm"]).to_pandas().iloc[-1]
    assert table["note"].startswith("not tested: the attack algorithm (some have another not_eligible)")
    assert pd.isna(table["exposed"])
    with pytest.raises(InvalidParameter, match="some have another not_eligible"):
        open_series(path).attack("algorithm")
    assert "people exposed by algorithm" not in evidence_of(load_series(path), "r2")


@pytest.mark.parametrize(
    ("options", "publish"),
    [
        (", balancing: blind, not_eligible: partial-blocks", "form: boxes"),
        (", balancing: median, not_eligible: blocks", "form: boxes"),
        ("", "form: boxes"),
        ("", "k: 2"),
    ],
)
def test_what_was_decided_by_chance_row_by_row_is_not_tested_and_has_no_number(
    options: str, publish: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, out = published(tmp_path, options, publish), tmp_path / "audit.json"
    capsys.readouterr()
    assert main(["audit", str(path), "--json", str(out)]) == 0
    row = next(line for line in capsys.readouterr().out.splitlines() if line.split()[:1] == ["algorithm"])
    assert "not tested" in row
    told = json.loads(out.read_text())
    assert "algorithm" not in {one["attack"] for one in told["attacks"]}
    assert "by chance row by row" in told["not_tested"]["algorithm"]
    assert "people exposed by algorithm" not in evidence_of(load_series(path), "r2")
    assert main(["audit", str(path), "--attack", "algorithm", "--quiet"]) == 2
    table = open_series(path).audit(attacks=["algorithm"]).to_pandas()
    assert table.loc[table["kind"] == "attack", "exposed"].isna().all()


def test_a_series_in_memory_is_read_too() -> None:
    series = Series(
        id="id",
        sensitive="disease",
        quasi_identifiers={"age": Numeric()},
        technique=MInvariance.paper(m=2),
    )
    series.publish(pd.DataFrame(FIRST), name="r1")
    series.publish(pd.DataFrame(SECOND), name="r2")
    assert series.attack("algorithm").exposed == 2
    naive = Series(
        id="id",
        sensitive="disease",
        quasi_identifiers={"age": Numeric()},
        technique=MInvariance(m=2, not_eligible="refuse"),
        form="boxes",
        memory=False,
    )
    naive.publish(pd.DataFrame(FIRST), name="r1")
    naive.publish(pd.DataFrame(SECOND), name="r2")
    audit = naive.audit(attacks=["algorithm"]).to_pandas()
    assert audit["note"].tolist()[-1].startswith("not tested: the releases must keep the signature of each person")
