"""From the paths that a user gives to the documents in them: files, folders and zips.

``expand`` lists every document and everything that is passed over, with the reason. ``recognise``
does the same and finds each document's format: what the user named must be a chat, what merely lies
in a folder or zip need not.
"""

from __future__ import annotations

import os
import posixpath
import re
import stat
import zipfile
import zlib
from collections.abc import Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from io import BufferedReader, RawIOBase
from pathlib import Path
from typing import IO, BinaryIO, Literal, cast

from appliance.errors import InputError
from appliance.ingest.parse import detect
from appliance.ingest.parse.base import Document, Parser, Surroundings
from appliance.ingest.parse.text import CHUNK, READ_ERRORS
from appliance.types import Problem

_ZIP_MARKS = (b"PK\x03\x04", b"PK\x05\x06")
_ENCRYPTED = 0x1
_UTF8_NAME = 0x800

# Chats shrink to a twentieth, the most monotonous of them to a hundredth.
_MOST_TIMES = 250
_ALWAYS_UNPACKED = 64 << 20

_LITTER_SUFFIXES = (".part", ".crdownload", ".tmp", ".partial", ".download", ".swp", ".bak~")
_LITTER_NAMES = frozenset({"__MACOSX", ".DS_Store", "Thumbs.db", "desktop.ini"})
# Never a chat, though some of these are zips inside.
_MEDIA = re.compile(
    r".*\.(?:jpe?g|png|gif|webp|hei[cf]|avif|bmp|tiff?|svg|ico|mp[34]|mov|m4[av]|3gp|avi|mkv|webm|opus|og[ga]|aac"
    r"|wav|amr|flac|pdf|vcf|docx|xlsx|pptx|od[tsp]|epub|apk|jar|dat|bin|woff2?|ttf|exe|dll|so)",
    re.IGNORECASE,
)
# What AI makers put beside conversations.json.
_SIDE_FILES = re.compile(
    r"(?:user|users|message_feedback|shared_conversations|user_settings|model_comparisons|projects|memories"
    r"|group_chats|sora|tasks|library_files|(?:export[_-])?manifest|conversation_asset_file_names)\.json"
    r"|.*\.html?",
    re.IGNORECASE,
)
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class PassedOver:
    """A path that gives no messages: "skipped" if it isn't meant to, "failed" if it should have.

    The reason stands in ``errors`` for what failed and in ``notes`` for what was skipped."""

    path: str
    status: Literal["skipped", "failed"]
    errors: tuple[Problem, ...] = ()
    notes: tuple[Problem, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class Recognised:
    """A document with its format and parser; ``format`` is None where the document holds nothing."""

    document: Document
    format: str | None
    parser: Parser


def recognise(
    paths: Iterable[str | Path],
    forced: str | None = None,
    me: str | None = None,
    within: Path | None = None,
) -> Iterator[Recognised | PassedOver]:
    """The documents of ``paths`` that some parser reads, and what was passed over.

    A file that the user named and nobody recognises has failed; so has a named zip or folder in
    which nothing at all was recognised. ``forced`` is the format of every document that isn't
    obviously something else; ``me`` is what the person is called where a format only says "me". With
    ``within``, the paths were found in that folder, not named: what is no chat there has not failed.
    """
    for path in paths:
        settled = False
        for item in expand([path], me, within):
            if isinstance(item, PassedOver):
                settled = settled or item.status == "failed"
                yield item
                continue
            try:
                found = Recognised(item, *detect(item, forced))
            except InputError as error:
                passed = _unrecognised(item, error)
                settled = settled or passed.status == "failed"
                yield passed
                continue
            settled = True
            yield found
        if not settled and within is None:
            yield _failed(path, "no chat export was found in it", "name the file itself, and its --format")


def _unrecognised(document: Document, error: InputError) -> PassedOver:
    """What was found lying about need not be a chat, but what can't be read at all may be one."""
    reason = str(error.args[0])
    if document.explicit or not reason.startswith("not recognised"):
        return _failed(document.name, reason, error.hint)
    return _skipped(document.name, reason)


def expand(
    paths: Iterable[str | Path], me: str | None = None, within: Path | None = None
) -> Iterator[Document | PassedOver]:
    """The documents at ``paths``, in order: a file, the files of a folder (sorted, all the way down),
    the members of a zip, whatever it is called. A document can be opened any number of times.
    """
    for path in paths:
        root = _Root(within or Path(path), me)
        yield from _expand(Path(path), root, explicit=within is None, seen=set())


@dataclass(frozen=True, slots=True)
class _Root:
    """What a user named. Nothing outside of it is found by a document's parser."""

    path: Path
    me: str | None
    memory: dict[Hashable, object] = field(default_factory=dict)

    def around(self, path: Path) -> Surroundings:
        return Surroundings(partial(self._find, path.parent), self.me, self.memory)

    def _find(self, folder: Path, relative: str) -> Document | None:
        path = Path(os.path.normpath(folder / relative))
        root = self.path if self.path.is_dir() else self.path.parent
        # Links are followed as they are when a folder is read; names must not lead out of it.
        if not path.is_relative_to(os.path.normpath(root)):
            return None
        found = _first(path) if "*" in relative else path if path.is_file() else None
        if found is None:
            return None
        return _document(found, self, found.stat().st_size, explicit=False)


def _first(pattern: Path) -> Path | None:
    """The first file, in order, at a path in which a name may be "*"."""
    level = [Path(pattern.anchor)]
    for name in pattern.parts[bool(pattern.anchor) :]:
        if name != "*":
            level = [path / name for path in level]
            continue
        inside: list[Path] = []
        for path in level:
            with suppress(OSError):
                inside += sorted(path.iterdir())
        level = inside
    return next((path for path in level if path.is_file()), None)


def _document(path: Path, root: _Root, size: int, *, explicit: bool) -> Document:
    return Document(_shown(path), size, partial(_open_file, path), explicit, path, root.around(path))


def _expand(
    path: Path, root: _Root, *, explicit: bool, seen: set[tuple[int, int]]
) -> Iterator[Document | PassedOver]:
    try:
        facts = path.stat()
    except OSError as error:
        yield _unreadable(path, error)
        return
    if stat.S_ISDIR(facts.st_mode):
        if (facts.st_dev, facts.st_ino) in seen:
            yield _skipped(path, "a link to a folder that was read already")
        else:
            seen.add((facts.st_dev, facts.st_ino))
            yield from _folder(path, root, seen)
    elif not stat.S_ISREG(facts.st_mode):
        yield (_failed if explicit else _skipped)(path, "not a regular file")
    else:
        yield from _file(path, root, facts.st_size, explicit=explicit)


def _folder(path: Path, root: _Root, seen: set[tuple[int, int]]) -> Iterator[Document | PassedOver]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        yield _unreadable(path, error)
        return
    beside = any(_CONVERSATIONS.fullmatch(name) for name in names)
    for name in names:
        if is_litter(name):
            continue
        inner = path / name
        if (reason := _no_chat(name, beside)) and not inner.is_dir():
            yield _skipped(inner, reason)
        else:
            yield from _expand(inner, root, explicit=False, seen=seen)


def _file(path: Path, root: _Root, size: int, *, explicit: bool) -> Iterator[Document | PassedOver]:
    try:
        with path.open("rb") as stream:
            mark = stream.read(4)
    except OSError as error:
        yield _unreadable(path, error)
        return
    if mark in _ZIP_MARKS:
        yield from _zip(path, root)
    else:
        yield _document(path, root, size, explicit=explicit)


def _zip(path: Path, root: _Root) -> Iterator[Document | PassedOver]:
    name = _shown(path)
    try:
        archive = zipfile.ZipFile(path)
    except READ_ERRORS as error:
        yield _failed(path, f"the zip is damaged or cut off: {error}", "download or copy it again")
        return
    with archive:
        members = [member for member in archive.infolist() if not member.is_dir()]
        folders = {
            _parent(_member_name(m)) for m in members if _CONVERSATIONS.fullmatch(_last(_member_name(m)))
        }
        taken: set[str] = set()
        inside = _Inside(archive, path, root)
        for member in sorted(members, key=_member_name):
            inner = _member_name(member)
            if any(is_litter(part) for part in inner.split("/")):
                continue
            shown = f"{name}/{inner}"
            reason = _no_chat(_last(inner), _parent(inner) in folders)
            if inner.lower().endswith(".zip"):
                yield _skipped(shown, "a zip within a zip is not opened; unpack it and name it by itself")
            elif reason:
                yield _skipped(shown, reason)
            elif member.flag_bits & _ENCRYPTED:
                yield _failed(shown, "encrypted", "unpack it with its password first")
            else:
                # A name that is there twice stands for two different documents.
                number = 2
                while shown in taken:
                    shown, number = f"{name}/{inner} ({number})", number + 1
                taken.add(shown)
                yield inside.document(shown, member)


class _Inside:
    """The members of a zip by their names, for each other's parsers."""

    def __init__(self, archive: zipfile.ZipFile, path: Path, root: _Root) -> None:
        self._archive, self._path, self._me = archive, path, root.me
        self._members = {_member_name(member): member for member in archive.infolist() if not member.is_dir()}
        self._memory: dict[Hashable, object] = {}

    def document(self, shown: str, member: zipfile.ZipInfo) -> Document:
        find = partial(self._find, _parent(_member_name(member)))
        opened = partial(_open_member, self._archive, self._path, member)
        around = Surroundings(find, self._me, self._memory)
        return Document(shown, member.file_size, opened, explicit=False, around=around)

    def _find(self, folder: str, relative: str) -> Document | None:
        name = posixpath.normpath(posixpath.join(folder, relative))
        if "*" in relative:
            pattern = re.compile("[^/]+".join(map(re.escape, name.split("*"))))
            name = min(filter(pattern.fullmatch, self._members), default=name)
        member = self._members.get(name)
        if member is None or member.flag_bits & _ENCRYPTED:
            return None
        return self.document(f"{_shown(self._path)}/{name}", member)


def _open_file(path: Path) -> AbstractContextManager[BinaryIO]:
    return path.open("rb")


class _Member(RawIOBase):
    """A zip member whose checksum is compared after its last byte was given out, not before, and that ends
    with an error where it goes on as only a bomb does."""

    def __init__(self, stream: IO[bytes], member: zipfile.ZipInfo) -> None:
        self._stream = stream
        self._expected = member.CRC
        self._sum = 0
        self._left = max(_ALWAYS_UNPACKED, member.compress_size * _MOST_TIMES)
        # The library would throw away all that is read together with the last byte.
        if hasattr(stream, "_expected_crc"):
            stream._expected_crc = None

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: object) -> int:
        view = memoryview(buffer)  # type: ignore[arg-type]
        data = self._stream.read1(len(view))  # type: ignore[attr-defined]
        if not data and self._sum != self._expected:
            raise zipfile.BadZipFile("the checksum (CRC) is wrong: the zip is damaged")
        self._left -= len(data)
        if self._left < 0:
            raise zipfile.BadZipFile(
                f"it unpacks to over {_MOST_TIMES} times its size, as no chat does: stopped"
            )
        self._sum = zlib.crc32(data, self._sum)
        view[: len(data)] = data
        return len(data)


