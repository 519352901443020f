"""Functions that a series file names as module:function."""

import re
from collections.abc import Collection, Mapping
from importlib import import_module

from reanon_core.model.errors import InvalidParameter, Problem

_FUNCTION = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"


def with_functions(parameters: Mapping[str, object], may_name: Collection[str]) -> dict[str, object]:
    """The parameters, with the function itself where one of those that may name a function does.

    Raises: InvalidParameter.
    """
    return {
        name: _function(name, value) if name in may_name and _names_function(value) else value
        for name, value in parameters.items()
    }


def _names_function(value: object) -> bool:
    return isinstance(value, str) and re.fullmatch(_FUNCTION, value, re.ASCII) is not None


def _function(parameter: str, value: object) -> object:
    """The function that a parameter names.

    Only installed modules and those on PYTHONPATH are imported: a series file, and anyone who may write into its
    folder, cannot bring code of their own.
    """
    module, _, name = str(value).partition(":")
    advice = "install its package, or set PYTHONPATH; modules in the series' folder are not imported"
    try:
        function = getattr(import_module(module), name, None)
    except ModuleNotFoundError:
        problem = Problem(parameter, "name a function that can be imported", str(value), advice)
        raise InvalidParameter(problem) from None
    except Exception as error:
        rule = f"name a module that can be imported; importing {module} raises {type(error).__name__}"
        raise InvalidParameter(Problem(parameter, rule, str(value))) from error
    if not callable(function):
        raise InvalidParameter(Problem(parameter, f"name a function of the module {module}", str(value)))
    return function
