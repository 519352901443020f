"""Views of the synthetic exams (data/exams/SOURCE.md), as the experiments replay them, and the knowledge of them."""

import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np

ROOT = Path(__file__).parents[2]
sys.path[:0] = [str(ROOT / "data" / "exams")]

import generate_exams as exams  # noqa: E402

from reanon_core.model.background import Background, Classes  # noqa: E402
from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive  # noqa: E402
from reanon_core.model.snapshot import Snapshot  # noqa: E402

CLASSES = Classes((0, 1, 2), (np.array([55, 65]), np.array([1]), np.array([70, 80])))


def schema() -> Schema:
    """Age, gender and weight with their whole domains, and the exam's result."""
    columns = (
        QuasiIdentifier(name="age", domain=exams.AGES),
        QuasiIdentifier(name="gender", domain=(0, 1)),
        QuasiIdentifier(name="weight", domain=exams.WEIGHTS),
    )
    return Schema(quasi_identifiers=columns, sensitive=Sensitive(name="result", values=exams.VALUES, closed=True))


def snapshots(seed: int, *, views: int = 24, rows: int = 5000, pool: int = 7500) -> Iterator[Snapshot]:
    """The weekly views of one seed."""
    columns = schema()
    for view in exams.views(seed, count=views, rows=rows, pool=pool):
        qi = np.stack([view.age, view.gender, view.weight])
        yield Snapshot(columns, view.patient, qi, view.value)


def domain_knowledge(pool: int = 7500) -> Background:
    """The exact model behind the views: DK-BKseq with full history."""
    return Background(
        classes=CLASSES,
        prior=exams.prior(),
        following=exams.following(),
        emission=exams.emission(exams.EXIT_SCALE[pool]),
        source="domain",
    )
