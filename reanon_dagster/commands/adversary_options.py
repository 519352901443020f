"""What the adversary of `reanon audit` knows: declared in the series, or given as options."""

import argparse
from pathlib import Path

import numpy as np

from reanon_core.adversary_knowledge import with_algorithm, with_background
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.knowledge import Compromised, Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import Schema
from reanon_core.tables.ids import KEY_BYTES
from reanon_dagster.releasing.audited_ledger import changed_options
from reanon_dagster.releasing.series_view import read_view
from reanon_dagster.series.series import Series
from reanon_dagster.sources.people_file import read_compromised


def declared_knowledge(
    series: Series, ledger: Ledger, options: argparse.Namespace, *, background: bool = True, people_only: bool = False
) -> Knowledge:
    """Who is in each release, with the declared groups, compromised people and background knowledge, and the source.

    The background is left out unless it is wanted: it may have to be counted in all tables. With `people_only`, nothing
    is known of people but who is in each release.

    Raises: InvalidParameter, InvalidSnapshot.
    """
    if people_only:
        return _with_source(series, ledger, ledger.knowledge(people_only=True))
    adversary = series.config.adversary
    share = _share(options.compromised)
    if options.compromised is not None and share is None:
        schema, key = ledger.entries[-1].snapshot.schema, read_view(series).key
        known = read_compromised(Path(options.compromised), schema, series.config.source.id, key)
    else:
        declared = (share, adversary.compromised, series.parameters.get("p"), 0.0)
        drawn = next(float(one) for one in declared if one is not None)
        known = ledger.sampled(drawn, np.random.default_rng(options.seed))
    knowledge = ledger.knowledge(compromised=known, groups_known=adversary.groups == "known")
    if background:
        knowledge = with_background(series.adversary_background, ledger, knowledge)
    return _with_source(series, ledger, knowledge)


def _with_source(series: Series, ledger: Ledger, knowledge: Knowledge) -> Knowledge:
    """The knowledge of a reader of the source too."""
    return with_algorithm(series.technique, ledger, knowledge, changed=changed_options(series))


def given_compromised(given: str, schema: Schema, id_column: str) -> Compromised:
    """The compromised people of releases made elsewhere, whom only a file can name.

    Raises: InvalidParameter, InvalidSnapshot.
    """
    if _share(given) is not None:
        raise InvalidParameter(
            Problem(
                "--compromised",
                "be a file of people and their values",
                given,
                "people can be drawn only from a series of your own",
            )
        )
    return read_compromised(Path(given), schema, id_column, bytes(KEY_BYTES))


def _share(given: str | None) -> float | None:
    """The share, if the option is a number; None if it is a file.

    Raises: InvalidParameter if the number is not a share.
    """
    if given is None:
        return None
    try:
        share = float(given)
    except ValueError:
        return None
    if not 0 <= share < 1:
        raise InvalidParameter(Problem("--compromised", "be a share from 0 to below 1, or a file", given))
    return share
