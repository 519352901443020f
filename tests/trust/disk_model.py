"""A model of a disk that loses what was not flushed.

A recorded run is replayed on it. Of every file it knows the content and what of it is flushed; of every folder the
names and which of them are flushed. The rules, which are those of ext4, XFS and btrfs:

- `fsync` of a file makes its content durable, and its name where it was created, with the folders above it;
- `fsync` of a folder makes durable which names it has;
- a rename, a link or a removal is durable only after the `fsync` of a folder that it changed, or of one after it;
- changes of names reach the disk in their order; writes in any order.
"""

import random
import struct
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

HEAD = struct.Struct("<cHHqQ")


@dataclass(frozen=True)
class Call:
    """One recorded call: c created, t truncated on opening, w written, s, a resized, f flushed, u removed, d folder
    made, r renamed, l linked, m rights changed."""

    what: str
    path: str
    second: str
    offset: int
    data: bytes


def recorded_calls(log: bytes, root: Path) -> list[Call]:
    """The calls of a log, with paths below the root."""
    calls, at = [], 0
    prefix = f"{root}/"
    while at + HEAD.size <= len(log):
        what, first, second, offset, size = HEAD.unpack_from(log, at)
        at += HEAD.size
        paths = log[at : at + first + second].decode()
        at += first + second
        # A path may be the root itself.
        named = [f"{path}/".removeprefix(prefix).rstrip("/") for path in (paths[:first], paths[first:])]
        calls.append(Call(what.decode(), named[0], named[1], offset, log[at : at + size]))
        at += size
    return calls


@dataclass
class File:
    """A file: what is flushed, and the changes of its content since."""

    flushed: bytes = b""
    changes: list[tuple[int, bytes | None]] = field(default_factory=list)
    """Offset and bytes; None instead of bytes: the file ends at the offset."""
    created: int = 0
    """The number of the change of names that made it."""

    def content(self, survives: random.Random | None = None) -> bytes:
        """The content with all changes, or with those that a coin lets survive."""
        data = bytearray(self.flushed)
        for offset, change in self.changes:
            if survives is not None and survives.random() < 0.5:
                continue
            if change is None:
                del data[offset:]
                data.extend(bytes(offset - len(data)))
            else:
                data.extend(bytes(max(0, offset - len(data))))
                data[offset : offset + len(change)] = change
        return bytes(data)


Names = dict[str, File | None]
"""Each path with its file; None for a folder."""


@dataclass
class Disk:
    """Names and contents, and which changes of names are durable."""

    names: Names
    changes: list[tuple[Call, File | None]] = field(default_factory=list)
    """The changes of names that may not be durable yet, in order, with the file that was meant."""
    flushed_names: Names = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Disk":
        """A disk on which everything in the folder is durable."""
        names: Names = {}
        for path in sorted(folder.rglob("*")):
            names[str(path.relative_to(folder))] = File(path.read_bytes()) if path.is_file() else None
        return cls(names, flushed_names=dict(names))

    def apply(self, call: Call) -> None:
        """One call, as the process saw it."""
        if call.what in "curdl":
            file = File() if call.what == "c" else self.names.get(call.path)
            self.changes.append((call, file))
            _rename(self.names, call, file)
        elif call.what == "f":
            self._flush(call.path)
        elif call.what in "wtsa":
            file = self.names.get(call.path)
            if file is None:
                return  # a file that has lost its name
            if call.what == "a":
                if call.offset > len(file.content()):
                    file.changes.append((call.offset, None))
            else:
                file.changes.append((call.offset, call.data if call.what == "w" else None))

    def _flush(self, path: str) -> None:
        file = self.names.get(path) if path else None
        if file is None:
            flushed = [_in_folder(call, path) for call, _ in self.changes]
        else:
            file.flushed, file.changes = file.content(), []
            flushed = [call.what in "cd" and _leads_to(call.path, path) for call, _ in self.changes]
            flushed = flushed if any(one is file for _, one in self.changes) else []
        if file is None and any(flushed):  # names reach the disk in order: what came before the last one is there too
            last = len(flushed) - flushed[::-1].index(True)
            flushed = [number < last for number in range(len(flushed))]
        if flushed:
            for (call, meant), durable in zip(self.changes, flushed, strict=True):
                if durable:
                    _rename(self.flushed_names, call, meant)
            self.changes = [change for change, durable in zip(self.changes, flushed, strict=True) if not durable]

    def image(self, variant: str, chance: random.Random) -> dict[str, bytes | None]:
        """What the disk holds after a power cut; `all` is what the process saw."""
        names = dict(self.names if variant in {"all", "names"} else self.flushed_names)
        if variant == "random":
            for call, meant in self.changes[: chance.randint(0, len(self.changes))]:
                _rename(names, call, meant)
        image: dict[str, bytes | None] = {}
        for path, file in names.items():
            if file is None:
                image[path] = None
            elif variant == "all":
                image[path] = file.content()
            else:
                image[path] = file.content(chance) if variant == "random" else file.flushed
        return image


def _rename(names: Names, call: Call, file: File | None) -> None:
    """Change the names as a call does."""
    if call.what in "cd":
        names[call.path] = file if call.what == "c" else None
    elif call.what == "u":
        names.pop(call.path, None)
    elif call.what == "l":
        names[call.second] = file
    else:
        for path in [path for path in names if path == call.path or path.startswith(f"{call.path}/")]:
            names[call.second + path[len(call.path) :]] = names.pop(path)


def _in_folder(call: Call, folder: str) -> bool:
    return any(path and path.rpartition("/")[0] == folder for path in (call.path, call.second))


def _leads_to(path: str, file: str) -> bool:
    return path == file or file.startswith(f"{path}/")


def lay_out(image: dict[str, bytes | None], folder: Path) -> None:
    """Write an image into an empty folder, private as the product makes it."""
    for path, content in sorted(image.items()):
        target = folder / path
        target.parent.mkdir(parents=True, exist_ok=True)
        if content is None:
            target.mkdir(exist_ok=True)
        else:
            target.write_bytes(content)
    for path in (folder, *folder.rglob("*")):
        if "private" in path.relative_to(folder).parts:
            path.chmod(0o700 if path.is_dir() else 0o600)


def cut_points(calls: list[Call]) -> Iterator[int]:
    """Where a cut can matter: after each call that changes names, before each flush, and at the end."""
    yield len(calls)
    yield from (number + (call.what != "f") for number, call in enumerate(calls) if call.what in "curdlf")
