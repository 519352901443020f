"""Functions that a series file names as module:function."""

import re
from importlib import import_module

from reanon_core.model.errors import InvalidParameter, Problem

_FUNCTION = r"[A-Za-z_][\w.]*:[A-Za-z_]\w*"
PARAMETERS = {"over"}
"""The parameters of techniques that may be a function."""


def found(parameter: str, value: object) -> object:
    """The function that a parameter names, or the value as it is.

    Only installed modules are looked at, or those on PYTHONPATH: a series file, or whoever may write into its folder,
    cannot bring code of its own along.

    Raises: InvalidParameter.
    """
    if parameter not in PARAMETERS or not isinstance(value, str) or not re.fullmatch(_FUNCTION, value, re.ASCII):
        return value
    module, _, name = value.partition(":")
    advice = "install its package, or set PYTHONPATH; modules in the folder of the series are not looked at"
    try:
        function = getattr(import_module(module), name, None)
    except ModuleNotFoundError:
        raise InvalidParameter(Problem(parameter, "name a function that can be imported", value, advice)) from None
    except Exception as error:
        rule = f"name a module that can be imported: importing {module} ends in {type(error).__name__}"
        raise InvalidParameter(Problem(parameter, rule, value)) from error
    if not callable(function):
        raise InvalidParameter(Problem(parameter, f"name a function of the module {module}", value))
    return function
