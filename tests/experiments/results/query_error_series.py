"""The median relative error of counting queries on some releases of a series."""

from collections.abc import Iterable, Iterator

import numpy as np

from reanon_core.metrics.query_error import CountingQueryError
from reanon_core.model.snapshot import Snapshot
from reanon_core.protocols import Technique
from reanon_core.replay import publications

QUERIES = 1_000


def errors(
    technique: Technique, series: Iterable[Snapshot], seed: int, every: int, thetas: tuple[float, ...]
) -> Iterator[tuple[int, list[float]]]:
    """At the first release and at each `every`-th after it: the error for each theta."""
    for number, (snapshot, made) in enumerate(publications(technique, series, np.random.default_rng(seed))):
        if number % every == 0:
            entry = made.entry(snapshot)
            # the same queries for every way: their luck is not the way's
            yield (
                number + 1,
                [
                    CountingQueryError(queries=QUERIES, theta=theta).measure(
                        entry, np.random.default_rng([seed, number])
                    )
                    for theta in thetas
                ],
            )
