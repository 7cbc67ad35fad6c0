"""Checks that the tree can be released, and builds all files of a release.

    python packaging/release.py [--output dist/VERSION]

It refuses a tree with changes that are not committed, a version without a dated section in the changelog, and a tag of
this version at another commit. Built are the sdist and the wheel, the offline kits and the Debian package of this
platform, and ``SHA256SUMS``. All take their times from the commit, so that two builds of it are equal: the kit with its
own Python as long as Debian has the same packages of it.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def version() -> str:
    """The version that the source has."""
    (found,) = re.findall(r'^__version__ = "(.+)"$', (ROOT / "appliance/__init__.py").read_text(), re.MULTILINE)
    return str(found)


def problems() -> list[str]:
    """What stands against a release, as sentences."""
    found = []
    if _git("status", "--porcelain"):
        found.append("There are changes that are not committed. Commit or remove them.")
    if not re.search(
        rf"^## {re.escape(version())} - \d{{4}}-\d\d-\d\d$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE
    ):
        found.append(f"CHANGELOG.md has no section '## {version()} - YYYY-MM-DD'. Give its section the date.")
    tag = f"v{version()}"
    if _git("tag", "--list", tag) and _git("rev-list", "-n", "1", tag) != _git("rev-parse", "HEAD"):
        found.append(f"The tag {tag} is at another commit. Raise the version in appliance/__init__.py.")
    return found


def build(output: Path) -> None:
    """Build everything into a folder, with the SHA-256 of each file."""
    environment = os.environ | {"SOURCE_DATE_EPOCH": _git("log", "-1", "--format=%ct")}
    for command in (
        [sys.executable, "-m", "build", "--outdir", str(output), str(ROOT)],
        [sys.executable, str(ROOT / "packaging/build_kit.py"), "--output", str(output)],
        [sys.executable, str(ROOT / "packaging/build_kit.py"), "--own-python", "--output", str(output)],
        [sys.executable, str(ROOT / "packaging/build_deb.py"), "--output", str(output)],
    ):
        subprocess.run(command, check=True, env=environment)
    lines = []
    for path in sorted(path for path in output.iterdir() if path.is_file()):
        with path.open("rb") as file:
            lines.append(f"{hashlib.file_digest(file, 'sha256').hexdigest()}  {path.name}\n")
    (output / "SHA256SUMS").write_text("".join(lines))
    print("".join(lines), end="")


def _git(*arguments: str) -> str:
    return subprocess.run(
        ["git", "-C", str(ROOT), *arguments], check=True, capture_output=True, text=True
    ).stdout.strip()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--output", type=Path, default=ROOT / "dist" / version())
    output = parser.parse_args().output.resolve()
    found = problems()
    if output.exists() and any(output.iterdir()):
        found.append(f"{output} is not empty. Remove it, or name another folder with --output.")
    if found:
        sys.exit("\n".join(found))
    output.mkdir(parents=True, exist_ok=True)
    build(output)


if __name__ == "__main__":
    main()
