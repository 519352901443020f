"""Packages that only some sources need: each is an extra of reanon."""

from importlib import import_module
from typing import Any

from reanon_core.model.errors import InvalidSnapshot, Problem


def extra_package(name: str, extra: str, what: str) -> Any:
    """The package of this name.

    Raises: InvalidSnapshot if it is not installed.
    """
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        if error.name is None or error.name.partition(".")[0] != name.partition(".")[0]:
            raise  # the package is there, and what it needs is not
        rule = f"be read with the package {name}, which is not installed"
        raise InvalidSnapshot(Problem(what, rule, help=f"reading it needs reanon[{extra}]")) from None
