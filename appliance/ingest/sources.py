"""Finds the documents in the paths that a user names: files, folders and zips.

``expand`` lists every document and everything that is skipped, with the reason. ``detect_documents`` also finds the
format of each: a file that the user named must be a chat, a file in a folder or zip need not be one.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import zipfile
from collections.abc import Hashable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, suppress
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import partial
from itertools import islice
from pathlib import Path
from typing import BinaryIO, Literal, cast

from appliance.errors import InputError
from appliance.formats import detect
from appliance.formats.base import Document, DocumentContext, Parser
from appliance.formats.text import READ_ERRORS
from appliance.ingest.litter import folder_reason, is_memory, litter_reason, path_litter, unfinished_reason
from appliance.ingest.side_files import SideFiles
from appliance.ingest.zip_members import ENCRYPTED, ZipContents, member_name, parent_of
from appliance.ingest.zip_recovery import ZipDamage, open_zip
from appliance.paths import DATABASE, display_path
from appliance.types import InputProblem

_ZIP_SIGNATURES = (b"PK\x03\x04", b"PK\x05\x06")

MAX_LISTED_FILES = 100_000
"""How many files beside a document can be its attachments; to list so many takes a second."""

# Never a chat, although some of these are zips.
_MEDIA = re.compile(
    r".*\.(?:jpe?g|png|gif|webp|hei[cf]|avif|bmp|tiff?|svg|ico|mp[34]|mov|m4[av]|3gp|avi|mkv|webm|opus|og[ga]|aac"
    r"|wav|amr|flac|pdf|docx|xlsx|pptx|od[tsp]|epub|apk|jar|dat|bin|woff2?|ttf|exe|dll|so)",
    re.IGNORECASE,
)
# Files that accompany conversations.json in the exports of AI providers.
_SIDE_FILES = re.compile(
    r"(?:user|users|message_feedback|shared_conversations|user_settings|model_comparisons|projects|memories"
    r"|group_chats|sora|tasks|library_files|(?:export[_-])?manifest|conversation_asset_file_names)\.json"
    r"|.*\.html?",
    re.IGNORECASE,
)
_COPY_AGAIN = "download or copy it again"
NOT_RECOGNISED = "not recognised"
UNREADABLE = "can't be read"
"""How the reasons begin of what the system does not give."""
# Nothing is unpacked, so such a member is as harmless as any other.
_OUTSIDE = InputProblem("", "the member's name leads out of the zip's folder; it is read in place", harmless=True)
_CONVERSATIONS = re.compile(r"conversations(?:-\d+)?\.json", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class UnreadSource:
    """A path without messages: "skipped" if it need not have any, "failed" if it should, "partial" for a zip of which
    only a part is there. The reason is in ``notes``, otherwise in ``errors``."""

    path: str
    status: Literal["skipped", "failed", "partial"]
    errors: tuple[InputProblem, ...] = ()
    notes: tuple[InputProblem, ...] = ()
    hint: str | None = None


@dataclass(frozen=True, slots=True)
class DetectedDocument:
    """A document with its format and parser; ``format`` is None if the document is empty. ``source`` is the path in
    which it was found, ``within`` the watched folder of that."""

    document: Document
    format: str | None
    parser: Parser
    source: Path = Path()
    within: Path | None = None


def detect_documents(
    paths: Iterable[str | Path],
    forced: str | None = None,
    me: str | None = None,
    within: Path | None = None,
    side_files: SideFiles | None = None,
) -> Iterator[DetectedDocument | UnreadSource]:
    """Yield the documents that a parser reads, and the sources that are skipped or can't be read.

    A file that the user named fails if no parser recognises it; so does a named zip or folder without any recognised
    document.

    Args:
        paths: The paths.
        forced: The format of every document that is not obviously something else; None to detect it.
        me: The name of the person where a format only says "me".
        within: The watched folder in which the paths were found; then a file that is not a chat is skipped.
        side_files: Collects the files that parsers read with a document.
    """
    for path in paths:
        is_empty, has_outcome = True, False
        for item in expand([path], me, within, side_files):
            result: DetectedDocument | UnreadSource
            if isinstance(item, UnreadSource):
                result = item
            else:
                try:
                    result = DetectedDocument(item, *detect(item, forced), Path(path), within)
                except InputError as error:
                    result = _unrecognised(item, error)
            is_empty = False
            has_outcome = has_outcome or isinstance(result, DetectedDocument) or result.status != "skipped"
            yield result
        if is_empty and within is None:
            yield _failed(path, f"the {'folder' if os.path.isdir(path) else 'zip'} is empty")
        elif not has_outcome and within is None:
            yield _failed(path, "no chat export found", "name the file itself, and its --format")


def _unrecognised(document: Document, error: InputError) -> UnreadSource:
    """A file in a folder need not be a chat, but a file that can't be read may be one."""
    reason = str(error.args[0])
    if document.explicit or not reason.startswith(NOT_RECOGNISED):
        return _failed(document.name, reason, error.hint)
    # The beginning of a hidden file is not quoted: programs keep keys and settings there.
    return _skipped(document.name, NOT_RECOGNISED if "/." in document.name else reason)


