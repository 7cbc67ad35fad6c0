"""The home folder, the paths in it, and how its files are written."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from appliance.errors import DiskFull, HomeError, UsageError

APP_NAME = "appliance"
HOME_VARIABLE = "APPLIANCE_HOME"
BACKUP_PASSPHRASE_VARIABLE = "APPLIANCE_BACKUP_PASSPHRASE"
FOLDER_MODE = 0o700
FILE_MODE = 0o600

DATABASE = "recall.db"
LOCK = "lock"

_OTHERS_BITS = 0o077
"""What a mode allows the group and all other users."""

_COPY_BYTES = 1 << 16
"""The blocks of a copied file: one of zeros is not written."""


class _HomePath:
    """An attribute of ``Home``: the path of a file or folder with this name in it."""

    def __init__(self, name: str) -> None:
        self._name = name

    def __get__(self, home: Home, owner: type[Home]) -> Path:
        return home.root / self._name


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds everything, and the paths in it."""

    root: Path

    config = _HomePath("config.toml")
    database = _HomePath(DATABASE)
    vectors = _HomePath("vectors")
    index = _HomePath("index")
    models = _HomePath("models")
    inbox = _HomePath("inbox")
    attachments = _HomePath("attachments")
    """Copies of attached files, each under the SHA-256 of its content."""
    bench = _HomePath("bench")
    logs = _HomePath("logs")
    daemon = _HomePath("daemon.json")
    """The daemon's address and process id, while it runs."""
    socket = _HomePath("socket")
    token = _HomePath("token")
    """The owner's token for HTTP."""
    tokens = _HomePath("tokens.json")
    """The tokens given to other programs: their digests and their rights."""
    uploads = _HomePath("uploads")
    """Exports that arrive over HTTP, until they have been read."""
    erasing = _HomePath("erasing")
    """The texts of erasures that are not finished, until they have been searched for."""
    jina = _HomePath("jina.json")
    """How many tokens were sent to the Jina API."""
    lock = _HomePath(LOCK)
    backups = _HomePath("backups")
    """What is known of the backups that were made of this home."""

    def bench_of(self, user: str) -> Path:
        """The folder of one user's questions and measurements, which forgetting the user removes. Its name is a
        digest, because a user's id may be any text."""
        return self.bench / blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    def locations(self) -> dict[str, Path]:
        """Every location, by name."""
        names = [name for name, value in vars(Home).items() if isinstance(value, _HomePath)]
        return {"home": self.root, **{name: getattr(self, name) for name in names}}


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path or several."""


def display_path(path: str | os.PathLike[str]) -> str:
    """A path as text to store and print: bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def is_there(path: str | bytes | os.PathLike[str]) -> bool:
    """Whether a file exists, as far as that can be told: one in a folder that can't be read may well be there."""
    try:
        os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return False
    except OSError:
        return True
    return True


def check_path(path: str | os.PathLike[str]) -> None:
    """
    Raises:
        UsageError: The path is empty. It must not mean the present folder: an unset variable of a shell is empty, too.
    """
    if not os.fspath(path):
        raise UsageError("The path is empty.", hint="Name a file or a folder; '.' is the present folder.")


def as_paths(paths: Paths) -> list[Path]:
    """Return one path or several as a list; "~" stands for the user's folder.

    Raises:
        UsageError: A path is empty.
    """
    path_list = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    for path in path_list:
        check_path(path)
    # Not Path.expanduser, which raises for a user that does not exist.
    return [Path(os.path.expanduser(path)) for path in path_list]


def absolute_path(path: str | os.PathLike[str]) -> Path:
    """Return the absolute path by which a file or folder is known: without "..", and with the links that it names. Only
    where ".." leads back out of a link is it another one, without links."""
    plain = os.path.abspath(path)
    if os.pardir not in Path(path).parts:
        return Path(plain)
    try:
        is_same = os.path.samefile(plain, path)
    except (OSError, ValueError):
        is_same = not os.path.lexists(path)
    return Path(plain if is_same else os.path.realpath(path))


