"""Every technique and its reader, check, attack and metric by name: literal dicts, no decorators, no directory scan."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import MISSING, fields
from difflib import get_close_matches
from types import NoneType
from typing import Any, Literal, cast, get_args, get_origin

from reanon_core.attacks.algorithm import AlgorithmAttack
from reanon_core.attacks.background import BackgroundAttack
from reanon_core.attacks.compromised import CompromisedAttack
from reanon_core.attacks.difference import DifferenceAttack
from reanon_core.attacks.exact_risk import ExactRisk
from reanon_core.attacks.insider import InsiderAttack
from reanon_core.attacks.intersection import IntersectionAttack
from reanon_core.attacks.linear import LinearAttack
from reanon_core.attacks.linkage import LinkageAttack
from reanon_core.attacks.location import LocationAttack
from reanon_core.attacks.propagation import PropagationAttack
from reanon_core.attacks.subsets import SubsetsAttack
from reanon_core.attacks.worlds import WorldsAttack
from reanon_core.checks.atoms import Atoms
from reanon_core.checks.hc_safety import HcSafety
from reanon_core.checks.js_divergence import JsDivergence
from reanon_core.checks.k_anonymity import KAnonymity
from reanon_core.checks.k_over_history import KOverHistory
from reanon_core.checks.l_diversity import LDiversity
from reanon_core.checks.m_invariance import MInvariance as MInvarianceCheck
from reanon_core.checks.m_uniqueness import MUniqueness
from reanon_core.checks.possible_worlds import PossibleWorlds
from reanon_core.checks.shared_boxes import SharedBoxes
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
from reanon_core.metrics.relations import RelationsKept
from reanon_core.metrics.value_counts import ValueLoss
from reanon_core.model.background import Background
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.model.ledger import Ledger
from reanon_core.model.reading import Reading
from reanon_core.protocols import Attack, Check, InformedCheck, InformedTechnique, Metric, Promise, Technique
from reanon_core.readers.bpg import bpg_readings
from reanon_core.readers.buckets import cor_split_readings, m_invariance_readings
from reanon_core.readers.js_reduce import js_reduce_readings
from reanon_core.readers.mondrian import mondrian_readings
from reanon_core.readers.sequential import sequential_readings
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

READERS: dict[str, Callable[[Any, Ledger], Iterator[Reading]]] = {
    "m-invariance": m_invariance_readings,
    "mondrian": mondrian_readings,
    "bpg": bpg_readings,
    "cor-split": cor_split_readings,
    "js-reduce": js_reduce_readings,
    "sequential": sequential_readings,
}
"""What the attack `algorithm` is given of a technique: how likely it was to publish the same with other values."""

WEAKEST: dict[str, Mapping[str, object]] = {name: one.declaration.weakest for name, one in TECHNIQUES.items()}
"""The weakest parameters of each technique, as it declares them."""

CHECKS: dict[str, type[Check]] = {
    "well-formedness": WellFormedness,
    "k-anonymity": KAnonymity,
    "k-over-history": KOverHistory,
    "shared-boxes": SharedBoxes,
    "l-diversity": LDiversity,
    "t-closeness": TCloseness,
    "m-uniqueness": MUniqueness,
    "m-invariance": MInvarianceCheck,
    "atoms": Atoms,
    "weak-m-invariance": WeakMInvariance,
    "hc-safety": HcSafety,
    "js-divergence": JsDivergence,
    "possible-worlds": PossibleWorlds,
}

ATTACKS: dict[str, type[Attack]] = {
    "intersection": IntersectionAttack,
    "difference": DifferenceAttack,
    "subsets": SubsetsAttack,
    "risk": ExactRisk,
    "compromised": CompromisedAttack,
    "insider": InsiderAttack,
    "propagation": PropagationAttack,
    "linear": LinearAttack,
    "background": BackgroundAttack,
    "worlds": WorldsAttack,
    "algorithm": AlgorithmAttack,
    "linkage": LinkageAttack,
    "location": LocationAttack,
}

SERIES_ATTACK = "intersection"
"""The attack that every release can be exposed to together with those before it: quick, and on any size."""

SOURCE_ATTACK = "algorithm"
"""The attack of an adversary who reads how a technique decides; it may take long."""
SINGLE_RELEASE_TECHNIQUE = "mondrian"
"""The technique for one release, which the naive way repeats without memory."""

EXCLUDED_ATTACKS: dict[str, frozenset[str]] = {
    "m-invariance": frozenset({"intersection"}),
    "weak-m-invariance": frozenset({"intersection"}),
    "hc-safety": frozenset({"intersection"}),
}
"""The attacks that expose no one where this check holds in every release: a person's whole signature stays possible.

