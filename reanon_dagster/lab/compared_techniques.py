"""What `reanon compare` compares: every technique and the baselines, with the parameters of the series."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import MISSING, Field, dataclass, fields
from typing import TYPE_CHECKING, Any

from reanon_core.catalog import SINGLE_RELEASE_TECHNIQUE, TECHNIQUES
from reanon_core.model.errors import InvalidParameter, Problem, require
from reanon_core.protocols import Technique
from reanon_core.techniques.decoupled import decouple
from reanon_dagster.lab.baseline import BASELINES, WITHOUT_IDS
from reanon_dagster.series.config import TechniqueConfig
from reanon_dagster.series.series import build_technique

if TYPE_CHECKING:
    from reanon_core.model.background import Background
    from reanon_dagster.series.series import Series

DECOUPLED = "-decoupled"
"""What the name of a technique ends with if its releases are decoupled."""
DISTANCES = {"t": 0.4, "j": 0.5}
"""t and j for a technique that requires them, where nothing is said: those of the exams in data/exams."""
MOST_CORRELATED = 3
"""n is this at most where nothing is said."""


@dataclass(frozen=True)
class ComparedTechnique:
    """One way to publish the snapshots: a technique in one of its forms, or a baseline."""

    label: str
    technique: str
    """The name in the catalog, or of the baseline."""
    parameters: Mapping[str, object]
    decoupled_k: int | None = None
    """The least number of people who share a box, if releases are decoupled."""
    own: bool = False
    """Whether the series publishes in this way."""

    @property
    def is_baseline(self) -> bool:
        """Whether it is one of the naive ways."""
        return self.technique in BASELINES

    def built(self, background: "Background | None") -> Technique[Any, Any]:
        """The technique with its parameters.

        Raises: InvalidParameter with every problem at once.
        """
        own = self._own(background)
        return own if self.decoupled_k is None else decouple(own, self.decoupled_k)

    def _own(self, background: "Background | None" = None) -> Technique[Any, Any]:
        return build_technique(TechniqueConfig(name=self.technique, **self.parameters), background)

    @property
    def all_parameters(self) -> dict[str, object]:
        """Its parameters, defaults included: a default that is written out is the same."""
        if self.is_baseline:
            return dict(self.parameters)
        own = self._own()
        return {one.name: getattr(own, one.name) for one in _fields(self.technique)}

    def described(self) -> str:
        """Its parameters in one line."""
        listed = [f"{name} = {value}" for name, value in self.parameters.items()]
        return ", ".join([*listed, *([] if self.decoupled_k is None else [f"k of a box = {self.decoupled_k}"])])


def compared_techniques(series: "Series", chosen: Sequence[str] | None) -> list[ComparedTechnique]:
    """The baselines, then every technique, that of the series in both forms; or only those whose names are given.

    Raises: InvalidParameter if a name is not known, or if `compare` has a wrong parameter, with every problem at once.
    """
    everything = {one.label: one for one in _all(series)}
    problems = [
        Problem("--technique", f"name some of {', '.join(everything)}", name)
        for name in chosen or ()
        if name not in everything
    ]
    problems += _compare_problems(series, everything)
    require(problems, InvalidParameter)
    if chosen is not None:
        return [one for label, one in everything.items() if label in chosen]
    own = series.config.technique.name
    return [one for one in everything.values() if one.decoupled_k is None or one.technique == own]


def _all(series: "Series") -> Iterator[ComparedTechnique]:
    own, publish = series.config.technique, series.config.publish
    defaults = _defaults(series.parameters)
    for name in BASELINES:
        given = {} if name == WITHOUT_IDS else _fitting(SINGLE_RELEASE_TECHNIQUE, defaults)
        yield ComparedTechnique(name, name, {**given, **_given(series, name)})
    for name, kind in TECHNIQUES.items():
        parameters = own.params if name == own.name else _parameters(name, defaults, _given(series, name))
        forms = {name: None, f"{name}{DECOUPLED}": publish.k} if kind.declaration.decouples else {name: None}
        for label, k in forms.items():
            is_own = name == own.name and (k is not None) == (series.form == "decoupled")
            yield ComparedTechnique(label, name, parameters, k, own=is_own)
    for label, given in series.config.compare.items():
        if label not in TECHNIQUES and label not in BASELINES and isinstance(given.get("name"), str):
            rest = {key: value for key, value in _given(series, label).items() if key != "name"}
            name = str(given["name"])
            yield ComparedTechnique(label, name, _parameters(name, defaults, rest))


def _given(series: "Series", label: str) -> dict[str, object]:
    """The parameters that `compare` has for a technique."""
    return TechniqueConfig(name=label, **_without_name(series.config.compare.get(label, {}))).params


def _without_name(given: Mapping[str, object]) -> dict[str, Any]:
    return {key: value for key, value in given.items() if key != "name"}


def _parameters(name: str, defaults: Mapping[str, object], given: Mapping[str, object]) -> dict[str, object]:
    """The given parameters, and the defaults of a comparison for others; n follows from p where p is given."""
    required = {one.name for one in _fields(name) if one.default is MISSING}
    assumed = _fitting(name, {**defaults, **{key: value for key, value in DISTANCES.items() if key in required}})
    if "p" in given:
        assumed.pop("n", None)
    return {**assumed, **given}


def _defaults(own: Mapping[str, object]) -> dict[str, object]:
    """The defaults k = ell = m and n = min(3, m - 1), with the m of the series; a k or an ell of its own stays."""
    numbers = {name: value for name in ("m", "ell", "k") if isinstance(value := own.get(name), int) and value > 1}
    m = next(iter(numbers.values()), 2)
    return {"m": m, "n": min(MOST_CORRELATED, m - 1), "k": numbers.get("k", m), "ell": numbers.get("ell", m)}


def _fitting(technique: str, values: Mapping[str, object]) -> dict[str, object]:
    """The values that are parameters of the technique."""
    known = {one.name for one in _fields(technique)}
    return {name: value for name, value in values.items() if name in known}


def _fields(technique: str) -> list[Field[Any]]:
    """The parameters of a technique; none if there is no such technique."""
    if technique not in TECHNIQUES:
        return []
    return [one for one in fields(TECHNIQUES[technique]) if one.init]  # type: ignore[arg-type]


def _compare_problems(series: "Series", everything: Mapping[str, ComparedTechnique]) -> list[Problem]:
    """What is wrong with `compare` in the series file."""
    problems: list[Problem] = []
    for label in series.config.compare:
        compared = everything.get(label)
        if compared is None or not (compared.is_baseline or compared.technique in TECHNIQUES):
            names = ", ".join([*TECHNIQUES, *BASELINES])
            problems.append(Problem(f"compare.{label}", f"be one of {names}, or have one of them as its `name`"))
        elif compared.own or compared.technique == series.config.technique.name == label:
            rule = "be left out, because the series has these parameters under `technique`"
            problems.append(Problem(f"compare.{label}", rule, help="another label with a `name` may vary them"))
        else:
            technique = SINGLE_RELEASE_TECHNIQUE if compared.is_baseline else compared.technique
            variants = TECHNIQUES[technique].declaration.variants
            known = [*(one.name for one in _fields(technique)), *(["variant"] if variants else [])]
            unknown = [name for name in compared.parameters if name not in known]
            rule = f"be a parameter of it ({', '.join(known)})"
            problems += [Problem(f"compare.{label}.{name}", rule) for name in unknown]
    return problems
