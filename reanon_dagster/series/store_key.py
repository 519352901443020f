"""Where the key of an encrypted private folder is: `private.key` of series.yaml. The key itself is never kept here."""

from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeAlias

from pydantic import Field, model_validator

from reanon_core.model.errors import Problem
from reanon_dagster.series.field_types import Part, ProblemError, Text

Kind: TypeAlias = Literal["file", "environment", "keyring"]
KINDS: tuple[Kind, ...] = ("file", "environment", "keyring")


@dataclass(frozen=True)
class KeyPlace:
    """Where a secret is found when it is needed."""

    kind: Kind
    name: str
    """The path of the file, the name of the environment variable, or the user of the service `reanon` in a keyring."""


class StoreKey(Part):
    """Where the key is that encrypts the private store: exactly one of the three."""

    file: Text | None = Field(default=None, description="A file that only you can read, outside both folders.")
    environment: Text | None = Field(default=None, description="The name of an environment variable.")
    keyring: Text | None = Field(
        default=None, description="The user name under which your keyring holds it for the service `reanon`."
    )

    @model_validator(mode="after")
    def _is_in_one_place(self) -> "StoreKey":
        if sum(getattr(self, kind) is not None for kind in KINDS) != 1:
            raise ProblemError(Problem("private.key", f"name exactly one of {', '.join(KINDS)}"))
        return self

    def place(self, folder: Path) -> KeyPlace:
        """The place of the key; a relative path starts in this folder."""
        kind = next(kind for kind in KINDS if getattr(self, kind) is not None)
        name = str(getattr(self, kind))
        return KeyPlace(kind, str((folder / name).resolve()) if kind == "file" else name)


_DECLARED: dict[Path, KeyPlace] = {}


def declare_key(private_folder: Path, place: KeyPlace | None) -> None:
    """Remember where the key of a private folder is, or that it has none.

    A series declares it when it is built, so that everything below can go on to name a store by its folder. What is
    remembered is a place that stands in series.yaml; the key is read from there each time the store is opened.
    """
    resolved = private_folder.resolve()
    if place is None:
        _DECLARED.pop(resolved, None)
    else:
        _DECLARED[resolved] = place


def declared_key(private_folder: Path) -> KeyPlace | None:
    """Where the key of a private folder is; None if its series declares none."""
    return _DECLARED.get(private_folder.resolve())
