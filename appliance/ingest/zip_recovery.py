"""Opens zips whose list of files, at their end, is missing: downloads that were cut off.

Each file in a zip has a header of its own before its data. These are followed from the beginning, and a list of files
is made of them that stands, in memory, where the lost one stood. Files whose headers do not give their size are
unpacked once to find their ends.
"""

from __future__ import annotations

import io
import os
import struct
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO, NamedTuple, cast

from appliance.lazy_dataclasses import dataclass

LOCAL_SIGNATURE = b"PK\x03\x04"
_DIRECTORY_SIGNATURES = (b"PK\x01\x02", b"PK\x05\x06", b"PK\x06\x06")
_DESCRIPTOR_SIGNATURE = b"PK\x07\x08"
_LOCAL = struct.Struct("<4s5H3L2H")
_CENTRAL = struct.Struct("<4s6H3L5H2L")
_ZIP64_END = struct.Struct("<4sQ2H2L4Q")
_ZIP64_LOCATOR = struct.Struct("<4sLQL")
_END = struct.Struct("<4s4H2LH")
_ZIP64_EXTRA = 0x0001
_DEFLATED = 8
_SIZES_FOLLOW = 0x8
_MAX_32 = 0xFFFFFFFF
_MAX_16 = 0xFFFF
_VERSION = 45
_CHUNK_BYTES = 1 << 18
_MAX_MEMBERS = 200_000
_MAX_UNPACKED_BYTES = 64 << 30
"""What is unpacked to find the ends of files, at most."""


class _Member(NamedTuple):
    """A file of a zip by its own header; ``is_whole`` tells whether all of its data is there."""

    offset: int
    flags: int
    method: int
    modified: int
    crc: int
    packed: int
    unpacked: int
    name: bytes
    is_whole: bool


@dataclass(frozen=True, slots=True)
class ZipDamage:
    """What is wrong with a zip. ``end`` is the byte up to which its files were found; ``cut_off`` is the place of the
    file whose data end too early, None if none does. ``is_cut_off`` is False if only the list of files is damaged."""

    end: int
    cut_off: int | None
    is_cut_off: bool


class _Recovered(NamedTuple):
    directory: bytes
    damage: ZipDamage


@contextmanager
def open_zip(path: Path) -> Iterator[tuple[zipfile.ZipFile, ZipDamage | None]]:
    """Open a zip for reading; if its list of files is missing or damaged, with what is wrong.

    Raises:
        zipfile.BadZipFile: It has no files that can be found.
        OSError: It can't be read.
    """
    with ExitStack() as opened:
        damage = None
        try:
            archive = opened.enter_context(zipfile.ZipFile(path))
        except (zipfile.BadZipFile, ValueError, struct.error) as error:
            info = path.stat()
            recovered = _recovered(path, info.st_ino, info.st_size, info.st_mtime_ns)
            if recovered is None:
                raise zipfile.BadZipFile(str(error)) from error
            stream = opened.enter_context(_WithDirectory(path.open("rb"), info.st_size, recovered.directory))
            archive = opened.enter_context(zipfile.ZipFile(cast(BinaryIO, stream)))
            damage = recovered.damage
        yield archive, damage


@lru_cache(maxsize=4)
def _recovered(path: Path, inode: int, size: int, modified: int) -> _Recovered | None:
    """The list of the files of a zip that has none; None if no file is found. The numbers tell whether the zip has
    changed since."""
    members: list[_Member] = []
    with path.open("rb") as stream:
        end = 0
        while (member := _member_at(stream, end, size)) is not None and len(members) < _MAX_MEMBERS:
            members.append(member)
            end = _end_of(stream, member)
            if not member.is_whole:
                break
        has_directory = _read_at(stream, end, 4) in _DIRECTORY_SIGNATURES
    if not members:
        return None
    cut_off = None if members[-1].is_whole else members[-1].offset
    return _Recovered(_directory(members, size), ZipDamage(end, cut_off, not has_directory))


def _member_at(stream: BinaryIO, offset: int, size: int) -> _Member | None:
    """The file whose header is at an offset; None if there is none, or if the header is not whole."""
    fixed = _read_at(stream, offset, _LOCAL.size)
    if len(fixed) < _LOCAL.size or not fixed.startswith(LOCAL_SIGNATURE):
        return None
    _, _, flags, method, clock, day, crc, packed, unpacked, name_length, extra_length = _LOCAL.unpack(fixed)
    rest = stream.read(name_length + extra_length)
    if len(rest) < name_length + extra_length:
        return None
    name, start = rest[:name_length], offset + _LOCAL.size + len(rest)
    packed, unpacked = _with_long_sizes(rest[name_length:], packed, unpacked)
    is_whole = start + packed <= size
    if flags & _SIZES_FOLLOW and not packed:
        if method != _DEFLATED:  # nothing tells where it ends
            return _Member(offset, flags, method, clock | day << 16, crc, size - start, size - start, name, False)
        crc, packed, unpacked, is_whole = _unpacked(stream, start)
    packed = min(packed, size - start)
    return _Member(offset, flags, method, clock | day << 16, crc, packed, unpacked, name, is_whole)