def absolute_paths(paths: Paths) -> dict[Path, str]:
    """Return the absolute path of each path, and the path as it was given."""
    return {absolute_path(path): str(path) for path in as_paths(paths)}


def as_given(path: str, given: Mapping[Path, str]) -> str:
    """Return an absolute path, of a file or of what is in it, as it was given; ``given`` is of ``absolute_paths``."""
    for absolute, named in zip(map(str, given), given.values(), strict=True):
        if path == absolute or path.startswith((absolute + os.sep, absolute + "!")):
            return named + path[len(absolute) :]
    return path


def find_home(folder: str | os.PathLike[str] | None = None) -> Home:
    """Return the home to use: ``folder``, else ``APPLIANCE_HOME``, else the platform's data folder.

    The folder need not exist: see ``create_home`` and ``require_home``.
    """
    if configured := folder or os.environ.get(HOME_VARIABLE):
        return Home(Path(configured).expanduser().absolute())
    import platformdirs

    return Home(Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)))


def require_home(home: Home) -> Home:
    """Return the home if it exists and holds a store.

    Raises:
        HomeError: There is none, or it can't be used.
    """
    if not home.database.is_file():
        raise HomeError(
            _absence(home.root),
            where=str(home.root),
            hint="Start a memory with 'appliance ingest PATH' or 'appliance add TEXT', "
            f"or name another folder with --home or {HOME_VARIABLE}.",
        )
    return create_home(home)


def _absence(folder: Path) -> str:
    """What is there in place of a memory."""
    if folder.is_dir():
        return "There is no memory in this folder."
    return "This is a file, and a memory is a folder." if folder.exists() else "There is no such folder."


def is_read_only(home: Home) -> bool:
    """Whether a home with a memory lies where nothing can be written: on a read-only mount, or as somebody else's."""
    return home.database.is_file() and not os.access(home.root, os.W_OK)


def create_home(home: Home) -> Home:
    """Create the home and its folders where they are missing, private to the user; an existing home is closed to other
    users (``close_to_others``). A read-only memory stays as it is.

    Raises:
        HomeError: The path is a file, or can't be created, read or written.
        DiskFull: The disk has no room for it.
    """
    if is_read_only(home) and os.access(home.root, os.R_OK | os.X_OK):
        return home
    try:
        for folder in (home.root, home.vectors, home.index, home.models, home.inbox):
            if not folder.is_dir():
                folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        named = str(error.filename or home.root)
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            hint = "Make room on the disk, then try again. Everything that was acknowledged is kept."
            raise DiskFull("This folder can't be created: the disk is full.", where=named, hint=hint) from error
        raise HomeError(
            f"This folder can't be created: {error.strerror}.",
            where=named,
            hint=f"Name a folder that you can write to with --home or {HOME_VARIABLE}.",
        ) from error
    if not os.access(home.root, os.R_OK | os.W_OK | os.X_OK):
        raise HomeError(
            "You have no permission to read and write this folder.",
            where=str(home.root),
            hint=f"Change its permissions, or name another folder with --home or {HOME_VARIABLE}.",
        )
    if close_to_others(home) and home.database.exists():
        import logging

        words = "Other users of this machine could open %s. It is private now."
        logging.getLogger("appliance.home").warning(words, home.root)
    return home


def close_to_others(home: Home) -> bool:
    """Take the rights of other users from an existing home, as one has that was copied or restored by other means.
    Returns whether they had any.

    Only what the home consists of is changed: where other files lie in its folder, the folder keeps its mode. What
    belongs to another user, links, and file systems that know no modes stay as they are.
    """
    if os.name != "posix":
        return False
    try:
        with os.scandir(home.root) as scanned:
            entries = list(scanned)
    except OSError:
        return False
    own_names = {path.name for name, path in home.locations().items() if name != "home"}
    own = [entry.path for entry in entries if _is_of_home(entry.name, own_names)]
    places = own if len(own) < len(entries) else [os.fspath(home.root), *own]
    closed = [place for place in places if _close_one(place)]
    for place in closed:  # within a private folder nothing can be reached
        if place != os.fspath(home.root) and os.path.isdir(place):
            for entry in _walk(Path(place)):
                _close_one(entry.path)
    return bool(closed)