def expand(
    paths: Iterable[str | Path], me: str | None = None, within: Path | None = None, side_files: SideFiles | None = None
) -> Iterator[Document | UnreadSource]:
    """Yield the documents at ``paths``, in order: a file, the files of a folder and its subfolders (sorted), or the
    members of a zip, whatever its name. A document can be opened any number of times."""
    for path in paths:
        root = _SourceRoot(within or Path(path), me, side_files or SideFiles())
        yield from _expand(Path(path), root, explicit=within is None, seen=set())


@dataclass(frozen=True, slots=True)
class _SourceRoot:
    """A path that a user named. The parser of a document can't find files outside of it."""

    path: Path
    me: str | None
    side_files: SideFiles = field(default_factory=SideFiles)
    memory: dict[Hashable, object] = field(default_factory=dict)

    def context_of(self, path: Path) -> DocumentContext:
        find, find_all = partial(self._find, path), partial(self._find_all, path)
        attach = partial(self.side_files.attach, document=display_path(path))
        return DocumentContext(find, self.me, partial(self._names, path.parent), self.memory, find_all, attach)

    def _names(self, folder: Path) -> Sequence[str]:
        key = ("names", folder)
        if key not in self.memory:
            self.memory[key] = tuple(islice(_paths_below(folder), MAX_LISTED_FILES))
        return cast("Sequence[str]", self.memory[key])

    def _find(self, seeker: Path, relative: str) -> Document | None:
        return next(self._matches(seeker, relative), None)

    def _find_all(self, seeker: Path, relative: str) -> list[Document]:
        return list(self._matches(seeker, relative))

    def _matches(self, seeker: Path, relative: str) -> Iterator[Document]:
        """The files at a path as the parser of the document ``seeker`` names it."""
        path = Path(os.path.normpath(seeker.parent / relative))
        root = self.path if os.path.isdir(self.path) else self.path.parent
        # Links are followed, as they are when a folder is read; but ".." must not lead out of the root.
        if path.is_relative_to(os.path.normpath(root)):
            for file in _files_at(path):
                found = _document(file, self, file.stat().st_size, explicit=False)
                yield replace(found, open=self.side_files.opening(found.name, display_path(seeker), found.open))


def _paths_below(folder: Path) -> Iterator[str]:
    for inner, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            yield display_path(os.path.relpath(os.path.join(inner, name), folder)).replace(os.sep, "/")


def _files_at(pattern: Path) -> Iterator[Path]:
    """The files, in order, at a path in which names may be "*"."""
    level = [Path(pattern.anchor)]
    for name in pattern.parts[bool(pattern.anchor) :]:
        if "*" not in name:
            level = [path / name for path in level]
            continue
        inside: list[Path] = []
        for path in level:
            with suppress(OSError):
                inside += sorted(one for one in path.iterdir() if fnmatchcase(one.name, name))
        level = inside
    return (path for path in level if os.path.isfile(path))


