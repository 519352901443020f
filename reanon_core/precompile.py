"""Compile every kernel once, so that no user waits for a compiler: `python -m reanon_core.precompile`."""

from collections.abc import Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import suppress

import numpy as np

from reanon_core.catalog import ATTACKS, METRICS, TECHNIQUES, WEAKEST, build_attack, build_technique, own_checks
from reanon_core.kernels.siphash import siphash_strings
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay

FIRST = "m-invariance"
"""The technique whose kernels most others use too, so that it is compiled before them."""


def snapshots() -> list[Snapshot]:
    """Two small snapshots of one series, with people who stay, leave and come."""
    schema = Schema(
        quasi_identifiers=(QuasiIdentifier(name="a"), QuasiIdentifier(name="b")),
        sensitive=Sensitive(name="s", values=("x", "y", "z")),
    )
    rng = np.random.default_rng(0)
    persons = np.arange(36, dtype=np.int64)
    qi = rng.integers(0, 9, size=(2, 36)).astype(np.int32)
    sensitive = (persons % 3).astype(np.int32)
    return [Snapshot(schema, persons[part], qi[:, part], sensitive[part]) for part in (slice(0, 24), slice(7, 36))]


def techniques() -> dict[str, list[Mapping[str, object]]]:
    """The parameters under which each technique runs: together they reach every kernel."""
    settings: dict[str, list[Mapping[str, object]]] = {name: [WEAKEST[name]] for name in TECHNIQUES}
    settings[FIRST] += [{"m": 2, "assignment": how} for how in ("stable", "paper")]
    settings["js-reduce"] += [{**WEAKEST["js-reduce"], "posterior": "sum"}]
    settings["cor-split"] += [{"m": 3, "n": 2, "partition": "paper"}]
    # People leave here, which sequential releases refuse by default.
    settings["sequential"] = [{"ell": 2, "worlds": how, "on_delete": "defer"} for how in ("symmetric", "ring")]
    return settings


def warm_technique(name: str) -> Ledger:
    """Publish with it, and judge what it promises."""
    for parameters in techniques()[name]:
        technique = build_technique(name, parameters)
        ledger = replay(technique, snapshots(), np.random.default_rng(0))
        for check in own_checks(technique):
            memory = check.initial_memory()
            for entry in ledger.entries:
                _, memory = check.examine(entry, memory)
    return ledger


def warm_attacks() -> None:
    """Attack a history, and measure it."""
    ledger = warm_technique(FIRST)
    for attack in ATTACKS:
        with suppress(InvalidParameter):  # exact counting refuses all but the tiniest histories, and compiles nothing
            build_attack(attack).run(ledger.history(), ledger.knowledge())
    for metric in METRICS.values():
        metric().measure(ledger.entries[-1], np.random.default_rng(0))


def warm() -> None:
    """Run everything that is compiled, on arrays of the types that production uses.

    What is shared is compiled first, the rest in several processes: each file's cache belongs to one kernel, so they
    do not disturb each other.
    """
    siphash_strings(np.zeros(4, np.uint8), np.array([0, 2, 4], np.int64), np.zeros(2, np.uint64))
    warm_technique(FIRST)
    with ProcessPoolExecutor() as processes:
        attacked = processes.submit(warm_attacks)
        list(processes.map(warm_technique, [name for name in TECHNIQUES if name != FIRST]))
        attacked.result()


if __name__ == "__main__":
    warm()