hc-safety is promised with m only."""

METRICS: dict[str, type[Metric]] = {
    "query-error": CountingQueryError,
    "relations": RelationsKept,
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
    "value-loss": ValueLoss,
}


_TYPE_RULES: dict[object, str] = {int: "a whole number", float: "a number", bool: "true or false", NoneType: "null"}
"""What a parameter of a type must be."""


def build_technique(
    name: str, parameters: Mapping[str, object], background: Background | None = None
) -> Technique[Any, Any]:
    """The technique of that name with these parameters; one that needs knowledge gets the background.

    Raises: InvalidParameter with every problem at once.
    """
    technique: Technique[Any, Any] = _build("technique", TECHNIQUES, name, _with_variant(name, parameters))
    if technique.declaration.needs_knowledge:
        return cast("InformedTechnique[Any, Any]", technique).informed(background)
    return technique


def _with_variant(name: str, parameters: Mapping[str, object]) -> Mapping[str, object]:
    """The parameters, with those that the word under `variant` stands for unless they are given.

    Raises: InvalidParameter if the technique has no such variant.
    """
    variants = TECHNIQUES[name].declaration.variants if name in TECHNIQUES else {}
    if "variant" not in parameters or not variants:
        return parameters
    given = {key: value for key, value in parameters.items() if key != "variant"}
    word = str(parameters["variant"])
    if word not in variants:
        raise InvalidParameter(Problem(f"technique {name}: variant", f"be {' or '.join(variants)}, or left out", word))
    return {**variants[word], **given}


def build_check(name: str, parameters: Mapping[str, object], background: Background | None = None) -> Check:
    """The check of that name with these parameters; one that needs knowledge gets the background.

    Raises: InvalidParameter with every problem at once.
    """
    check: Check = _build("check", CHECKS, name, parameters)
    return cast("InformedCheck", check).informed(background) if check.needs_knowledge else check


def build_attack(name: str) -> Attack:
    """The attack of that name.

    Raises: InvalidParameter.
    """
    return _build("attack", ATTACKS, name, {})  # type: ignore[no-any-return]


def own_checks(technique: Technique[Any, Any]) -> tuple[Check, ...]:
    """The checks that every release of a technique must pass: that it is well formed, and what is promised."""
    background = None
    if technique.declaration.needs_knowledge:
        background = cast("InformedTechnique[Any, Any]", technique).background
    promises = (Promise("well-formedness"), *technique.promises())
    return tuple(build_check(promise.check, promise.parameters, background) for promise in promises)


def _type_problems(what: str, kind: type, parameters: Mapping[str, object]) -> list[Problem]:
    """Parameters that must be numbers, true or false, or one of several words, and are something else."""
    problems = []
    for field in fields(kind):
        expected = get_args(field.type) or (field.type,)
        if field.name not in parameters:
            continue
        value = parameters[field.name]
        if get_origin(field.type) is Literal:
            fits, rule = value in expected, f"one of {', '.join(map(str, expected))}"
        elif set(expected) <= set(_TYPE_RULES):
            fits, rule = type(value) in expected or (type(value) is int and float in expected), _TYPE_RULES[expected[0]]
        else:
            fits, rule = isinstance(value, str), "text"
        if not fits:
            problems.append(Problem(f"{what}: {field.name}", f"be {rule}", str(value)))
    return problems


def _meant(name: str, known: Iterable[str]) -> str | None:
    return next((f"did you mean {close}?" for close in get_close_matches(name, known, n=1)), None)


def _build(what: str, classes: Mapping[str, type], name: str, parameters: Mapping[str, object]) -> Any:
    if name not in classes:
        raise InvalidParameter(Problem(what, f"be one of {', '.join(classes)}", name, _meant(name, classes)))
    accepted = {field.name: field for field in fields(classes[name]) if field.init}
    problems = [
        Problem(
            f"{what} {name}: {key}",
            f"be one of its parameters ({', '.join(accepted) or 'it has none'})",
            help=_meant(key, accepted),
        )
        for key in parameters
        if key not in accepted
    ]
    problems += [
        Problem(f"{what} {name}: {key}", "be given")
        for key, field in accepted.items()
        if field.default is MISSING and field.default_factory is MISSING and key not in parameters
    ]
    require(problems, InvalidParameter)
    try:
        return classes[name](**parameters)
    except TypeError:  # most classes look at ranges only
        require(_type_problems(f"{what} {name}", classes[name], parameters), InvalidParameter)
        raise
