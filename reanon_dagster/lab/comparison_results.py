"""Results of finished comparisons, kept privately so that an interrupted comparison goes on where it ended."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from reanon_core import __version__
from reanon_core.catalog import SOURCE_ATTACK
from reanon_dagster.lab.compared_techniques import ComparedTechnique
from reanon_dagster.lab.comparison import SEED, Adversary, Cell, Outcome
from reanon_dagster.lab.comparison_questions import Answer
from reanon_dagster.storage.durable_file import replaced_private_file
from reanon_dagster.storage.pseudonym_key import private_folder

if TYPE_CHECKING:
    from reanon_core.model.background import Background
    from reanon_dagster.series.series import Series

FOLDER = ".comparison"
"""The folder of the results inside the private folder; a backup leaves out what begins with a dot."""
TECHNIQUE_KEYS = ("technique.", "knowledge")
"""What the settings of the series' own technique begin with: they change nothing for the others."""


def result_file(series: "Series", inputs: Sequence[str], compared: ComparedTechnique, adversary: Adversary) -> Path:
    """The file of one technique's results: its name changes with the snapshots, the settings and the parameters."""
    settings = {key: value for key, value in series.fingerprint().items() if not key.startswith(TECHNIQUE_KEYS)}
    asked = {
        "reanon": __version__,
        "inputs": list(inputs),
        "columns": series.config.releases.columns,
        "settings": settings,
        "technique": [compared.technique, compared.all_parameters, compared.decoupled_k],
        "declared background": _digest(series.background),
        "adversary": [_digest(adversary.background), adversary.compromised, adversary.groups_known],
        "seed": SEED,
    }
    digest = hashlib.sha256(json.dumps(asked, sort_keys=True, default=str).encode()).hexdigest()
    return series.private_folder / FOLDER / f"{digest}.json"


def stored_outcome(path: Path, adversary: Adversary) -> Outcome:
    """What is known so far; nothing if there is no such file, or if it cannot be read.

    An attack that was stopped for lack of patience is run again by one who waits.
    """
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        cells = {name: Cell(**cell) for name, cell in found["cells"].items()}
        metrics = {str(name): None if value is None else float(value) for name, value in found["metrics"].items()}
        answers = {str(text): Answer(**answer) for text, answer in found["answers"].items()}
        outcome = Outcome(str(found["refusal"]), float(found["seconds"]), cells, metrics, answers)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return Outcome()
    if adversary.patience is None:
        answered = {name: cell for name, cell in cells.items() if name != SOURCE_ATTACK or cell.exposed is not None}
        outcome.cells = answered
    return outcome


def keep_outcome(path: Path, outcome: Outcome) -> None:
    """Write what is known so far for its owner alone, complete or not at all."""
    private_folder(path.parent.parent)
    private_folder(path.parent)
    with replaced_private_file(path) as file:
        file.write(f"{json.dumps(asdict(outcome))}\n".encode())


def _digest(background: "Background | None") -> str | None:
    return None if background is None else background.digest()
