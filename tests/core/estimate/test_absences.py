"""What is missing from balanced groups: every value of a bucket is as likely as the others to be counterfeits."""

import numpy as np
import pandas as pd
import pytest

from reanon_core.estimate.questions import ReleaseEstimates

MADE = {"name": "m-invariance", "m": 3, "balancing": "median", "not_eligible": "partial-blocks", "regions": "none"}


def release(buckets: dict[str, tuple[int, int]], withheld: int = 0, **technique: object) -> ReleaseEstimates:
    """Buckets as the values of their groups, how many groups, and how many of their rows are invented."""
    shown, invented, group = [], [], 0
    for values, (groups, counterfeits) in buckets.items():
        for at in range(groups):
            shown += [{"group_id": group, "age_min": 20, "age_max": 29, "ill": value} for value in values]
            invented += [{"group_id": group, "count": 1}] if at < counterfeits else []
            group += 1
    table = {"table": pd.DataFrame(shown), "counterfeits": pd.DataFrame(invented, columns=["group_id", "count"])}
    return ReleaseEstimates(**table, manifest={"withheld": withheld, "technique": {**MADE, **technique}})


def test_counterfeits_are_expected_evenly_among_the_values_of_their_bucket_and_widen_only_their_intervals() -> None:
    asked = release({"xyz": (200, 30), "uvw": (200, 0)})
    assert asked.count({"ill": "x"}).value == pytest.approx(190)
    for value in "uvw":
        answer = asked.count({"ill": value})
        assert (answer.low, answer.high) == pytest.approx((200, 200))
    x = asked.count({"ill": "x"})
    assert 130 < x.low < 175 < 195 < x.high < 250


def test_withheld_people_are_expected_where_counterfeits_are() -> None:
    asked = release({"xyz": (200, 30), "uvw": (200, 0)}, withheld=30)
    assert asked.count({"ill": "x"}).value == pytest.approx(200)
    assert asked.count({"ill": "u"}).value == pytest.approx(200)


def test_more_withheld_people_than_gaps_explain_have_the_value_that_most_groups_show() -> None:
    asked = release({"xab": (100, 5), "xcd": (100, 5), "xef": (100, 5), "ghi": (20, 0)}, withheld=300)
    frequent, rare = asked.count({"ill": "x"}), asked.count({"ill": "a"})
    assert frequent.value > 300 + 200
    assert rare.value < 120
    assert asked.size == pytest.approx(3 * 300 + 3 * 20 - 15 + 300)


def test_where_one_value_is_likelier_to_be_invented_the_interval_reaches_to_none_of_it() -> None:
    groups = {"xyzuvwrs": (189, 186)}
    padded, even = release(groups, not_eligible="pad"), release(groups)
    assert padded.count({"ill": "r"}).low <= 3
    assert even.count({"ill": "r"}).low > 3


def test_the_interval_of_a_value_holds_nine_times_in_ten_over_many_draws() -> None:
    rng, held, reach = np.random.default_rng(1), [], []
    for _ in range(60):
        buckets, true, gone = {}, dict.fromkeys("abcdef", 0), 0
        for first in range(4):
            values = "abcdef"[first : first + 3]
            people = rng.binomial(150, 0.9, 3)
            groups = int(np.median(people))
            buckets[values] = (groups, int(np.maximum(groups - people, 0).sum()))
            gone += int(np.maximum(people - groups, 0).sum())
            for value, number in zip(values, people, strict=True):
                true[value] += int(number)
        asked = release(buckets, withheld=gone)
        answers = {value: asked.count({"ill": value}) for value in true}
        held += [answers[value].covers(number) for value, number in true.items()]
        reach += [(answers[value].high - answers[value].low) / 2 / number for value, number in true.items()]
    assert 0.88 <= np.mean(held) <= 0.995
    assert np.median(reach) < 0.08
