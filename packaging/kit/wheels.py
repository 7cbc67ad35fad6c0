"""The wheels of a kit: the project's own, and those of everything that it imports, as they are pinned."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from email.message import Message
from email.parser import BytesParser
from pathlib import Path

from packaging.requirements import Requirement
from packaging.tags import Tag
from packaging.utils import canonicalize_name, parse_wheel_filename

from kit.targets import LEGACY_GLIBC, Target

LEFT_OUT: Mapping[str, str] = {
    "huggingface-hub": "tokenizers fetches models with it, when asked by name; this program reads them from files",
    "requests": "tiktoken fetches its tables with it; this program brings its own",
    "pip": "sqlite-utils installs plugins with it; the kit's installer brings its own, and leaves none behind",
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
"""What an installation does without, as patterns of paths, and why: 58 MB."""

INSTALLER_PACKAGE = "pip"
"""What the installer runs, from its wheel."""

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
    """Fetch the pinned wheels of a target into a folder, in which those that are there already are kept.

    Raises:
        subprocess.CalledProcessError: One of them can't be had, or is not what its hash says.
    """
    folder.mkdir(parents=True, exist_ok=True)
    pins = folder / "requirements.txt"
    pins.write_text("\n".join(pinned_for(constraints.read_text(), target)) + "\n")
    abi = f"cp{target.python.replace('.', '')}"
    options = ["--only-binary=:all:", "--no-deps", "--require-hashes", "--implementation", "cp", "--python-version"]
    platforms = [part for tag in target.wheel_platforms for part in ("--platform", tag)]
    abis = [part for one in (abi, "abi3", "none") for part in ("--abi", one)]
    files = ["-r", str(pins), "-d", str(folder)]
    pip = [sys.executable, "-m", "pip", "download", "-q"]
    subprocess.run([*pip, *options, target.python, *abis, *platforms, *files], check=True)
    pinned = re.findall(r"^([A-Za-z0-9._-]+)==([^ ]+)", pins.read_text(), re.MULTILINE)
    wanted = {(canonicalize_name(name), version) for name, version in pinned}
    found = [read_wheel(path) for path in sorted(folder.glob("*.whl"))]
    return [wheel for wheel in found if (wheel.name, wheel.version) in wanted]


def build_project(root: Path, folder: Path, epoch: int) -> Wheel:
    """Build the project's own wheel, whose bytes depend on the sources and on ``epoch`` alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.whl"):
        old.unlink()
    subprocess.run(
        [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(root)],
        check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)},
    )  # fmt: skip
    (path,) = folder.glob("*.whl")
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
