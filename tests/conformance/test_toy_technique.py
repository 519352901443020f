"""A new technique is a class and a line in the catalog: nothing in reanon_dagster changes for it.

The toy below is published by the command and by the Dagster assets, from a series.yaml alone.
"""

import ast
import json
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import ClassVar

import dagster as dg
import numpy as np
import pyarrow.parquet as pq
import pytest
from builders.assets import Maker, checked
from builders.series import SERIES, lively, write_series
from series_reference import markdown

from reanon_core.catalog import ATTACKS, TECHNIQUES, own_checks
from reanon_core.model.background import Background
from reanon_core.model.codebook import Codebook, CodedState
from reanon_core.model.errors import InvalidParameter, InvalidSchema, Problem, Unpublishable, require
from reanon_core.model.plan import Counterfeits, Plan
from reanon_core.model.release import Boxes
from reanon_core.model.schema import Schema
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Declaration, Memory, Promise
from reanon_dagster.cli import main
from reanon_dagster.series.series_file import load_series

ROOT = Path(__file__).parents[2]
Rank = Callable[[Snapshot], np.ndarray]


@dataclass(frozen=True, eq=False)
class Count(CodedState):
    """The state: how many releases there were."""

    time: int

    def packed(self) -> Memory:
        return {"time": self.time, **self.codebook.packed()}


@dataclass(frozen=True, kw_only=True)
class Blocks:
    """People in blocks of at least k, one value of each sensitive value after the other."""

    name: ClassVar[str] = "blocks"
    changeable: ClassVar[frozenset[str]] = frozenset()
    caution: ClassVar[str] = "blocks are a toy"
    declaration: ClassVar[Declaration] = Declaration(weakest={"k": 2}, function_parameters=frozenset({"rank"}))

    k: int
    """The least number of people in a block."""
    rank: str | Rank = "sensitive"
    """The order of people: sensitive, or a function of yours as module:function."""

    def __post_init__(self) -> None:
        problems = [] if callable(self.rank) or self.rank == "sensitive" else [Problem("rank", "be sensitive")]
        require(problems, InvalidParameter)

    def promises(self) -> tuple[Promise, ...]:
        return (Promise("k-anonymity", {"k": self.k}), Promise("l-diversity", {"ell": 2}))

    def accepts(self, schema: Schema) -> None:
        require([Problem("other", "be empty")] if schema.other else [], InvalidSchema)

    def initial_state(self) -> Count:
        return Count(0)

    def restored(self, packed: Memory) -> Count:
        return Count(int(packed["time"]), codebook=Codebook.restored(packed))  # type: ignore[arg-type]

    def plan(self, snapshot: Snapshot, state: Count, rng: np.random.Generator) -> Plan:
        assert snapshot.selected is None
        if 0 < snapshot.size < self.k or len(np.unique(snapshot.sensitive)) == 1:
            raise Unpublishable("the table is too small for a block")
        blocks = snapshot.size // self.k
        rank = self.rank(snapshot) if callable(self.rank) else snapshot.sensitive
        place = np.empty(snapshot.size, np.int32)
        place[np.lexsort([snapshot.persons, rank])] = np.arange(snapshot.size)
        return Plan(place % max(1, blocks), blocks, Counterfeits.none())

    def advance(self, state: Count, snapshot: Snapshot, plan: Plan) -> Count:
        return Count(state.time + 1)


class Singles(Blocks):
    """A toy with a fault: everyone is alone."""

    def plan(self, snapshot: Snapshot, state: Count, rng: np.random.Generator) -> Plan:
        return Plan(np.arange(snapshot.size, dtype=np.int32), snapshot.size, Counterfeits.none())


class OneBox(Blocks):
    """Rows without groups, in the columns that each release shows."""

    declaration: ClassVar[Declaration] = Declaration(weakest={"k": 2}, columns_vary=True)

    def promises(self) -> tuple[Promise, ...]:
        return ()

    def plan(self, snapshot: Snapshot, state: Count, rng: np.random.Generator) -> Plan:
        low, high = (np.repeat(of(axis=1)[:, None], snapshot.size, 1) for of in (snapshot.qi.min, snapshot.qi.max))
        boxes = Boxes(low, high, np.zeros_like(low, np.int8))
        return Plan(np.arange(snapshot.size, dtype=np.int32), snapshot.size, Counterfeits.none(), boxes=boxes)


class Masked(Blocks):
    """A technique that sees the whole table, and publishes the selected people."""

    declaration: ClassVar[Declaration] = Declaration(weakest={"k": 2}, answers_queries=True)

    def plan(self, snapshot: Snapshot, state: Count, rng: np.random.Generator) -> Plan:
        assert snapshot.selected is not None
        inner = super().plan(snapshot.answer(), state, rng)
        group = np.full(snapshot.size, -1, np.int32)
        group[snapshot.selection] = inner.group
        return Plan(group, inner.groups, Counterfeits.none())


@dataclass(frozen=True, kw_only=True)
class Informed(Blocks):
    """A technique that defends against background knowledge."""

    declaration: ClassVar[Declaration] = Declaration(weakest={"k": 2}, needs_knowledge=True)

    background: Background | None = field(default=None, init=False, compare=False)

    def informed(self, background: Background | None) -> "Informed":
        technique = replace(self)
        object.__setattr__(technique, "background", background)
        return technique

    def promises(self) -> tuple[Promise, ...]:
        return (Promise("js-divergence", {"j": 64.0}),)


def by_zip(snapshot: Snapshot) -> np.ndarray:
    return snapshot.qi[1]