def _with_long_sizes(extra: bytes, packed: int, unpacked: int) -> tuple[int, int]:
    """The packed and unpacked sizes of a file, which a field of its header has if they take over 32 bits."""
    while len(extra) >= 4:
        kind, length = struct.unpack_from("<2H", extra)
        if kind == _ZIP64_EXTRA:
            numbers = [number for (number,) in struct.iter_unpack("<Q", extra[4 : 4 + length // 8 * 8])]
            if unpacked == _MAX_32 and numbers:
                unpacked = numbers.pop(0)
            if packed == _MAX_32 and numbers:
                packed = numbers.pop(0)
        extra = extra[4 + length :]
    return packed, unpacked


def _unpacked(stream: BinaryIO, start: int) -> tuple[int, int, int, bool]:
    """The checksum, the packed and the unpacked size of the data at an offset, and whether they are whole."""
    unpacker, crc, unpacked = zlib.decompressobj(-zlib.MAX_WBITS), 0, 0
    stream.seek(start)
    read, pending = 0, b""
    try:
        while not unpacker.eof and unpacked < _MAX_UNPACKED_BYTES:
            if not pending:
                pending = stream.read(_CHUNK_BYTES)
                read += len(pending)
                if not pending:
                    break
            data = unpacker.decompress(pending, _CHUNK_BYTES)
            pending = unpacker.unconsumed_tail
            crc, unpacked = zlib.crc32(data, crc), unpacked + len(data)
    except zlib.error:
        return crc, read, unpacked, False
    return crc, read - len(unpacker.unused_data), unpacked, unpacker.eof


def _end_of(stream: BinaryIO, member: _Member) -> int:
    """Where the next header is expected: behind the data, and behind the sizes that may follow it."""
    head = _read_at(stream, member.offset, _LOCAL.size)
    end: int = member.offset + _LOCAL.size + sum(_LOCAL.unpack(head)[-2:]) + member.packed
    if member.is_whole and member.flags & _SIZES_FOLLOW:
        for length in (16, 24, 12, 20):
            following = _read_at(stream, end, length + 4)
            signed = following.startswith(_DESCRIPTOR_SIGNATURE)
            is_next = following[length:] in (LOCAL_SIGNATURE, *_DIRECTORY_SIGNATURES, b"")
            if is_next and signed == (length in (16, 24)) and len(following) >= length:
                return end + length
    return end


def _read_at(stream: BinaryIO, offset: int, length: int) -> bytes:
    stream.seek(offset)
    return stream.read(length)


def _directory(members: list[_Member], start: int) -> bytes:
    """A list of files as it stands at the end of a zip, from the byte ``start`` on."""
    entries = bytearray()
    for one in members:
        long = struct.pack("<2H3Q", _ZIP64_EXTRA, 24, one.unpacked, one.packed, one.offset)
        entries += _CENTRAL.pack(
            b"PK\x01\x02", _VERSION, _VERSION, one.flags, one.method, one.modified & _MAX_16, one.modified >> 16,
            one.crc, _MAX_32, _MAX_32, len(one.name), len(long), 0, 0, 0, 0, _MAX_32,
        )  # fmt: skip
        entries += one.name + long
    count, length = len(members), len(entries)
    end = _ZIP64_END.pack(b"PK\x06\x06", 44, _VERSION, _VERSION, 0, 0, count, count, length, start)
    locator = _ZIP64_LOCATOR.pack(b"PK\x06\x07", 0, start + length, 1)
    last = _END.pack(b"PK\x05\x06", _MAX_16, _MAX_16, _MAX_16, _MAX_16, _MAX_32, _MAX_32, 0)
    return bytes(entries) + end + locator + last


class _WithDirectory(io.RawIOBase):
    """A file with bytes behind its end."""

    def __init__(self, file: BinaryIO, size: int, tail: bytes) -> None:
        self._file, self._size, self._tail, self._place = file, size, tail, 0

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._place

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        base = {os.SEEK_SET: 0, os.SEEK_CUR: self._place, os.SEEK_END: self._size + len(self._tail)}[whence]
        self._place = max(0, base + offset)
        return self._place

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        if self._place < self._size:
            self._file.seek(self._place)
            data: bytes = self._file.read(min(len(view), self._size - self._place))
        else:
            data = self._tail[self._place - self._size :][: len(view)]
        count = len(data)
        view[:count] = data
        self._place += count
        return count

    def close(self) -> None:
        self._file.close()
        super().close()
