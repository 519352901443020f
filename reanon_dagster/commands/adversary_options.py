"""What `reanon audit` lets an adversary know: as declared in the series, or as typed."""

import argparse
from pathlib import Path

import numpy as np

from reanon_core.adversary_knowledge import with_background
from reanon_core.model.errors import InvalidParameter, Problem
from reanon_core.model.knowledge import Compromised, Knowledge
from reanon_core.model.ledger import Ledger
from reanon_core.model.schema import Schema
from reanon_core.tables.ids import KEY_BYTES
from reanon_dagster.releasing.release import look
from reanon_dagster.series.series import Series
from reanon_dagster.sources.compromised_file import read_compromised
from reanon_dagster.storage.pseudonym_key import pseudonym_key


def declared_knowledge(series: Series, ledger: Ledger, options: argparse.Namespace) -> Knowledge:
    """Presences, and on top the groups, the compromised people and the background that are declared.

    Raises: InvalidParameter, InvalidSnapshot.
    """
    adversary = series.config.adversary
    share = _share(options.compromised)
    if options.compromised is not None and share is None:
        key = pseudonym_key(series.private_folder, look(series).frozen.get("key"))
        schema = ledger.entries[-1].snapshot.schema
        known = read_compromised(Path(options.compromised), schema, series.config.source.id, key)
    else:
        declared = (share, adversary.compromised, series.parameters.get("p"), 0.0)
        drawn = next(float(one) for one in declared if one is not None)
        known = ledger.sampled(drawn, np.random.default_rng(options.seed))
    knowledge = ledger.knowledge(compromised=known, groups_known=adversary.groups == "known")
    return with_background(series.adversary_background, ledger, knowledge)


def given_compromised(given: str, schema: Schema, id_column: str) -> Compromised:
    """The compromised people of releases that others made: only a file can tell who they are.

    Raises: InvalidParameter, InvalidSnapshot.
    """
    if _share(given) is not None:
        raise InvalidParameter(
            Problem(
                "--compromised",
                "be a file of people and their values",
                given,
                "the truth behind releases of others is not here to draw from",
            )
        )
    return read_compromised(Path(given), schema, id_column, bytes(KEY_BYTES))


def _share(given: str | None) -> float | None:
    """The number, if it is one.

    Raises: InvalidParameter if it is no share.
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
