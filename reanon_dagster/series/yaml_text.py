"""series.yaml as mappings, lists and text.

YAML guesses types: 2024-03-01 becomes a date, 010 becomes 8, no becomes false. Here every plain scalar stays
the text that the steward wrote, and the models decide what it means.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from reanon_core.model.errors import InvalidSchema, Problem, require

_KEPT = ("tag:yaml.org,2002:null", "tag:yaml.org,2002:merge")


class _TextLoader(yaml.SafeLoader):
    """A loader that keeps scalars as text and reports repeated keys."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.problems: list[Problem] = []

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        """The mapping; plain YAML silently keeps the last of two equal keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if key.value in seen:
                what = f"line {key.start_mark.line + 1}: key {key.value}"
                self.problems.append(Problem(what, "occur once"))
            if isinstance(key.value, str):
                seen.add(key.value)
        return super().construct_mapping(node, deep)


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises: InvalidSchema if the file does not exist or contains no mapping.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSchema(Problem(path.name, "be encoded as utf-8")) from error
    except OSError as error:
        problem = Problem("series file", "exist and be readable", str(path), error.strerror)
        raise InvalidSchema(problem) from error
    try:
        loader = _TextLoader(text)
        data = loader.get_single_data()
    except yaml.YAMLError as error:
        raise InvalidSchema(_syntax(path.name, error)) from error
    require(loader.problems, InvalidSchema)
    if not isinstance(data, dict):
        raise InvalidSchema(Problem(path.name, "contain keys with values, such as series: hospital"))
    return data


def _syntax(name: str, error: yaml.YAMLError) -> Problem:
    mark = getattr(error, "problem_mark", None)
    where = f"{name}, line {mark.line + 1}, column {mark.column + 1}" if mark else name
    return Problem(where, "be valid YAML", help=getattr(error, "problem", None))
