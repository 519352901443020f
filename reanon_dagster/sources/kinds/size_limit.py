"""How large a snapshot may become in memory, so that a compressed file is refused before it fills the machine."""

from reanon_core.model.errors import InvalidSnapshot, Problem
from reanon_dagster.series.memory_size import available_memory, bytes_of, shown_bytes


def most_bytes(size: str | None) -> int:
    """The limit in bytes; without a size, half of the memory that the machine has left."""
    return available_memory() // 2 if size is None else bytes_of(size)


def require_size(seen: int, limit: int, label: str) -> None:
    """Refuse what needs more memory than the limit.

    Raises: InvalidSnapshot.
    """
    if seen > limit:
        rule = f"need at most {shown_bytes(limit)} in memory"
        advice = "set source.max_size if this is no mistake and the machine has more"
        raise InvalidSnapshot(Problem(label, rule, help=advice))


GZIP = b"\x1f\x8b"
ZSTD = b"\x28\xb5\x2f\xfd"
CODECS = {".gz": ("gzip", GZIP), ".zst": ("zstd", ZSTD)}
"""The codec of an ending, and how its files begin."""
_BLOCK = 1 << 22


def decompressed(content: bytes, ending: str, limit: int, label: str) -> bytes:
    """The bytes of a file with this ending, if they are no more than the limit.

    Raises: InvalidSnapshot if it is not compressed in this way, damaged, cut off or too large.
    """
    import pyarrow as pa

    codec, magic = CODECS[ending]
    if not content.startswith(magic):
        rule = f"be compressed with {codec}, as its ending {ending} says"
        raise InvalidSnapshot(Problem(label, rule, help="rename it if it is not compressed"))
    blocks, size = [], 0
    try:
        with pa.CompressedInputStream(pa.BufferReader(content), codec) as stream:
            while block := stream.read(_BLOCK):
                size += len(block)
                require_size(size, limit, label)
                blocks.append(block)
    except OSError:
        rule = f"be a whole file that was compressed with {codec}"
        raise InvalidSnapshot(Problem(label, rule, help="it is damaged or cut off; copy it again")) from None
    return b"".join(blocks)
