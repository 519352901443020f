"""Snapshots of the synthetic household survey (data/survey/generate.py), as tests and experiments replay them."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from reanon_core.model.schema import QuasiIdentifier, Schema, Sensitive
from reanon_core.model.snapshot import Snapshot

SOURCE = Path(__file__).parents[2] / "data" / "survey" / "generate.py"
OLDEST = 111


def _loaded() -> Any:
    """The generator, under a name of its own: that of the census is called `generate` as well."""
    spec = importlib.util.spec_from_file_location("survey_waves", SOURCE)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


survey = _loaded()
LEAVING: float = survey.LEAVING
RETURNING: float = survey.RETURNING


def snapshots(
    years: int, seed: int, *, people: int = 7062, values: int = 25, changing: float = 0.0
) -> Iterator[Snapshot]:
    """The waves of one seed: people leave, return and age."""
    names, labels = survey.QUASI_IDENTIFIERS, survey.LABELS
    columns = tuple(
        QuasiIdentifier(name=n, domain=(survey.YOUNGEST, OLDEST) if n == "age" else (0, len(labels[n]) - 1))
        for n in names
    )
    schema = Schema(quasi_identifiers=columns, sensitive=Sensitive(name="industry", values=labels["industry"][:values]))
    for wave in survey.waves(years, seed, people=people, values=values, changing=changing):
        codes = np.stack([wave[n] for n in names])
        yield Snapshot(schema, wave["person"].astype(np.int64), codes, wave["industry"])
