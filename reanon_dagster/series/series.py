"""A series as its file describes it: its schema, its calendar, its technique, its folders."""

import hashlib
import json
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

from reanon_core.model.background import Background
from reanon_core.model.coding import plain
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.schema import Ends, Missing, QuasiIdentifier, Schema
from reanon_core.model.taxonomy import Taxonomy
from reanon_core.protocols import Check, Form, Technique
from reanon_dagster.series.calendar import Calendar
from reanon_dagster.series.config import Publish, SeriesConfig, TechniqueConfig
from reanon_dagster.series.expectations import Expectation, read_expectations
from reanon_dagster.series.knowledge_config import KnowledgeConfig
from reanon_dagster.series.selections import Selection, parse_selections
from reanon_dagster.series.store_key import declare_key
from reanon_dagster.sources.kinds.source import Source

TECHNIQUE = "technique."
"""What the keys of frozen parameters begin with."""


@dataclass(frozen=True)
class Series:
    """One table of people, published again and again, as its series.yaml describes it."""

    folder: Path
    """The folder of series.yaml; relative paths start here."""
    config: SeriesConfig
    schema: Schema
    calendar: Calendar

    def __post_init__(self) -> None:
        key = self.config.private.key
        declare_key(self.private_folder, None if key is None else key.place(self.folder))

    @property
    def name(self) -> str:
        """The name, which also names folders."""
        return self.config.series

    @property
    def title(self) -> str:
        """The title for people."""
        return self.config.title or self.config.series

    @property
    def published_folder(self) -> Path:
        """Where the public files of this series go."""
        return self.folder / self.config.publish.to / self.name

    @property
    def private_folder(self) -> Path:
        """Where the private files of this series go."""
        return self.folder / self.config.private.to / self.name

    @property
    def head_file(self) -> Path | None:
        """Where else the newest release is recorded; None if the file names no such place."""
        return None if self.config.private.head is None else self.folder / self.config.private.head

    @property
    def signing_key(self) -> Path | None:
        """The file of the key that signs manifests; None if they are not signed."""
        return None if self.config.publish.sign is None else self.folder / self.config.publish.sign

    def stored_in(self, private: Path, public: Path) -> "Series":
        """The series with its folders in these, which must be absolute."""
        parts = {
            "private": self.config.private.model_copy(update={"to": str(private)}),
            "publish": self.config.publish.model_copy(update={"to": str(public)}),
        }
        return replace(self, config=self.config.model_copy(update=parts))

    @cached_property
    def technique(self) -> Technique[Any, Any]:
        """The technique with its parameters. It is built on first use, because that loads the compiler."""
        own = build_technique(self.config.technique, self.background)
        return decoupled_or_not(own, self.config.publish)

    @cached_property
    def form(self) -> Form:
        """The form of the releases: the declared one, or that of the technique."""
        from reanon_core.techniques.decoupled import default_form

        return self.config.publish.form or default_form(build_technique(self.config.technique, self.background))

    @cached_property
    def source(self) -> Source:
        """Where the snapshots are."""
        return self.config.source.in_order(self.calendar.backwards)

    def release_columns(self, release: str) -> tuple[str, ...] | None:
        """The columns that a release shows, in the order of the schema; None for all."""
        columns = self.config.releases.columns.get(release)
        return None if columns is None else tuple(name for name in self.schema.columns if name in columns)

    def required_columns(self, release: str) -> frozenset[str]:
        """The columns that the snapshot of a release must have: the sensitive one, and all that were shown so far.

        A quasi-identifier or a non-identifier may join the source as late as the first release that shows it.
        """
        if not self.config.releases.columns:
            return frozenset(self.schema.columns)
        required = {self.schema.sensitive.name}
        for place in range(self.calendar.index(release) + 1):
            required.update(self.release_columns(str(self.calendar.at(place))) or self.schema.columns)
        return frozenset(required)

    @property
    def parameters(self) -> dict[str, Any]:
        """Every parameter of the technique, defaults included; a function goes by its name in the file."""
        written = self.config.technique.params
        technique = build_technique(self.config.technique, self.background)  # a dataclass, whatever the form is
        values = {one.name: getattr(technique, one.name) for one in fields(technique) if one.init}  # type: ignore[arg-type]
        return {name: written[name] if callable(value) else value for name, value in values.items()}

    @cached_property
    def selections(self) -> dict[str, Selection]:
        """Whom single releases select, by release; a release without an entry selects everyone."""
        return parse_selections(self.config.releases.select)

    @cached_property
    def more_checks(self) -> tuple[Check, ...]:
        """The checks that the file adds to those of the technique's promises."""
        from reanon_core.catalog import build_check

        return tuple(build_check(check.name, check.params, self.background) for check in self.config.checks)

    @cached_property
    def expectations(self) -> tuple[Expectation, ...]:
        """What the steward expects of every snapshot, beyond the schema."""
        return read_expectations(self.config.expectations, self.folder)

    @cached_property
    def background(self) -> Background | None:
        """The knowledge that an adversary is assumed to have; None if the file declares none."""
        return self._knowledge(self.config.knowledge, "knowledge")

    @cached_property
    def adversary_background(self) -> Background | None:
        """The knowledge that attacks are given; None if the file declares none."""
        own = self._knowledge(self.config.adversary.knowledge, "adversary.knowledge")
        return self.background if own is None else own

    def _knowledge(self, config: KnowledgeConfig | None, key: str) -> Background | None:
        from reanon_dagster.series.background_knowledge import build_background

        return None if config is None else build_background(config, self.schema, self.folder, key)

    def fingerprint(self) -> dict[str, object]:
        """What the first release freezes, by key of series.yaml, as JSON values."""
        frozen: dict[str, object] = {"series": self.name, "source.id": self.config.source.id}
        frozen |= self.calendar.frozen_as()
        frozen |= {"quasi_identifiers": list(self.schema.names)}
        for column in self.schema.quasi_identifiers:
            frozen |= _frozen_column(column)
        sensitive = self.schema.sensitive
        frozen |= {
            "sensitive": sensitive.name,
            "sensitive.values": list(sensitive.values) if sensitive.closed else None,
            "other": list(self.schema.other),
            "technique.name": self.config.technique.name,
            "publish.ends": self.config.publish.ends.value,
            "publish.form": self.form,
        }
        frozen |= {f"{TECHNIQUE}{key}": value for key, value in sorted(self.parameters.items())}
        if sensitive.taxonomy is not None:
            frozen["sensitive.taxonomy"] = _digest(sensitive.taxonomy.paths)
        if self.technique.declaration.decouples:
            frozen["publish.form"] = self.form
        if self.form == "decoupled":
            frozen["publish.k"] = self.config.publish.k
        if self.technique.declaration.needs_knowledge and self.background is not None:
            frozen["knowledge"] = self.background.digest()
        return dict(json.loads(json.dumps(frozen, default=str)))

    def changes(self, frozen: Mapping[str, object]) -> dict[str, tuple[object, object]]:
        """The keys whose frozen value differs from the current one, with both.

        More names at the end are no change, nor is a domain, an order or a taxonomy that has grown and moves no bin.
        """
        now = self.fingerprint()
        grown = {key for column in self.schema.quasi_identifiers for key in _grown_keys(column, frozen)}
        return {
            key: (frozen.get(key), now.get(key))
            for key in sorted({*frozen, *now})
            if frozen.get(key) != now.get(key)
            and key not in grown
            and not (key == "releases.names" and _begins_with(now.get(key), frozen.get(key)))
        }


