"""SipHash-2-4, a keyed pseudorandom function, over many short strings or words at once.

Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF" (2012). It makes the store's keyed
pseudonyms and the keyed random column that orders the rows of a release.
"""

import numpy as np
import numpy.typing as npt

from reanon_core.compiled import compiled
from reanon_core.kernels.orders import uniform_order
from reanon_core.model.arrays import Int32, Int64, UInt64


@compiled
def _rotated(word: np.uint64, bits: int) -> np.uint64:
    return np.uint64((word << np.uint64(bits)) | (word >> np.uint64(64 - bits)))


@compiled
def _rounds(
    v0: np.uint64, v1: np.uint64, v2: np.uint64, v3: np.uint64, count: int
) -> tuple[np.uint64, np.uint64, np.uint64, np.uint64]:
    for _ in range(count):
        v0 += v1
        v1 = _rotated(v1, 13) ^ v0
        v0 = _rotated(v0, 32)
        v2 += v3
        v3 = _rotated(v3, 16) ^ v2
        v0 += v3
        v3 = _rotated(v3, 21) ^ v0
        v2 += v1
        v1 = _rotated(v1, 17) ^ v2
        v2 = _rotated(v2, 32)
    return v0, v1, v2, v3


@compiled
def _siphash(data: npt.NDArray[np.uint8], start: int, end: int, k0: np.uint64, k1: np.uint64) -> np.uint64:
    v0 = k0 ^ np.uint64(0x736F6D6570736575)
    v1 = k1 ^ np.uint64(0x646F72616E646F6D)
    v2 = k0 ^ np.uint64(0x6C7967656E657261)
    v3 = k1 ^ np.uint64(0x7465646279746573)
    length = end - start
    at = start
    for _ in range(length // 8):
        word = np.uint64(0)
        for byte in range(8):
            word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
        at += 8
        v3 ^= word
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 2)
        v0 ^= word
    word = np.uint64(length & 255) << np.uint64(56)
    for byte in range(end - at):
        word |= np.uint64(data[at + byte]) << np.uint64(8 * byte)
    v3 ^= word
    v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 2)
    v0 ^= word
    v2 ^= np.uint64(0xFF)
    v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 4)
    return v0 ^ v1 ^ v2 ^ v3


@compiled
def siphash_strings(data: npt.NDArray[np.uint8], offsets: Int64, key: UInt64) -> Int64:
    """The hash of each string data[offsets[i]:offsets[i+1]] as a signed word."""
    hashes = np.empty(len(offsets) - 1, dtype=np.int64)
    for i in range(len(hashes)):
        hashes[i] = np.int64(_siphash(data, offsets[i], offsets[i + 1], key[0], key[1]))
    return hashes


def fresh_key(rng: np.random.Generator) -> UInt64:
    """A key of 128 bits."""
    return rng.integers(0, 2**64, size=2, dtype=np.uint64)


def keyed_permutation(count: int, rng: np.random.Generator) -> Int32:
    """A permutation that is a pseudorandom function of a fresh key.

    A release never reveals the generator's own numbers, only this function of them.
    """
    return uniform_order(siphash_words(np.arange(count), fresh_key(rng)))


def keyed_choices(count: int, among: int, rng: np.random.Generator) -> Int64:
    """So many independent numbers from 0 to `among` - 1: a pseudorandom function of a fresh key, like a permutation.

    Requires: `among` is below 2**31, so that no number is noticeably likelier than another.
    """
    return (siphash_words(np.arange(count), fresh_key(rng)) % np.uint64(among)).astype(np.int64)


@compiled
def siphash_words(words: Int64, key: UInt64) -> UInt64:
    """The hash of each word, read as eight bytes in little-endian order."""
    hashes = np.empty(len(words), dtype=np.uint64)
    k0, k1 = key[0], key[1]
    tail = np.uint64(8) << np.uint64(56)
    for i in range(len(words)):
        word = np.uint64(words[i])
        v0 = k0 ^ np.uint64(0x736F6D6570736575)
        v1 = k1 ^ np.uint64(0x646F72616E646F6D)
        v2 = k0 ^ np.uint64(0x6C7967656E657261)
        v3 = k1 ^ np.uint64(0x7465646279746573) ^ word
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 2)
        v0 ^= word
        v3 ^= tail
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 2)
        v0 ^= tail
        v2 ^= np.uint64(0xFF)
        v0, v1, v2, v3 = _rounds(v0, v1, v2, v3, 4)
        hashes[i] = v0 ^ v1 ^ v2 ^ v3
    return hashes
