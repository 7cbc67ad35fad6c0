"""Small kits for tests: wheels with a program of a few lines, in the form of the real ones."""

from __future__ import annotations

import base64
import hashlib
import json
import textwrap
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from kit import archive
from kit.targets import this_machine

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000

PROGRAM = """
import os, pathlib, sys
home = pathlib.Path.home() / "memory"
if sys.argv[1:] == ["--version"]:
    print("appliance {version}")
elif sys.argv[1:] == ["command"]:
    print(os.environ["MEMORY_APPLIANCE_COMMAND"])
elif sys.argv[1] == "service":
    state = pathlib.Path.home() / "service"
    if sys.argv[2] == "status" and state.exists():
        print('{{"installed": true, "current": true}}')
    elif sys.argv[2] == "install":
        state.write_text("{version} by " + os.environ["MEMORY_APPLIANCE_COMMAND"])
    elif sys.argv[2] == "remove":
        state.unlink()
elif sys.argv[1] == "status":
    sys.exit({status_exit})
elif sys.argv[1] == "demo":
    print("the demo of {version}")
    sys.exit({demo_exit})
elif sys.argv[1] == "backup":
    assert sys.argv[3:] == ["--home", str(home)]
    target = pathlib.Path(sys.argv[2])
    target.mkdir(exist_ok=True)
    (target / "by-{version}").write_bytes((home / "recall.db").read_bytes())
    sys.exit({backup_exit})
"""

PATHS = """
import pathlib, types
def find_home(home):
    return types.SimpleNamespace(root=pathlib.Path.home() / "memory")
"""


def write_wheel(
    folder: Path, name: str, version: str, files: Mapping[str, str], requires: Sequence[str] = (), more: str = ""
) -> Path:
    """A pure wheel with the given files."""
    path = folder / f"{name.replace('-', '_')}-{version}-py3-none-any.whl"
    info = f"{name.replace('-', '_')}-{version}.dist-info"
    metadata = f"Metadata-Version: 2.4\nName: {name}\nVersion: {version}\n{more}"
    metadata += "".join(f"Requires-Dist: {one}\n" for one in requires)
    with zipfile.ZipFile(path, "w") as wheel:
        for file, content in files.items():
            wheel.writestr(file, content)
        wheel.writestr(f"{info}/METADATA", metadata)
        wheel.writestr(
            f"{info}/WHEEL", "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
        )
        rows = [f"{name},sha256={_listed(wheel.read(name))},{len(wheel.read(name))}" for name in wheel.namelist()]
        wheel.writestr(f"{info}/RECORD", "\n".join([*rows, f"{info}/RECORD,,"]) + "\n")
    return path


def _listed(content: bytes) -> str:
    return base64.urlsafe_b64encode(hashlib.sha256(content).digest()).rstrip(b"=").decode()


def write_kit(
    folder: Path, version: str, *, demo_exit: int = 0, backup_exit: int = 0, status_exit: int = 0, **target: str
) -> Path:
    """A kit with a program that has a version, a demo and a backup."""
    program = textwrap.dedent(PROGRAM).format(
        version=version, demo_exit=demo_exit, backup_exit=backup_exit, status_exit=status_exit
    )
    files = {"appliance/__init__.py": "", "appliance/__main__.py": program, "appliance/paths.py": PATHS}
    wheel = write_wheel(folder, "memory-appliance", version, files)
    here = this_machine()
    description = {
        "version": version, "target": {"platform": here.platform, "python": here.python} | target,
        "wheels": [wheel.name],
    }  # fmt: skip
    entries: dict[str, bytes | Path] = {
        "__main__.py": ROOT / "packaging/kit/kit_main.py",
        **{f"installer/{path.name}": path for path in (ROOT / "packaging/kit/installer").glob("*.py")},
        "kit.json": json.dumps(description).encode(),
        f"wheels/{wheel.name}": wheel,
        "share/doc/memory-appliance/README.md": b"how it works",
        "share/man/man1/appliance.1": f"of {version}".encode(),
        "share/bash-completion/completions/appliance": b"complete",
        "share/zsh/site-functions/_appliance": b"#compdef appliance",
        f"share/fish/vendor_completions.d/appliance-{version}.fish": b"complete",
    }
    path = folder / f"kit-{version}.pyz"
    archive.write(path, entries, EPOCH)
    return path
