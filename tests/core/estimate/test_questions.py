"""Estimates from published tables, against brute force on tiny tables."""

from itertools import combinations, product

import numpy as np
import pandas as pd
import pytest

from reanon_core.estimate.bucket_regression import NOISE, WIDTHS, buckets
from reanon_core.estimate.questions import ReleaseEstimates, trend
from reanon_core.estimate.units import ShownValues
from reanon_core.model.errors import InvalidParameter

SEXES = ["F", "M"]


def table(*groups: tuple[int, int, str, str, str]) -> pd.DataFrame:
    """Groups as age_min, age_max, sex_min, sex_max and the values, a letter each."""
    rows = [
        {"group_id": at, "age_min": low, "age_max": high, "sex_min": first, "sex_max": last, "ill": value}
        for at, (low, high, first, last, values) in enumerate(groups)
        for value in values
    ]
    return pd.DataFrame(rows)


def estimates(shown: pd.DataFrame, counterfeits: dict[int, int] | None = None, **given: object) -> ReleaseEstimates:
    invented = pd.DataFrame({"group_id": list(counterfeits or {}), "count": list((counterfeits or {}).values())})
    return ReleaseEstimates(table=shown, counterfeits=invented.astype("int32"), orders={"sex": SEXES}, **given)


YEARS = [(year, year, "F", "F", "xy") for year in range(10, 14)]  # so that every year is a bin


def test_a_box_has_someone_at_each_end_and_the_others_are_taken_to_be_anywhere_in_it() -> None:
    asked = estimates(table(*YEARS, (10, 13, "F", "F", "xyzw")))
    placed = [(10, 13, *others) for others in product(range(10, 14), repeat=2)]
    for low, high in ((10, 10), (11, 12), (12, 13), (10, 13)):
        by_hand = np.mean([sum(low <= year <= high for year in people) for people in placed]) + 2 * (high - low + 1)
        even = asked._evidence.selection({"age": (low, high)}).shares[0] @ asked._evidence.units.people
        assert even == pytest.approx(by_hand)


def test_counterfeits_reach_as_far_as_the_worst_choice_of_rows_and_are_expected_in_the_mean() -> None:
    values, invented = "xxyz", 2
    answer = estimates(table((10, 13, "F", "M", values)), {0: invented})
    choices = [[values[row] for row in real] for real in combinations(range(4), 4 - invented)]
    for letters in ("x", "y", "yz"):
        real = [sum(value in letters for value in one) for one in choices]
        told = answer.count({"ill": list(letters)})
        assert told.value == pytest.approx(np.mean(real))
        assert told.low <= min(real) + 1e-9
        assert told.high >= max(real) - 1e-9
    assert answer.count().value == 2


def test_a_question_that_boxes_and_values_answer_exactly_has_no_width() -> None:
    answer = estimates(table((10, 11, "F", "F", "xx"), (12, 13, "M", "M", "yz"))).count({"ill": "x", "sex": "F"})
    assert (answer.low, answer.value, answer.high) == pytest.approx((2, 2, 2))
    assert not answer.notes


def test_counts_by_a_column_add_up_to_everyone() -> None:
    asked = estimates(table(*YEARS, (10, 13, "F", "M", "xyzw"), (11, 12, "M", "M", "xyz")), {5: 1})
    for by in ("sex", "ill"):
        assert asked.counts(by)["value"].sum() == pytest.approx(asked.size)


def test_a_mean_and_a_median_lie_where_the_people_are() -> None:
    exact = estimates(table(*((year, year, "F", "F", "xy") for year in (20, 30, 70))))
    assert exact.mean("age").value == pytest.approx(40)
    assert exact.mean("age", {"age": (None, 40)}).value == pytest.approx(25)
    assert exact.mean("age").low == pytest.approx(40)
    assert 20 <= exact.quantile("age").low <= exact.quantile("age").value <= exact.quantile("age").high <= 30
    wide = estimates(table((20, 70, "F", "F", "xyz")))
    assert wide.mean("age").low < 45 < wide.mean("age").high
    assert exact.means("age", "ill")["value"].tolist() == pytest.approx([40, 40])


def test_a_share_is_of_those_who_are_asked_for() -> None:
    asked = estimates(table((20, 20, "F", "F", "xxxy"), (30, 30, "M", "M", "yyyy")))
    assert asked.share({"ill": "x"}, {"sex": "F"}).value == pytest.approx(0.75)
    assert asked.share({"ill": "x"}).value == pytest.approx(3 / 8)
    with pytest.raises(InvalidParameter, match="name a column once"):
        asked.share({"sex": "F"}, {"sex": "M"})


