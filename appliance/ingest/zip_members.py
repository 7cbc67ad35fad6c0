"""The files of an open zip, as documents that can be opened any number of times and find one another by name."""

from __future__ import annotations

import posixpath
import re
import zipfile
import zlib
from collections.abc import Hashable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, BinaryIO, cast

from appliance.formats.base import Document, DocumentContext
from appliance.formats.text import CHUNK_BYTES
from appliance.ingest.side_files import SideFiles
from appliance.ingest.zip_limits import ZipLimits
from appliance.ingest.zip_recovery import ZipDamage, open_zip
from appliance.paths import display_path

ENCRYPTED = 0x1
"""The flag of a file that needs a password."""

_UTF8_NAME = 0x800


class ZipContents:
    """The members of a zip by name, so that the parser of one can find others."""

    def __init__(
        self,
        archive: zipfile.ZipFile,
        path: Path,
        damage: ZipDamage | None = None,
        me: str | None = None,
        side_files: SideFiles | None = None,
    ) -> None:
        """``me`` and ``side_files`` as in ``sources.detect_documents``."""
        self._archive, self._path, self._me, self._side_files = archive, path, me, side_files or SideFiles()
        self._cut_off = None if damage is None else damage.cut_off
        self._members = {member_name(member): member for member in archive.infolist() if not member.is_dir()}
        self._limits = ZipLimits(path.stat().st_size, self._members.values())
        self._memory: dict[Hashable, object] = {}

    def document(self, display_name: str, member: zipfile.ZipInfo) -> Document:
        folder = parent_of(member_name(member))
        is_cut_off = member.header_offset == self._cut_off
        open_stream = partial(_open_member, self._archive, self._path, member, is_cut_off, self._limits)
        find, find_all = partial(self._find, display_name, folder), partial(self._find_all, display_name, folder)
        attach = partial(self._side_files.attach, document=display_name)
        context = DocumentContext(find, self._me, partial(self._names, folder), self._memory, find_all, attach)
        size, packed = member.file_size, member.compress_size
        document = Document(display_name, size, open_stream, explicit=False, context=context, packed_size=packed)
        return replace(document, count_messages=self._limits.take_messages)

    def _names(self, folder: str) -> Sequence[str]:
        prefix = f"{folder}/" if folder else ""
        return [name.removeprefix(prefix) for name in self._members if name.startswith(prefix)]

    def _find(self, seeker: str, folder: str, relative: str) -> Document | None:
        return next(self._matches(seeker, folder, relative), None)

    def _find_all(self, seeker: str, folder: str, relative: str) -> list[Document]:
        return list(self._matches(seeker, folder, relative))

    def _matches(self, seeker: str, folder: str, relative: str) -> Iterator[Document]:
        """The members at a path as the parser of the document ``seeker``, in ``folder``, names it."""
        name = posixpath.normpath(posixpath.join(folder, relative))
        pattern = re.compile("[^/]+".join(map(re.escape, name.split("*"))))
        names = sorted(filter(pattern.fullmatch, self._members)) if "*" in relative else [name]
        for name in names:
            member = self._members.get(name)
            if member is not None and not member.flag_bits & ENCRYPTED:
                found = self.document(f"{display_path(self._path)}/{name}", member)
                yield replace(found, open=self._side_files.opening(found.name, seeker, found.open))


def zip_member(archive: Path, name: str) -> Document | None:
    """Return a member of a zip by its name; None if there is none, or if it is encrypted."""
    with open_zip(archive) as (opened, damage):
        return ZipContents(opened, archive, damage)._find("", "", name)


class _ZipMember(RawIOBase):
    """A zip member that compares its checksum after returning the last byte, not before, and raises an error when it
    unpacks to the size of a zip bomb."""

    def __init__(self, stream: IO[bytes], member: zipfile.ZipInfo, is_cut_off: bool, limits: ZipLimits) -> None:
        self._stream = stream
        self._is_cut_off = is_cut_off
        self._expected = member.CRC
        self._crc = 0
        self._member, self._limits, self._count = member, limits, 0
        # zipfile would discard everything that is read together with the last byte.
        if hasattr(stream, "_expected_crc"):
            stream._expected_crc = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read1(len(view))  # type: ignore[attr-defined]
        if not data and self._is_cut_off:
            raise zipfile.BadZipFile("the zip is cut off within this file")
        if not data and self._crc != self._expected:
            raise zipfile.BadZipFile("wrong checksum (CRC): the zip is damaged")
        self._count += len(data)
        self._limits.note_unpacked(self._member, self._count)
        self._crc = zlib.crc32(data, self._crc)
        view[: len(data)] = data
        return len(data)


@contextmanager
def _open_member(
    archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo, is_cut_off: bool, limits: ZipLimits
) -> Iterator[BinaryIO]:
    """Opens a member from the open zip while that is being listed, and from a newly opened one later."""
    with ExitStack() as opened:
        if archive.fp is None:
            archive, _ = opened.enter_context(open_zip(path))
        stream = opened.enter_context(archive.open(member))
        unpacked = _ZipMember(stream, member, is_cut_off, limits)
        yield cast(BinaryIO, opened.enter_context(BufferedReader(unpacked, CHUNK_BYTES)))


def member_name(member: zipfile.ZipInfo) -> str:
    """The name of a file in a zip; old zips do not declare that it is UTF-8."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").encode("utf-8", "replace").decode("utf-8")


def parent_of(name: str) -> str:
    """The folder of a file, by its name in the zip."""
    return name.rpartition("/")[0]
