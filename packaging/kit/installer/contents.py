"""What an installation consists of, file by file: from this one list it is written, its size is known, it is checked,
and what is damaged in it is written again."""

from __future__ import annotations

import base64
import csv
import hashlib
import io
import re
import stat
import tarfile
import zipfile
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from .kit_file import Kit, KitError
from .place import INSTALLER, IS_WINDOWS

OWN_PYTHON = "python"
"""The folder of a version's own Python, where the kit brings one."""

_RECORD = re.compile(r"[^/]+\.dist-info/RECORD")
SCRIPT = re.compile(r"[^/]+\.data/scripts/")
"""What the paths of a wheel's scripts begin with."""

_BLOCK = 4096
"""A file takes at least one block of the disk."""


@dataclass(frozen=True)
class File:
    """A file of an installation.

    Attributes:
        path: Below the folder of its version, with slashes.
        size: Its bytes.
        read: Returns its content; of a link, the path that it names.
        sha256: Of its content, where that is known without reading it.
    """

    path: str
    size: int
    read: Callable[[], bytes]
    sha256: bytes | None = None
    is_program: bool = False
    is_link: bool = False

    def is_whole(self, folder: Path) -> bool:
        """Whether it is in a version's folder as it should be."""
        path = folder / self.path
        try:
            if self.is_link or path.is_symlink():
                return self.is_link and path.is_symlink() and str(path.readlink()).encode() == self.read()
            if not path.is_file() or path.stat().st_size != self.size:
                return False
            if self.is_program and not IS_WINDOWS and not path.stat().st_mode & stat.S_IXUSR:
                return False
            return hashlib.sha256(path.read_bytes()).digest() == (self.sha256 or hashlib.sha256(self.read()).digest())
        except OSError:  # it can't be read
            return False

    def write(self, folder: Path) -> None:
        """Write it into a version's folder. What runs with the file that was there keeps that one."""
        path = folder / self.path
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_name(f".{path.name[:200]}.new")
        temporary.unlink(missing_ok=True)
        try:
            if self.is_link:
                temporary.symlink_to(self.read().decode())
            else:
                temporary.write_bytes(self.read())
                if self.is_program:
                    temporary.chmod(temporary.stat().st_mode | 0o111)
            temporary.replace(path)
        except OSError as error:  # of a write, it does not name the file
            temporary.unlink(missing_ok=True)
            raise OSError(error.errno, error.strerror, str(path)) from error


def files_of(kit: Kit) -> Iterator[File]:
    """The files of a kit's installation but for the environment around them, which Python's ``venv`` makes. Each holds
    the package that it comes from in memory."""
    version = kit.description["target"]["python"]
    site = "Lib/site-packages" if IS_WINDOWS else f"lib/python{version}/site-packages"
    for name in kit.description["wheels"]:
        wheel = zipfile.ZipFile(io.BytesIO(kit.read(f"wheels/{name}")))
        for file in wheel_files(wheel, name):
            yield _below(site, file)
    for name in kit.names("share/"):
        yield _entry(kit, name, name)
    for name in [*kit.names("installer/"), "__main__.py"]:
        yield _entry(kit, name, f"{INSTALLER}/{name}")
    if (python := kit.python_archive()) is not None:
        with tarfile.open(fileobj=io.BytesIO(python)) as archive:
            for file in archive_files(archive):
                yield _below(OWN_PYTHON, file)


def _entry(kit: Kit, name: str, path: str) -> File:
    content = kit.read(name)
    return File(path, len(content), partial(kit.read, name), hashlib.sha256(content).digest())


def _below(folder: str, file: File) -> File:
    return replace(file, path=f"{folder}/{file.path}")


def wheel_files(
    wheel: zipfile.ZipFile, name: str, is_used: Callable[[str], bool] = lambda path: True
) -> Iterator[File]:
    """The files of a wheel as they are installed: without scripts, since the program starts modules alone.

    Args:
        is_used: Whether a path is to be installed. Its list of files (``RECORD``) then says nothing of the others.

    Raises:
        KitError: The wheel has data, which belong elsewhere, or no list of its files.
    """
    listed = next((one for one in wheel.namelist() if _RECORD.fullmatch(one)), None)
    if listed is None:
        raise KitError(f"{name} has no list of its files.")
    lines = csv.reader(wheel.read(listed).decode().splitlines())
    rows = [row for row in lines if row and is_used(row[0]) and not SCRIPT.match(row[0])]
    sums = {row[0]: row[1] for row in rows}
    for entry in wheel.infolist():
        path = entry.filename
        if path.endswith("/") or path == listed or not is_used(path) or SCRIPT.match(path):
            continue
        if path.partition("/")[0].endswith(".data") or path.startswith("/") or ".." in path.split("/"):
            raise KitError(f"{name} holds {path}: not a module.")
        is_program = bool(entry.external_attr >> 16 & stat.S_IXUSR)
        yield File(path, entry.file_size, partial(wheel.read, path), _digest(sums.get(path, "")), is_program)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    record = text.getvalue().encode()
    yield File(listed, len(record), lambda: record)


def _digest(listed: str) -> bytes | None:
    """A checksum as wheels list it."""
    kind, _, value = listed.partition("=")
    return base64.urlsafe_b64decode(value + "=" * (-len(value) % 4)) if kind == "sha256" else None


def archive_files(archive: tarfile.TarFile) -> Iterator[File]:
    """The files of a tar archive."""
    for member in archive:
        if member.issym():
            yield File(member.name, 0, partial(str.encode, member.linkname), is_link=True)
        elif member.isfile():
            content = archive.extractfile(member)
            assert content is not None
            data = content.read()
            yield File(member.name, len(data), partial(bytes, data), is_program=bool(member.mode & stat.S_IXUSR))


def needed_bytes(files: Iterable[File]) -> int:
    """The room that an installation takes, with the byte code that Python makes of its modules."""
    return sum(-(-file.size // _BLOCK) * _BLOCK + (file.size if file.path.endswith(".py") else 0) for file in files)
