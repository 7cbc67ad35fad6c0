"""Builds the offline kit: one file that installs the program on a machine without a network.

    python packaging/build_kit.py [--platform linux-x86_64] [--python 3.11] [--output dist] [--wheels build/kit/wheels]

Run it in an environment with the development dependencies. The pinned wheels are fetched from the package registry, or
taken from ``--wheels`` where they are there. Two builds of one commit are equal byte for byte.
"""

from __future__ import annotations

import argparse
import json
import subprocess
from pathlib import Path

from kit import archive, bill, licences, wheels
from kit.targets import NEWEST_GLIBC, PLATFORMS, PYTHONS, Target, this_machine

ROOT = Path(__file__).resolve().parents[1]
FORMAT = 1


def build(target: Target, output: Path, cache: Path) -> Path:
    """Build the kit of a target. Returns its path; beside it stands its checksum."""
    commit, epoch = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    pinned = wheels.download(ROOT / "constraints.txt", target, cache / target.tag)
    project = wheels.build_project(ROOT, cache / "project", epoch)
    packages = wheels.needed(project, pinned, target)
    (installer,) = (wheel for wheel in pinned if wheel.name == wheels.INSTALLER_PACKAGE)
    description = {
        "format": FORMAT,
        "version": project.version,
        "commit": commit,
        "target": {"platform": target.platform, "python": target.python}
        | ({"glibc": f"2.{NEWEST_GLIBC}"} if target.platform.startswith("linux") else {}),
        "wheels": [wheel.path.name for wheel in packages],
        "unused": list(wheels.UNUSED_FILES),
    }
    entries: dict[str, bytes | Path] = {
        "__main__.py": ROOT / "packaging/kit/installer.py",
        "kit.json": (json.dumps(description, indent=1, sort_keys=True) + "\n").encode(),
        "bom.cdx.json": bill.document(project, packages, target),
        "LICENSE": ROOT / "LICENSE",
        f"installer/{installer.path.name}": installer.path,
        **licences.entries([*packages, installer]),
        **{f"wheels/{wheel.path.name}": wheel.path for wheel in packages},
        **{
            f"docs/{path.relative_to(ROOT / 'docs').as_posix()}": path
            for path in sorted((ROOT / "docs").rglob("*"))
            if path.is_file()
        },
    }
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"memory-appliance-{project.version}-{target.tag}.pyz"
    digest = archive.write(path, entries, epoch)
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
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--wheels", type=Path, default=ROOT / "build/kit/wheels", help="where downloaded wheels are kept"
    )
    chosen = parser.parse_args()
    path = build(Target(chosen.platform, chosen.python), chosen.output, chosen.wheels)
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
