"""Questions as data, asked of releases in memory; and how often intervals hold the truth."""

import numpy as np
import pandas as pd
import pytest

import reanon_core as reanon
from reanon_core.estimate.questions import ReleaseEstimates
from reanon_core.estimate.ten_questions import Question, ask, compare_answers, true_answer, usual_questions
from reanon_core.model.errors import InvalidParameter

ILLNESSES = ("asthma", "cold", "diabetes", "flu", "gastritis", "measles")


def people(number: int, seed: int) -> pd.DataFrame:
    """People whose illness depends on age and sex."""
    rng = np.random.default_rng(seed)
    age = np.clip(rng.normal(45, 16, number), 18, 89).astype(int)
    sex = np.where(rng.random(number) < 0.4, "F", "M")
    score = age / 12 + 2 * (sex == "F") + rng.normal(0, 2.5, number)
    return pd.DataFrame(
        {
            "id": np.arange(number),
            "age": age,
            "sex": sex,
            "ill": np.array(ILLNESSES)[score.argsort().argsort() * 6 // number],
        }
    )


def published(technique: object, form: str = "boxes") -> tuple[list[ReleaseEstimates], list[pd.DataFrame]]:
    """Two releases, a tenth of the people replaced."""
    everyone = people(2200, 3)
    frames = [everyone.iloc[:2000], everyone.iloc[200:]]
    series = reanon.Series(
        id="id",
        sensitive="ill",
        quasi_identifiers={"age": reanon.Numeric(domain=(18, 89)), "sex": reanon.Categorical(order=["F", "M"])},
        technique=technique,  # type: ignore[arg-type]
        form=form,  # type: ignore[arg-type]
        unsafe_seed=5,
    )
    releases = [series.publish(frame, name=str(at)) for at, frame in enumerate(frames)]
    tables = [
        {"table": one, "counterfeits": one.counterfeits} if form == "boxes" else {"rows": one, "values": one.values}
        for one in releases
    ]
    told = [ReleaseEstimates(**one, orders={"sex": ["F", "M"]}, sensitive="ill") for one in tables]  # type: ignore[arg-type]
    return told, frames


@pytest.mark.parametrize(
    ("technique", "form"),
    [
        (reanon.MInvariance(m=3), "boxes"),
        (reanon.MInvariance(m=3), "decoupled"),
        (reanon.Mondrian(k=10), "boxes"),
    ],
)
def test_intervals_hold_the_truth_nine_times_in_ten(technique: object, form: str) -> None:
    (_, last), (_, frame) = published(technique, form)
    rng = np.random.default_rng(1)
    held = []
    for _ in range(40):
        low = int(rng.integers(18, 80))
        where = {"age": (low, low + int(rng.choice([4, 9, 19]))), "sex": str(rng.choice(["F", "M"]))}
        where |= {"ill": str(rng.choice(ILLNESSES))} if rng.random() < 0.6 else {}
        held.append(last.count(where).covers(true_answer(Question("?", "count", where), [frame])))
    assert np.mean(held) >= 0.88


def test_a_median_between_two_people_is_half_way_and_its_interval_reaches_both() -> None:
    table = pd.DataFrame({"group_id": range(4), "age_min": [10, 20, 40, 50], "ill": list("abab")})
    release = ReleaseEstimates(table=table.assign(age_max=table["age_min"]), sensitive="ill")
    median = release.quantile("age")
    assert median.value == pytest.approx(30, abs=0.6)
    assert median.low <= 20 < 40 <= median.high


def test_every_kind_of_question_has_an_estimate_and_a_truth() -> None:
    releases, frames = published(reanon.Mondrian(k=10))
    questions = [
        Question("people?", "count"),
        Question("women?", "share", of={"sex": "F"}),
        Question("age?", "mean", {"ill": "flu"}, column="age"),
        Question("median?", "quantile", {"sex": ["M"]}, column="age"),
        Question("change?", "change", of={"ill": "flu"}),
    ]
    compared = compare_answers(questions, releases, frames)
    assert [one.truth for one in compared][:2] == [2000, pytest.approx((frames[1]["sex"] == "F").mean())]
    assert compared[4].truth == pytest.approx((frames[1]["ill"] == "flu").mean() - (frames[0]["ill"] == "flu").mean())
    assert compared[3].truth == frames[1].loc[frames[1]["sex"] == "M", "age"].median()
    assert all(one.holds for one in compared)
    with pytest.raises(InvalidParameter, match="kind"):
        Question("?", "sum")


def test_ten_usual_questions_fit_a_release() -> None:
    releases, _ = published(reanon.Mondrian(k=10))
    questions = usual_questions(releases[-1])
    assert len({one.text for one in questions}) == len(questions) >= 7
    assert questions[-1].kind == "change"
    for one in questions:
        assert ask(one, releases).low <= ask(one, releases).value <= ask(one, releases).high
