"""The folder of a home: its file system, room and permissions. A home that does not exist yet is judged by the folder
in which it would be made."""

from __future__ import annotations

import errno
import mmap
import os
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from appliance.doctor.checks import Check, Fault, failed, judged, passed, size
from appliance.paths import Home
from appliance.runtime import file_locks
from appliance.store.room import free_bytes

MIN_FREE_BYTES = 200_000_000
"""A small memory takes 20 MB; an index is written anew beside the old one."""

MIN_FREE_FILES = 1000

NETWORK_FILE_SYSTEMS = frozenset(
    "nfs nfs4 cifs smb3 smbfs smb2 9p afs ceph glusterfs fuse.sshfs fuse.rclone fuse.glusterfs fuse.s3fs davfs"
    " fuse.davfs2 webdav afpfs vboxsf fuse.vmhgfs-fuse virtiofs".split()
)
"""Of machines elsewhere, or of a virtual machine's host: locks and mapped files do not reach all who use them."""

MEMORY_FILE_SYSTEMS = frozenset({"tmpfs", "ramfs"})

_OTHERS_BITS = 0o077
_LISTED = 3


@dataclass(frozen=True, slots=True)
class Mount:
    """Where a file system is mounted, its kind, and whether it is read-only."""

    point: str
    kind: str
    is_read_only: bool


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """The file system below a home.

    Attributes:
        home: The home's folder.
        has_memory: Whether a memory is in it.
        mount: Its file system; None where the system does not tell.
        is_read_only: Whether nothing can be written.
        free_bytes, free_files: What this user may still use. ``free_files`` is None where they are not counted.
        ignores_case: Whether "A" and "a" are one file there.
        lacks: What it can't do of what a memory needs.
    """

    home: Path
    has_memory: bool
    mount: Mount | None
    is_read_only: bool
    free_bytes: int
    free_files: int | None
    ignores_case: bool
    lacks: tuple[str, ...]


def folder_facts(home: Home) -> FolderFacts:
    """Look at the file system. Nothing is made in it: what it can do is tried on a file without a name."""
    folder = nearest_folder(home.root)
    has_memory = os.path.isfile(home.database)
    if sys.platform == "win32":
        return FolderFacts(home.root, has_memory, None, False, free_bytes(folder), None, ignores_case=True, lacks=())
    counted = os.statvfs(folder)
    return FolderFacts(
        home.root,
        has_memory,
        mount_of(folder),
        is_read_only=bool(counted.f_flag & os.ST_RDONLY),
        free_bytes=counted.f_bavail * counted.f_frsize,
        free_files=counted.f_favail if counted.f_files else None,
        ignores_case=_ignores_case(folder),
        lacks=tuple(_lacks(folder)),
    )


def nearest_folder(path: Path) -> Path:
    """The folder itself, or the nearest one above it that exists."""
    return next((folder for folder in (path, *path.parents) if os.path.isdir(folder)), Path(path.anchor or "."))


def is_closed(folder: Path) -> bool:
    """Whether a folder is there that this user may not look into, or one above it."""
    try:
        folder.stat()
    except FileNotFoundError:
        return False
    except PermissionError:
        return True
    except OSError:
        return False
    return not os.access(folder, os.R_OK | os.X_OK)


def mount_of(folder: Path) -> Mount | None:
    """The file system in which a folder lies; None where the system does not tell."""
    try:
        text = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="surrogateescape")
    except OSError:
        return None
    return find_mount(text, os.path.realpath(folder))


def find_mount(mountinfo: str, folder: str) -> Mount | None:
    """The mount that holds a folder, by the lines of /proc/self/mountinfo; of several at one place, the last."""
    found = None
    for line in mountinfo.splitlines():
        before, _, after = line.partition(" - ")
        fields, kinds = before.split(), after.split()
        point = _unescaped(fields[4])
        is_within = folder == point or folder.startswith(point.rstrip("/") + "/")
        if is_within and (found is None or len(point) >= len(found.point)):
            found = Mount(point, kinds[0], "ro" in fields[5].split(",") or "ro" in kinds[2].split(","))
    return found


