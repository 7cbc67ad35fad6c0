"""A kit with its own Python: a shell script that unpacks and runs it."""

from __future__ import annotations

import hashlib
import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from kit import archive, own_python
from kit.installer import contents
from kit.installer.kit_file import Kit, KitError

from tests.kit.kits import EPOCH

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="it is a shell script")

FAKE_PYTHON = """#!/bin/sh
[ "$2" = -c ] || echo "$0 runs $*"
"""


def write_kit(path: Path, python: str = FAKE_PYTHON) -> bytes:
    """A kit whose Python is a shell script. Returns that Python, packed."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as tar:
        entry = tarfile.TarInfo(own_python.EXECUTABLE)
        entry.size, entry.mode = len(python), 0o755
        tar.addfile(entry, io.BytesIO(python.encode()))
    before, offset = own_python.before(packed.getvalue())
    digest = hashlib.sha256(packed.getvalue()).hexdigest()
    place = {"offset": offset, "size": len(packed.getvalue()), "sha256": digest, "executable": own_python.EXECUTABLE}
    description = json.dumps({"version": "1.0", "python": place}).encode()
    archive.write(path, {"__main__.py": b"", "kit.json": description}, EPOCH, before)
    return packed.getvalue()


def run(kit: Path, temporary: Path) -> subprocess.CompletedProcess[str]:
    temporary.mkdir(exist_ok=True)
    return subprocess.run(
        ["sh", kit.name, "install", "a b"], cwd=kit.parent, capture_output=True, text=True,
        env={"PATH": "/usr/bin:/bin", "TMPDIR": str(temporary)},
    )  # fmt: skip


def test_its_python_runs_it_and_is_gone_afterwards(tmp_path: Path) -> None:
    kit, temporary = tmp_path / "kit.run", tmp_path / "for a while"
    write_kit(kit)
    ran = run(kit, temporary)
    assert (ran.returncode, ran.stderr) == (0, "")
    assert ran.stdout.endswith("runs -IBS ./kit.run install a b\n")
    assert not [*temporary.iterdir()]


def test_a_file_that_is_incomplete_is_said(tmp_path: Path) -> None:
    kit = tmp_path / "kit.run"
    write_kit(kit)
    kit.write_bytes(kit.read_bytes()[:-1])
    ran = run(kit, tmp_path / "t")
    assert (ran.returncode, ran.stderr) == (1, "error: ./kit.run is incomplete, or was altered. Copy it again.\n")
    kit.write_bytes(kit.read_bytes()[:700])  # in the script
    assert run(kit, tmp_path / "t").returncode == 2


def test_a_python_that_does_not_run_here_is_said(tmp_path: Path) -> None:
    kit = tmp_path / "kit.run"
    write_kit(kit, "#!/nowhere\n")
    ran = run(kit, tmp_path / "t")
    assert ran.returncode == 1 and "It needs a system with glibc 2.36 or later" in ran.stderr
    assert not [*(tmp_path / "t").iterdir()]


def test_it_is_checked_and_unpacked_by_the_installer(tmp_path: Path) -> None:
    path = tmp_path / "kit.run"
    python = write_kit(path)
    kit = Kit(path)
    assert kit.check() == 2
    with tarfile.open(fileobj=io.BytesIO(kit.python_archive() or b"")) as tar:
        (file,) = contents.archive_files(tar)
    file.write(tmp_path / "python")
    executable = tmp_path / "python/bin/python3.11"
    assert executable.read_text() == FAKE_PYTHON and file.is_whole(tmp_path / "python")
    executable.chmod(0o644)
    assert not file.is_whole(tmp_path / "python"), "it is a program"
    path.write_bytes(path.read_bytes().replace(python, bytes([*python[:-9], python[-9] ^ 1, *python[-8:]])))
    with pytest.raises(KitError, match=r"The Python in .*kit\.run is damaged"):
        kit.check()


@pytest.mark.parametrize(
    ("name", "place"),
    [
        ("usr/bin/python3.11", "bin/python3.11"),
        ("usr/lib/python3.11/json/decoder.py", "lib/python3.11/json/decoder.py"),
        ("usr/lib/python3.11/lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so",
         "lib/python3.11/lib-dynload/_sqlite3.cpython-311-x86_64-linux-gnu.so"),
        ("lib/x86_64-linux-gnu/libz.so.1", "lib/libz.so.1"),
        ("usr/lib/aarch64-linux-gnu/libssl.so.3", "lib/libssl.so.3"),
        ("usr/share/doc/libssl3/copyright", "licences/libssl3"),
        ("usr/lib/x86_64-linux-gnu/engines-3/afalg.so", None),
        ("usr/lib/python3.11/test/test_json.py", None),
        ("usr/lib/python3.11/sitecustomize.py", None),
        ("usr/lib/python3.11/lib-dynload/readline.cpython-311-x86_64-linux-gnu.so", None),
        ("usr/share/man/man1/python3.11.1.gz", None),
    ],
)  # fmt: skip
def test_what_it_takes_of_debians_packages(name: str, place: str | None) -> None:
    assert own_python._place(name) == place
