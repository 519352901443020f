"""What exists, by name: literal dicts, no decorator, no directory scan."""

from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields
from typing import Any

from reanon_core.attacks.background import BackgroundAttack
from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.attacks.difference import DifferenceAttack
from reanon_core.attacks.exact_risk import ExactRisk
from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.attacks.linear import LinearAttack
from reanon_core.attacks.propagation import PropagationAttack
from reanon_core.attacks.subsets import SubsetsAttack
from reanon_core.attacks.worlds import WorldsAttack
from reanon_core.checks.atoms import Atoms
from reanon_core.checks.hc_safety import HcSafety
from reanon_core.checks.historical_safety import HistoricalSafety
from reanon_core.checks.js_divergence import JsDivergence
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.linear import Linear
from reanon_core.checks.m_invariance import MInvariance as MInvarianceCheck
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.possible_worlds import PossibleWorlds
from reanon_core.checks.t_closeness import TCloseness
from reanon_core.checks.weak_m_invariance import WeakMInvariance
from reanon_core.checks.well_formedness import WellFormedness
from reanon_core.metrics.counterfeits import CounterfeitCount
from reanon_core.metrics.discernibility import Discernibility
from reanon_core.metrics.entropy import FrequencyEntropy, VolumeEntropy
from reanon_core.metrics.generalization import (
    AverageInformationLoss,
    GlobalCertaintyPenalty,
    LossMetric,
    NormalizedCertaintyPenalty,
)
from reanon_core.metrics.group_size import AverageGroupSize, NormalizedGroupSize
from reanon_core.metrics.kl_divergence import KlDivergence
from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.protocols import Attack, Check, Metric, Technique
from reanon_core.techniques.bpg.technique import Bpg
from reanon_core.techniques.cor_split.technique import CorSplit
from reanon_core.techniques.js_reduce.technique import JsReduce
from reanon_core.techniques.m_invariance.technique import MInvariance
from reanon_core.techniques.mondrian.technique import Mondrian
from reanon_core.techniques.sequential.technique import Sequential

TECHNIQUES: dict[str, type[Technique[Any, Any]]] = {
    "m-invariance": MInvariance,
    "mondrian": Mondrian,
    "bpg": Bpg,
    "cor-split": CorSplit,
    "js-reduce": JsReduce,
    "sequential": Sequential,
}

ANSWERS_QUERIES = frozenset({"bpg"})
"""The techniques that take the whole table and a mask of who is asked for; others get only whom a release asks for."""

WEAKEST: dict[str, dict[str, object]] = {
    "m-invariance": {"m": 2},
    "k-anonymity": {"k": 2},
    "l-diversity": {"ell": 2},
    "m-uniqueness": {"m": 2},
    "mondrian": {"k": 2, "ell": 2},
    "bpg": {"k": 2, "ell": 2},
    "atoms": {"k": 2, "ell": 2},
    "t-closeness": {"t": 0.9},
    "cor-split": {"m": 3, "n": 2},
    "weak-m-invariance": {"m": 2},
    "hc-safety": {"n": 1},
    "historical-safety": {"m": 2, "n": 1},
    "linear": {"n": 1},
    "js-reduce": {"k": 2, "t": 0.9, "j": 2.0},
    "js-divergence": {"j": 2.0},
    "sequential": {"ell": 2},
    "possible-worlds": {"ell": 2},
}
"""The weakest parameters of what has parameters without a default."""

CHECKS: dict[str, type[Check]] = {
    "well-formedness": WellFormedness,
    "k-anonymity": KAnonymity,
    "l-diversity": LDiversity,
    "t-closeness": TCloseness,
    "m-uniqueness": MUniqueness,
    "m-invariance": MInvarianceCheck,
    "atoms": Atoms,
    "weak-m-invariance": WeakMInvariance,
    "hc-safety": HcSafety,
    "historical-safety": HistoricalSafety,
    "linear": Linear,
    "js-divergence": JsDivergence,
    "possible-worlds": PossibleWorlds,
}

ATTACKS: dict[str, type[Attack]] = {
    "intersection": IntersectionAttack,
    "difference": DifferenceAttack,
    "subsets": SubsetsAttack,
    "risk": ExactRisk,
    "compromised": CompromisedAttack,
    "propagation": PropagationAttack,
    "linear": LinearAttack,
    "background": BackgroundAttack,
    "worlds": WorldsAttack,
}

METRICS: dict[str, type[Metric]] = {
    "query-error": CountingQueryError,
    "gcp": GlobalCertaintyPenalty,
    "ail": AverageInformationLoss,
    "fem": FrequencyEntropy,
    "vem": VolumeEntropy,
    "kl": KlDivergence,
    "ncp": NormalizedCertaintyPenalty,
    "lm": LossMetric,
    "discernibility": Discernibility,
    "average-group-size": AverageGroupSize,
    "c-avg": NormalizedGroupSize,
    "counterfeits": CounterfeitCount,
}


