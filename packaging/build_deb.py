"""Builds the Debian package, from the same wheels as the offline kit.

    python packaging/build_deb.py [--platform linux-x86_64] [--python 3.11] [--output dist] [--wheels build/kit/wheels]

Run it in an environment with the development dependencies, on a Debian with dpkg-deb and readelf. Two builds of one
commit are equal byte for byte.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import tempfile
from pathlib import Path

import build_manual
from deb import tree
from deb.records import ARCHITECTURES
from kit import wheels
from kit.targets import PYTHONS, Target, this_machine

ROOT = Path(__file__).resolve().parents[1]
REVISION = 1


def build(
    target: Target, output: Path, cache: Path, version: str = "", *, has_site: bool = True, is_draft: bool = False
) -> Path:
    """Build the package of a target; returns its path.

    Args:
        cache: Where downloaded wheels are kept.
        version: The version that dpkg sees; by default that of the program. An upgrade is tried with an older one.
        has_site: Whether the documentation is built and in it.
        is_draft: Whether it is not compressed: to try it.
    """
    commit, epoch = _git("rev-parse", "HEAD"), int(_git("log", "-1", "--format=%ct"))
    pinned = wheels.download(ROOT / "constraints.txt", target, cache / target.tag)
    project = wheels.build_project(ROOT, cache / "project", epoch)
    version = f"{version or project.version}-{REVISION}+py{target.python.replace('.', '')}"
    package = tree.Package(
        ROOT, target, project, wheels.needed(project, pinned, target), version, f"{version}-{commit[:8]}", epoch
    )
    output.mkdir(parents=True, exist_ok=True)
    path = output / f"{tree.NAME}_{version}_{ARCHITECTURES[target.platform]}.deb"
    # On several threads the bytes would depend on how many there are.
    packing = ["-Znone"] if is_draft else ["-Zxz", "-z6", "--threads-max=1"]
    with tempfile.TemporaryDirectory(dir=output) as scratch:
        manual, files, site = (Path(scratch, name) for name in ("manual", "files", "site"))
        build_manual.build(manual, epoch)
        if has_site:
            import build_docs

            build_docs.build(site)
        tree.write(package, files, manual, site if has_site else None)
        subprocess.run(
            ["dpkg-deb", "--root-owner-group", *packing, "--build", files, path],
            check=True, stdout=subprocess.DEVNULL, env=os.environ | {"SOURCE_DATE_EPOCH": str(epoch)},
        )  # fmt: skip
    return path


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    here = this_machine()
    parser.add_argument("--platform", choices=ARCHITECTURES, default=here.platform)
    parser.add_argument("--python", choices=PYTHONS, default=here.python)
    parser.add_argument("--output", type=Path, default=ROOT / "dist")
    parser.add_argument(
        "--wheels", type=Path, default=ROOT / "build/kit/wheels", help="where downloaded wheels are kept"
    )
    parser.add_argument("--no-docs", action="store_true", help="without the documentation as a site")
    parser.add_argument("--version", default="", help="another version than the program's, to try an upgrade")
    parser.add_argument("--draft", action="store_true", help="do not compress it: to try it")
    chosen = parser.parse_args()
    target = Target(chosen.platform, chosen.python)
    path = build(
        target, chosen.output, chosen.wheels, chosen.version, has_site=not chosen.no_docs, is_draft=chosen.draft
    )
    print(f"{path}: {path.stat().st_size / 1e6:.0f} MB")


if __name__ == "__main__":
    main()