def _is_of_home(name: str, own_names: Set[str]) -> bool:
    return name.startswith(DATABASE) or name.removesuffix(".new") in own_names or name == "tokens.lock"


def _close_one(path: str) -> bool:
    """Take the rights of other users from a file or folder of this user. Returns whether they had any before."""
    with suppress(OSError):
        found = os.lstat(path)
        if stat.S_ISLNK(found.st_mode) or found.st_uid != os.geteuid() or not found.st_mode & _OTHERS_BITS:
            return False
        os.chmod(path, stat.S_IMODE(found.st_mode) & ~_OTHERS_BITS)
        return not os.lstat(path).st_mode & _OTHERS_BITS
    return False


def make_private(folder: Path) -> None:
    """Close a folder and everything in it to other users (modes 0700 and 0600)."""
    folder.chmod(FOLDER_MODE)
    for entry in _walk(folder):
        if entry.is_symlink():
            continue  # its target may lie outside the home
        mode = FOLDER_MODE if entry.is_dir(follow_symlinks=False) else FILE_MODE
        with suppress(FileNotFoundError):
            if stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) != mode:
                os.chmod(entry.path, mode)


def write_file_atomically(path: Path, data: bytes) -> None:
    """Replace a small file as a whole: a crash leaves the old content or the new, never a part."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename or a new file in ``folder`` survive a power cut. Does nothing where folders can't be opened, as on
    Windows."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


SAMPLE_PREFIX = "measure-"
"""Begins the names of folders in ``uploads`` with copies of messages, on which a new model is measured."""


def discard_samples(home: Home) -> None:
    """Remove copies of messages that a measurement uses, or has left behind when it was killed."""
    for folder in home.uploads.glob(f"{SAMPLE_PREFIX}*"):
        shutil.rmtree(folder, ignore_errors=True)


def file_stats(folder: Path) -> Iterator[os.stat_result]:
    """Yield the stat result of every file in a folder and its subfolders; skips files that disappear meanwhile."""
    for entry in _walk(folder):
        with suppress(FileNotFoundError):
            result = entry.stat()
            if stat.S_ISREG(result.st_mode):
                yield result


def file_entries(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Yield every file in a folder and its subfolders; links are left out."""
    return (entry for entry in _walk(folder) if entry.is_file(follow_symlinks=False))


def files(folder: Path) -> list[Path]:
    """Return every file in a folder and its subfolders, sorted; some may have disappeared since.

    Raises:
        OSError: A subfolder can't be read.
    """
    return sorted(Path(entry.path) for entry in _walk(folder) if entry.is_file())


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    """Everything in a folder; links to other folders are not followed. Skips folders that disappear meanwhile: the
    index replaces its own while it works, and Path.rglob would raise."""
    pending_folders = [os.fspath(folder)]
    while pending_folders:
        try:
            with os.scandir(pending_folders.pop()) as scanned:
                entries = list(scanned)
        except FileNotFoundError:
            continue
        yield from entries
        pending_folders += [entry.path for entry in entries if entry.is_dir(follow_symlinks=False)]


def copy_folder(source: Path, target: Path) -> None:
    """Copy a folder, private to the user and without the blanks of sparse files: of the 300 MB of an index, 17 are
    written.

    Raises:
        OSError: Something can't be read, or there is no room.
    """
    shutil.copytree(source, target, copy_function=_copy_sparse)
    make_private(target)


def _copy_sparse(source: str, target: str) -> None:
    with open(source, "rb") as old, open(target, "wb") as new:
        while block := old.read(_COPY_BYTES):
            if block.count(0) == len(block):
                new.seek(len(block), os.SEEK_CUR)
            else:
                new.write(block)
        new.truncate()
