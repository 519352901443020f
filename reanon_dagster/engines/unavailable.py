"""The error of an engine that cannot work."""

from reanon_core.model.errors import SentenceError


class EngineUnavailable(SentenceError):
    """The engine cannot be reached, cannot work with the series' files, or did not finish. Nothing was published."""