def build_technique(config: TechniqueConfig, background: Background | None = None) -> Technique[Any, Any]:
    """The technique that the file names, with the functions that its parameters name.

    Raises: InvalidParameter with every problem at once.
    """
    from reanon_core import catalog

    known = catalog.TECHNIQUES.get(config.name)
    parameters = with_functions(config.params, known.declaration.function_parameters if known else ())
    return catalog.build_technique(config.name, parameters, background)


def decoupled_or_not(technique: Technique[Any, Any], publish: Publish) -> Technique[Any, Any]:
    """The technique in the form of its releases.

    Raises: InvalidParameter if it has no such form.
    """
    from reanon_core.techniques.decoupled import decouple, default_form

    if (publish.form or default_form(technique)) == "decoupled":
        return decouple(technique, publish.k)
    if "k" in publish.model_fields_set:
        raise InvalidParameter(Problem("publish.k", "be given with `form: decoupled`, and only then", str(publish.k)))
    return technique


REFUSED_BEFORE = (Missing.REFUSE.value, Missing.SEPARATE.value)


def _frozen_column(column: QuasiIdentifier) -> dict[str, object]:
    key = f"quasi_identifiers.{column.name}"
    tree = None
    if column.taxonomy is not None:
        # A taxonomy may have thousands of leaves; its digest is enough to notice a change.
        paths = column.taxonomy.paths
        tree = {"leaves": len(paths), "digest": _digest(paths)}
    return {
        f"{key}.kind": column.kind.value,
        f"{key}.granularity": plain(column.granularity),
        f"{key}.min_width": plain(column.min_width * column.granularity),
        f"{key}.domain": list(column.domain) if column.domain and column.taxonomy is None else None,
        f"{key}.missing": column.missing.value,
        f"{key}.{'taxonomy' if column.hierarchical else 'order'}": tree,
    }


