"""The synthetic exams: their shape is the paper's, and their model can be read back from the files it is written to."""

import sys
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "exams")]

import generate_exams as exams  # noqa: E402

from reanon_dagster.series.series_file import load_series  # noqa: E402


@pytest.mark.parametrize("pool", [5000, 7500])
def test_24_views_of_5000_rows_show_about_16160_patients(pool: int) -> None:
    views = list(exams.views(11, pool=pool))
    assert [len(view.patient) for view in views] == [5000] * 24
    assert len(np.unique(np.concatenate([view.patient for view in views]))) == pytest.approx(16_160, rel=0.02)


def test_a_view_is_in_the_domains_and_has_each_person_once() -> None:
    for view in exams.views(12, count=4, rows=600, pool=900):
        assert (np.diff(view.patient) > 0).all()
        assert (view.age.min(), view.age.max()) >= (45, 0)
        assert view.age.max() <= 74
        assert view.weight.min() >= 60
        assert view.weight.max() <= 89
        assert set(view.gender) == {0, 1}
        assert view.value.max() < len(exams.VALUES) == 19


def test_the_same_seed_gives_the_same_views_and_no_one_returns_from_an_exit() -> None:
    first, second = (list(exams.views(13, count=6, rows=600, pool=900)) for _ in range(2))
    gone: set[int] = set()
    for one, two in zip(first, second, strict=True):
        assert np.array_equal(one.patient, two.patient)
        assert np.array_equal(one.value, two.value)
        assert not gone & set(one.patient.tolist())
        gone |= set(one.patient[one.value >= len(exams.STAGES)].tolist())
    assert gone


def test_the_model_is_made_of_distributions_by_class() -> None:
    prior, emission = exams.prior(), exams.emission(0.69)
    assert prior.sum(axis=1) == pytest.approx(1)
    assert len({tuple(row) for row in prior.round(6).tolist()}) == 18
    assert emission[:, 1:-2].sum(axis=2) == pytest.approx(1)
    assert not emission[:, [0, -2, -1]].any()


def test_results_follow_the_model() -> None:
    views = list(exams.views(14, count=8, rows=5000, pool=5000))
    then, stage = {}, 0
    moved = np.zeros((2, len(exams.VALUES)))
    chances = exams.emission(exams.EXIT_SCALE[5000])[:, exams.following()[0, stage]].mean(axis=0)
    for view in views:  # people who started with the first stage of liver disease, one exam later
        for patient, value in zip(view.patient.tolist(), view.value.tolist(), strict=True):
            if then.get(patient) == (1, stage):
                moved[0, value] += 1
            seen = then.get(patient, (0, 0))[0] + 1
            then[patient] = (seen, value)
    assert moved[0].sum() > 300
    assert moved[0] / moved[0].sum() == pytest.approx(chances, abs=0.06)


def test_the_knowledge_files_hold_the_model(tmp_path: Path) -> None:
    exams.write_knowledge(tmp_path / "knowledge")
    text = (ROOT / "data" / "exams" / "series.yaml").read_text()
    text = text.replace("  source: incremental\n", "  source: domain\n  prior: knowledge/prior.csv\n", 1)
    text = text.replace("  classes:", "  transitions: knowledge/transitions.csv\n  classes:", 1)
    (tmp_path / "series.yaml").write_text(text)
    (tmp_path / "taxonomies").mkdir()
    (tmp_path / "taxonomies" / "result.csv").write_text((ROOT / "data/exams/taxonomies/result.csv").read_text())
    series = load_series(tmp_path)
    known = series.background
    assert known is not None
    assert known.prior is not None
    assert known.following is not None
    assert known.emission is not None
    assert series.schema.sensitive.values == exams.VALUES
    assert known.prior == pytest.approx(exams.prior(), abs=1e-5)
    then, chances = exams.following(), exams.emission(exams.EXIT_SCALE[7500])
    rng = np.random.default_rng(0)
    for _ in range(200):  # the same sequences of values lead to the same expectations, under other numbers of states
        kind, ours, theirs = int(rng.integers(18)), 0, 0
        for _ in range(6):
            row = exams.prior()[kind] if ours == 0 else chances[kind, ours]
            value = int(rng.choice(19, p=row / row.sum()))
            ours, theirs = int(then[ours, value]), int(known.following[theirs, value])
            assert known.emission[kind, theirs] == pytest.approx(chances[kind, ours], abs=1e-5)
            if value >= len(exams.STAGES):
                break
