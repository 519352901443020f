"""The judges on the running example of [XT07]; the numbers are those of the paper and of the specification."""

from fractions import Fraction

import numpy as np
import pytest
from oracles.checks import people_with_another_signature

from papers.XT07.tables import (
    DISEASES,
    NAMES,
    first_release,
    invariant_history,
    naive_history,
    naive_second_release,
    second_release,
    truth,
)
from reanon_core.attacks.exact_risk import ExactRisk, disclosure_risks
from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.model.finding import Findings
from reanon_core.model.ledger import Entry, Ledger
from reanon_core.model.verdict import Verdict


def last_verdict(check: MInvariance, ledger: Ledger) -> Verdict:
    memory = check.initial_memory()
    for entry in ledger.entries:
        verdict, memory = check.examine(entry, memory)
    return verdict


def exposed(findings: Findings) -> dict[str, str]:
    pairs = zip(findings.persons.tolist(), findings.inferred.tolist(), strict=True)
    return {NAMES[person]: DISEASES[value] for person, value in pairs}


@pytest.mark.parametrize("entry", [first_release(), naive_second_release()], ids=["Table 1b", "Table 2b"])
def test_each_naive_table_is_2_anonymous_2_diverse_and_2_unique(entry: Entry) -> None:
    for check in (KAnonymity(k=2), LDiversity(ell=2), LDiversity(ell=2, form="frequency"), MUniqueness(m=2)):
        assert check.examine(entry, check.initial_memory())[0].holds


@pytest.mark.parametrize("make", [first_release, naive_second_release, second_release])
def test_the_tables_of_the_paper_are_well_formed_but_for_one_short_zipcode(make) -> None:
    assert WellFormedness().examine(make(zip_width=1000), {})[0].holds
    strict = WellFormedness().examine(make(), {})[0]
    narrow = 1 if make is first_release else 0  # [33k, 34k] in Table 1b
    assert (strict.violations, strict.observed["intervals too narrow"]) == (narrow, narrow)


def test_tables_1b_and_2b_are_not_2_invariant_because_of_bob_and_david() -> None:
    verdict = last_verdict(MInvariance(m=2), naive_history())
    assert not verdict.holds
    assert verdict.violations == verdict.observed["people with another signature"] == 2
    assert verdict.observed["people compared"] == 6
    violators = people_with_another_signature(naive_history().entries, episodes=False)
    assert {NAMES[person] for person in violators} == {"Bob", "David"}


def test_tables_1b_and_3a_are_2_invariant() -> None:
    verdict = last_verdict(MInvariance(m=2), invariant_history())
    assert verdict.holds
    assert verdict.violations == 0
    assert not last_verdict(MInvariance(m=3), invariant_history()).holds


def test_tables_1b_and_2b_make_bob_and_david_vulnerable() -> None:
    ledger = naive_history()
    findings = IntersectionAttack().run(ledger.history(), ledger.knowledge())
    assert exposed(findings) == {"Bob": "dyspepsia", "David": "gastritis"}
    assert findings.of == 16
    assert np.all(findings.confidence == 1.0)


def test_tables_1b_and_3a_make_no_one_vulnerable() -> None:
    ledger = invariant_history()
    findings = IntersectionAttack().run(ledger.history(), ledger.knowledge())
    assert findings.exposed == 0
    assert findings.extra["fewest candidates"] == 2


def test_the_risk_in_tables_1b_and_3a_is_a_half_and_a_third_for_jane_ken_and_linda() -> None:
    ledger = invariant_history()
    risks = disclosure_risks(ledger.history(), ledger.knowledge(), truth(), principle="m-invariance")
    assert risks.total == 192
    third = {"Jane", "Ken", "Linda"}
    assert {NAMES[p]: risk for p, risk in risks.risk.items()} == {
        name: Fraction(1, 3) if name in third else Fraction(1, 2) for name in NAMES
    }
    assert ExactRisk(principle="m-invariance").run(ledger.history(), ledger.knowledge()).exposed == 0


def test_counting_exposes_four_people_in_tables_1b_and_2b_two_more_than_lemma_1() -> None:
    ledger = naive_history()
    risks = disclosure_risks(ledger.history(), ledger.knowledge(), truth())
    assert risks.total == 48
    assert {NAMES[p] for p, risk in risks.risk.items() if risk == 1} == {"Bob", "Alice", "Andy", "David"}
    findings = ExactRisk().run(ledger.history(), ledger.knowledge())
    assert exposed(findings) == {"Alice": "bronchitis", "Andy": "flu", "Bob": "dyspepsia", "David": "gastritis"}
    assert findings.extra["surjections"] == 48
