"""The releases that show the sensitive column: the others reveal nothing about its values."""

from dataclasses import replace

from reanon_core.model.history import History
from reanon_core.model.knowledge import Knowledge


def sensitive_releases(history: History, knowledge: Knowledge) -> tuple[History, Knowledge]:
    """The history and the knowledge about it, without the releases that show no sensitive value."""
    name = history.schema.sensitive.name
    kept = [at for at, published in enumerate(history.releases) if published.release.shows(name)]
    if len(kept) == len(history.releases):
        return history, knowledge
    return (
        History(history.schema, tuple(history.releases[at] for at in kept)),
        replace(knowledge, presences=tuple(knowledge.presences[at] for at in kept)),
    )
