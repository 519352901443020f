"""The Cor-Split technique's promises beyond the conformance suite."""

from contextlib import suppress

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from oracles.correlations import components, derived_correlations, groups_of, hc_unsafe, refused_by_figure_6

from reanon_core.catalog import own_checks
from reanon_core.model.errors import InvalidParameter, Unpublishable
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.publishing import publish
from reanon_core.replay import replay
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.m_invariance.technique import MInvariance

few = settings(max_examples=25, deadline=None, phases=[Phase.explicit, Phase.generate])


def snapshot(people: dict[int, int], values: int, *, aged: int = 0) -> Snapshot:
    """People with a value each; their quasi-identifiers follow from their number."""
    persons = np.array(sorted(people), dtype=np.int64)
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="age"), QuasiIdentifier(name="zip")),
        sensitive=Sensitive(name="disease", values=tuple(f"d{i}" for i in range(values))),
    )
    qi = np.stack([persons * 7 % 31 + aged, persons * 5 % 17]).astype(np.int32)
    return Snapshot(schema, persons, qi, np.array([people[p] for p in sorted(people)], np.int32))


def changing(seed: int, *, people: int, values: int, releases: int, stay: float = 0.8) -> list[Snapshot]:
    """People who come, leave and return."""
    rng = np.random.default_rng(seed)
    everyone = {p: p % values for p in range(people)}
    return [
        snapshot({p: v for p, v in everyone.items() if rng.random() < stay}, values, aged=int(rng.integers(0, 3)))
        for _ in range(releases)
    ]


def run(technique: CorSplit, snapshots: list[Snapshot], seed: int = 0) -> Ledger:
    """Publish what can be published, and judge it by the technique's own checks."""
    state, rng, entries = technique.initial_state(), np.random.default_rng(seed), []
    checks = own_checks(technique)
    memories = [check.initial_memory() for check in checks]
    for one in snapshots:
        with suppress(Unpublishable):
            publication = publish(technique, one, state, rng)
            state = publication.state
            entries.append(Entry(one, publication.release, publication.auxiliary, publication.trace))
            for i, check in enumerate(checks):
                verdict, memories[i] = check.examine(entries[-1], memories[i])
                assert verdict.holds, verdict
    return Ledger(tuple(entries))


@given(seed=st.integers(0, 2**32 - 1), strict=st.booleans(), partition=st.sampled_from(["repair", "paper"]))
@few
def test_no_group_is_hc_unsafe_by_the_literal_definition_and_none_is_refused_by_figure_6(
    seed: int, strict: bool, partition: str
) -> None:
    technique = CorSplit(m=3, n=2, strict=strict, partition=partition, not_eligible="defer")
    entries = run(technique, changing(seed, people=15, values=3, releases=4), seed).entries
    for at in range(len(entries)):
        assert hc_unsafe(entries[: at + 1], 2) == 0
        assert refused_by_figure_6(entries[: at + 1], 2) == 0