def _grown_keys(column: QuasiIdentifier, frozen: Mapping[str, object]) -> list[str]:
    """The keys of a column that were frozen with fewer codes, if those have the same meaning and the same bins.

    A series that refused missing values has none in its releases, so it may have some later.
    """
    key = f"quasi_identifiers.{column.name}"
    missing = [f"{key}.missing"] if (frozen.get(f"{key}.missing"), column.missing.value) == REFUSED_BEFORE else []
    return [*missing, *_longer_keys(key, column, frozen)]


def _longer_keys(key: str, column: QuasiIdentifier, frozen: Mapping[str, object]) -> list[str]:
    if column.taxonomy is not None:
        key, paths = f"{key}.{'taxonomy' if column.hierarchical else 'order'}", column.taxonomy.paths
        tree = frozen.get(key)
        leaves = tree.get("leaves", 0) if isinstance(tree, dict) else 0
        if not 0 < leaves < len(paths) or tree != {"leaves": leaves, "digest": _digest(paths[:leaves])}:
            return []
        before = replace(column, taxonomy=Taxonomy(paths[:leaves]))
    else:
        key, domain = f"{key}.domain", frozen.get(f"{key}.domain")
        if column.domain is None or not isinstance(domain, list):
            return []
        if not column.domain[0] <= domain[0] <= domain[1] <= column.domain[1]:
            return []
        before = replace(column, domain=(domain[0], domain[1]))
    from reanon_core.recoding.bins import keeps_bins

    return [key] if column.ends is Ends.EXACT or keeps_bins(column, before) else []


def _digest(paths: tuple[tuple[str, ...], ...]) -> str:
    return hashlib.sha256(json.dumps(paths).encode()).hexdigest()


def _begins_with(longer: object, shorter: object) -> bool:
    return isinstance(longer, list) and isinstance(shorter, list) and longer[: len(shorter)] == shorter


_FUNCTION = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"


def with_functions(parameters: Mapping[str, object], may_name: Collection[str]) -> dict[str, object]:
    """The parameters, with the function itself where one of those that may name a function does.

    Raises: InvalidParameter.
    """
    return {
        name: _function(name, value) if name in may_name and _names_function(value) else value
        for name, value in parameters.items()
    }


def _names_function(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(_FUNCTION, value, re.ASCII) is not None


def _function(parameter: str, value: object) -> object:
    """The function that a parameter names.

    Only installed modules and those on PYTHONPATH are imported: a series file, and anyone who may write into its
    folder, cannot bring code of their own.
    """
    module, _, name = str(value).partition(":")
    advice = "install its package, or set PYTHONPATH; modules in the series' folder are not imported"
    try:
        function = getattr(import_module(module), name, None)
    except ModuleNotFoundError:
        problem = Problem(parameter, "name a function that can be imported", str(value), advice)
        raise InvalidParameter(problem) from None
    except Exception as error:
        rule = f"name a module that can be imported; importing {module} raises {type(error).__name__}"
        raise InvalidParameter(Problem(parameter, rule, str(value))) from error
    if not callable(function):
        raise InvalidParameter(Problem(parameter, f"name a function of the module {module}", str(value)))
    return function