def test_a_trend_has_a_line_for_each_release() -> None:
    releases = {name: estimates(table((20, 20, "F", "F", values))) for name, values in (("a", "xy"), ("b", "xxxy"))}
    assert trend(releases, {"ill": "x"})["value"].tolist() == pytest.approx([0.5, 0.75])
    assert trend(releases, {"ill": "x"}, share=False)["release"].tolist() == ["a", "b"]


def test_the_decoupled_form_gives_each_person_the_values_of_the_group() -> None:
    rows = pd.DataFrame({"group_id": [0, 0, 1, 1], "age_min": [20, 30, 20, 30], "age_max": [20, 30, 20, 30]})
    values = pd.DataFrame({"group_id": [0, 0, 1, 1], "ill": ["x", "y", "x", "z"], "count": [1, 1, 1, 2]})
    asked = ReleaseEstimates(rows=rows, values=values)
    assert asked.size == 4
    assert asked.count({"ill": "z", "age": (20, 20)}).value == pytest.approx(2 / 3)
    assert asked.count({"age": (25, 35)}).value == 2
    assert asked.count({"ill": "z"}).low <= 1  # the counterfeit may be one of the two


def test_rare_values_among_counterfeits_are_said_to_be_unanswerable() -> None:
    groups = [(20, 29, "F", "M", "axyzuvwr")] * 189
    answer = estimates(table(*groups), dict.fromkeys(range(186), 1)).count({"ill": "r"})
    assert answer.low <= 3 <= answer.high
    assert "189 rows show these values, but between 3 and 189 real people" in answer.notes[0]


def test_a_region_narrower_than_the_boxes_is_said() -> None:
    answer = estimates(table(*[(20, 69, "F", "M", "xyzuvw")] * 20)).count({"age": (30, 32)})
    assert "narrower than the boxes: 100%" in answer.notes[0]


def test_withheld_people_widen_the_interval() -> None:
    shown = table((20, 20, "F", "F", "xxyy"), (30, 30, "M", "M", "xxyy"))
    answer = estimates(shown, manifest={"withheld": 2}).count({"sex": "F"})
    assert answer.value == pytest.approx(5)
    assert answer.low < 4 < 6 < answer.high


def test_all_or_none_of_the_withheld_may_have_a_value_where_groups_are_balanced() -> None:
    balanced, free = (
        estimates(table(*[(20, 20, "F", "F", values)] * 40), manifest={"withheld": 30}).count({"ill": "x"})
        for values in ("xabcdefg", "xabcdeff")
    )
    assert balanced.value == free.value == pytest.approx(40 + 30 / 8)
    assert balanced.low <= 40 < 40 + 30 <= balanced.high
    assert free.high < 40 + 30


def test_a_region_counts_the_rows_that_counterfeits_are_among() -> None:
    groups = [(20, 20, "F", "F", "axyz"), (30, 30, "F", "F", "bxyz")] * 50
    answer = estimates(table(*groups), dict.fromkeys(range(100), 2)).count({"ill": "x", "age": 20})
    assert "50 rows show these values, but between 0 and 50 real people" in answer.notes[0]


@pytest.mark.parametrize(
    ("where", "sentence"),
    [
        ({"town": "x"}, r"a condition \(town\) must name a column that the release shows: age, sex, ill"),
        ({"sex": "Q"}, r"sex \(Q\) must be one of F, M"),
        ({"age": "young"}, r"age \(young\) must be a number"),
        ({"age": (39, 30)}, r"age \(39 to 30\) must be a range that begins before it ends"),
        ({"sex": ("M", "F")}, r"sex \(M to F\) must be a range that begins before it ends, in the order of the column"),
    ],
)
def test_a_wrong_condition_is_a_sentence(where: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameter, match=sentence):
        estimates(table((20, 20, "F", "F", "xy"))).count(where)


def test_labels_without_an_order_are_refused_and_a_dictionary_gives_it() -> None:
    shown = table((20, 20, "F", "M", "xy"))
    with pytest.raises(InvalidParameter, match="sex must have an order of its values"):
        ReleaseEstimates(table=shown).count({"sex": "F"})
    assert ReleaseEstimates(table=shown).count({"age": 20}).value == 2
    with pytest.raises(InvalidParameter, match="an interval begins after it ends; correct its order"):
        ReleaseEstimates(table=shown, orders={"sex": SEXES[::-1]})
    told = {"reanon": {"columns": {"sex": {"order": SEXES, "taxonomy": [["F", "any"], ["M", "any"]]}}}}
    assert ReleaseEstimates(table=shown, dictionary=told).count({"sex": "any"}).value == 2
    plain = {"resources": [{"schema": {"fields": [{"name": "sex_min", "categories": SEXES}]}}]}
    assert ReleaseEstimates(table=shown, dictionary=plain).count({"sex": "F"}).value == 1


