"""What must not be found: ids, rows, pseudonyms in every spelling, the key, the seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from builders.private_texts import private_texts

from trust.small_series import private

SEED = 918273645546372819
"""A seed that is noticed anywhere."""


@dataclass(frozen=True)
class Needle:
    """A private text, with the kind of secret that it is."""

    kind: str
    content: bytes


def needles(folder: Path) -> list[Needle]:
    """The secrets of a series that has published."""
    texts = private_texts(folder / "snapshots")
    found = [Needle("row" if text.startswith(",") else "id", text.encode()) for text in sorted(texts)]
    found += [Needle("seed", spelling) for spelling in spellings(SEED)]
    key = key_of(folder)
    if key is not None:
        found += [Needle("key", key), Needle("key", key.hex().encode()), Needle("key", key[::-1])]
        for pseudonym in pseudonyms_of(sorted(text for text in texts if not text.startswith(",")), key):
            found += [Needle("pseudonym", spelling) for spelling in spellings(pseudonym)]
    return found


def key_of(folder: Path) -> bytes | None:
    """The key of the pseudonyms; None where it is not a plain file of 16 bytes."""
    for path in private(folder).glob("*.key"):
        content = path.read_bytes()
        if len(content) == 16:
            return content
    return None


def pseudonyms_of(ids: list[str], key: bytes) -> list[int]:
    """The pseudonym of each id."""
    import pyarrow as pa

    from reanon_core.tables.ids import pseudonyms

    return [int(one) for one in pseudonyms(pa.array(ids, pa.string()), key)]


def spellings(number: int) -> Iterator[bytes]:
    """A number of 64 bits: both byte orders, decimal with and without sign, hexadecimal in both orders."""
    whole = (number & (1 << 64) - 1).to_bytes(8, "little")
    yield whole
    yield whole[::-1]
    yield str(number & (1 << 64) - 1).encode()
    yield str(number if number < 1 << 63 else number - (1 << 64)).encode()
    yield whole.hex().encode()
    yield whole[::-1].hex().encode()


def found_in(secrets: list[Needle], content: bytes) -> set[str]:
    """The kinds of secrets that a content holds; a row counts at the end of a line only."""
    lowered = content.lower()
    kinds = set()
    for needle in secrets:
        if needle.kind in kinds:
            continue
        searched = needle.content + b"\n" if needle.kind == "row" else needle.content
        if searched in content or (needle.kind in {"key", "pseudonym"} and searched.isalnum() and searched in lowered):
            kinds.add(needle.kind)
    return kinds


def readable(path: Path) -> bytes:
    """A file as it is, and where it is Parquet also its columns as text and as plain memory."""
    content = path.read_bytes()
    if path.suffix == ".parquet":
        import pyarrow.parquet

        table = pyarrow.parquet.read_table(path)
        content += table.to_pandas().to_csv(index=False).encode()
        for column in table.columns:
            for chunk in column.chunks:
                content += b"".join(bytes(part) for part in chunk.buffers() if part is not None)
    return content