def _unescaped(text: str) -> str:
    """A path in which the kernel has written blanks and backslashes as octal numbers."""
    return re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), text)


def _ignores_case(folder: Path) -> bool:
    other = folder.with_name(folder.name.swapcase())
    if other == folder:
        return False
    with suppress(OSError):
        return os.path.samefile(folder, other)
    return False


def _lacks(folder: Path) -> Iterator[str]:
    """What can't be done with a file there, tried on one that has no name and is gone at once."""
    unnamed = getattr(os, "O_TMPFILE", None)
    if unnamed is None:
        return
    try:
        descriptor = os.open(folder, os.O_RDWR | unnamed, 0o600)
    except OSError:  # full, read-only, or a file system that knows no such files
        return
    try:
        for name, attempt in _ATTEMPTS.items():
            try:
                attempt(descriptor)
            except OSError as error:
                if error.errno not in (errno.ENOSPC, errno.EDQUOT):  # its room is looked at by itself
                    yield name
    finally:
        os.close(descriptor)


def _lock_region(descriptor: int) -> None:
    if sys.platform != "win32":
        import fcntl

        fcntl.lockf(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB, 1)


def _map(descriptor: int) -> None:
    os.pwrite(descriptor, b"a" * mmap.PAGESIZE, 0)
    with mmap.mmap(descriptor, mmap.PAGESIZE) as mapped:
        mapped[0] = ord("b")
    if os.pread(descriptor, 1, 0) != b"b":
        raise OSError(errno.EIO, "a mapped file does not change")


_ATTEMPTS: dict[str, Callable[[int], None]] = {
    "locks (flock)": lambda descriptor: file_locks.lock(descriptor, wait=False),
    "locks of a part (SQLite's)": _lock_region,
    "flushing (fsync)": os.fsync,
    "mapped files (mmap)": _map,
}


def check_file_system(facts: FolderFacts) -> Check:
    """Whether a memory is safe on this file system."""
    kind = facts.mount.kind if facts.mount else ""
    move = (
        "Move the memory to a disk of this machine: 'appliance backup FOLDER', then"
        " 'appliance restore FOLDER --home NEW', and set APPLIANCE_HOME to it."
    )
    faults = []
    if kind in NETWORK_FILE_SYSTEMS:
        faults.append(Fault(f"{kind} is a file system of another machine, where locks are not kept for sure", move))
    if kind in MEMORY_FILE_SYSTEMS and facts.has_memory:
        faults.append(Fault(f"{kind} lies in main memory: this home is lost when the machine restarts", move))
    if facts.lacks:
        faults.append(Fault(f"{kind or 'its file system'} can't do: {', '.join(facts.lacks)}", move))
    if facts.is_read_only:
        faults.append(
            Fault(
                "it is mounted read-only: a memory in it can be read, and nothing can be added",
                "If that is not meant, look at 'dmesg' for errors of the disk, and mount it again.",
            )
        )
    place = f"{kind}, mounted at {facts.mount.point}" if facts.mount else "kind not known on this system"
    return judged("file system", (place, "it does not tell A from a" if facts.ignores_case else ""), faults)


def check_room(facts: FolderFacts) -> Check:
    """Whether the disk has room."""
    room = f"{size(facts.free_bytes)} free"
    faults = []
    if facts.free_bytes < MIN_FREE_BYTES:
        faults.append(
            Fault(
                f"{room}; an import needs {size(MIN_FREE_BYTES)}",
                "Make room on the disk. 'appliance status' shows what the memory takes, 'appliance reindex --drop-old'"
                " removes vectors of earlier models.",
            )
        )
    if facts.free_files is not None and facts.free_files < MIN_FREE_FILES:
        faults.append(
            Fault(f"room for {facts.free_files:,} more files only", "Remove files that are not needed ('df -i').")
        )
    files = f"room for {facts.free_files:,} more files" if facts.free_files is not None else ""
    return judged("disk", (room, files), faults)