def test_dates_and_missing_values_are_read() -> None:
    days = pd.to_datetime(["2024-01-01", "2024-01-01", None, None])
    shown = pd.DataFrame(
        {
            "group_id": [0, 0, 1, 1],
            "born_min": days,
            "born_max": days + pd.Timedelta(days=9),
            "born_missing": ["none", "none", "all", "all"],
            "ill": ["x", "y", "x", "z"],
        }
    )
    asked = ReleaseEstimates(table=shown)
    assert asked.count({"born": ("2024-01-01", "2024-01-05")}).value == pytest.approx(1)
    assert asked.count({"born": (None, None)}).value == pytest.approx(2)
    assert asked.count().value == 4


def test_the_regression_is_that_of_a_dense_normal_posterior() -> None:
    rng = np.random.default_rng(1)
    lists = [list(one) for one in combinations(range(5), 3)]
    groups = [lists[at] for at in rng.integers(0, len(lists), 200)]
    flat = np.concatenate(groups)
    shown = ShownValues(
        tuple("abcde"), np.repeat(np.arange(200), 3), flat, np.ones(600), np.full(200, 3.0), np.zeros(200)
    )
    found = buckets(shown, np.full(200, 3.0))
    assert found is not None
    share = np.array([0.1, 0.2, 0.5, 0.7, 0.9])
    totals = found.people * (found.shares @ share) + rng.normal(0, 1, len(found.people))
    asked, variance = np.array([True, False, False, False, False]), 0.2
    middle = totals.sum() / found.people.sum()
    seen = totals / found.people - middle
    noise = max(NOISE, _residual(found.shares, found.people, seen, variance)) * variance / found.people
    coefficient = found.people @ (found.shares * asked) - (found.people * (found.shares @ asked)) @ found.shares
    weights, means, errors = [], [], []
    for width in WIDTHS:
        prior = width**2 * variance * np.eye(5)
        spread = found.shares @ prior @ found.shares.T + np.diag(noise)
        gain = prior @ found.shares.T @ np.linalg.inv(spread)
        weights.append(-0.5 * (seen @ np.linalg.solve(spread, seen) + np.linalg.slogdet(spread)[1]))
        means.append(coefficient @ gain @ seen)
        errors.append(coefficient @ (prior - gain @ found.shares @ prior) @ coefficient)
    weight = np.exp(np.array(weights) - max(weights))
    weight /= weight.sum()
    expected = weight @ np.array(means)
    value, error = found.correction(totals - found.people * middle, asked, variance, variance)
    assert value == pytest.approx(expected)
    assert error == pytest.approx(np.sqrt(weight @ (np.array(errors) + (np.array(means) - expected) ** 2)))
    alike = found.people @ (found.shares * asked) @ np.full(5, 0) + (totals / found.people) @ (
        found.people * (found.shares @ asked)
    )
    truth = (found.people @ (found.shares * asked)) @ share
    assert abs(alike + value - truth) < abs(alike - truth)


def test_intervals_reach_back_to_the_answer_without_the_regression_because_buckets_may_differ_for_other_reasons() -> (
    None
):
    """People who arrived together share buckets and an age; no value depends on age."""
    cohorts = [(60, 63, "xyz")] * 60 + [(20, 23, "xyw")] * 60 + [(40, 43, "xzw")] * 5
    told = estimates(table(*((low, high, "F", "M", values) for low, high, values in cohorts)))
    for value, alike in (("z", (60 * 61.5 + 5 * 41.5) / 65), ("w", (60 * 21.5 + 5 * 41.5) / 65)):
        answer = told.mean("age", {"ill": value})
        assert answer.low <= alike <= answer.high


def _residual(shares: np.ndarray, people: np.ndarray, seen: np.ndarray, variance: float) -> float:
    """The mean square of what no values explain, in units of chance."""
    scaled, design = seen * np.sqrt(people / variance), np.sqrt(people)[:, None] * shares
    solution, *_ = np.linalg.lstsq(design, scaled, rcond=None)
    rest = scaled - design @ solution
    return float(rest @ rest) / (len(seen) - np.linalg.matrix_rank(design))


