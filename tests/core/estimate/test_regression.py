"""Regressions over groups, against brute force on tiny groups and against the planted table."""

import warnings
from functools import cache
from itertools import combinations, permutations

import numpy as np
import pandas as pd
import pytest

import reanon_core as reanon
from reanon_core.estimate.group_likelihood import fitted, likely, line
from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.model.errors import InvalidParameter

PEOPLE, VALUES = 6000, 9
MADE = {"technique": {"name": "m-invariance", "m": 3, "regions": "sizes", "balancing": "median"}}


@pytest.mark.parametrize("chosen", [0, 1, 2, 3])
def test_who_of_a_group_has_a_value_is_as_likely_as_counting_all_choices_says(chosen: int) -> None:
    odds = np.array([0.2, 3.0, 0.7])
    choices = list(combinations(range(3), chosen))
    weight = np.array([np.prod(odds[list(one)]) for one in choices])
    expected = [weight[[who in one for one in choices]].sum() / weight.sum() for who in range(3)]
    assert likely(odds, np.zeros(3, np.int64), np.array([chosen])) == pytest.approx(expected)


def test_in_a_large_group_odds_are_balanced_until_they_add_up() -> None:
    odds, group = np.random.default_rng(1).uniform(0.1, 4, 40), np.repeat([0, 1], 20)
    told = likely(odds, group, np.array([6, 13]))
    assert [told[:20].sum(), told[20:].sum()] == pytest.approx([6, 13])
    assert (np.argsort(told[:20]) == np.argsort(odds[:20])).all()


def test_the_fit_of_groups_of_one_person_is_the_usual_logistic_regression_and_hides_nothing() -> None:
    rng = np.random.default_rng(2)
    column = rng.normal(size=3000)
    terms = np.stack([np.ones(3000), column], axis=-1)
    has = rng.random(3000) < 1 / (1 + np.exp(1 - 0.8 * column))
    alone = np.arange(3000)
    fit = fitted(terms[:, None, :], np.ones((3000, 1)), alone, has.astype(np.int64), np.ones(3000, np.int64))
    chance = 1 / (1 + np.exp(-terms @ fit.coefficients))
    assert terms.T @ (has - chance) == pytest.approx([0, 0], abs=0.1)  # the score of the likelihood
    assert np.abs(fit.hidden).max() < 1e-5


def test_the_numbers_of_a_pair_are_whose_all_permutations_say() -> None:
    rng, pairs = np.random.default_rng(3), 60
    column = rng.normal(size=2 * pairs)
    number, group = column + rng.normal(size=2 * pairs), np.repeat(np.arange(pairs), 2)
    terms = np.stack([np.ones(2 * pairs), column], axis=-1)
    fit = line(terms, group, group, number)
    expected, variance = terms @ fit.coefficients, 1.0
    for _ in range(100):  # the variance that goes with these coefficients
        told, squares = np.zeros(2 * pairs), 0.0
        for pair in (slice(at, at + 2) for at in range(0, 2 * pairs, 2)):
            ways = np.array(list(permutations(number[pair])))
            off = ((ways - expected[pair]) ** 2).sum(axis=1)
            weight = np.exp(-off / (2 * variance)) / np.exp(-off / (2 * variance)).sum()
            told[pair], squares = weight @ ways, squares + float(weight @ off)
        variance = squares / (2 * pairs)
    assert fit.having == pytest.approx(told, abs=0.05)


def planted(seed: int) -> pd.DataFrame:
    """Nine values of a score, that is larger for men and with age."""
    rng = np.random.default_rng(seed)
    sex, age = rng.integers(0, 2, PEOPLE), rng.integers(18, 80, PEOPLE)
    score = np.clip(np.rint(4 + 1.2 * sex + 0.05 * (age - 45) + rng.normal(0, 1.5, PEOPLE)), 0, VALUES - 1)
    shown = np.array(["f", "m"])[sex]
    return pd.DataFrame({"id": np.arange(PEOPLE), "sex": shown, "age": age, "score": score.astype(np.int64)})


