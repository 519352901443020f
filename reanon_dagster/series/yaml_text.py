"""series.yaml as mappings, lists and text.

YAML guesses types: 2024-03-01 becomes a date, 010 becomes 8, no becomes false. Here every plain scalar stays
the text that the steward wrote, and the models decide what it means.
"""

from collections.abc import Hashable
from pathlib import Path
from typing import Any

import yaml

from reanon_core.model.errors import InvalidSchema, Problem, require

LARGEST = 1 << 20
"""The size of a series file, in bytes: taxonomies and data are files of their own."""
DEEPEST = 40
"""How deep lists and mappings may lie inside each other."""
MOST_NODES = 20_000
"""How many values and keys a file may have once its aliases are written out: a few lines can stand for billions."""
NOTHING = "tag:yaml.org,2002:null"
_KEPT = (NOTHING, "tag:yaml.org,2002:merge")


class _TextLoader(yaml.SafeLoader):
    """A loader that keeps scalars as text, reports repeated keys, and stops at what is too deep or too large."""

    def __init__(self, stream: str) -> None:
        super().__init__(stream)
        self.problems: list[Problem] = []
        self._depth = 0
        self._sizes: dict[yaml.Node, int] = {}

    def compose_node(self, parent: yaml.Node | None, index: int) -> yaml.Node | None:
        """The next value with everything in it; an alias counts as if it were written out."""
        alias, mark = self.check_event(yaml.AliasEvent), self.peek_event().start_mark  # type: ignore[no-untyped-call]
        if self._depth == DEEPEST:
            raise yaml.MarkedYAMLError(problem=f"lists and mappings lie more than {DEEPEST} deep", problem_mark=mark)
        self._depth += 1
        node = super().compose_node(parent, index)
        self._depth -= 1
        if node is None:
            return None
        if node not in self._sizes:
            if alias:
                raise yaml.MarkedYAMLError(problem="an alias refers to what it is part of", problem_mark=mark)
            self._sizes[node] = 1 + sum(self._sizes[inner] for inner in _inner(node))
        if self._sizes[node] > MOST_NODES:
            raise yaml.MarkedYAMLError(problem=f"there are more than {MOST_NODES:,} values", problem_mark=mark)
        return node

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Hashable, Any]:  # noqa: FBT001, FBT002
        """The mapping; plain YAML silently keeps the last of two equal keys."""
        seen: set[str] = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode) or key.tag == NOTHING:
                raise yaml.MarkedYAMLError(problem="a key is not text", problem_mark=key.start_mark)
            if key.value in seen:
                what = f"line {key.start_mark.line + 1}: key {key.value}"
                self.problems.append(Problem(what, "occur once"))
            seen.add(key.value)
        return super().construct_mapping(node, deep)


def _inner(node: yaml.Node) -> list[yaml.Node]:
    """The values that lie directly in a list, or the keys and values of a mapping."""
    if isinstance(node, yaml.MappingNode):
        return [one for pair in node.value for one in pair]
    return node.value if isinstance(node, yaml.SequenceNode) else []


_TextLoader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag in _KEPT]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}


def read_yaml(path: Path) -> dict[str, Any]:
    """The mapping in a YAML file.

    Raises: InvalidSchema if the file does not exist or contains no mapping.
    """
    try:
        if path.stat().st_size > LARGEST:
            raise InvalidSchema(Problem(path.name, f"have at most {LARGEST:,} bytes", f"{path.stat().st_size:,}"))
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise InvalidSchema(Problem(path.name, "be encoded as utf-8")) from error
    except ValueError as error:  # a NUL in the path
        raise InvalidSchema(Problem("series file", "have a path without NUL", str(path))) from error
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
