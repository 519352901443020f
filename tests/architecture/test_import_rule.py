"""Who may import whom: DESIGN's table, enforced for every module."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Higher may import lower; rooms on one line may not import each other.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("reanon_dagster.definitions",),
    ("reanon_dagster.ledger_sensor",),
    ("reanon_dagster.automation", "reanon_dagster.published_releases"),
    ("reanon_dagster.asset_checks.standalone",),
    ("reanon_dagster.assets",),
    ("reanon_dagster.asset_checks", "reanon_dagster.partitions", "reanon_dagster.resources"),
    ("reanon_dagster.cli",),
    ("reanon_dagster",),  # it exports what Python uses of the rooms below
    ("reanon_dagster.commands", "reanon_dagster.release_reader", "reanon_dagster.stored_series"),
    ("reanon_dagster.backup", "reanon_dagster.doctor", "reanon_dagster.report"),
    ("reanon_dagster.lab",),
    ("reanon_dagster.releasing",),
    (
        "reanon_dagster.storage",
        "reanon_dagster.sources",
        "reanon_dagster.expectations",
        "reanon_dagster.verification",
        "reanon_dagster.documents",
        "reanon_dagster.engines",
    ),
    ("reanon_dagster.series",),
    ("reanon_dagster.sources.kinds",),
    ("reanon_dagster.series.memory_size",),
    ("reanon_dagster.series.field_types",),
    ("reanon_dagster.report.pages",),  # pages are made of public objects and plain numbers
    ("reanon_core.precompile",),
    ("reanon_core",),  # the door: it exports names of the rooms below
    ("reanon_core.series",),
    (
        "reanon_core.audit",
        "reanon_core.estimate",
        "reanon_core.published_release",
        "reanon_core.replay",
        "reanon_core.series_arguments",
    ),
    ("reanon_core.adversary_knowledge", "reanon_core.brakes", "reanon_core.finding_truth", "reanon_core.lineages"),
    (
        "reanon_core.publishing",
        "reanon_core.catalog",
        "reanon_core.judgement",
        "reanon_core.returning",
        "reanon_core.tables",
    ),
    ("reanon_core.columns",),
    ("reanon_core.readers",),
    (
        "reanon_core.techniques.m_invariance",
        "reanon_core.techniques.mondrian",
        "reanon_core.techniques.bpg",
        "reanon_core.techniques.cor_split",
        "reanon_core.techniques.js_reduce",
        "reanon_core.techniques.sequential",
        "reanon_core.checks",
        "reanon_core.attacks",
        "reanon_core.metrics",
    ),
    ("reanon_core.techniques",),
    ("reanon_core.partitioned",),
    ("reanon_core.inference.linear",),  # it hands its correlations to elimination, as rules
    (
        "reanon_core.bucketing",
        "reanon_core.recoding",
        "reanon_core.inference.bayes",
        "reanon_core.inference.elimination",
        "reanon_core.inference.subtraction",
        "reanon_core.inference.enumeration",
    ),
    ("reanon_core.inference.view",),
    ("reanon_core.inference",),
    ("reanon_core.engine",),
    ("reanon_core.kernels",),
    ("reanon_core.protocols",),
    ("reanon_core.model",),
    ("reanon_core.compiled", "reanon_core.threads"),
)
PRIVATE = {f"reanon_core.model.{name}" for name in ("snapshot", "plan", "trace", "publication", "ledger")}
JUDGES = {
    "reanon_core.checks": {
        "reanon_core.checks",
        "reanon_core.model",
        "reanon_core.protocols",
        "reanon_core.compiled",
        "reanon_core.engine.tables",
    },
    "reanon_core.attacks": {
        "reanon_core.attacks",
        "reanon_core.model",
        "reanon_core.protocols",
        "reanon_core.inference",
        "reanon_core.compiled",
    },
    "reanon_core.metrics": {
        "reanon_core.metrics",
        "reanon_core.model",
        "reanon_core.protocols",
        "reanon_core.inference",
        "reanon_core.compiled",
    },
    "reanon_core.inference": {"reanon_core.inference", "reanon_core.model", "reanon_core.compiled"},
}
HEAVY = {"dagster", "duckdb", "great_expectations", "pyspark", "pandas", "pyarrow"}


def modules() -> dict[str, Path]:
    found = {}
    for package in ("reanon_core", "reanon_dagster"):
        for path in sorted((ROOT / package).rglob("*.py")):
            parts = path.relative_to(ROOT).with_suffix("").parts
            found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = path
    return found


MODULES = modules()


def imports(path: Path) -> set[str]:
    """Every module of ours or others that the file imports, wherever it does."""
    found = set()
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path} imports relatively"
            found |= {
                f"{node.module}.{alias.name}" if f"{node.module}.{alias.name}" in MODULES else str(node.module)
                for alias in node.names
            }
    return found


def room(module: str) -> str | None:
    """The longest room of the table that holds the module."""
    rooms = [name for layer in LAYERS for name in layer if module == name or module.startswith(f"{name}.")]
    packages = {"reanon_core", "reanon_dagster"}
    best = max(rooms, key=len, default=None)
    return best if best not in packages or module in packages else None


def depth(name: str) -> int:
    return next(level for level, layer in enumerate(LAYERS) if name in layer)


@pytest.mark.parametrize("module", MODULES)
def test_every_module_has_a_place_in_the_table(module: str) -> None:
    assert room(module) is not None, (
        f"{module} has no room: put it into the table of this test and of docs/architecture.md"
    )


@pytest.mark.parametrize("module", MODULES)
def test_a_module_imports_only_lower_rooms_and_its_own(module: str) -> None:
    own = room(module)
    assert own is not None
    for imported in imports(MODULES[module]):
        other = room(imported) if imported.startswith("reanon_") else None
        if other is not None and other != own:
            assert depth(other) > depth(own), f"{module} may not import {imported}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith(tuple(JUDGES))])
def test_the_judge_shares_no_code_with_the_judged(module: str) -> None:
    for judge, allowed in JUDGES.items():
        if module == judge or module.startswith(f"{judge}."):
            ours = {name for name in imports(MODULES[module]) if name.startswith("reanon_")}
            outside = {name for name in ours if not any(name == ok or name.startswith(f"{ok}.") for ok in allowed)}
            assert not outside, f"{module} imports {sorted(outside)}"


@pytest.mark.parametrize(
    "module", [name for name in MODULES if name.startswith(("reanon_core.attacks", "reanon_core.inference"))]
)
def test_an_adversary_never_sees_the_private_half_of_the_model(module: str) -> None:
    seen = imports(MODULES[module]) & PRIVATE
    assert not seen, f"{module} imports {sorted(seen)}"


@pytest.mark.parametrize("module", [name for name in MODULES if name.startswith("reanon_dagster.report.pages")])
def test_a_page_for_the_public_never_sees_the_private_half_of_the_model(module: str) -> None:
    assert not imports(MODULES[module]) & PRIVATE


@pytest.mark.parametrize(
    "module", [name for name in MODULES if depth(str(room(name))) > depth("reanon_dagster.partitions")]
)
def test_nothing_below_the_assets_imports_dagster(module: str) -> None:
    assert not {name for name in imports(MODULES[module]) if name.split(".")[0] == "dagster"}


def loaded_by(statement: str) -> set[str]:
    code = f"import sys; {statement}; print(' '.join({{name.split('.')[0] for name in sys.modules}}))"
    return set(
        subprocess.run(
            [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT
        ).stdout.split()
    )


def test_no_module_imports_what_is_private_in_dagster() -> None:
    found = {name: [one for one in imports(path) if one.startswith("dagster")] for name, path in MODULES.items()}
    assert sum(map(len, found.values())) > 10
    private = {name: one for name, told in found.items() for one in told if one != "dagster"}
    assert private == {}


def test_the_core_loads_none_of_the_heavy_packages() -> None:
    assert not loaded_by("import reanon_core.catalog, reanon_core.replay, reanon_core.publishing") & HEAVY


def test_the_command_loads_nothing_heavy_before_it_knows_what_to_do() -> None:
    assert not loaded_by("import reanon_dagster.cli; reanon_dagster.cli.parser()") & (
        HEAVY | {"numpy", "numba", "rich", "pydantic"}
    )


def test_the_table_of_the_architecture_document_is_this_one() -> None:
    text = (ROOT / "docs" / "architecture.md").read_text()
    lines = [
        line.split("|")[2] for line in text.splitlines() if line.startswith("| ") and "`reanon_" in line.split("|")[2]
    ]
    listed = [tuple(room.strip(" `") for room in line.split(",")) for line in lines]
    assert listed == list(LAYERS)


def test_no_file_of_the_product_is_longer_than_500_lines() -> None:
    long = {
        name: len(path.read_text().splitlines())
        for name, path in MODULES.items()
        if len(path.read_text().splitlines()) > 500
    }
    assert not long
