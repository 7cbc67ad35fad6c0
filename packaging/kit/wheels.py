"""The wheels of a kit: the project's own, and those of everything that it imports, as they are pinned."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename

from kit.installer.contents import SCRIPT, wheel_files
from kit.targets import LEGACY_GLIBC, Target

LEFT_OUT: Mapping[str, str] = {
    "huggingface-hub": "tokenizers fetches models with it, when asked by name; this program reads them from files",
    "requests": "tiktoken fetches its tables with it; this program brings its own",
    "pip": "sqlite-utils installs plugins with it",
}
"""Pinned packages that the program never loads, and why something else asks for them. With them go those that only
they need."""

UNUSED_FILES: Mapping[str, str] = {
    "zstandard/_cffi*": "its second implementation, for other Pythons than CPython",
    "onnxruntime/transformers": "tools that make models",
    "onnxruntime/quantization": "tools that make models",
    "onnxruntime/capi/libonnxruntime.so*": "for programs in C; Python has its own",
    "onnxruntime/tools": "tools that make models",
    "numpy/f2py": "builds extensions",
    "numpy/distutils": "builds extensions",
    "numpy/_core/include": "builds extensions",
    "numpy/_core/lib": "builds extensions",
    "**/tests": "the tests of its packages",
    "**/*.pyi": "types for checkers of other programs",
}
"""What an installation does without, as patterns of paths, and why: 58 MB, and 17 MB of a kit."""

_NAME_LENGTH_AT = 26
"""Where in the header of a zip archive's entry the lengths of its name and of what follows stand, and after them the
content."""

_DATA = re.compile(r"[^/]+\.data/")
_GLIBC = re.compile(r"manylinux_(\d+)_(\d+)")
_MACOS = re.compile(r"macosx_(\d+)_(\d+)")
_PIN = re.compile(r"^(?P<name>[A-Za-z0-9._-]+)==(?P<version>[^ ;\\]+)")


@dataclass(frozen=True, slots=True)
class Wheel:
    """A wheel file and its metadata."""

    path: Path
    name: str
    version: str
    metadata: Message

    @property
    def tags(self) -> frozenset[Tag]:
        """Which Pythons and systems it is for."""
        return parse_wheel_filename(self.path.name)[3]

    def requirements(self, target: Target, extras: Sequence[str] = ()) -> Iterator[tuple[str, Sequence[str]]]:
        """What it needs there: normalised names, each with the extras that are asked for."""
        for line in self.metadata.get_all("Requires-Dist", []):
            requirement = Requirement(line)
            marker, values = requirement.marker, target.markers
            if marker is None or any(marker.evaluate(values | {"extra": extra}) for extra in ("", *extras)):
                yield canonicalize_name(requirement.name), sorted(requirement.extras)

    def names(self) -> list[str]:
        """The names of its files, as they are installed."""
        with zipfile.ZipFile(self.path) as archive:
            return [name for name in archive.namelist() if not name.endswith("/")]


def slim(wheel: Wheel, folder: Path) -> Wheel:
    """A wheel without ``UNUSED_FILES``, which is written into a folder unless it is there; the wheel itself if it has
    none of them. Its list of files leaves them out as well, so that it is a wheel as any other.

    Raises:
        ValueError: It has data, for which the kit's installer knows no place.
    """
    if odd := [name for name in wheel.names() if _DATA.match(name) and not SCRIPT.match(name)]:
        raise ValueError(f"{wheel.path.name} holds {odd[0]}: not a module")
    if all(map(is_used, wheel.names())):
        return wheel
    digest = hashlib.sha256(wheel.path.read_bytes() + "\n".join(UNUSED_FILES).encode()).hexdigest()
    path = folder / digest[:16] / wheel.path.name
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary = path.with_suffix(".new")
        with zipfile.ZipFile(wheel.path) as whole, zipfile.ZipFile(temporary, "w") as archive:
            for file in wheel_files(whole, wheel.path.name, is_used):
                if file.path.endswith(".dist-info/RECORD"):
                    archive.writestr(zipfile.ZipInfo(file.path), file.read())
                else:
                    _copy_entry(whole, whole.getinfo(file.path), archive)
        temporary.replace(path)
    return replace(wheel, path=path)


def _copy_entry(source: zipfile.ZipFile, entry: zipfile.ZipInfo, target: zipfile.ZipFile) -> None:
    """Copy an entry as it is compressed: to do that anew takes six seconds, and depends on the version of zlib."""
    assert source.fp is not None and target.fp is not None
    source.fp.seek(entry.header_offset + _NAME_LENGTH_AT)
    name, more = struct.unpack("<HH", source.fp.read(4))
    source.fp.seek(name + more, os.SEEK_CUR)
    copy = zipfile.ZipInfo(entry.filename, entry.date_time)
    for attribute in ("compress_type", "CRC", "compress_size", "file_size", "external_attr", "create_system"):
        setattr(copy, attribute, getattr(entry, attribute))
    copy.header_offset = target.fp.tell()
    target.fp.write(copy.FileHeader(zip64=False) + source.fp.read(entry.compress_size))
    target.filelist.append(copy)
    target.NameToInfo[copy.filename] = copy
    target.start_dir = target.fp.tell()


def is_used(path: str) -> bool:
    """Whether an installation needs a file of a wheel."""
    return _UNUSED.fullmatch(path) is None


def _pattern(patterns: Iterable[str]) -> re.Pattern[str]:
    """What matches the paths of patterns, as ``Path.glob`` has them, and everything below."""
    parts = [re.escape(one).replace(r"\*\*/", "(?:.*/)?").replace(r"\*", "[^/]*") for one in patterns]
    return re.compile(f"(?:{'|'.join(parts)})(?:/.*)?")


_UNUSED = _pattern(UNUSED_FILES)


def least_system(wheels: Sequence[Wheel], target: Target) -> dict[str, str]:
    """The oldest system that all the wheels run on: ``{"glibc": "2.28"}`` or ``{"macos": "11.0"}``. Nothing on
    Windows."""
    system, pattern = ("glibc", _GLIBC) if target.platform.startswith("linux") else ("macos", _MACOS)
    found = [(0, 0)]
    for wheel in wheels:
        # A wheel with several tags runs on each of them: the oldest counts.
        tags = [LEGACY_GLIBC.get(one.platform.partition("_")[0], one.platform) for one in wheel.tags]
        versions = [(int(match[1]), int(match[2])) for tag in tags if (match := pattern.match(tag))]
        found.append(min(versions, default=(0, 0)))
    return {system: "{}.{}".format(*max(found))} if max(found) > (0, 0) else {}


def read_wheel(path: Path) -> Wheel:
    """Read the metadata of a wheel."""
    name, version, _, _ = parse_wheel_filename(path.name)
    with zipfile.ZipFile(path) as wheel:
        (entry,) = (one for one in wheel.namelist() if re.fullmatch(r"[^/]+\.dist-info/METADATA", one))
        return Wheel(path, name, str(version), BytesParser().parsebytes(wheel.read(entry)))


def pinned_for(constraints: str, target: Target) -> Iterator[str]:
    """The requirements of a constraints file that hold on the target, each with its hashes and without its marker: pip
    evaluates markers for the Python that runs it."""
    for block in re.split(r"\n(?=[^\s#])", constraints):
        requirement_lines = [line for line in block.splitlines() if line and not line.lstrip().startswith("#")]
        if not requirement_lines or _PIN.match(requirement_lines[0]) is None:
            continue
        requirement = Requirement(requirement_lines[0].rstrip(" \\"))
        if requirement.marker is None or requirement.marker.evaluate(target.markers):
            yield "\n".join([f"{requirement.name}{requirement.specifier} \\", *requirement_lines[1:]])


def download(constraints: Path, target: Target, folder: Path) -> list[Wheel]:
    """Fetch the pinned wheels of a target into a folder. Where all are there already, as their hashes say, nothing is
    asked of the registry.

    Raises:
        subprocess.CalledProcessError: One of them can't be had, or is not what its hash says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pins = folder / "requirements.txt"
    pins.write_text("\n".join(pinned_for(constraints.read_text(), target)) + "\n")
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^ ]+)", pins.read_text(), re.MULTILINE)
    wanted = {(canonicalize_name(name), version) for name, version in pinned}
    hashes = frozenset(re.findall(r"--hash=sha256:([0-9a-f]{64})", pins.read_text()))
    found = _found(folder, hashes, wanted)
    if len(found) < len(wanted):
        abi = f"cp{target.python.replace('.', '')}"
        options = ["--only-binary=:all:", "--no-deps", "--require-hashes", "--implementation", "cp", "--python-version"]
        platforms = [part for tag in target.wheel_platforms for part in ("--platform", tag)]
        abis = [part for one in (abi, "abi3", "none") for part in ("--abi", one)]
        files = ["-r", str(pins), "-d", str(folder)]
        pip = [sys.executable, "-m", "pip", "download", "-q"]
        subprocess.run([*pip, *options, target.python, *abis, *platforms, *files], check=True)
        found = _found(folder, hashes, wanted)
    return found


