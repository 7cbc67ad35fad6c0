"""Where everything lies. One folder, the home, holds all of it."""

from __future__ import annotations

import os
import stat
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import blake2b
from pathlib import Path

from appliance.errors import HomeError

APP_NAME = "appliance"
HOME_VARIABLE = "APPLIANCE_HOME"
FOLDER_MODE = 0o700
FILE_MODE = 0o600


@dataclass(frozen=True, slots=True)
class Home:
    """The folder that holds everything, and the places in it."""

    root: Path

    @property
    def config(self) -> Path:
        return self.root / "config.toml"

    @property
    def database(self) -> Path:
        return self.root / "recall.db"

    @property
    def vectors(self) -> Path:
        return self.root / "vectors"

    @property
    def index(self) -> Path:
        return self.root / "index"

    @property
    def models(self) -> Path:
        return self.root / "models"

    @property
    def inbox(self) -> Path:
        return self.root / "inbox"

    @property
    def bench(self) -> Path:
        return self.root / "bench"

    def bench_of(self, user: str) -> Path:
        """Where a user's questions and measurements lie: to forget the user is to remove it. A digest names
        it, because a user's id may be any text."""
        return self.bench / blake2b(user.encode("utf-8", "surrogatepass"), digest_size=8).hexdigest()

    @property
    def lock(self) -> Path:
        return self.root / "lock"

    @property
    def daemon(self) -> Path:
        """What a daemon says of itself: where it listens, and its process."""
        return self.root / "daemon.json"

    @property
    def socket(self) -> Path:
        return self.root / "socket"

    @property
    def token(self) -> Path:
        """The owner's token for HTTP."""
        return self.root / "token"

    @property
    def tokens(self) -> Path:
        """What is known of the tokens that were given to others: digests and what they may do."""
        return self.root / "tokens.json"

    @property
    def uploads(self) -> Path:
        """Exports that are being sent over HTTP, until they have been read."""
        return self.root / "uploads"

    @property
    def logs(self) -> Path:
        return self.root / "logs"

    def places(self) -> dict[str, Path]:
        """Every location, by name."""
        names = (
            "root", "config", "database", "vectors", "index", "models", "inbox", "bench", "logs", "daemon",
            "socket", "token", "tokens", "uploads", "lock",
        )  # fmt: skip
        return {("home" if name == "root" else name): getattr(self, name) for name in names}


Paths = str | os.PathLike[str] | Sequence[str | os.PathLike[str]]
"""One path or several, as a person names them."""


def as_paths(given: Paths) -> list[Path]:
    """One path or several as a list, with "~" for the user's folder."""
    several = [given] if isinstance(given, str | os.PathLike) else given
    return [Path(path).expanduser() for path in several]


def find_home(given: str | os.PathLike[str] | None = None) -> Home:
    """The home to use: ``given``, else ``APPLIANCE_HOME``, else the platform's data folder.

    Only finds it; see ``create_home`` and ``require_home``.
    """
    named = given or os.environ.get(HOME_VARIABLE)
    if named:
        return Home(Path(named).expanduser().absolute())
    import platformdirs

    return Home(Path(platformdirs.user_data_dir(APP_NAME, appauthor=False)))


def require_home(home: Home) -> Home:
    """The home, when it exists and holds a store.

    Raises:
        HomeError: there is none, or it can't be used.
    """
    if not home.database.is_file():
        what = "no memory in this folder" if home.root.is_dir() else "no such folder"
        raise HomeError(
            what,
            where=str(home.root),
            hint="begin one with 'appliance ingest PATH' or 'appliance add TEXT', "
            f"or name another with --home or {HOME_VARIABLE}",
        )
    return create_home(home)


def create_home(home: Home) -> Home:
    """Make the home and its folders where they are missing, private to the user.

    Raises:
        HomeError: the path is a file, or can't be made, read or written.
    """
    try:
        for folder in (home.root, home.vectors, home.index, home.models, home.inbox):
            if folder.is_dir():
                continue
            folder.mkdir(mode=FOLDER_MODE, parents=True, exist_ok=True)
    except OSError as error:
        raise HomeError(
            f"can't make this folder ({error.strerror})",
            where=str(error.filename or home.root),
            hint="name a folder that you can write to with --home or " + HOME_VARIABLE,
        ) from error
    if not os.access(home.root, os.R_OK | os.W_OK | os.X_OK):
        raise HomeError(
            "this folder can't be read and written",
            where=str(home.root),
            hint="give yourself the rights to it, or name another with --home or " + HOME_VARIABLE,
        )
    return home


def make_private(folder: Path) -> None:
    """Close a folder and all that is in it to other users (0700 and 0600)."""
    folder.chmod(FOLDER_MODE)
    for entry in _under(folder):
        if entry.is_symlink():
            continue  # what it leads to is not ours
        wanted = FOLDER_MODE if entry.is_dir(follow_symlinks=False) else FILE_MODE
        with suppress(FileNotFoundError):
            if stat.S_IMODE(entry.stat(follow_symlinks=False).st_mode) != wanted:
                os.chmod(entry.path, wanted)


def write_small_file(path: Path, data: bytes) -> None:
    """Replace a small file whole: a crash leaves the old one or the new one, never a part."""
    temporary = path.with_name(path.name + ".new")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, FILE_MODE)
    with os.fdopen(descriptor, "wb") as file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    os.replace(temporary, path)
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename or a new file in ``folder`` survive a power cut (a no-op where folders can't be
    opened, as on Windows)."""
    try:
        descriptor = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def sizes(folder: Path) -> Iterator[os.stat_result]:
    """The measures of every file in a folder; files that go meanwhile are passed over."""
    for entry in _under(folder):
        with suppress(FileNotFoundError):
            found = entry.stat()
            if stat.S_ISREG(found.st_mode):
                yield found


def files(folder: Path) -> list[Path]:
    """Every file in a folder, in order; what goes meanwhile may be among them.

    Raises:
        OSError: a folder in it can't be read.
    """
    return sorted(Path(entry.path) for entry in _under(folder) if entry.is_file())


def _under(folder: Path) -> Iterator[os.DirEntry[str]]:
    """All that is in a folder, links to others not followed. One that goes meanwhile is passed over: the index replaces
    its own as it works, on which Path.rglob raises."""
    waiting = [os.fspath(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                found = list(entries)
        except FileNotFoundError:
            continue
        yield from found
        waiting += [entry.path for entry in found if entry.is_dir(follow_symlinks=False)]
