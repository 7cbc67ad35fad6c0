"""Builds the frozen program: one folder with an executable in it that needs no Python, by PyInstaller.

    python packaging/build_frozen.py [--output dist] [--wheels build/kit/wheels]

It is built from the wheels of the offline kit for this machine, in an environment of its own, and is
``memory-appliance-VERSION-PLATFORM/appliance``. The Python that runs this must have a shared library (``libpython``),
and its glibc is the oldest that the program runs on.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Iterator, Sequence
from pathlib import Path

import build_tools
from kit import bill, licences, share, wheels
from kit.targets import Target, this_machine

ROOT = Path(__file__).resolve().parents[1]

OWN = ("appliance", "appliance_models", "appliance_tui")

LOADED_BY_NAME = ("textual.drivers", "textual.widgets", "tiktoken_ext", "rich._unicode_data", "uvicorn", "mcp")
"""Packages whose modules are loaded by names that are no import statements."""

WITH_FILES = ("textual", "textual_serve", "plotext")
"""Packages with files of their own besides modules."""


def build(output: Path, cache: Path) -> Path:
    """Build the frozen program for this machine. Returns its folder."""
    target, work = this_machine(), ROOT / "build/frozen"
    epoch = int(_git("log", "-1", "--format=%ct"))
    pinned = wheels.download(ROOT / "constraints.txt", target, cache / target.tag)
    project = wheels.build_project(ROOT, cache / "project", epoch)
    packages = wheels.needed(project, pinned, target)
    shutil.rmtree(work, ignore_errors=True)
    python = _environment(work / "environment", [wheels.slim(wheel, cache / "slim").path for wheel in packages])
    options = [
        "--noconfirm", "--clean", "--log-level=WARN", "--onedir", "--console", "--name=appliance",
        f"--distpath={work / 'dist'}", f"--workpath={work / 'work'}", f"--specpath={work}",
        *(f"--collect-submodules={name}" for name in (*OWN, *LOADED_BY_NAME)),
        *(f"--collect-data={name}" for name in (*OWN, *WITH_FILES)),
        *(f"--copy-metadata={wheel.name}" for wheel in packages),
        *(f"--exclude-module={name}" for name in ("tkinter", "readline", "pip", "setuptools")),
    ]  # fmt: skip
    # The order of sets is in what is written.
    environment = os.environ | {"PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": str(epoch)}
    environment.pop("PYTHONPATH", None)
    command = [str(python), "-m", "PyInstaller", *options, str(ROOT / "packaging/frozen/start.py")]
    subprocess.run(command, check=True, cwd=work, env=environment)
    folder = output / f"memory-appliance-{project.version}-{target.platform}"
    shutil.rmtree(folder, ignore_errors=True)
    output.mkdir(parents=True, exist_ok=True)
    shutil.move(work / "dist/appliance", folder)
    _add_documents(folder, project, packages, target)
    _add_sums(folder)
    shutil.rmtree(work)
    return folder


def _environment(folder: Path, files: Sequence[Path]) -> Path:
    """An environment with the given wheels and PyInstaller. Returns its Python."""
    venv.EnvBuilder(with_pip=True).create(folder)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    pip = [str(python), "-m", "pip", "install", "-q", "--no-deps", "--disable-pip-version-check"]
    subprocess.run([*pip, "--no-index", *map(str, files)], check=True)
    subprocess.run([*pip, "--require-hashes", "-r", str(build_tools.CONSTRAINTS)], check=True)
    return python


def _add_documents(folder: Path, project: wheels.Wheel, packages: Sequence[wheels.Wheel], target: Target) -> None:
    """Add the licences, the bill of materials and the documentation."""
    (folder / "bom.cdx.json").write_bytes(bill.document(project, packages, target, [*_python_components()]))
    documents: dict[str, bytes | Path] = {"LICENSE": ROOT / "LICENSE"}
    python_licence = Path(sysconfig.get_path("stdlib")) / "LICENSE.txt"
    if python_licence.exists():  # Debian has it elsewhere
        documents[f"share/{share.DOCUMENTATION}/licences/python/LICENSE.txt"] = python_licence
    documents |= {f"share/{share.DOCUMENTATION}/{name}": text for name, text in licences.entries(packages).items()}
    with tempfile.TemporaryDirectory() as work:
        documents |= {f"share/{name}": path for name, path in share.built(Path(work))}
        for name, content in documents.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(content.read_bytes() if isinstance(content, Path) else content)


def _add_sums(folder: Path) -> None:
    """List the SHA-256 of every file, by which ``appliance doctor`` finds a damaged one."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and not path.is_symlink()]
    lines = [
        f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder).as_posix()}\n" for path in files
    ]
    (folder / "SHA256SUMS").write_text("".join(lines), encoding="utf-8")


def _python_components() -> Iterator[dict[str, object]]:
    """The Python in it, and the loader of PyInstaller, as they stand in a bill of materials."""
    (pyinstaller,) = re.findall(r"^pyinstaller==([^ ]+)", build_tools.CONSTRAINTS.read_text(), re.MULTILINE)
    for name, version, licence in (
        ("cpython", platform.python_version(), "PSF-2.0"),
        ("pyinstaller-bootloader", pyinstaller, "GPL-2.0-or-later WITH Bootloader-exception"),
    ):
        yield {"type": "library", "name": name, "version": version, "licenses": [{"expression": licence}]}


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument("--wheels", type=Path, default=ROOT / "build/kit/wheels")
    chosen = parser.parse_args()
    folder = build(chosen.output.absolute(), chosen.wheels.absolute())
    size = sum(path.stat().st_size for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    print(f"{folder}: {size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