@contextmanager
def _open_member(archive: zipfile.ZipFile, path: Path, member: zipfile.ZipInfo) -> Iterator[BinaryIO]:
    """A member as a stream: from the open zip while it is being listed, from a fresh one later."""
    with ExitStack() as opened:
        if archive.fp is None:
            archive = opened.enter_context(zipfile.ZipFile(path))
        stream = opened.enter_context(archive.open(member))
        yield cast(BinaryIO, opened.enter_context(BufferedReader(_Member(stream, member), CHUNK)))


def _member_name(member: zipfile.ZipInfo) -> str:
    """A member's name; old zips don't say that it is UTF-8."""
    name = member.filename
    if not member.flag_bits & _UTF8_NAME:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/").encode("utf-8", "replace").decode("utf-8")


def is_litter(name: str) -> bool:
    """Whether a name is that of a hidden file, of what a program is still writing, or of a system's own."""
    return name.startswith((".", "~$")) or name in _LITTER_NAMES or name.lower().endswith(_LITTER_SUFFIXES)


def _no_chat(name: str, beside_conversations: bool) -> str:
    """Why a file that nobody named is no chat, by its name alone; empty if it may be one."""
    if _MEDIA.fullmatch(name):
        return "a media file"
    if beside_conversations and _SIDE_FILES.fullmatch(name):
        return "not a chat, or a second copy of one"
    return ""


def _unreadable(path: Path, error: OSError) -> PassedOver:
    hint = "check the spelling" if isinstance(error, FileNotFoundError) else None
    return _failed(path, f"can't be read: {error.strerror or error}", hint)


def _failed(path: str | Path, reason: str, hint: str | None = None) -> PassedOver:
    return PassedOver(_shown(path), "failed", errors=(Problem("", reason),), hint=hint)


def _skipped(path: str | Path, reason: str) -> PassedOver:
    return PassedOver(_shown(path), "skipped", notes=(Problem("", reason, harmless=True),))


def _parent(name: str) -> str:
    return name.rpartition("/")[0]


def _last(name: str) -> str:
    return name.rpartition("/")[2]


def _shown(path: str | Path) -> str:
    """A path as text that can be stored and printed: names that are not UTF-8 get U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")
