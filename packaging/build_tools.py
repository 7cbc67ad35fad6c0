"""The tools that only building needs, pinned by hash in ``constraints-build.txt``, in an environment of their own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINTS = ROOT / "packaging/constraints-build.txt"


def environment(python: str = sys.executable) -> Path:
    """The folder of the environment, which is made where it is not there, or is for other pins."""
    pins = CONSTRAINTS.read_bytes()
    folder = ROOT / f"build/tools-{hashlib.sha256(pins + python.encode()).hexdigest()[:8]}"
    mark = folder / "complete"
    if not mark.exists():
        venv.EnvBuilder(clear=True, with_pip=True).create(folder)
        pip = [
            str(folder / "bin/python"),
            "-m",
            "pip",
            "install",
            "-q",
            "--require-hashes",
            "--no-deps",
            "-r",
            str(CONSTRAINTS),
        ]
        subprocess.run(pip, check=True)
        mark.touch()
    return folder


def program(name: str) -> Path:
    """The path of a tool."""
    return environment() / "bin" / name