# --- permissions -------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PermissionFacts:
    """Who may do what with a home.

    Attributes:
        home: The home's folder.
        exists: Whether it is there.
        can_use: Whether this user may read, write and enter it; for one that is not there, whether it can be made.
        user: The id of this user.
        owner: The id of its owner.
        is_open: Whether other users may enter it.
        open_files: The files and folders in it that other users may read or change.
        foreign_files: The ones that another user owns.
    """

    home: Path
    exists: bool
    can_use: bool
    user: int
    owner: int
    is_open: bool
    open_files: tuple[str, ...] = ()
    foreign_files: tuple[str, ...] = ()


def permission_facts(home: Home) -> PermissionFacts | None:
    """None on a system without modes of files."""
    if os.name != "posix":
        return None
    user = os.geteuid()
    if not os.path.isdir(home.root):
        return PermissionFacts(
            home.root, False, os.access(nearest_folder(home.root), os.W_OK | os.X_OK), user, user, False
        )
    found = home.root.stat()
    is_open = bool(found.st_mode & _OTHERS_BITS)
    open_files, foreign = [], []
    for path, state in _states(home.root):
        if state.st_uid != found.st_uid:
            foreign.append(path)
        if is_open and state.st_mode & _OTHERS_BITS and not stat.S_ISLNK(state.st_mode):
            open_files.append(path)
    is_read_only = bool(os.statvfs(home.root).f_flag & os.ST_RDONLY)  # which is said of its file system
    can_use = os.access(home.root, os.R_OK | os.X_OK | (0 if is_read_only else os.W_OK))
    return PermissionFacts(
        home.root, True, can_use, user, found.st_uid, is_open, tuple(sorted(open_files)), tuple(sorted(foreign))
    )


def _states(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    for root, folders, files in os.walk(folder):
        for name in (*folders, *files):
            path = os.path.join(root, name)
            with suppress(OSError):
                yield os.path.relpath(path, folder), os.lstat(path)


def check_permissions(facts: PermissionFacts) -> Check:
    """Whether this user can use the home, and others can't read it."""
    home = shlex.quote(str(facts.home))
    if not facts.exists:
        if facts.can_use:
            return passed("permissions", "the home can be made, for this user alone")
        where = nearest_folder(facts.home)
        return failed(
            "permissions",
            f"the home can't be made: {where} does not let this user write",
            "Name another folder with --home or APPLIANCE_HOME.",
        )
    faults = []
    if facts.owner != facts.user:
        fix = (
            "Run the program as that user: what root writes, the owner can't change."
            if facts.user == 0
            else f"Name another one with --home, or take it over: sudo chown -R {facts.user} {home}"
        )
        faults.append(Fault(f"the home belongs to {user_name(facts.owner)}, and this is {user_name(facts.user)}", fix))
    if not facts.can_use:
        faults.append(Fault("this user may not read and write it", f"Allow it: chmod -R u+rwX {home}"))
    if facts.foreign_files:
        faults.append(
            Fault(
                f"{_named(facts.foreign_files)} belong to another user than the home",
                f"Give them to its owner: sudo chown -R {facts.owner} {home}",
            )
        )
    if facts.open_files:
        faults.append(Fault(f"other users may read {_named(facts.open_files)}", f"Close it: chmod -R go= {home}"))
    details = ("other users may list it, and read nothing in it" if facts.is_open else "private to this user",)
    return judged("permissions", details, faults)


def _named(files: tuple[str, ...]) -> str:
    more = f" and {len(files) - _LISTED} more" if len(files) > _LISTED else ""
    return ", ".join(files[:_LISTED]) + more


def user_name(number: int) -> str:
    """ "ana", or "user 1000" where the system knows no name."""
    if sys.platform != "win32":
        import pwd

        with suppress(KeyError):
            return pwd.getpwuid(number).pw_name
    return f"user {number}"
