"""The background attack: snapshots, chains, guessed groups, estimated knowledge; and what its beliefs are worth."""

import numpy as np
import pytest
from papers.RPB12.example import ALICE, BCM_POS, HISTORY, KNOWLEDGE, second_entry

from reanon_core.attacks import background
from reanon_core.attacks.background import BackgroundAttack
from reanon_core.finding_truth import adversary_gain
from reanon_core.inference.bayes.posteriors import Memberships, omega_over_groups, possible_memberships, posteriors
from reanon_core.inference.bayes.transition_counts import GroupFrequencies, estimate_knowledge
from reanon_core.model.arrays import MISSING
from reanon_core.model.background import Background, Classes
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge, Presence
from reanon_core.model.ledger import Ledger
from reanon_core.model.release import Boxes
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay
from reanon_core.techniques.mondrian.technique import Mondrian

VALUES = 4
SCHEMA = Schema(
    quasi_identifiers=(QuasiIdentifier(name="age", domain=(0, 31)), QuasiIdentifier(name="zip", domain=(0, 31))),
    sensitive=Sensitive(name="s", values=("a", "b", "c", "d"), closed=True),
)
STEP = np.array([[0.8, 0.2, 0, 0], [0, 0.8, 0.2, 0], [0, 0, 0.8, 0.2], [0.2, 0, 0, 0.8]])


def ledger(views: int = 8, people: int = 400) -> Ledger:
    """Mondrian with two values a group, on people whose value stays or steps on."""
    rng = np.random.default_rng(1)
    qi, value = rng.integers(0, 32, (2, people)).astype(np.int32), rng.integers(0, VALUES, people)
    listed = []
    for _ in range(views):
        here = np.flatnonzero(rng.random(people) < 0.7)
        listed.append(Snapshot(SCHEMA, here, qi[:, here], value[here]))
        value[here] = (value[here] + (rng.random(len(here)) < 0.2)) % VALUES
    return replay(Mondrian(k=2, ell=2), listed, np.random.default_rng(0))


LEDGER = ledger()


def known(emission: np.ndarray, prior: np.ndarray | None = None) -> Background:
    """A Markov chain."""
    rows = np.concatenate([np.zeros((1, VALUES)), emission])[None]
    prior = np.full((1, VALUES), 1 / VALUES) if prior is None else prior
    return Background(prior=prior, following=np.tile(np.arange(1, 5), (5, 1)), emission=rows, source="domain")


def gains(attack: BackgroundAttack, knowledge: Knowledge) -> list[float]:
    beliefs = attack.beliefs(LEDGER.history(), knowledge)
    return [
        adversary_gain(entry, believed.persons, believed.posterior).gain
        for entry, believed in zip(LEDGER.entries, beliefs, strict=True)
    ]


def informed(background: Background | None) -> Knowledge:
    return Knowledge(LEDGER.knowledge().presences, background=background)


@pytest.mark.parametrize("mode", ["product", "filter"])
def test_uniform_sequential_knowledge_gives_the_snapshot_attack(mode: str) -> None:
    rng = np.random.default_rng(2)
    prior = rng.dirichlet(np.ones(VALUES), 2)
    chance = np.repeat(prior[:, None], VALUES + 1, axis=1)
    both = Background(
        classes=Classes((0,), (np.array([16], np.int32),)),
        prior=prior,
        following=np.tile(np.arange(1, 5), (5, 1)),
        emission=chance,
    )
    attack = BackgroundAttack(mode=mode)  # type: ignore[arg-type]
    chained = attack.beliefs(LEDGER.history(), informed(both))
    for number, believed in enumerate(chained):
        alone = History(SCHEMA, LEDGER.history().releases[number : number + 1])
        (snapshot,) = attack.beliefs(
            alone, Knowledge(LEDGER.knowledge().presences[number : number + 1], background=both)
        )
        assert believed.posterior == pytest.approx(snapshot.posterior)


@pytest.mark.parametrize("posterior", ["omega", "sum", "sinkhorn", "bayes"])
@pytest.mark.parametrize("mode", ["product", "filter"])
def test_beliefs_are_distributions(posterior: str, mode: str) -> None:
    attack = BackgroundAttack(posterior=posterior, mode=mode)  # type: ignore[arg-type]
    for believed in attack.beliefs(LEDGER.history(), informed(known(STEP))):
        assert believed.posterior.sum(axis=1) == pytest.approx(1)
        assert (believed.posterior >= 0).all()


def test_knowing_how_values_follow_pays_and_more_with_every_release() -> None:
    with_it = gains(BackgroundAttack(), informed(known(STEP)))
    without = gains(BackgroundAttack(), informed(known(np.full((VALUES, VALUES), 1 / VALUES))))
    assert with_it[0] == pytest.approx(without[0]) == pytest.approx(0)
    assert with_it[-1] > 0.3
    assert with_it[-1] > with_it[1] > 0.05
    assert max(abs(gain) for gain in without) < 1e-9


def test_looking_one_step_back_the_coherent_adversary_is_no_other() -> None:
    product, coherent = (
        gains(BackgroundAttack(mode=mode), informed(known(STEP)))[-1] for mode in ("product", "filter")
    )  # type: ignore[arg-type]
    assert coherent == pytest.approx(product)


def test_transitions_can_be_estimated_from_the_releases_alone() -> None:
    found = BackgroundAttack().run(LEDGER.history(), informed(None))
    assert "estimated from the releases" in found.note
    assert gains(BackgroundAttack(), informed(None))[-1] > 0.2