@cache
def published(form: str, seed: int = 0) -> ReleaseEstimates:
    series = reanon.Series(
        id="id",
        sensitive="score",
        quasi_identifiers={"age": reanon.Numeric(min_width=5), "sex": reanon.Categorical(order=["f", "m"])},
        technique=reanon.MInvariance(m=3),
        form=form,
        k=10 if form == "decoupled" else None,
        unsafe_seed=seed,
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        release = series.publish(planted(seed), name="r1")
    tables = {"rows": release, "values": release.values} if form == "decoupled" else {"table": release}
    if form == "boxes":
        tables["counterfeits"] = release.counterfeits
    return ReleaseEstimates(
        **tables, manifest={**MADE, "withheld": release.withheld}, orders={"sex": ["f", "m"]}, sensitive="score"
    )


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_regressions_find_what_was_planted(form: str) -> None:
    people, release = planted(0), published(form)
    terms = np.column_stack([np.ones(PEOPLE), people["sex"] == "m", people["age"]])
    true = np.linalg.lstsq(terms, people["score"], rcond=None)[0][1:]
    assert release.linear({"man": {"sex": "m"}, "age": "age"})["value"].to_numpy() == pytest.approx(true, rel=0.1)
    high = (people["score"] >= 6).to_numpy()
    found = np.zeros(3)
    for _ in range(20):
        chance = 1 / (1 + np.exp(-terms @ found))
        found = found + np.linalg.solve((terms.T * (chance * (1 - chance))) @ terms, terms.T @ (high - chance))
    told = release.logistic({"score": ["6", "7", "8"]}, {"man": {"sex": "m"}, "age": "age"})
    assert told["term"].tolist() == ["man", "age"]
    assert told["value"].to_numpy() == pytest.approx(found[1:], rel=0.1)
    assert told["odds_ratio"].to_numpy() == pytest.approx(np.exp(told["value"]))
    assert (told["low"] < told["value"]).all()
    assert (told["value"] < told["high"]).all()


def test_a_column_of_labels_is_compared_with_its_most_frequent_label_and_conditions_restrict_people() -> None:
    release = published("boxes")
    (line_of_sex,) = release.logistic({"score": "8"}, ["sex"], where={"age": (30, 60)}).itertuples()
    assert line_of_sex.term in {"sex: f, not m", "sex: m, not f"}
    alone = release.odds_ratio({"sex": line_of_sex.term[5]}, {"score": "8"}, {"age": (30, 60)})
    assert line_of_sex.odds_ratio == pytest.approx(alone.value, rel=0.1)


@pytest.mark.parametrize(
    ("asked", "sentence"),
    [
        (("score", ["age"]), r"of \(age\) must be a condition on score alone"),
        (("8", []), "on must name a column at least"),
        (("8", ["town"]), r"town \(town\) must be one of age, sex, or conditions on them"),
        (("8", {"high": {"score": "8"}}), "high must not be about score, whose values are compared"),
        (("8", {"anyone": {"sex": ["f", "m"]}}), "anyone must differ among the people who are asked for"),
    ],
)
def test_a_wrong_regression_is_a_sentence(asked: tuple[str, object], sentence: str) -> None:
    value, on = asked
    of = {"age": 30} if value == "score" else {"score": value}
    with pytest.raises(InvalidParameter, match=sentence):
        published("boxes").logistic(of, on)


def test_where_people_entered_groups_from_anywhere_no_regression_is_made_up() -> None:
    shown = pd.DataFrame({"group_id": [0, 0, 1, 1], "age_min": 20, "age_max": 40, "ill": ["x", "y", "x", "z"]})
    with pytest.raises(InvalidParameter, match="must have people of one region in each group"):
        ReleaseEstimates(table=shown).logistic({"ill": "x"}, ["age"])
    with pytest.raises(InvalidParameter, match="ill must be a number, and some of its values are none"):
        ReleaseEstimates(table=shown.assign(ill=["x", "x", "x", "z"])).linear(["age"])


@pytest.mark.parametrize("form", ["boxes", "decoupled"])
def test_one_table_of_people_counts_as_the_questions_do(form: str) -> None:
    release = published(form)
    people = release.people().to_pandas()
    columns = ["age_min", "age_max", "age_mid", "sex_min", "sex_max", "sex_mid", "score", "weight"]
    assert people.columns.tolist() == columns
    assert people["weight"].sum() == pytest.approx(PEOPLE - release.withheld)
    assert people["age_mid"].between(people["age_min"], people["age_max"]).all()
    young = float(people["weight"] @ release.covered({"age": (20, 29)}))
    published_part = people["weight"].sum() / release.size
    assert young == pytest.approx(release.count({"age": (20, 29)}).value * published_part)
    eights = release.covered({"score": "8"})
    assert (eights == (people["score"] == "8")).all()


def test_a_crosstab_has_a_line_for_each_cell() -> None:
    release, people = published("decoupled"), planted(0)
    cells = release.crosstab({"sex": ["f", "m"], "age": [(18, 40), (41, 79)], "score": ["3", "4"]})
    assert cells.columns.tolist() == ["sex", "age", "score", "value", "low", "high", "notes"]
    assert len(cells) == 8
    for cell in cells.itertuples():
        here = (people["sex"] == cell.sex) & people["age"].between(*cell.age) & (people["score"] == int(cell.score))
        assert cell.value == pytest.approx(here.sum(), rel=0.2)
    assert release.crosstab(["sex"])["value"].tolist() == release.counts("sex")["value"].tolist()
    with pytest.raises(InvalidParameter, match=r"by \(sex\) must be a list of columns"):
        release.crosstab("sex")