@pytest.mark.parametrize(("m", "n"), [(3, 2), (4, 3), (4, 2)])
@given(seed=st.integers(0, 2**32 - 1), partition=st.sampled_from(["repair", "paper"]))
@settings(max_examples=12, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_strict_leaves_no_derived_correlation_by_exact_enumeration(m: int, n: int, seed: int, partition: str) -> None:
    technique = CorSplit(m=m, n=n, partition=partition, not_eligible="defer")
    entries = run(technique, changing(seed, people=4 * m, values=m, releases=5), seed).entries
    for part in components(groups_of(entries)):
        assert derived_correlations(part, n) == []


def test_without_strict_combinations_of_groups_do_leak_sometimes() -> None:
    """Why strict is on by default: the paper's test alone lets derived correlations through."""
    technique = CorSplit(m=3, n=2, strict=False, not_eligible="defer")
    leaks = 0
    for seed in range(20):
        entries = run(technique, changing(seed, people=18, values=3, releases=5), seed).entries
        leaks += any(derived_correlations(part, 2) for part in components(groups_of(entries)))
    assert leaks > 0


def test_no_one_is_published_more_often_than_the_lifespan_allows() -> None:
    everyone = snapshot({p: p % 3 for p in range(18)}, 3)
    technique = CorSplit(m=3, n=2, max_lifespan=2)
    state = technique.initial_state()
    for _ in range(2):
        state = publish(technique, everyone, state, np.random.default_rng(0)).state
    with pytest.raises(Unpublishable, match="18 people were published 2 times, which is max_lifespan"):
        publish(technique, everyone, state, np.random.default_rng(0))
    held = CorSplit(m=3, n=2, max_lifespan=2, on_lifespan="withhold")
    more = snapshot({p: p % 3 for p in range(30)}, 3)
    ledger = run(held, [everyone, everyone, more, more, more])
    assert [len(entry.trace.persons) for entry in ledger.entries] == [18, 18, 12, 12, 0]


def test_the_state_grows_with_the_published_rows_and_no_faster() -> None:
    technique = CorSplit(m=3, n=2)
    state, rng, rows = technique.initial_state(), np.random.default_rng(0), 0
    for one in changing(5, people=60, values=6, releases=6):
        publication = publish(technique, one, state, rng)
        state, rows = publication.state, rows + publication.release.size
        assert len(state.membership.person) <= rows
        assert int(state.times.sum()) == int((state.membership.person >= 0).sum())


@pytest.mark.parametrize(
    ("given", "sentence"),
    [
        ({"m": 6}, "n must be given, or all of p, max_lifespan and threshold"),
        ({"m": 6, "n": 6}, "n (6) must be a whole number from 1 to m - 1 = 5"),
        ({"m": 6, "n": 3, "p": 0.04}, "n (3) must be given alone"),
        ({"m": 6, "p": 0.04, "max_lifespan": 25, "threshold": 0.1}, "max_lifespan: 24, m: 7, a threshold above 0.107"),
        ({"m": 6, "p": 1.5, "max_lifespan": 24, "threshold": 0}, "p (1.5) must be a number above 0 and below 1"),
        ({"m": 6, "p": 0.04, "max_lifespan": 0, "threshold": 0.1}, "max_lifespan (0) must be a whole number"),
        ({"m": 6, "n": 3, "combine": 3}, "combine (3) must be a whole number from 4 to 6"),
        ({"m": 6, "n": 3, "strict": "maybe"}, "strict (maybe) must be true or false"),
        ({"m": 6, "n": 3, "on_lifespan": "forget"}, "on_lifespan (forget) must be one of refuse, withhold"),
        ({"m": 1, "n": 1}, "m (1) must be a whole number of at least 2"),
    ],
)
def test_wrong_parameters_are_refused_with_a_sentence(given: dict[str, object], sentence: str) -> None:
    with pytest.raises(InvalidParameter) as error:
        CorSplit(**given)
    assert sentence in str(error.value)


def test_n_is_chosen_once_from_p_lifespan_and_threshold() -> None:
    assert CorSplit(m=6, p=0.04, max_lifespan=24, threshold=0.1).degree == 3
    assert CorSplit(m=6, p=0.04, max_lifespan=21, threshold=0.1).degree == 2
    assert CorSplit(m=6, n=3).degree == 3


def test_with_n_1_the_groups_are_those_of_m_invariance() -> None:
    """No set is smaller than one person, so there is nothing to repair."""
    snapshots = changing(3, people=40, values=4, releases=4)
    for one, other in zip(
        run(CorSplit(m=2, n=1), snapshots, 5).entries,
        replay(MInvariance(m=2), snapshots, np.random.default_rng(5)).entries,
        strict=True,
    ):
        assert one.auxiliary.total == other.auxiliary.total
        assert sorted(one.release.boxes.low.T.tolist()) == sorted(other.release.boxes.low.T.tolist())


@pytest.mark.parametrize("seed", range(12))
def test_people_whose_value_changes_correlate_no_one(seed: int) -> None:
    """Episodes: a person with another signature is a new person, for the technique and for its judges."""
    rng = np.random.default_rng(seed)
    value = rng.integers(0, 8, 15)
    snapshots = []
    for _ in range(6):
        changed = rng.random(15) < 0.15
        value[changed] = rng.integers(0, 8, int(changed.sum()))
        snapshots.append(snapshot({p: int(value[p]) for p in range(15) if rng.random() < 0.8}, 8))
    technique = CorSplit(m=3, n=2, on_sensitive_change="episode", not_eligible="defer", assignment="stable")
    assert len(run(technique, snapshots, seed).entries) > 1  # run lets its own checks judge every release