def build_technique(name: str, parameters: Mapping[str, object]) -> Technique[Any, Any]:
    """The technique of that name with these parameters.

    Raises: InvalidParameter with every problem at once.
    """
    return _built("technique", TECHNIQUES, name, parameters)  # type: ignore[no-any-return]


def build_check(name: str, parameters: Mapping[str, object]) -> Check:
    """The check of that name with these parameters.

    Raises: InvalidParameter with every problem at once.
    """
    return _built("check", CHECKS, name, parameters)  # type: ignore[no-any-return]


def build_attack(name: str) -> Attack:
    """The attack of that name.

    Raises: InvalidParameter.
    """
    return _built("attack", ATTACKS, name, {})  # type: ignore[no-any-return]


def own_checks(technique: Technique[Any, Any]) -> tuple[Check, ...]:
    """The checks that a technique must always pass: what it promises, and that the release is what it says it is."""
    return OWN_CHECKS[technique.name](technique)


def _own_checks_of_m_invariance(technique: MInvariance) -> tuple[Check, ...]:
    m = technique.m
    return (
        WellFormedness(),
        KAnonymity(k=m),
        LDiversity(ell=m, form="frequency"),
        MUniqueness(m=m),
        MInvarianceCheck(m=m, episodes=technique.on_sensitive_change == "episode"),
    )


def _own_checks_of_mondrian(technique: Mondrian) -> tuple[Check, ...]:
    checks: tuple[Check, ...] = (WellFormedness(), KAnonymity(k=technique.k))
    if technique.ell > 1:
        checks += (LDiversity(ell=technique.ell, form=technique.diversity),)
    return checks if technique.t is None else (*checks, TCloseness(t=technique.t))


def _own_checks_of_bpg(technique: Bpg) -> tuple[Check, ...]:
    checks: tuple[Check, ...] = (WellFormedness(), KAnonymity(k=technique.k))
    if technique.ell > 1:
        checks += (LDiversity(ell=technique.ell),)
    return (*checks, Atoms(k=technique.k, ell=technique.ell))


def _own_checks_of_cor_split(technique: CorSplit) -> tuple[Check, ...]:
    m, n = technique.m, technique.degree
    safety = HistoricalSafety(
        m=m, n=n, max_lifespan=technique.max_lifespan, episodes=technique.on_sensitive_change == "episode"
    )
    checks: tuple[Check, ...] = (WellFormedness(), KAnonymity(k=m), LDiversity(ell=m, form="frequency"), safety)
    return (*checks, Linear(n=n, combine=technique.combine)) if technique.strict else checks


def _own_checks_of_js_reduce(technique: JsReduce) -> tuple[Check, ...]:
    slack = technique.slack if technique.leftovers == "relax" else 0.0
    checks: tuple[Check, ...] = (WellFormedness(), KAnonymity(k=technique.k))
    if technique.ell > 1:
        checks += (LDiversity(ell=technique.ell),)
    divergence = JsDivergence(j=technique.j, slack=slack, posterior=technique.posterior, mode=technique.mode)
    return (
        *checks,
        TCloseness(t=min(1.0, technique.t * (1 + slack)), distance=technique.distance, whole="snapshot"),
        divergence.informed(technique.background),
    )


def _own_checks_of_sequential(technique: Sequential) -> tuple[Check, ...]:
    return (WellFormedness(), PossibleWorlds(ell=technique.ell))


OWN_CHECKS: dict[str, Callable[[Any], tuple[Check, ...]]] = {
    "m-invariance": _own_checks_of_m_invariance,
    "mondrian": _own_checks_of_mondrian,
    "bpg": _own_checks_of_bpg,
    "cor-split": _own_checks_of_cor_split,
    "js-reduce": _own_checks_of_js_reduce,
    "sequential": _own_checks_of_sequential,
}


def _built(what: str, known: Mapping[str, type], name: str, parameters: Mapping[str, object]) -> Any:
    if name not in known:
        raise InvalidParameter(Problem(what, f"be one of {', '.join(known)}", name))
    accepted = {field.name: field for field in fields(known[name]) if field.init}
    problems = [
        Problem(f"{what} {name}: {key}", f"be one of its parameters ({', '.join(accepted) or 'it has none'})")
        for key in parameters
        if key not in accepted
    ]
    problems += [
        Problem(f"{what} {name}: {key}", "be given")
        for key, field in accepted.items()
        if field.default is MISSING and field.default_factory is MISSING and key not in parameters
    ]
    require(problems, InvalidParameter)
    return known[name](**parameters)
