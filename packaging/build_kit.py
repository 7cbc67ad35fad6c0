"""Builds the offline kit: one file that installs the program on a machine without a network.

    python packaging/build_kit.py [--platform linux-x86_64] [--python 3.11] [--own-python] [--output dist]

Run it in an environment with the development dependencies. The pinned wheels are fetched from the package registry, or
taken from ``--wheels`` where they are there. With ``--own-python`` the kit needs no Python on the machine, and is a
shell script (``.run``). Two builds of one commit are equal byte for byte.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import tempfile
from pathlib import Path
from typing import Any

import build_tools
from kit import archive, bill, licences, own_python, share, wheels
from kit.targets import PLATFORMS, PYTHONS, Target, this_machine

ROOT = Path(__file__).resolve().parents[1]
FORMAT = 3


def build(target: Target, output: Path, cache: Path, *, with_python: bool = False, site: Path | None = None) -> Path:
    """Build the kit of a target. Returns its path; beside it stands its checksum.

    Args:
        cache: A folder for wheels and packages, which are fetched once.
        with_python: Whether it brings a Python of its own.
        site: The documentation as ``build_docs.py`` built it; None to build it.
    """
    commit, epoch = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    pinned = wheels.download(ROOT / "constraints.txt", target, cache / target.tag)
    project = wheels.build_project(ROOT, cache / "project", epoch)
    packages = wheels.needed(project, pinned, target)
    description: dict[str, Any] = {
        "format": FORMAT,
        "version": project.version,
        "commit": commit,
        "target": {"platform": target.platform, "python": target.python} | wheels.least_system(packages, target),
        "wheels": [wheel.path.name for wheel in packages],
    }
    before, debian = archive.FIRST_LINES, []
    if with_python:
        debian = own_python.download(target, cache / f"{target.tag}-debian")
        with tempfile.TemporaryDirectory() as folder:
            python = own_python.build(debian, Path(folder), build_tools.program("patchelf"))
        before, offset = own_python.before(python)
        description["target"] |= {"glibc": own_python.GLIBC}
        description["python"] = {
            "offset": offset, "size": len(python), "sha256": hashlib.sha256(python).hexdigest(),
            "executable": own_python.EXECUTABLE,
        }  # fmt: skip
    entries: dict[str, bytes | Path] = {
        "__main__.py": ROOT / "packaging/kit/kit_main.py",
        **{f"installer/{path.name}": path for path in (ROOT / "packaging/kit/installer").glob("*.py")},
        "kit.json": (json.dumps(description, indent=1, sort_keys=True) + "\n").encode(),
        "bom.cdx.json": bill.document(project, packages, target, [*own_python.components(debian)]),
        "LICENSE": ROOT / "LICENSE",
        **{f"wheels/{wheel.path.name}": wheels.slim(wheel, cache / "slim").path for wheel in packages},
        **{f"share/{share.DOCUMENTATION}/{name}": text for name, text in licences.entries(packages).items()},
    }
    output.mkdir(parents=True, exist_ok=True)
    name = f"{target.platform}.run" if with_python else f"{target.tag}.pyz"
    path = output / f"memory-appliance-{project.version}-{name}"
    with tempfile.TemporaryDirectory() as folder:
        entries |= {f"share/{name}": file for name, file in share.built(Path(folder), site)}
        digest = archive.write(path, entries, epoch, before)
    path.with_name(f"{path.name}.sha256").write_text(f"{digest}  {path.name}\n")
    return path


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    here = this_machine()
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--platform", choices=PLATFORMS, default=here.platform)
    parser.add_argument("--python", choices=PYTHONS, default=here.python)
    parser.add_argument("--own-python", action="store_true", help=f"bring Python {own_python.VERSION}, on Linux")
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--wheels", type=Path, default=ROOT / "build/kit/wheels", help="where downloaded wheels are kept"
    )
    parser.add_argument("--site", type=Path, help="the documentation's site, if it was built before")
    chosen = parser.parse_args()
    if chosen.own_python and chosen.platform not in own_python.ARCHITECTURES:
        parser.error("--own-python is for Linux")
    python = own_python.VERSION if chosen.own_python else chosen.python
    path = build(
        Target(chosen.platform, python), chosen.output, chosen.wheels, with_python=chosen.own_python, site=chosen.site
    )
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