def test_groups_that_do_not_show_values_equally_often_have_no_regression() -> None:
    shown = ShownValues(
        ("a", "b"), np.array([0, 0]), np.array([0, 1]), np.array([2.0, 1.0]), np.array([3.0]), np.zeros(1)
    )
    assert buckets(shown, np.array([3.0])) is None


def rows_of(groups: list[tuple[str, str]]) -> pd.DataFrame:
    """Groups as the sexes of their people and their values; ages are all alike. Decoupled: a row for each person."""
    return pd.DataFrame(
        [
            {"group_id": at, "age_min": 30, "age_max": 30, "sex_min": sex, "sex_max": sex}
            for at, (sexes, _) in enumerate(groups)
            for sex in sexes
        ]
    )


def asked_of(groups: list[tuple[str, str]]) -> ReleaseEstimates:
    values = pd.DataFrame(
        [{"group_id": at, "ill": value, "count": 1} for at, (_, shown) in enumerate(groups) for value in shown]
    )
    return ReleaseEstimates(rows=rows_of(groups), values=values, orders={"sex": SEXES})


def test_an_odds_ratio_of_exact_rows_is_that_of_the_table_and_the_same_from_either_side() -> None:
    table_of_four = {("F", "x"): 12, ("F", "y"): 8, ("M", "x"): 5, ("M", "y"): 20}
    release = asked_of([cell for cell, people in table_of_four.items() for _ in range(people)])
    expected = (12 * 20) / (8 * 5)
    for answer in (
        release.odds_ratio({"sex": "F"}, {"ill": "x"}),
        release.odds_ratio({"ill": "x"}, {"sex": "F"}),
        release.odds_ratio({"sex": "M"}, {"ill": "y"}),
    ):
        assert (answer.low, answer.value, answer.high) == pytest.approx((expected, expected, expected))
    assert release.odds_ratio({"sex": "F"}, {"ill": "x"}, {"age": (20, 40)}).value == pytest.approx(expected)
    with pytest.raises(InvalidParameter, match="by some of the people, and not by all"):
        release.odds_ratio({"age": 30}, {"ill": "x"})
    with pytest.raises(InvalidParameter, match="name a column once"):
        release.odds_ratio({"sex": "F"}, {"ill": "x"}, {"sex": "F"})


def test_the_odds_of_no_one_are_those_of_half_a_person() -> None:
    release = asked_of([("F", "x")] * 10 + [("M", "y")] * 10)
    assert release.odds_ratio({"sex": "F"}, {"ill": "x"}).value == pytest.approx((9.5 / 0.5) ** 2)


def regional(mixed: int, rng: np.random.Generator) -> tuple[list[tuple[str, str]], float]:
    """Regions with values and a sex of their own, in which both are independent; and the odds ratio of F with a.

    `mixed` of ten groups hold both sexes, and there a goes with F as it does elsewhere.
    """
    groups, women, others = [], [0, 0], [0, 0]
    lists = ["".join(one) for one in combinations("abcdefgh", 3)]
    for number, values in enumerate(lists * 2):
        likely = 0.85 if "a" in values and number % 3 else rng.uniform(0.1, 0.5)
        for at in range(20):
            sexes = ["F" if rng.random() < likely else "M"] * 3
            if at % 10 < mixed:
                sexes[0] = "F" if sexes[0] == "M" else "M"
            order = rng.permutation(3)
            if "a" in values and rng.random() < 0.5:  # so that a woman has it more often
                order = np.array(sorted(order, key=lambda who: sexes[who] != "F"))
            for value, who in zip(values, order, strict=True):
                (women if value == "a" else others)[sexes[who] == "F"] += 1
            groups.append(("".join(sexes), values))
    return groups, (women[1] / women[0]) / (others[1] / others[0])


@pytest.mark.parametrize("mixed", [0, 3])
def test_buckets_that_differ_by_region_are_not_taken_for_a_difference_of_values(mixed: int) -> None:
    for seed in range(5):
        groups, truth = regional(mixed, np.random.default_rng(seed))
        answer = asked_of(groups).odds_ratio({"sex": "F"}, {"ill": "a"})
        assert answer.covers(truth)
        assert answer.value == pytest.approx(truth, rel=0.2 if mixed else 1e-9)
        if not mixed:  # a group of one sex tells exactly how many of them have each value
            assert answer.low == pytest.approx(answer.high)


