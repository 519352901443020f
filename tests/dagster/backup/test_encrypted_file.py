"""An encrypted file is read whole and unchanged, or not at all."""

import io

import pytest

from reanon_core.model.errors import Refused
from reanon_dagster.backup.encrypted_file import (
    MAGIC,
    TAG,
    EncryptedReader,
    EncryptedWriter,
    FileHeader,
    Stretching,
    read_header,
)

CHEAP = Stretching(n=4, r=1, p=1)
CHUNK = 64
SECRET = "correct horse battery"


def written(content: bytes, *, about: str = "clinic") -> bytes:
    file = io.BytesIO()
    writer = EncryptedWriter(file, FileHeader({"series": about}, CHEAP, chunk=CHUNK), SECRET)
    for begin in range(0, len(content), 7):
        writer.write(content[begin : begin + 7])
    writer.finish()
    return file.getvalue()


def read(data: bytes, passphrase: str = SECRET) -> bytes:
    return EncryptedReader(io.BytesIO(data), passphrase).read(1 << 20)


def body(data: bytes) -> int:
    """Where the chunks begin."""
    return len(read_header(io.BytesIO(data))[1])


CONTENT = bytes(range(256)) * 2  # eight chunks


@pytest.mark.parametrize("size", [0, 1, CHUNK - 1, CHUNK, CHUNK + 1, 2 * CHUNK, 500])
def test_what_is_written_is_read_back(size: int) -> None:
    assert read(written(CONTENT[:size])) == CONTENT[:size]


def test_two_files_of_the_same_content_have_no_chunk_in_common() -> None:
    one, other = written(CONTENT), written(CONTENT)
    assert not {one[body(one) :][i : i + 16] for i in range(500)} & {
        other[body(other) :][i : i + 16] for i in range(500)
    }


def test_another_passphrase_is_told() -> None:
    with pytest.raises(Refused, match="the passphrase is not the one of this backup"):
        read(written(CONTENT), "incorrect horse battery")


def test_every_flipped_bit_is_noticed() -> None:
    data = written(CONTENT[:150])
    for place in range(len(data)):
        changed = bytearray(data)
        changed[place] ^= 1
        with pytest.raises(Refused):
            read(bytes(changed))


def test_every_cut_is_noticed() -> None:
    data = written(CONTENT[: 2 * CHUNK])
    for length in range(len(data)):
        with pytest.raises(Refused):
            read(data[:length])
    with pytest.raises(Refused, match="the backup was cut short"):
        read(data[: body(data) + CHUNK + TAG])  # whole chunks are missing


def test_appended_bytes_are_noticed() -> None:
    for more in (b"\0", b"x" * (CHUNK + TAG)):
        full = written(CONTENT[: 2 * CHUNK])  # the last chunk is as long as the others
        with pytest.raises(Refused, match=r"bytes were appended|was changed"):
            read(full + more)


def test_exchanged_and_repeated_chunks_are_noticed() -> None:
    data = written(CONTENT)
    begin, step = body(data), CHUNK + TAG
    chunks = [data[place : place + step] for place in range(begin, len(data), step)]
    for order in ([0, 2, 1, *range(3, 8)], [0, 1, 1, *range(2, 8)], [0, *range(2, 8)]):
        with pytest.raises(Refused, match=r"chunk 2|chunk 3"):
            read(data[:begin] + b"".join(chunks[number] for number in order))


def test_the_header_belongs_to_the_chunks() -> None:
    one = written(CONTENT)
    with pytest.raises(Refused, match="its beginning was changed"):
        read(one.replace(b"clinic", b"dental", 1))
    longer = one[: len(MAGIC)] + b"\0\0\xff\xff" + one[len(MAGIC) + 4 :]
    with pytest.raises(Refused, match="not a backup of reanon"):
        read(longer)


@pytest.mark.parametrize(
    ("old", "new"), [(b'"n": 4', b'"n":1073741824'), (b'"r": 1', b'"r":-1'), (b'"chunk": 64', b'"chunk":0')]
)
def test_a_header_cannot_make_the_reader_work_for_ever(old: bytes, new: bytes) -> None:
    data = written(CONTENT)
    header = data[len(MAGIC) + 4 : body(data)]
    changed = header.replace(old, new)
    assert changed != header
    with pytest.raises(Refused, match="not a backup of reanon"):
        read(MAGIC + len(changed).to_bytes(4, "big") + changed + data[body(data) :])


def test_the_default_makes_guessing_expensive() -> None:
    strong = Stretching()
    assert 128 * strong.n * strong.r >= 1 << 27  # bytes for each guess