def _document(path: Path, root: _SourceRoot, size: int, *, explicit: bool) -> Document:
    return Document(display_path(path), size, partial(_open_file, path), explicit, path, root.context_of(path))


def _expand(
    path: Path, root: _SourceRoot, *, explicit: bool, seen: set[tuple[int, int]]
) -> Iterator[Document | UnreadSource]:
    try:
        info = path.stat()
    except OSError as error:
        yield _unreadable(path, error, explicit=explicit)
        return
    # Its database must not even be opened: to close it again would take away the locks of the process that works on it.
    if _is_of_a_memory(path):
        yield (_failed if explicit else _skipped)(path, "a memory's own files: 'appliance export' writes its messages")
    elif stat.S_ISDIR(info.st_mode):
        if not explicit and (reason := folder_reason(path)):
            yield _skipped(path, reason)
        elif (info.st_dev, info.st_ino) in seen:
            yield _skipped(path, "a link to a folder that has been read already")
        else:
            seen.add((info.st_dev, info.st_ino))
            yield from _folder(path, root, seen)
    elif not stat.S_ISREG(info.st_mode):
        yield (_failed if explicit else _skipped)(path, "not a regular file")
    else:
        yield from _file(path, root, info.st_size, explicit=explicit)


def _is_of_a_memory(path: Path) -> bool:
    """Whether a path is the home of a memory, or a file of its database."""
    return is_memory(path.parent if path.name.startswith(DATABASE) else path)


def _folder(path: Path, root: _SourceRoot, seen: set[tuple[int, int]]) -> Iterator[Document | UnreadSource]:
    try:
        names = sorted(os.listdir(path))
    except OSError as error:
        yield _unreadable(path, error)
        return
    has_conversations = any(_CONVERSATIONS.fullmatch(name) for name in names)
    listed = frozenset(names)
    for name in names:
        inner = path / name
        is_folder = os.path.isdir(inner)
        reason = litter_reason(name, is_folder=is_folder)
        if not is_folder:
            reason = reason or unfinished_reason(name, listed) or _not_a_chat_reason(name, has_conversations)
        if reason := reason or _dead_link_reason(inner):
            yield _skipped(inner, reason)
        else:
            yield from _expand(inner, root, explicit=False, seen=seen)


def _file(path: Path, root: _SourceRoot, size: int, *, explicit: bool) -> Iterator[Document | UnreadSource]:
    try:
        with path.open("rb") as stream:
            signature = stream.read(4)
    except OSError as error:
        yield _unreadable(path, error, explicit=explicit)
        return
    if signature in _ZIP_SIGNATURES:
        yield from _zip(path, root)
    else:
        yield _document(path, root, size, explicit=explicit)


def _zip(path: Path, root: _SourceRoot) -> Iterator[Document | UnreadSource]:
    name = display_path(path)
    with ExitStack() as opened:
        try:
            archive, damage = opened.enter_context(open_zip(path))
        except READ_ERRORS as error:
            yield _failed(path, _zip_problem(path, error), _COPY_AGAIN)
            return
        if damage is not None:
            yield _damaged(path, damage, archive)
        members = [member for member in archive.infolist() if not member.is_dir()]
        folders = {parent_of(member_name(m)) for m in members if _CONVERSATIONS.fullmatch(_basename(member_name(m)))}
        used_names: set[str] = set()
        litter: set[str] = set()
        inside = ZipContents(archive, path, damage, root.me, root.side_files)
        for member in sorted(members, key=member_name):
            inner = member_name(member)
            parts = inner.split("/")
            length, reason = path_litter(parts)
            if reason:
                if (skipped := "/".join(parts[:length])) not in litter:
                    litter.add(skipped)
                    yield _skipped(f"{name}/{skipped}", reason)
                continue
            display_name = f"{name}/{inner}"
            reason = _not_a_chat_reason(_basename(inner), parent_of(inner) in folders)
            if inner.lower().endswith(".zip"):
                yield _skipped(display_name, "a zip within a zip is not opened; unpack it and import it separately")
            elif reason:
                yield _skipped(display_name, reason)
            elif member.flag_bits & ENCRYPTED:
                yield _failed(display_name, "encrypted", "unpack it with its password first")
            else:
                # A zip may have two members of the same name.
                number = 2
                while display_name in used_names:
                    display_name, number = f"{name}/{inner} ({number})", number + 1
                used_names.add(display_name)
                notes = (_OUTSIDE,) if ".." in parts or inner.startswith("/") else ()
                yield replace(inside.document(display_name, member), notes=notes)


