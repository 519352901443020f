"""How far off a typical count is: shown to the steward for every release, and never published."""

import re
from pathlib import Path

import dagster as dg
import numpy as np
import pytest
from builders.assets import Maker
from builders.series import SERIES, lively, people, write_series

from reanon_core.catalog import TECHNIQUES
from reanon_core.metrics.query_error import CountingQueryError
from reanon_dagster.cli import main
from reanon_dagster.releasing.query_error import WORKLOAD_SEED, percentage, workload
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series_file import load_series
from reanon_dagster.storage import store_reader
from reanon_dagster.storage.connection import opened

FORMS = [*TECHNIQUES, "decoupled"]
UNKNOWN = "the error of a typical count is not known, because no random query counts anyone"


def text_of(form: str) -> str:
    if form == "decoupled":
        return SERIES + "publish: {form: decoupled, k: 5}\n"
    parameters = {"bpg": "k: 2, ell: 2", "cor-split": "m: 3, n: 2", "js-reduce": "k: 2, t: 0.9, j: 1"}
    parameters |= {"m-invariance": "m: 3", "mondrian": "k: 3", "sequential": "ell: 2, on_delete: defer"}
    return SERIES.replace("{name: m-invariance, m: 3}", f"{{name: {form}, {parameters[form]}}}")


@pytest.mark.parametrize("form", FORMS)
def test_every_technique_and_form_prints_and_stores_the_number_and_publishes_it_nowhere(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    everyone = people(240)
    growing = {f"r{number}": everyone[: 60 * (number + 1)] for number in (1, 2, 3)}
    path = write_series(tmp_path, text=text_of(form), snapshots=growing)
    assert main(["publish", str(path)]) == 0
    assert main(["backfill", str(path)]) == 0
    out = capsys.readouterr().out
    assert out.count("the median of 1,000 random counting queries") == 2  # once for each command
    series = load_series(path)
    with opened(series.private_folder, read_only=True) as connection:
        ledger = store_reader.ledger(connection, series.schema)
    shown = re.findall(r"a typical count is off by ([\d.]+%)", out)
    records = read_view(series).records
    for record, entry, told in zip(records, ledger.entries, shown, strict=True):
        measured = CountingQueryError().measure(entry, np.random.default_rng(WORKLOAD_SEED))
        assert record.query_error == pytest.approx(measured)
        assert told == percentage(measured)
        assert 0 < measured < 3
    assert len(shown) == 3
    assert main(["status", str(path)]) == 0
    assert re.findall(r"a typical count is off by ([\d.]+%)", capsys.readouterr().out) == shown
    for file in (tmp_path / "published").rglob("*"):
        assert file.is_dir() or not re.search(rb"query|typical|median", file.read_bytes()), file


def test_without_anyone_to_count_the_number_is_not_known(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(0), "r2": people(60)})
    assert main(["publish", str(path), "--accept-drift", "it opens empty"]) == 0
    out = capsys.readouterr().out
    assert UNKNOWN in out
    assert "off by" not in out
    assert main(["publish", str(path)]) == 0
    assert "a typical count is off by" in capsys.readouterr().out
    assert [record.query_error is None for record in read_view(load_series(path)).records] == [True, False]


def test_a_dry_run_tells_the_number_and_a_refused_release_has_none(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write_series(tmp_path, snapshots={"r1": people(60)})
    assert main(["validate", str(path)]) == 0
    assert "the release would be published\nclinic: a typical count is off by" in capsys.readouterr().out
    frame = people(60)
    frame.loc[:39, "disease"] = "flu"
    path = write_series(tmp_path, snapshots={"r1": frame})
    for command in ("validate", "publish"):
        assert main([command, str(path)]) == 1
        out, err = capsys.readouterr()
        assert "typical" not in out + err
    assert not (tmp_path / "published").exists()


def test_dagster_plots_the_number_of_each_release(tmp_path: Path) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(write_series(tmp_path, snapshots=lively()), instance)
        maker.make("r1")
        release, evidence = (maker.metadata(asset) for asset in ("release", "evidence"))
    number = evidence["query error"].value
    assert isinstance(number, float)
    assert str(release["utility"].value).startswith(f"A typical count is off by {percentage(number)}; ")
    assert "query error" not in release  # plotted once
    assert read_view(load_series(maker.path)).records[0].query_error == pytest.approx(number, abs=1e-4)


@pytest.mark.parametrize(
    ("share", "told"),
    [(0.0, "0.0%"), (0.0064, "0.64%"), (0.0996, "10%"), (0.091, "9.1%"), (0.55, "55%"), (12.5, "1,250%")],
)
def test_a_share_has_two_digits(share: float, told: str) -> None:
    assert percentage(share) == told


def test_a_large_table_gets_fewer_queries_down_to_a_hundred() -> None:
    counts = [workload(rows).queries for rows in (0, 200_000, 400_000, 2_000_000, 100_000_000)]
    assert counts == [1000, 1000, 500, 100, 100]
