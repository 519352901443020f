"""An encrypted file that notices every change: a public header, then chunks under AES-256-GCM.

The chunks follow the STREAM construction (Hoang, Reyhanitabar, Rogaway and Vizár 2015): the nonce of each is its number
and whether it is the last one, and its associated data is the header. So chunks that were exchanged, removed or
appended, and another header, fail like flipped bits. The key is derived from the passphrase and a salt of the file's
own, so no nonce occurs twice under one key.
"""

import hashlib
import json
import secrets
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import BinaryIO

from reanon_core.model.errors import Refused

MAGIC = b"reanon backup 1\n"
TAG = 16
LENGTH = 4
LARGEST_HEADER = 1 << 16
LARGEST_CHUNK = 1 << 24
LARGEST_COST = 1 << 30
"""Bytes that deriving a key may take: whoever made the file chose them."""
NOT_OURS = "this file is not a backup of reanon, or its beginning was changed"


@dataclass(frozen=True)
class Stretching:
    """What it costs to try a passphrase: the parameters of scrypt."""

    n: int = 1 << 17
    r: int = 8
    p: int = 1

    def derived(self, passphrase: str, salt: bytes) -> bytes:
        """The key of a file."""
        need = 128 * self.r * (self.n + self.p + 2)
        return hashlib.scrypt(passphrase.encode(), salt=salt, n=self.n, r=self.r, p=self.p, maxmem=2 * need, dklen=32)


@dataclass(frozen=True)
class FileHeader:
    """What anyone can read of the file."""

    about: Mapping[str, object]
    """Public facts about the content."""
    stretching: Stretching = Stretching()
    salt: str = field(default_factory=lambda: secrets.token_hex(32))
    chunk: int = 1 << 20
    """Bytes of a chunk before it is encrypted."""

    def encoded(self) -> bytes:
        """The header as it stands in the file."""
        text = json.dumps(asdict(self), sort_keys=True).encode()
        return MAGIC + len(text).to_bytes(LENGTH, "big") + text


class EncryptedWriter:
    """Writes one encrypted file in constant memory. Without `finish` the file counts as cut short."""

    def __init__(self, file: BinaryIO, header: FileHeader, passphrase: str) -> None:
        encoded = header.encoded()
        self._cipher = _Chunks(header, encoded, passphrase)
        self._file, self._size, self._waiting = file, header.chunk, bytearray()
        file.write(encoded)

    def write(self, data: bytes) -> int:
        """Take more of the content; a chunk is written once it is known not to be the last."""
        self._waiting += data
        while len(self._waiting) > self._size:
            self._file.write(self._cipher.encrypt(bytes(self._waiting[: self._size]), last=False))
            del self._waiting[: self._size]
        return len(data)

    def finish(self) -> None:
        """Write the last chunk."""
        self._file.write(self._cipher.encrypt(bytes(self._waiting), last=True))


class EncryptedReader:
    """Reads one encrypted file in constant memory. Nothing is returned that was not authenticated.

    Raises: Refused, with what is wrong.
    """

    def __init__(self, file: BinaryIO, passphrase: str) -> None:
        self.header, encoded = read_header(file)
        self._cipher = _Chunks(self.header, encoded, passphrase)
        self._file, self._size = file, self.header.chunk + TAG
        self._next, self._ready, self._number = file.read(self._size), bytearray(), 0
        self._ended = False

    def read(self, size: int) -> bytes:
        """As much of the content, or less at its end."""
        while len(self._ready) < size and not self._ended:
            self._ready += self._chunk()
        piece = bytes(self._ready[:size])
        del self._ready[:size]
        return piece

    def _chunk(self) -> bytes:
        piece, self._next = self._next, self._file.read(self._size)
        last = not self._next
        content = self._cipher.decrypt(piece, last=last)
        if content is None:
            raise Refused(self._complaint(piece, last=last))
        self._number += 1
        self._ended = last
        return content

    def _complaint(self, piece: bytes, *, last: bool) -> str:
        """Why a chunk does not open."""
        if self._cipher.decrypt(piece, last=not last) is not None:
            return "the backup was cut short" if last else "bytes were appended to the backup"
        if self._number == 0:
            return "the passphrase is not the one of this backup, or its beginning was changed"
        if last and len(piece) < self._size:
            return f"the backup was cut short or changed at chunk {self._number + 1}"
        return f"chunk {self._number + 1} of the backup was changed or is in the wrong place"


def read_header(file: BinaryIO) -> tuple[FileHeader, bytes]:
    """The header at the beginning of a file, and its bytes. It is proved only once the chunks have been read.

    Raises: Refused.
    """
    begin = file.read(len(MAGIC) + LENGTH)
    length = int.from_bytes(begin[len(MAGIC) :], "big")
    if not begin.startswith(MAGIC) or len(begin) < len(MAGIC) + LENGTH or length > LARGEST_HEADER:
        raise Refused(NOT_OURS)
    text = file.read(length)
    try:
        told = json.loads(text)
        header = FileHeader(
            dict(told["about"]), Stretching(**told["stretching"]), str(told["salt"]), int(told["chunk"])
        )
        cost = header.stretching
        numbers = (cost.n, cost.r, cost.p, header.chunk)
        sound = all(isinstance(number, int) and number > 0 for number in numbers) and bytes.fromhex(header.salt)
        if not sound or 128 * cost.n * cost.r * cost.p > LARGEST_COST or header.chunk > LARGEST_CHUNK:
            raise Refused(NOT_OURS)
    except (ValueError, KeyError, TypeError, RecursionError):
        raise Refused(NOT_OURS) from None
    return header, begin + text


class _Chunks:
    """Encrypts or decrypts the chunks of a file one after the other."""

    def __init__(self, header: FileHeader, encoded: bytes, passphrase: str) -> None:
        from cryptography.hazmat.primitives.ciphers.aead import AESGCM

        try:
            key = header.stretching.derived(passphrase, bytes.fromhex(header.salt))
        except ValueError:
            raise Refused(NOT_OURS) from None
        self._cipher, self._number, self._bound = AESGCM(key), 0, hashlib.sha256(encoded).digest()

    def encrypt(self, content: bytes, *, last: bool) -> bytes:
        """The next chunk."""
        chunk: bytes = self._cipher.encrypt(self._nonce(last=last), content, self._bound)
        self._number += 1
        return chunk

    def decrypt(self, chunk: bytes, *, last: bool) -> bytes | None:
        """The content of the next chunk; None if this is not it."""
        from cryptography.exceptions import InvalidTag

        if len(chunk) < TAG:
            return None
        try:
            content: bytes = self._cipher.decrypt(self._nonce(last=last), chunk, self._bound)
        except InvalidTag:
            return None
        self._number += 1
        return content

    def _nonce(self, *, last: bool) -> bytes:
        return self._number.to_bytes(11, "big") + bytes([last])
