"""The index of git, in which it lists the files that it tracks.

The entries of a plain index hold each name in full, followed by a NUL, so whoever looks for a name
searches bytes. Two forms are brought into that one first: version 4 leaves out the part that a name
shares with the one before it (`feature.manyFiles`), and a split index holds only what changed since
a shared one was written (`core.splitIndex`). What follows the entries is dropped: the cache of
untracked files lists names, too.
"""

import os
from collections.abc import Mapping, Sequence
from typing import Final

from memory_mcp.safe_files import read_file

_BYTES_MAX: Final = 134_217_728
"""The index of a repository of a million files."""
_VERSION_END: Final = 8
_HEADER_BYTES: Final = 12
_COMPRESSED: Final = 4
"""The version that leaves out what a name shares with the one before."""
_STAT_BYTES: Final = 40
_HASHES_BYTES: Final = (20, 32)
"""SHA-1, SHA-256."""
_EXTENDED: Final = b"\x40"
"""The bit of an entry whose flags are longer; no entry has the one above it."""
_NAME_LENGTH: Final = 0xFFF
_MORE: Final = 0x80
_PADDED: Final = 8
"""Entries of a plain index begin at multiples of so many bytes from the first."""
_EXTENSIONS: Final = (b"IEOT", b"link", b"TREE", b"REUC", b"UNTR", b"FSMN", b"sdir", b"EOIE")
"""Signatures of what git writes behind the entries. Its length follows each."""
_LINK: Final = b"link"
_EXTENSION_HEADER: Final = 8
_WORD_BITS: Final = 64
_WORD_BYTES: Final = 8

_Entry = tuple[bytes, bytes, bytes]
"""What git saw of a file and the hash of that, the flags, and the name."""


def read_index(path: str, git_dir: str) -> bytes:
    """The entries of git's index, each name in full; empty if there is none that can be read."""
    index = _read(path, git_dir)
    places = _list_signatures(index)
    for hash_bytes in _HASHES_BYTES:
        end, extensions = _find_extensions(index, places, hash_bytes)
        link = extensions.get(_LINK, b"")
        if any(link[:hash_bytes]):
            shared = os.path.join(git_dir, f"sharedindex.{link[:hash_bytes].hex()}")
            return _join(_read(shared, git_dir), index, link[hash_bytes:], hash_bytes)
        if _is_compressed(index):
            if entries := _list_entries(index, hash_bytes):
                return _write_plain(entries)
        elif extensions:
            return index[:end]
    return b"" if _is_compressed(index) else index


def _read(path: str, git_dir: str) -> bytes:
    try:
        return read_file(path, _BYTES_MAX, git_dir)
    except OSError:
        return b""


def _is_compressed(index: bytes) -> bool:
    return int.from_bytes(index[4:_VERSION_END]) == _COMPRESSED


def _list_signatures(index: bytes) -> list[int]:
    """Where an extension may begin, in order; to look through a large index takes a while."""
    places: list[int] = []
    for signature in _EXTENSIONS:
        at = index.find(signature, _HEADER_BYTES)
        while at >= 0:
            places.append(at)
            at = index.find(signature, at + 1)
    return sorted(places)


def _find_extensions(
    index: bytes, places: Sequence[int], hash_bytes: int
) -> tuple[int, Mapping[bytes, bytes]]:
    """Where the entries end, and what follows them, by its signature."""
    for at in places:
        if extensions := _list_extensions(index, at, len(index) - hash_bytes):
            return at, extensions
    return len(index), {}


def _list_extensions(index: bytes, at: int, last: int) -> dict[bytes, bytes]:
    """The extensions from here on; none if they do not end at `last`: then it is part of a name."""
    extensions: dict[bytes, bytes] = {}
    while at + _EXTENSION_HEADER <= last:
        begin = at + _EXTENSION_HEADER
        end = begin + int.from_bytes(index[at + 4 : begin])
        extensions[index[at : at + 4]] = index[begin:end]
        at = end
    return extensions if at == last else {}


def _join(shared: bytes, index: bytes, link: bytes, hash_bytes: int) -> bytes:
    """The entries of the shared index, without those deleted and with those replaced since.

    The replacements come first in the index, in the order of what they replace, without a name.
    """
    deleted, at = _read_bitmap(link, 0)
    replaced, _ = _read_bitmap(link, at)
    fresh = iter(_list_entries(index, hash_bytes))
    joined: list[_Entry] = []
    for position, entry in enumerate(_list_entries(shared, hash_bytes)):
        now = next(fresh, entry) if position in replaced else entry
        if position not in deleted:
            joined.append((*now[:2], entry[2]))
    return _write_plain([*joined, *fresh])


def _read_bitmap(data: bytes, at: int) -> tuple[set[int], int]:
    """The positions of a compressed bitmap (EWAH), and where it ends.

    Its words of 64 bits are runs of one bit, each followed by as many plain words as it says.
    """
    count = int.from_bytes(data[at + 4 : at + 8])
    begin = at + 8
    end = begin + count * _WORD_BYTES
    words = [int.from_bytes(data[n : n + _WORD_BYTES]) for n in range(begin, end, _WORD_BYTES)]
    found: set[int] = set()
    position = read = 0
    while read < len(words):
        word, read = words[read], read + 1
        run = _WORD_BITS * (word >> 1 & 0xFFFF_FFFF)
        if word & 1:
            found.update(range(position, position + run))
        position += run
        for plain in words[read : read + (word >> 33)]:
            found.update(position + bit for bit in range(_WORD_BITS) if plain >> bit & 1)
            position += _WORD_BITS
        read += word >> 33
    return found, end + 4


def _list_entries(index: bytes, hash_bytes: int) -> list[_Entry]:
    """The entries of an index, each name in full; none if its hashes are of another length.

    In the compressed form an entry says how many bytes of the name before are dropped, and what is
    put in their place.
    """
    compressed = _is_compressed(index)
    entries: list[_Entry] = []
    name, at = b"", _HEADER_BYTES
    for _ in range(int.from_bytes(index[_VERSION_END:_HEADER_BYTES])):
        flags = at + _STAT_BYTES + hash_bytes
        start = flags + (4 if index[flags : flags + 1] >= _EXTENDED else 2)
        kept, begin = b"", start
        if compressed:
            dropped, begin = _read_number(index, start)
            kept = name[: max(0, len(name) - dropped)]
        end = index.find(b"\0", begin)
        name = kept + index[begin:end]
        length = int.from_bytes(index[flags : flags + 2]) & _NAME_LENGTH
        if end < 0 or length != min(len(name), _NAME_LENGTH):
            return []
        entries.append((index[at:flags], index[flags:start], name))
        at = end + 1 if compressed else at + _pad(end - at)
    return entries


def _pad(size: int) -> int:
    """The length of a plain entry with one NUL at least."""
    return (size + _PADDED) // _PADDED * _PADDED


def _write_plain(entries: Sequence[_Entry]) -> bytes:
    """The entries as they stand in a plain index, but without a header."""
    parts: list[bytes] = []
    for head, flags, name in entries:
        length = min(len(name), _NAME_LENGTH)
        first = int.from_bytes(flags[:2]) & ~_NAME_LENGTH | length
        parts += head, first.to_bytes(2), flags[2:], name, b"\0"
    return b"".join(parts)


def _read_number(data: bytes, at: int) -> tuple[int, int]:
    """A number as git writes offsets, seven bits a byte, and where it ends."""
    value = 0
    while at < len(data):
        value = value << 7 | data[at] & 0x7F
        at += 1
        if data[at - 1] < _MORE:
            break
        value += 1
    return value, at