def test_an_estimate_finds_that_values_stay_where_groups_change() -> None:
    rng = np.random.default_rng(3)
    value, releases = rng.integers(0, 3, 300), []
    for _ in range(6):
        other = (value + rng.integers(1, 3, 300)) % 3
        shown = np.zeros((300, 3))
        shown[np.arange(300), value] = shown[np.arange(300), other] = 0.5
        releases.append(GroupFrequencies(np.arange(300), shown))
    emission = estimate_knowledge(releases, 3).emission
    assert emission is not None
    assert (np.diag(emission[0, 1:]) > 0.6).all()


def test_the_most_exposed_come_first_and_only_the_sure_count() -> None:
    found = BackgroundAttack().run(LEDGER.history(), informed(known(STEP)))
    assert 0 < found.exposed < found.of
    assert (found.confidence >= 0.9).all()
    assert (np.diff(found.confidence) <= 0).all()
    assert found.extra["more likely than not"] >= found.exposed


def test_guessed_groups_are_the_boxes_that_contain_a_person() -> None:
    boxes = Boxes(np.array([[0, 5, 0]]), np.array([[5, 9, 2]]), np.array([[0, 0, 1]]))
    members = possible_memberships(np.array([[5, 1, 7, MISSING, 30]], np.int32), boxes, np.array([2, 6, 2]))
    assert members.row.tolist() == [0, 0, 1, 1, 2, 3]
    assert members.group.tolist() == [0, 1, 0, 2, 1, 2]
    assert members.share.tolist() == [0.25, 0.75, 0.5, 0.5, 1, 1]


def test_without_doubt_the_spread_estimate_is_omega() -> None:
    rng = np.random.default_rng(4)
    expected = rng.dirichlet(np.full(4, 0.5), 12) * (rng.random((12, 4)) < 0.7)
    group, counts = (np.arange(12) % 3).astype(np.int32), np.zeros((3, 4), np.int64)
    np.add.at(counts, (group, rng.integers(0, 4, 12)), 1)
    spread = omega_over_groups(expected, Memberships(np.arange(12), group, np.ones(12)), counts)
    assert spread == pytest.approx(posteriors("omega", expected, group, counts))


def test_a_person_whom_no_group_can_contain_keeps_the_knowledge_from_before() -> None:
    expected = np.array([[0.6, 0.2]])
    nothing = Memberships(np.empty(0), np.empty(0), np.empty(0))
    assert omega_over_groups(expected, nothing, np.array([[1, 1]])) == pytest.approx(np.array([[0.75, 0.25]]))


def test_groups_may_be_unknown() -> None:
    blind = tuple(Presence(p.persons, p.qi) for p in LEDGER.knowledge().presences)
    found = BackgroundAttack().run(LEDGER.history(), Knowledge(blind, background=known(STEP)))
    assert "groups inferred from the boxes" in found.note
    assert found.of == 400
    # Mondrian's boxes do not overlap, so that nothing is in doubt.
    assert found.exposed == BackgroundAttack().run(LEDGER.history(), informed(known(STEP))).exposed


def test_the_worth_of_beliefs_says_what_the_withheld_would_change() -> None:
    *_, second = BackgroundAttack().beliefs(HISTORY, KNOWLEDGE)
    entry = second_entry()
    gain = adversary_gain(entry, second.persons, second.posterior)
    assert gain.withheld == 0
    assert gain.gain == gain.gain_withheld_protected == gain.gain_withheld_exposed
    assert second.posterior[ALICE, BCM_POS] == pytest.approx(0.871194, abs=5e-7)
    more = Snapshot(
        entry.snapshot.schema, np.arange(7, dtype=np.int64) * 10, np.zeros((2, 7), np.int32), np.zeros(7, np.int32)
    )
    with pytest.raises(ValueError, match="the real people of the release"):
        adversary_gain(entry, more.persons, second.posterior)


def test_withheld_rows_count_as_protected_or_as_exposed() -> None:
    entry = LEDGER.entries[0]
    some = entry.snapshot
    extra = Snapshot(
        SCHEMA,
        np.append(some.persons, 10**6),
        np.append(some.qi, [[0], [0]], axis=1),
        np.append(some.sensitive, np.int32(0)),
    )
    extended = type(entry)(extra, entry.release, entry.auxiliary, entry.trace)
    beliefs = np.zeros((len(entry.trace.persons), VALUES))
    beliefs[:, 0] = 1
    gain, total = adversary_gain(extended, entry.trace.persons, beliefs), extra.size
    assert gain.withheld == 1
    assert gain.gain_withheld_exposed - gain.gain_withheld_protected == pytest.approx(1 / total)
    assert gain.gain_withheld_protected == pytest.approx(gain.gain * (total - 1) / total)


def test_what_memory_would_not_hold_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(background, "MOST_CELLS", 100)
    with pytest.raises(InvalidParameter, match="attack a sample of the people"):
        BackgroundAttack().run(LEDGER.history(), informed(known(STEP)))
    monkeypatch.setattr(background, "MOST_CELLS", 10**9)
    monkeypatch.setattr(background, "MOST_PAIRS", 100)
    assert BackgroundAttack().run(LEDGER.history(), informed(known(STEP))).of == 400
    blind = tuple(Presence(p.persons, p.qi) for p in LEDGER.knowledge().presences)
    with pytest.raises(InvalidParameter, match="where groups are inferred"):
        BackgroundAttack().run(LEDGER.history(), Knowledge(blind, background=known(STEP)))
