"""The files of the program: whether they are as they were installed. It imports the standard library alone, so that it
works where anything else is damaged."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from appliance.doctor.checks import Check, failed, passed
from appliance.runtime.installation import how_to_repair

PROJECT = "memory-appliance"
SUMS = "SHA256SUMS"
"""The list of its files that a frozen program has beside it, and a kit's own Python, as ``sha256sum`` writes it."""

_HASHED_ELSEWHERE = "appliance_models/packs/"
"""Models: the check of models compares their content, and this one only their sizes."""

_OF_THE_SYSTEM = "certifi/cacert.pem"
"""To this list of authorities administrators add their own."""

_NAME = re.compile(r"[A-Za-z0-9._-]+")
_NAMED = 5


@dataclass(frozen=True, slots=True)
class FileFacts:
    """The files that this program was installed with.

    Attributes:
        packages, files: How many are listed.
        damaged: By folder, what is wrong with which file below it.
        again: How to put the files right.
    """

    packages: int
    files: int
    damaged: Mapping[str, Sequence[str]]
    again: str


@dataclass(frozen=True, slots=True)
class ListedFile:
    """A file as the list of a package has it: its name below a folder; ``size`` and ``sha256`` where the list says
    them."""

    folder: Path
    name: str
    size: int | None
    sha256: bytes | None


def file_facts() -> FileFacts:
    """Compare each listed file with its size and SHA-256."""
    if getattr(sys, "frozen", False):
        folder = Path(sys.executable).parent
        listed: list[ListedFile] = [*summed_files(folder)]
        return FileFacts(1 if listed else 0, len(listed), {str(folder): [*damage_of(listed)]}, how_to_repair())
    python = [*summed_files(Path(sys.base_prefix))] if _has_own_python() else []
    packages, files, damaged = 0, len(python), list[str]()
    for package in _packages():
        try:
            listed = [*listed_files(package)]
        except (ValueError, IndexError, OSError) as error:
            damaged.append(f"the list of files of {package.name} can't be read ({error})")
            continue
        packages, files = packages + bool(listed), files + len(listed)
        damaged += damage_of(listed)
    return FileFacts(packages, files, {_folder(): damaged, sys.base_prefix: [*damage_of(python)]}, how_to_repair())


def _has_own_python() -> bool:
    """Whether a kit has brought the Python, which is then in the folder of the program's environment."""
    return sys.base_prefix != sys.prefix and Path(sys.base_prefix).is_relative_to(sys.prefix)


def _folder() -> str:
    return str(Path(__file__).parents[2])


def _packages() -> Iterator[metadata.Distribution]:
    """This program's package, and those that it needs, and they in turn, if they are installed in the same folder: the
    system's are not this program's to judge."""
    waiting, seen, folder = [PROJECT], {PROJECT}, ""
    while waiting:
        try:
            package = metadata.distribution(waiting.pop())
        except metadata.PackageNotFoundError:  # it is a clone, or a requirement of another system
            continue
        place = os.path.realpath(str(package.locate_file("")))
        if place != (folder := folder or place):
            continue
        yield package
        for line in package.requires or ():
            match = _NAME.match(line)
            if match and "extra ==" not in line and (name := re.sub(r"[-_.]+", "-", match[0]).lower()) not in seen:
                seen.add(name)
                waiting.append(name)


def listed_files(package: metadata.Distribution) -> Iterator[ListedFile]:
    """The files of an installed package that its ``RECORD`` lists with a checksum. None where a system's own packages
    have no such list.

    Raises:
        ValueError, IndexError: The list is damaged.
    """
    text = package.read_text("RECORD")
    if text is None and package.read_text("WHEEL") is not None and package.read_text("INSTALLER") in (None, "pip\n"):
        raise ValueError("it is missing")
    root = Path(str(package.locate_file("")))
    for row in csv.reader((text or "").splitlines()):
        kind, _, digest = row[1].partition("=")
        if kind == "sha256" and not row[0].endswith(_OF_THE_SYSTEM):
            size = int(row[2]) if row[2] else None
            yield ListedFile(root, row[0], size, base64.urlsafe_b64decode(digest + "=" * (-len(digest) % 4)))


def summed_files(folder: Path) -> Iterator[ListedFile]:
    """The files of a folder that its list names, if it has one."""
    try:
        lines = (folder / SUMS).read_text(encoding="utf-8").splitlines()
    except OSError:
        return
    for line in lines:
        digest, _, name = line.partition("  ")
        yield ListedFile(folder, name, None, bytes.fromhex(digest))


def damage_of(listed: Iterable[ListedFile]) -> Iterator[str]:
    """What is wrong with which of these files."""
    for file in listed:
        try:
            path = file.folder / file.name
            size = os.stat(path).st_size
            if file.size is not None and size != file.size:
                yield f"{file.name} has {size:,} bytes, not {file.size:,}"
            elif file.sha256 is not None and _HASHED_ELSEWHERE not in file.name:
                with path.open("rb") as content:
                    if hashlib.file_digest(content, "sha256").digest() != file.sha256:
                        yield f"{file.name} is not as it was installed"
        except FileNotFoundError:
            yield f"{file.name} is missing"
        except OSError as error:
            yield f"{file.name} can't be read ({error.strerror})"


def check_files(facts: FileFacts) -> Check:
    """Whether the program's files are as they were installed."""
    parts = []
    for folder, damaged in facts.damaged.items():
        more = [f"{len(damaged) - _NAMED:,} more"] if len(damaged) > _NAMED else []
        parts += [f"{'; '.join([*damaged[:_NAMED], *more])} (in {folder})"] if damaged else []
    if parts:
        return failed("files", "; ".join(parts), facts.again)
    if not facts.files:
        return passed("files", "a clone, or packages of the system: there is no list to compare them with")
    return passed("files", f"{facts.files:,} files of {facts.packages:,} packages are as they were installed")


def damage(error: Exception) -> Check | None:
    """The check of the files, if it fails, after an error that a damaged file may have caused. None if no file is
    damaged, or the files can't be checked either."""
    try:
        check = check_files(file_facts())
    except Exception:
        return None
    if check.ok and (isinstance(error, EOFError) or "marshal" in str(error)):  # lists of files leave byte code out
        return failed("files", "the byte code of a module is damaged", how_to_repair())
    return None if check.ok else check