def _found(folder: Path, hashes: frozenset[str], wanted: Set[tuple[str, str]]) -> list[Wheel]:
    """The wheels of a folder that are wanted, and are what their hashes say."""
    wheels = []
    for path in sorted(folder.glob("*.whl")):
        name, version, _, _ = parse_wheel_filename(path.name)
        if (name, str(version)) in wanted and hashlib.sha256(path.read_bytes()).hexdigest() in hashes:
            wheels.append(read_wheel(path))
    return wheels


def build_project(root: Path, folder: Path, epoch: int) -> Wheel:
    """Build the project's own wheel, whose bytes depend on the sources and on ``epoch`` alone. One that was built of
    the same commit is taken again, if nothing was changed since."""
    git = ["git", "-C", str(root)]
    changes = subprocess.run([*git, "status", "--porcelain"], check=True, capture_output=True, text=True).stdout
    commit = subprocess.run([*git, "rev-parse", "HEAD"], check=True, capture_output=True, text=True).stdout.strip()
    kept = folder / ("changed" if changes else f"{commit}-{epoch}")
    if changes:
        shutil.rmtree(kept, ignore_errors=True)
    if not [*kept.glob("*.whl")]:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder) as built:
            subprocess.run(
                [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", built, str(root)],
                check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)},
            )  # fmt: skip
            kept.mkdir(exist_ok=True)
            (path,) = Path(built).glob("*.whl")
            path.replace(kept / path.name)
    (path,) = kept.glob("*.whl")
    return read_wheel(path)


def needed(project: Wheel, pinned: Sequence[Wheel], target: Target) -> list[Wheel]:
    """The wheels that the program loads: what the project needs, and what they need in turn, but for ``LEFT_OUT``.

    Raises:
        LookupError: Something that is needed is not pinned.
    """
    by_name = {wheel.name: wheel for wheel in pinned}
    found: dict[str, Wheel] = {project.name: project}
    seen: set[tuple[str, tuple[str, ...]]] = set()
    waiting: list[tuple[Wheel, Sequence[str]]] = [(project, ())]
    while waiting:
        wheel, extras = waiting.pop()
        for name, wanted in wheel.requirements(target, extras):
            if name in LEFT_OUT or (name, (*wanted,)) in seen:
                continue
            seen.add((name, (*wanted,)))
            if name not in by_name:
                raise LookupError(f"{name} is needed on {target.tag}, but constraints.txt does not pin it")
            found[name] = by_name[name]
            waiting.append((by_name[name], wanted))
    return [found[name] for name in sorted(found)]
