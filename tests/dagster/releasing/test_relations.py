"""Relations kept: beside the error of a typical count everywhere, for the steward, and never published."""

import json
import re
from pathlib import Path

import dagster as dg
import numpy as np
import pandas as pd
import pytest
from builders.assets import Maker
from builders.series import DISEASES, SERIES, people, write_series

from reanon_core.catalog import TECHNIQUES
from reanon_core.metrics.relations import RelationsKept
from reanon_dagster.cli import main
from reanon_dagster.releasing.query_error import NO_RELATION, WORKLOAD_SEED, utility, whole_percent
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened
from reanon_dagster.stored_series import StoredSeries

SHOWN = re.compile(r"a typical count is off by [\d.,]+%; (-?[\d,]+%) of the relations are kept")
PARAMETERS = {"bpg": "k: 2, ell: 2", "cor-split": "m: 3, n: 2", "js-reduce": "k: 2, t: 0.9, j: 1"}
PARAMETERS |= {"m-invariance": "m: 3", "mondrian": "k: 3", "sequential": "ell: 2, on_delete: defer"}
DECOUPLED = SERIES + "publish: {form: decoupled, k: 5}\n"


def related(count: int = 600) -> pd.DataFrame:
    """The younger half has the first three diseases, the older half the others."""
    frame = people(660)
    frame["age"] = frame["age"] // 2 + 50 * frame["disease"].isin(DISEASES[3:])
    return frame.head(count)


def documents(path: Path, command: str, *options: str) -> dict:
    target = path.parent / "answer.json"
    assert main([command, str(path), *options, "--json", str(target), "--quiet"]) == 0
    return json.loads(target.read_text())


@pytest.mark.parametrize("form", [*TECHNIQUES, "decoupled"])
def test_every_technique_and_form_prints_and_stores_the_number_and_publishes_it_nowhere(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    named = SERIES.replace("{name: m-invariance, m: 3}", f"{{name: {form}, {PARAMETERS.get(form)}}}")
    snapshots = {"r1": related(), "r2": related(660)}
    path = write_series(tmp_path, text=DECOUPLED if form == "decoupled" else named, snapshots=snapshots)
    assert main(["publish", str(path)]) == 0
    assert main(["backfill", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("the slope of released on true log odds ratios") == 2  # once for each command
    series = load_series(path)
    with opened(series.private_folder, read_only=True) as connection:
        ledger = store_reader.ledger(connection, series.schema)
    shown = SHOWN.findall(out)
    for record, entry, told in zip(read_view(series).records, ledger.entries, shown, strict=True):
        measured = RelationsKept().measure(entry, np.random.default_rng(WORKLOAD_SEED))
        assert record.relations == pytest.approx(measured)
        assert told == whole_percent(measured)
        assert -0.2 < measured < 1.2
    numbers = [record.relations for record in read_view(series).records]
    assert main(["status", str(path)]) == 0
    assert SHOWN.findall(" ".join(capsys.readouterr().out.split())) == shown
    for file in (tmp_path / "published").rglob("*"):
        # The README says what anyone can compute from groups, never what is measured against the truth.
        private = rb"relations kept|slope of released|%s" % "|".join(repr(one) for one in numbers).encode()
        assert file.is_dir() or not re.search(private, file.read_bytes()), file


def test_the_documents_for_programs_and_python_have_the_number_too(tmp_path: Path) -> None:
    path = write_series(tmp_path, snapshots={"r1": related(), "r2": related()})
    validated = documents(path, "validate")
    assert documents(path, "publish", "--dry-run")["releases"][0].keys() == validated.keys() - {
        *("valid", "problems", "refused")
    } | {"changed", "rows", "counterfeits", "withheld", "dirty", "checks", "notes", "seconds"}
    first = documents(path, "publish")["releases"][0]["relations"]
    second = documents(path, "backfill")["releases"][0]["relations"]
    listed = documents(path, "status")["series"][0]["releases"]
    assert [one["relations"] for one in listed[:2]] == [first, second]
    kept = StoredSeries(load_series(path)).relations()
    assert kept == {"r1": pytest.approx(first), "r2": pytest.approx(second)}
    rehearsed = documents(path, "rehearse", "--ahead", "0")["releases"]
    advised = documents(path, "advise", "--seconds", "1", "--ahead", "0")["grid"]
    compared = documents(path, "compare", "--technique", "mondrian", "--attack", "intersection")["metrics"]
    (mondrian,) = (one["value"] for one in compared if one["metric"] == "relations" and one["technique"] == "mondrian")
    for number in (validated["relations"], first, second, mondrian, *(one["relations"] for one in rehearsed + advised)):
        assert 0 < number < 1.2


def test_a_table_without_relations_says_so_in_every_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60), "r2": people(60)})
    for command in ("validate", "publish", "status"):
        assert main([command, str(path)]) == 0
        assert NO_RELATION in " ".join(capsys.readouterr().out.split()), command
    assert main(["advise", str(path), "--seconds", "1", "--ahead", "0"]) == 0
    assert f"; {NO_RELATION}" in capsys.readouterr().out
    (one, *_) = documents(
        path, "compare", "--technique", "mondrian", "--attack", "intersection", "--metric", "relations"
    )["metrics"]
    assert one["value"] is None
    assert [one["relations"] for one in documents(path, "rehearse", "--ahead", "0")["releases"]] == [None, None]
    capsys.readouterr()
    assert main(["compare", str(path), "--technique", "mondrian", "--metric", "relations"]) == 0
    assert re.search(r"mondrian +–", capsys.readouterr().out)  # the comparison that is kept is read


def test_dagster_plots_the_number_of_each_release(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(write_series(tmp_path, snapshots={"r1": related()}), instance)
        maker.make("r1")
        release, evidence = (maker.metadata(asset) for asset in ("release", "evidence"))
    number = evidence["relations kept"].value
    assert isinstance(number, float)
    assert f"; {whole_percent(number)} of the relations are kept. " in str(release["utility"].value)
    assert "relations kept" not in release  # plotted once
    assert read_view(load_series(maker.path)).records[0].relations == pytest.approx(number, abs=1e-4)


def test_the_internal_report_draws_the_number_and_no_public_page_has_it(tmp_path: Path) -> None:
    text = SERIES + "publish: {report: true}\n"
    path = write_series(tmp_path, text=text, snapshots={"r1": related()})
    assert main(["publish", str(path), "--quiet"]) == 0
    page = tmp_path / "page.html"
    assert main(["report", str(path), "--out", str(page), "--quiet"]) == 0
    assert "Share of the relations that each release keeps" in page.read_text()
    public = (tmp_path / "published" / "clinic" / "r1" / "report.html").read_text()
    assert "relations" not in public


@pytest.mark.parametrize(
    ("kept", "told"), [(0.944, "94%"), (1.0, "100%"), (-0.031, "-3%"), (-0.004, "0%"), (1.3, "130%")]
)
def test_the_number_is_whole_percent(kept: float, told: str) -> None:
    assert utility(0.06, kept) == f"a typical count is off by 6.0%; {told} of the relations are kept"
    assert utility(0.06, None) == f"a typical count is off by 6.0%; {NO_RELATION}"
