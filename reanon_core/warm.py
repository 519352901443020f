"""Compile every kernel once, so that no user waits for a compiler: `python -m reanon_core.warm`."""

from contextlib import suppress

import numpy as np

from reanon_core.catalog import ATTACKS, METRICS, PUBLISHERS, WEAKEST, build_attack, build_publisher, own_checks
from reanon_core.kernels.siphash import siphash_strings
from reanon_core.model.errors import InvalidParameter
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot
from reanon_core.replay import replay


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


def warm() -> None:
    """Run everything that is compiled, on arrays of the types that production uses."""
    siphash_strings(np.zeros(4, np.uint8), np.array([0, 2, 4], np.int64), np.zeros(2, np.uint64))
    leaving = {"sequential": {"on_delete": "defer"}}  # people leave here, which it refuses by default
    techniques = [(name, WEAKEST[name] | leaving.get(name, {})) for name in PUBLISHERS]
    techniques += [("sequential", {"ell": 2, "worlds": "ring", "on_delete": "defer"})]
    techniques += [("m-invariance", {"m": 2, "assignment": how}) for how in ("stable", "paper")]
    techniques += [("js-reduce", {**WEAKEST["js-reduce"], "posterior": "sum"})]
    techniques += [("cor-split", {"m": 3, "n": 2, "partition": "paper"})]
    for name, parameters in techniques:
        publisher = build_publisher(name, parameters)
        ledger = replay(publisher, snapshots(), np.random.default_rng(0))
        for check in own_checks(publisher):
            memory = check.initial_memory()
            for entry in ledger.entries:
                _, memory = check.examine(entry, memory)
    for attack in ATTACKS:
        with suppress(InvalidParameter):  # exact counting refuses all but the tiniest histories, and compiles nothing
            build_attack(attack).run(ledger.history(), ledger.knowledge())
    for metric in METRICS.values():
        metric().measure(ledger.entries[-1], np.random.default_rng(0))


if __name__ == "__main__":
    warm()
