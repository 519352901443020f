"""What a series gets that says nothing but m: the form, the options, and what may change or be refused."""

import json
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import reanon_core as reanon
import reanon_dagster
from reanon_core.brakes import BrakesTripped
from reanon_core.model.errors import NotEligible, Refused
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series

SERIES = """
series: clinic
source: {path: "snapshots/{release}.csv", id: patient}
releases: {names: [r1, r2, r3, r4]}
quasi_identifiers:
  age: {kind: numeric, domain: [0, 110]}
  sex: {kind: categorical, order: [f, m]}
sensitive: disease
technique: TECHNIQUE
publish: {report: false}
"""
OPTIONS = {"balancing": "median", "not_eligible": "partial-blocks", "regions": "sizes", "assignment": "deep"}
PAPER = {"balancing": "filled", "not_eligible": "refuse", "regions": "none", "assignment": "paper"}
DISEASES = np.array(["flu", "cold", "asthma", "measles", "gout", "rash"])
Write = Callable[..., Path]


def people(count: int, seed: int = 0, flu: float = 0.15) -> pd.DataFrame:
    """People of whom many have flu; gout is a disease of old men."""
    rng = np.random.default_rng(seed)
    age, sex = rng.integers(1, 100, count), rng.choice(["f", "m"], count)
    weights = np.tile([flu, *[(1 - flu) / 5] * 5], (count, 1))
    weights[(age > 60) & (sex == "m"), 4] *= 3
    weights /= weights.sum(axis=1, keepdims=True)
    disease = DISEASES[(weights.cumsum(axis=1) < rng.random(count)[:, None]).sum(axis=1)]
    patient = [f"Zacharias-{seed}-{i:06d}" for i in range(count)]
    return pd.DataFrame({"patient": patient, "age": age, "sex": sex, "disease": disease})


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Writes the series file with this technique, beside the snapshots."""
    (tmp_path / "snapshots").mkdir()

    def written(technique: str, *frames: pd.DataFrame, more: str = "") -> Path:
        for number, frame in enumerate(frames, 1):
            frame.to_csv(tmp_path / "snapshots" / f"r{number}.csv", index=False)
        path = tmp_path / "series.yaml"
        path.write_text(SERIES.replace("TECHNIQUE", technique) + more)
        return path

    return written


def manifest(path: Path, release: str) -> dict[str, object]:
    folder = path.parent / "published" / "clinic" / release
    return dict(json.loads((folder / "manifest.json").read_text(encoding="utf-8")))


@pytest.mark.parametrize("technique", ["m-invariance, m: 3", "cor-split, m: 3, n: 2"])
def test_a_series_that_says_nothing_gets_the_best_that_is_proved(write: Write, technique: str) -> None:
    everyone = people(1800)
    path = write(f"{{name: {technique}}}", everyone.iloc[:1500], everyone.iloc[150:1650], everyone.iloc[300:])
    assert main(["backfill", str(path), "--quiet"]) == 0
    folder = path.parent / "published" / "clinic" / "r3"
    assert {"rows.parquet", "values.parquet"} <= {file.name for file in folder.iterdir()}
    assert not (folder / "table.parquet").exists()
    published = manifest(path, "r3")["technique"]
    assert isinstance(published, dict)
    assert OPTIONS.items() <= published.items()
    rows = pd.read_parquet(folder / "rows.parquet")
    assert rows.groupby([name for name in rows.columns if name != "group_id"]).size().min() >= 10
    assert main(["audit", str(path), "--quiet"]) == 0
    assert main(["publish", str(path), "--release", "r3", "--quiet"]) == 0  # nothing to do


@pytest.mark.parametrize("technique", ["m-invariance, m: 3", "cor-split, m: 3, n: 2"])
def test_the_papers_way_is_one_word_away(write: Write, technique: str) -> None:
    path = write(f"{{name: {technique}, variant: paper}}", people(120, flu=1 / 6))
    assert main(["publish", str(path), "--quiet"]) == 0
    assert (path.parent / "published" / "clinic" / "r1" / "table.parquet").exists()
    published = manifest(path, "r1")["technique"]
    assert isinstance(published, dict)
    assert PAPER.items() <= published.items()
    assert "filled" in load_series(path).technique.caution


def test_an_option_beside_the_variant_is_kept() -> None:
    assert reanon.MInvariance.paper(m=2, assignment="stable") == reanon.MInvariance(
        m=2, **{**PAPER, "assignment": "stable"}
    )
    assert reanon.CorSplit.paper(m=3, n=2).partition == "paper"
    assert reanon.MInvariance(m=2, not_eligible="defer").balancing == "blind"
    assert reanon.MInvariance(m=2, not_eligible="refuse").regions == "none"
    assert reanon.MInvariance(m=2, balancing="filled").not_eligible == "refuse"


def test_an_unknown_variant_is_refused(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("{name: m-invariance, m: 3, variant: papers}", people(60))
    assert main(["validate", str(path)]) == 2
    assert "technique m-invariance: variant (papers) must be paper, or left out" in capsys.readouterr().err


def test_k_needs_the_decoupled_form(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    path = write("{name: m-invariance, m: 3, variant: paper}", people(60))
    path.write_text(path.read_text().replace("report: false", "report: false, k: 5"))
    assert main(["validate", str(path)]) == 2
    assert "publish.k (5) must be given with `form: decoupled`" in capsys.readouterr().err


def crowded() -> list[pd.DataFrame]:
    """Two tables; half of the newcomers of the second have flu."""
    first = people(300, flu=1 / 6)
    return [first, pd.concat([first.iloc[60:], people(60, 1, flu=0.6)])]


@pytest.mark.parametrize(
    ("before", "after", "allowed"),
    [
        ("not_eligible: refuse", "not_eligible: blocks", True),
        ("not_eligible: refuse", "not_eligible: partial-blocks", False),
        ("not_eligible: refuse", "not_eligible: pad, balancing: median", False),
        ("not_eligible: blocks", "not_eligible: partial-blocks", False),
        ("not_eligible: blocks", "not_eligible: refuse", False),
        ("not_eligible: partial-blocks", "not_eligible: blocks", False),
        ("not_eligible: partial-blocks, regions: sizes", "not_eligible: partial-blocks, regions: none", False),
        ("assignment: deep", "assignment: stable", True),
        ("on_sensitive_change: refuse", "on_sensitive_change: withhold", True),
        ("on_sensitive_change: refuse", "on_sensitive_change: episode", False),
        ("on_sensitive_change: withhold", "on_sensitive_change: episode", False),
        ("on_sensitive_change: episode", "on_sensitive_change: withhold", False),
        ("on_qi_change: refuse", "on_qi_change: allow", True),
        ("on_qi_change: allow", "on_qi_change: refuse", False),
    ],
)
def test_only_a_change_that_the_proof_covers_is_allowed(
    write: Write, before: str, after: str, *, allowed: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    regions = "" if "regions" in before or "partial" not in after + before else ", regions: none"
    path = write(f"{{name: m-invariance, m: 3, {before}{regions}}}", crowded()[0])
    assert main(["publish", str(path), "--quiet"]) == 0
    path = write(f"{{name: m-invariance, m: 3, {after}{regions}}}", *crowded())
    codes = [
        main(["validate", str(path), "--quiet"]),
        main(["publish", str(path), "--quiet", "--accept-drift", "seen"]),
    ]
    told = capsys.readouterr().err
    if not allowed:
        assert set(codes) <= {1, 2}
        if "pad" not in after:
            assert codes == [1, 1]
            assert "technique.not_eligible from refuse to blocks" in told
            assert "technique.on_sensitive_change from refuse to withhold" in told
    else:
        assert "froze" not in told
        assert codes[1] == 0


@pytest.mark.parametrize("technique", ["m-invariance, m: 3", "cor-split, m: 3, n: 2"])
def test_corrected_values_are_refused_with_a_way_that_publishes_the_release_without_them(
    write: Write, technique: str, capsys: pytest.CaptureFixture[str]
) -> None:
    first = people(600)
    corrected = first.assign(disease=first["disease"].mask(first.index < 11, "cold"))
    wrong = int((first["disease"] != corrected["disease"]).sum())
    path = write(f"{{name: {technique}}}", first, corrected, first)
    assert main(["backfill", str(path), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert f"{wrong} people have another value of disease than before" in told
    assert "set on_sensitive_change: withhold, which publishes the release without them and may follow refuse" in told
    write(f"{{name: {technique}, on_sensitive_change: withhold}}")
    assert main(["backfill", str(path), "--to", "r2", "--quiet"]) == 0
    assert manifest(path, "r2")["withheld"] >= wrong
    withheld = set(pd.read_csv(path.parent / "private" / "clinic" / "withheld" / "r2.csv").iloc[:, 0])
    assert withheld >= set(first["patient"][first["disease"] != corrected["disease"]])
    assert main(["publish", str(path), "--quiet"]) == 0
    assert main(["audit", str(path), "--quiet"]) == 0


def test_a_refusal_names_a_way_that_is_still_open(write: Write, capsys: pytest.CaptureFixture[str]) -> None:
    technique = "{name: m-invariance, m: 3, not_eligible: RULE}"
    path = write(technique.replace("RULE", "refuse"), *crowded())
    assert main(["backfill", str(path), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "set not_eligible: blocks, which publishes them with counterfeits and may follow refuse in a series" in told
    assert "To leave this release out would tell that its new rows were refused" in told
    path.write_text(path.read_text().replace("refuse", "blocks"))
    assert main(["backfill", str(path), "--quiet", "--accept-drift", "seen"]) == 0


def test_a_value_that_loses_much_stops_the_release_until_somebody_accepts_it(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("{name: m-invariance, m: 3}", people(600, flu=0.55))
    for command in (["publish"], ["publish", "--dry-run"]):
        assert main([command[0], str(path), *command[1:], "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "more than 20% of the people with some value of disease would be lost: of 318 people with 'flu'" in told
    assert "max_withheld is 0.1" in told
    assert "weaker parameters (a smaller m or k, or regions: none) or a longer period" in told
    assert main(["status", str(path)]) == 0
    assert "flu" not in capsys.readouterr().out  # what is stored has no values
    assert main(["publish", str(path), "--accept-drift", "a wave of flu", "--quiet"]) == 0
    published = (path.parent / "published" / "clinic" / "r1" / "manifest.json").read_text(encoding="utf-8")
    assert "a wave of flu" not in published
    public = [one for one in (path.parent / "published").rglob("*") if one.suffix in {".json", ".md", ".html"}]
    assert public  # what is lost, and of which value, is nowhere in them
    assert not [
        one for one in public for word in ("share_changed", "is lost", "would be lost") if word in one.read_text()
    ]


def wave(share: float, size: int = 100) -> list[pd.DataFrame]:
    """Two tables; so many of the newcomers of the second have flu."""
    first = people(9 * size, flu=1 / 6)
    return [first, pd.concat([first.iloc[3 * size :], people(5 * size, 1, flu=share)])]


def test_a_later_release_stops_where_a_value_loses_much_and_can_only_be_accepted(
    write: Write, capsys: pytest.CaptureFixture[str]
) -> None:
    path = write("{name: m-invariance, m: 3}", *wave(0.48))
    assert main(["backfill", str(path), "--quiet"]) == 1
    told = capsys.readouterr().err
    assert "more than 20% of the people with some value of disease would be lost: of 336 people with 'flu'" in told
    assert "accept it if your readers can bear the loss: what is published is safe" in told
    assert "weaker parameters" not in told  # they are frozen
    assert main(["publish", str(path), "--accept-drift", "a wave of flu", "--quiet"]) == 0


def test_what_a_value_of_few_people_loses_is_said_before_the_release_is_published(
    write: Write, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = write("{name: m-invariance, m: 3}", *wave(0.9, 5))
    assert main(["publish", str(path), "--quiet"]) == 0
    capsys.readouterr()

    def stop(*_: object) -> None:
        raise Refused("stopped")

    monkeypatch.setattr("reanon_dagster.releasing.release.accept", stop)
    for command in ("publish", "backfill"):
        assert main([command, str(path), "--quiet"]) == 1
        first, second = capsys.readouterr().err.splitlines()
        assert "more than 20% of the people with some value of disease would be lost (1 value)" in first
        assert second == "reanon: stopped"


def test_where_a_caution_is_an_error_nothing_is_published(write: Write) -> None:
    path = write("{name: m-invariance, m: 3}", *wave(0.9, 5))
    series = reanon_dagster.open_series(path)
    series.publish()
    with warnings.catch_warnings():
        warnings.simplefilter("error", reanon.Caution)
        with pytest.raises(reanon.Caution, match="more than 20% of the people"):
            series.publish()
    assert [release.name for release in series.releases] == ["r1"]
    with pytest.warns(reanon.Caution, match="more than 20% of the people"):
        series.publish()
    assert [release.name for release in series.releases] == ["r1", "r2"]


def python_series(**options: object) -> reanon.Series:
    return reanon.Series(
        id="patient",
        sensitive="disease",
        quasi_identifiers={"age": reanon.Numeric(domain=(0, 110)), "sex": reanon.Categorical(order=["f", "m"])},
        technique=reanon.MInvariance(m=3, **options),  # type: ignore[arg-type]
    )


def test_python_gets_the_same_defaults_and_the_same_brake() -> None:
    series = python_series()
    assert series.technique.k == 10
    series.publish(people(600), name="r1")
    with pytest.raises(BrakesTripped, match="more than 20%"):
        python_series().publish(people(600, flu=0.55), name="r1")
    accepted = python_series()
    accepted.publish(people(600, flu=0.55), name="r1", accept_drift="a wave of flu")
    assert {release for release, _, _ in accepted.accepted_drifts} == {"r1"}


def test_python_says_what_a_later_release_loses() -> None:
    first, second = wave(0.9, 5)
    series = python_series()
    series.publish(first, name="r1")
    with pytest.warns(reanon.Caution, match="more than 20% of the people with some value of disease"):
        series.publish(second, name="r2")


def test_a_refused_release_that_is_skipped_in_python_is_a_caution() -> None:
    first, second = crowded()
    series = python_series(not_eligible="refuse")
    series.publish(first, name="r1")
    with pytest.raises(NotEligible):
        series.publish(second, name="r2")
    with pytest.warns(reanon.Caution, match="r2 was refused because a value is too frequent"):
        series.publish(first, name="r3")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        series.publish(first, name="r4")
    assert not any("is skipped" in str(one.message) for one in told)


def test_a_newcomer_with_a_value_that_no_one_had_is_refused_with_a_way_that_helps() -> None:
    newcomer = pd.DataFrame({"patient": ["p9999"], "age": [40], "sex": ["f"], "disease": ["ague"]})
    first, series = people(600), python_series()
    series.publish(first, name="r1")
    with pytest.raises(NotEligible) as refused:
        series.publish(pd.concat([first, newcomer]), name="r2")
    told = str(refused.value)
    assert "set not_eligible: blocks" not in told  # it could not hide the value either, and may not follow
    assert "others may join only if 3, theirs among them, are declared or were shown before" in told
    assert "publish a later snapshot, with more new people, under this name" in told
    assert "ague" not in refused.value.redacted()
    later = people(60, 9).assign(disease=["ague", "cold", "gout"] * 20)
    with pytest.warns(reanon.Caution, match="r2 was refused .* publish this frame under the name r2 instead"):
        series.publish(pd.concat([first, newcomer, later]), name="r3")


def test_a_stored_series_cannot_change_its_options_in_python_either(write: Write) -> None:
    path = write("{name: m-invariance, m: 3, not_eligible: blocks}", *crowded())
    reanon_dagster.open_series(path).publish()
    path.write_text(path.read_text().replace("not_eligible: blocks", "not_eligible: partial-blocks"))
    with pytest.raises(Refused, match="not_eligible was blocks and is partial-blocks"):
        reanon_dagster.open_series(path).publish()