def stamp(document: Document) -> tuple[int, int, int] | None:
    """What tells that a file has changed; None if it is gone, or a member of a zip."""
    try:
        info = document.path.stat() if document.path is not None else None
    except OSError:
        info = None
    return None if info is None else (info.st_ino, info.st_size, info.st_mtime_ns)


def _open_file(path: Path) -> AbstractContextManager[BinaryIO]:
    return path.open("rb")


def _not_a_chat_reason(name: str, has_conversations: bool) -> str:
    """Why a file that the user did not name is not a chat, by its name; empty if it may be one."""
    if _MEDIA.fullmatch(name):
        return "a media file"
    if has_conversations and _SIDE_FILES.fullmatch(name):
        return "not a chat, or a second copy of one"
    return ""


def _dead_link_reason(path: Path) -> str:
    """Why there is nothing at a link; empty if there is something, or if it is no link."""
    if not os.path.islink(path):
        return ""
    try:
        path.stat()
    except FileNotFoundError:
        return f"it is a link to {display_path(os.readlink(path))}, which does not exist"
    except OSError as error:
        return "a link that leads to itself" if error.errno == errno.ELOOP else ""
    return ""


def _unreadable(path: Path, error: OSError, *, explicit: bool = True) -> UnreadSource:
    if isinstance(error, FileNotFoundError) and not explicit:
        return _failed(path, "it was moved or deleted while the folder was read", "ingest the folder again")
    if reason := _dead_link_reason(path):
        return _failed(path, reason)
    hints: dict[type[OSError], str] = {
        FileNotFoundError: "check the spelling",
        PermissionError: "check its permissions",
    }
    return _failed(path, f"{UNREADABLE}: {error.strerror or error}", hints.get(type(error)))


def _zip_problem(path: Path, error: Exception) -> str:
    """Why a zip of which no file was found can't be read."""
    if isinstance(error, OSError):
        return f"{UNREADABLE}: {error.strerror or error}"
    size = path.stat().st_size
    return f"the zip is cut off after {size:,} byte{'' if size == 1 else 's'}, within its first file"


def _damaged(path: Path, damage: ZipDamage, archive: zipfile.ZipFile) -> UnreadSource:
    """What is lost of a zip whose list of files is missing or damaged."""
    members = archive.infolist()
    whole = len(members) - (damage.cut_off is not None)
    files = {0: "no file is", 1: "1 file is"}.get(whole, f"{whole:,} files are")
    if not damage.is_cut_off:
        reason = f"the list of files at the zip's end is cut off or damaged; {files} found without it"
    else:
        cut = "" if damage.cut_off is None else f" within {member_name(members[-1])}"
        reason = f"the zip is cut off{cut}: {files} whole, and what came after is lost"
    problem = InputProblem(f"byte {damage.end:,}", reason)
    return UnreadSource(display_path(path), "partial", errors=(problem,), hint=_COPY_AGAIN)


def _failed(path: str | Path, reason: str, hint: str | None = None) -> UnreadSource:
    return UnreadSource(display_path(path), "failed", errors=(InputProblem("", reason),), hint=hint)


def _skipped(path: str | Path, reason: str) -> UnreadSource:
    return UnreadSource(display_path(path), "skipped", notes=(InputProblem("", reason, harmless=True),))


def _basename(name: str) -> str:
    return name.rpartition("/")[2]