@pytest.fixture
def series(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    def written(technique: type = Blocks, parameters: str = "k: 8", releases: str = "", more: str = "") -> Path:
        monkeypatch.setitem(TECHNIQUES, "blocks", technique)  # the one line
        text = SERIES.replace("{name: m-invariance, m: 3}", f"{{name: blocks, {parameters}}}")
        return write_series(tmp_path, text=text.replace("r5]", f"r5]{releases}") + more, snapshots=lively())

    return written


def test_the_command_publishes_it_and_checks_what_it_promises(
    series: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = series()
    assert main(["validate", str(path)]) == 0
    assert "caution: blocks are a toy" in capsys.readouterr().err
    assert main(["backfill", str(path), "--quiet"]) == 0
    assert main(["audit", str(path), "--attack", "intersection", "--json", str(tmp_path / "a.json"), "--quiet"]) == 0
    checks = json.loads((tmp_path / "a.json").read_text())["checks"]
    assert [(one["check"], one["holds"]) for one in checks[::5]] == [
        ("well-formedness", True),
        ("k-anonymity", True),
        ("l-diversity", True),
    ]
    table = pq.read_table(tmp_path / "published" / "clinic" / "r5" / "table.parquet")
    assert min(table["group_id"].value_counts().field("counts").to_pylist()) >= 8
    assert main(["trace", str(path), "--release", "r1", "--out", str(tmp_path / "t.parquet"), "--quiet"]) == 0
    assert main(["trace", str(path), "--release", "r1", "--out", str(tmp_path / "w.parquet"), "--worlds"]) == 2
    assert "blocks has no worlds" in capsys.readouterr().err


def test_a_broken_promise_is_refused(
    series: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["publish", str(series(Singles)), "--quiet"]) == 1
    assert "k-anonymity" in capsys.readouterr().err
    assert not (tmp_path / "published" / "clinic" / "r1").exists()


def test_the_assets_publish_it(series: Callable[..., Path]) -> None:
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(series(), instance)
        result = maker.make("r1")
        assert result.success
        assert {"well_formedness", "k_anonymity", "l_diversity"} <= set(checked(result))
        assert maker.made("release") == ["r1"]
        evidence = maker.metadata("evidence")
        assert {"people exposed by intersection", "query error"} <= set(evidence)
        assert not any("background" in name for name in evidence)


def test_a_function_is_found_where_the_technique_says_that_a_parameter_may_name_one(
    series: Callable[..., Path], capsys: pytest.CaptureFixture[str]
) -> None:
    named = 'k: 8, rank: "conformance.test_toy_technique:by_zip"'
    loaded = load_series(series(parameters=named))
    assert loaded.technique.rank.__name__ == "by_zip"  # type: ignore[attr-defined]
    assert loaded.fingerprint()["technique.rank"] == "conformance.test_toy_technique:by_zip"
    assert main(["publish", str(loaded.folder), "--quiet"]) == 0
    assert main(["validate", str(series(OneBox, named))]) == 2  # OneBox declares no such parameter
    assert "rank must be sensitive" in capsys.readouterr().err


def test_columns_may_vary_where_the_technique_says_so(
    series: Callable[..., Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    columns = ", columns: {r1: [age, disease]}"
    assert main(["validate", str(series(Blocks, releases=columns))]) == 2
    assert "releases.columns must be left out with blocks, whose releases show every column" in capsys.readouterr().err
    assert main(["publish", str(series(OneBox, releases=columns)), "--quiet"]) == 0
    names = pq.read_table(tmp_path / "published" / "clinic" / "r1" / "table.parquet").column_names
    assert names == ["age_min", "age_max", "disease"]


@pytest.mark.parametrize("technique", [Blocks, Masked])
def test_a_selection_is_rows_or_a_mask_as_the_technique_says(
    technique: type, series: Callable[..., Path], tmp_path: Path
) -> None:
    assert main(["publish", str(series(technique, releases=', select: {r1: "age > 50"}')), "--quiet"]) == 0
    manifest = json.loads((tmp_path / "published" / "clinic" / "r1" / "manifest.json").read_text())
    assert manifest["rows"] == int((lively()["r1"]["age"] > 50).sum())


def test_knowledge_reaches_a_technique_that_needs_it_its_checks_and_the_attacks(series: Callable[..., Path]) -> None:
    path = series(Informed, more="knowledge: {memory: 2}\n")
    loaded = load_series(path)
    assert loaded.technique.background.memory == 2  # type: ignore[attr-defined]
    assert own_checks(loaded.technique)[-1].background.memory == 2  # type: ignore[attr-defined]
    assert "knowledge" in loaded.fingerprint()
    with dg.DagsterInstance.ephemeral() as instance:
        maker = Maker(path, instance)
        assert maker.make("r1").success
        assert {"people exposed by background", "adversary gain"} <= set(maker.metadata("evidence"))
    assert "knowledge" not in load_series(series(Blocks, more="knowledge: {memory: 2}\n")).fingerprint()


def test_the_reference_page_lists_its_parameters(series: Callable[..., Path]) -> None:
    series()
    assert "| `k` | whole number | required | yes | The least number of people in a block. |" in markdown()


def literals() -> Iterator[tuple[str, str]]:
    """Every text in the code of reanon_dagster that is no docstring, with its module."""
    for path in sorted((ROOT / "reanon_dagster").rglob("*.py")):
        tree = ast.parse(path.read_text())
        alone = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
        for node in ast.walk(tree):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in alone:
                yield path.relative_to(ROOT).as_posix(), node.value


def test_no_code_of_reanon_dagster_names_a_technique_or_an_attack() -> None:
    assert [(module, text) for module, text in literals() if text in {*TECHNIQUES, *ATTACKS}] == []
    examples = {"reanon_dagster/series/template.py"}  # a text for stewards
    named = re.compile("|".join(rf"\b{re.escape(name)}\b" for name in TECHNIQUES))
    assert {module for module, text in literals() if named.search(text)} <= examples