def test_a_value_goes_with_a_column_inside_groups_as_it_does_between_them() -> None:
    groups, truth = regional(5, np.random.default_rng(1))
    release = asked_of(groups)
    even = {"F": 0.0, "M": 0.0}
    for sexes, values in groups:
        for sex in sexes:
            even[sex] += ("a" in values) / 3
    sexes = "".join(one for one, _ in groups)
    rest = {sex: sexes.count(sex) - even[sex] for sex in "FM"}
    by_shares = (even["F"] / even["M"]) / (rest["F"] / rest["M"])
    answer = release.odds_ratio({"sex": "F"}, {"ill": "a"})
    assert by_shares < answer.value
    assert abs(np.log(answer.value / truth)) < abs(np.log(by_shares / truth))


def test_a_group_of_one_sex_tells_exactly_how_many_of_it_have_each_value() -> None:
    release = asked_of([("FFF", "abc")] * 30 + [("MMM", "abd")] * 30)
    assert release.count({"sex": "F", "ill": "c"}).value == pytest.approx(30)
    assert release.count({"sex": "F", "ill": "a"}).value == pytest.approx(30)
    assert release.count({"sex": "F", "ill": "d"}).value == pytest.approx(0)


def test_a_pair_hides_who_of_both_has_a_value() -> None:
    answer = asked_of([("FM", "xy")] * 100).count({"sex": "F", "ill": "x"})
    assert answer.low < 15 < 85 < answer.high


def test_people_of_one_box_share_its_values_though_someone_is_at_each_of_its_ends() -> None:
    """A box from F to M has a woman and a man, and either may have the only y."""
    alone = [(10, 11, sex, sex, "zzw") for sex in SEXES * 100]  # so that F and M are bins of their own
    answer = estimates(table(*alone, *[(10, 11, "F", "M", "xxy")] * 100)).count({"sex": "F", "ill": "y"})
    assert answer.low < 15 < 85 < answer.high


def test_the_interval_of_an_odds_ratio_reaches_as_far_as_both_shares_that_it_is_made_of() -> None:
    release = estimates(table(*YEARS * 60, *[(10, 13, "F", "F", "xyzw")] * 20, *[(12, 13, "F", "F", "xy")] * 20))
    young, ill = {"age": (10, 11)}, {"ill": "x"}
    part, whole, having = (release.share(*asked) for asked in ((young, ill), (young,), (ill,)))

    def ratio(share: float, of_all: float) -> float:
        rest = (of_all - share * having.value) / (1 - having.value)
        return float(np.log(share / (1 - share) / (rest / (1 - rest))))

    answer, middle = release.odds_ratio(young, ill), ratio(part.value, whole.value)
    further = [ratio(part.high, whole.value) - middle, ratio(part.value, whole.low) - middle]
    assert min(further) > 0.01
    assert np.log(answer.high) - middle == pytest.approx(np.hypot(*further))
    less = [middle - ratio(part.low, whole.value), middle - ratio(part.value, whole.high)]
    assert middle - np.log(answer.low) == pytest.approx(np.hypot(*less))


def made_by(regions: str, **other: object) -> dict[str, object]:
    return {"technique": {"regions": regions, "balancing": "median", "m": 3, "not_eligible": "blocks"}, **other}


def by_arrival(rng: np.random.Generator) -> tuple[pd.DataFrame, pd.DataFrame, dict[str, float]]:
    """Rows and values of buckets whose people arrived together, and so are of an age; and the mean age by value."""
    rows, values, true = [], [], {value: [] for value in "abcdef"}
    for number, shown in enumerate(combinations("abcdef", 3)):
        age = rng.normal(45, 2.5)
        for at in range(10):
            group = 10 * number + at
            for value in rng.permutation(list(shown)).tolist():
                own = round(rng.normal(age, 8))
                true[value].append(own)
                rows.append({"group_id": group, "age_min": own, "age_max": own})
                values.append({"group_id": group, "ill": value, "count": 1})
    return pd.DataFrame(rows), pd.DataFrame(values), {value: float(np.mean(ages)) for value, ages in true.items()}


def test_buckets_are_not_compared_where_the_manifest_says_that_people_entered_by_region() -> None:
    off: dict[str, list[float]] = {"none": [], "sizes": []}
    held: dict[str, list[bool]] = {"none": [], "sizes": []}
    for seed in range(5):
        rows, values, true = by_arrival(np.random.default_rng(seed))
        for regions, found in off.items():
            release = ReleaseEstimates(rows=rows, values=values, manifest=made_by(regions))
            answers = {value: release.mean("age", {"ill": value}) for value in true}
            held[regions] += [answers[value].covers(age) for value, age in true.items()]
            found += [abs(answers[value].value - age) for value, age in true.items()]
    assert min(np.mean(one) for one in held.values()) >= 0.8
    assert max(off["sizes"]) < 5 < max(off["none"])
