"""``appliance doctor`` on homes in every state, none of which it changes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from hashlib import sha256
from importlib import metadata
from pathlib import Path

import pytest
from typer.testing import CliRunner

from appliance import Appliance, cli
from appliance.cli.app import _damaged_program, app
from appliance.doctor import examination, files, program
from appliance.doctor.checks import Check
from appliance.paths import Home
from appliance.runtime import socket_guard
from appliance_models import HashEmbedder

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def _not_hashed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Model packs and the program's files are hashed once, by the test of the command line in a process."""
    monkeypatch.setattr(program, "model_facts", lambda *_: None)
    monkeypatch.setattr(program, "check_models", lambda facts: Check("models", True, "not looked at"))
    monkeypatch.setattr(files, "file_facts", lambda: files.FileFacts(1, 1, {"/p": []}, ""))


def examined(home: Path) -> dict[str, Check]:
    return {check.name: check for check in examination.examine(Home(home))}


def states(folder: Path) -> dict[str, tuple[int, int, int]]:
    paths = [folder, *folder.rglob("*")] if folder.exists() else []
    found = ((str(path), path.lstat()) for path in paths)
    return {path: (state.st_mtime_ns, state.st_size, state.st_mode) for path, state in found}


def test_a_home_that_is_missing_is_not_made(home: Path) -> None:
    checks = examined(home)
    assert "no memory yet" in checks["database"].detail and checks["permissions"].ok
    assert "leftovers" not in checks and not home.exists()


def test_a_home_is_left_as_it_is_whatever_its_state(home: Path) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create().add("user", "the otter sleeps")
        before = states(home)
        checks = examined(home)
        assert f"process {os.getpid()}" in checks["owner"].detail and checks["owner"].ok
        assert checks["database"].ok and "has the memory open" in checks["leftovers"].detail
        assert states(home) == before

    before = states(home)
    checks = examined(home)
    assert checks["database"].ok and checks["owner"].ok and checks["permissions"].ok and checks["leftovers"].ok
    assert states(home) == before

    (home / "socket").touch()
    (home / "config.toml").write_text("[llm]\nbase_ur = 'x'\n")
    home.chmod(0o755)
    (home / "recall.db").chmod(0o644)
    before = states(home)
    checks = examined(home)
    assert not checks["permissions"].ok and "recall.db" in checks["permissions"].detail
    assert not checks["settings"].ok and "llm.base_ur" in checks["settings"].detail
    assert checks["leftovers"].ok and "socket" in checks["leftovers"].detail

    assert states(home) == before
    for content, reason in ((b"", "it is empty"), (b"no database" * 100, "encrypted"), (None, "is missing")):
        if content is None:
            (home / "recall.db").unlink()
            (home / "vectors/g1.ledger").touch()
        else:
            (home / "recall.db").write_bytes(content)
        before = states(home)
        assert reason in examined(home)["database"].detail
        assert states(home) == before


def test_the_command_prints_the_shape_of_the_contract(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    ended = CliRunner().invoke(app, ["doctor", "--json"])
    document = json.loads(ended.stdout)
    assert {key for check in document["checks"] for key in check} == {"name", "ok", "detail", "fix"}
    assert document["ok"] is all(check["ok"] for check in document["checks"])
    assert ended.exit_code == (0 if document["ok"] else 1)

    monkeypatch.setattr(
        "appliance.cli.doctor._examine", lambda home: iter([Check("disk", False, "it is full", "Make room.")])
    )
    ended = CliRunner().invoke(app, ["doctor"])
    assert ended.exit_code == 1 and "!!  disk" in ended.stdout and "fix: Make room." in ended.stdout
    assert "1 check of 1 failed" in ended.stderr


def test_a_module_that_cannot_be_loaded_fails_its_checks_and_no_others(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    expected = examined(home)
    monkeypatch.delattr("appliance.doctor.machine")
    monkeypatch.setitem(sys.modules, "appliance.doctor.machine", None)
    checks = examined(home)
    assert [*checks] == [*expected]
    assert {name for name, check in checks.items() if not check.ok} >= {"processor", "memory", "clock"}
    assert "appliance.doctor.machine halted" in checks["processor"].detail and "again" in str(checks["memory"].fix)
    assert "as 'processor'" in checks["memory"].detail
    assert checks["python"].ok and checks["database"].ok


def test_files_that_are_not_as_installed_are_named(tmp_path: Path) -> None:
    for name in ("whole.py", "short.py", "other.py", "gone.py", "appliance_models/packs/model.onnx"):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("pass")
    info = tmp_path / "thing-1.0.dist-info"
    info.mkdir()
    (info / "WHEEL").touch()
    with pytest.raises(ValueError, match="it is missing"):
        [*files.listed_files(metadata.Distribution.at(info))]
    digest = "sha256=10_w7o2juYBrGMh32_KbveULW9jk2tejpyUAD-uC6PE"
    names = [one.relative_to(tmp_path).as_posix() for one in sorted(tmp_path.rglob("*.*")) if one.is_file()]
    (info / "RECORD").write_text("".join(f'"{name}",{digest},4\n' for name in names) + "x.pyc,,\n")
    listed = [*files.listed_files(metadata.Distribution.at(info))]
    assert len(listed) == 5 and not [*files.damage_of(listed)]
    (tmp_path / "short.py").write_text("p")
    (tmp_path / "other.py").write_text("fail")
    (tmp_path / "gone.py").unlink()
    (tmp_path / "appliance_models/packs/model.onnx").write_text("fail")  # which the check of models compares
    found = "; ".join(files.damage_of(listed))
    assert found == ("gone.py is missing; other.py is not as it was installed; short.py has 1 bytes, not 4")
    (tmp_path / files.SUMS).write_text(f"{sha256(b'pass').hexdigest()}  whole.py\n{'00' * 32}  other.py\n")
    assert [*files.damage_of(files.summed_files(tmp_path))] == ["other.py is not as it was installed"]
    check = files.check_files(files.FileFacts(1, 5, {"/p": ["a is missing"] * 7, "/q": []}, "Install it again."))
    assert not check.ok and check.detail.endswith("; 2 more (in /p)") and check.fix == "Install it again."


def test_a_command_line_that_cannot_be_loaded_names_the_damage(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "appliance.cli.app", None)
    with pytest.raises(ImportError):  # a bug, as no file is damaged
        cli.main(["doctor"])
    monkeypatch.setattr(
        files, "file_facts", lambda: files.FileFacts(1, 1, {"/p": ["a.py is missing"]}, "Install it again.")
    )
    assert cli.main(["doctor"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("error: The program can't be loaded (") and said.endswith(
        "a.py is missing (in /p)\n  Install it again.\n"
    )
    refusal = _damaged_program(ImportError("no typer"))
    assert "(no typer): a.py is missing (in /p)." in str(refusal) and refusal and refusal.hint == "Install it again."


# --- the guard of sockets ------------------------------------------------------------------------------------

TRIES = """
import sys, socket, urllib.request
import appliance
from appliance.runtime import socket_guard
def tried(work):
    try:
        work()
    except OSError as error:
        return "refused" if "socket guard" in str(error) else "failed"
    return "done"
udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
listening = socket.create_server(("127.0.0.1", 0))
ours, theirs = socket.socketpair()
print([tried(work) for work in (
    lambda: socket.create_connection(("192.0.2.1", 443), timeout=1),
    lambda: udp.sendto(b"x", ("192.0.2.2", 53)),
    lambda: socket.getaddrinfo("example.invalid", 80),
    lambda: socket.gethostbyname("example.invalid"),
    lambda: urllib.request.urlopen("http://example.invalid/"),
    lambda: socket.create_server(("0.0.0.0", 0)),
    lambda: socket.create_connection(listening.getsockname()).close(),
    lambda: socket.getaddrinfo("localhost", 80),
    lambda: ours.send(b"x"),
    lambda: udp.sendmsg([b"x"], [], 0, listening.getsockname()),
)])
"""


@pytest.fixture
def report(tmp_path: Path) -> Path:
    path = tmp_path / socket_guard.REPORT
    path.touch()
    return path


def test_the_guard_refuses_and_notes_what_is_not_on_this_machine(report: Path) -> None:
    paths = os.pathsep.join(path for path in sys.path if path)
    environment = {**os.environ, socket_guard.VARIABLE: str(report.parent), "PYTHONPATH": paths}
    ended = subprocess.run(
        [sys.executable, "-P", "-c", TRIES], env=environment, capture_output=True, text=True, check=True
    )
    assert ended.stdout.strip() == str(["refused"] * 6 + ["done"] * 4)
    lines = [json.loads(line) for line in report.read_text().splitlines()]
    assert lines[0]["event"] == "start" and len(lines) == 7
    assert [line["target"] for line in lines[1:3]] == ["192.0.2.1:443", "192.0.2.2:53"]
    assert all(line["asked_by"].startswith("__main__:") for line in lines[1:])


def test_without_its_file_a_guarded_process_does_not_run(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        socket_guard.install(str(tmp_path))


def test_addresses_of_this_machine() -> None:
    local = ["localhost", "a.localhost", "127.0.0.1", ("127.3.2.1", 80), ("::1", 80, 0, 0), b"127.0.0.1",
             ("::ffff:127.0.0.1", 80)]  # fmt: skip
    beyond = ["example.com", "", "0.0.0.0", ("10.0.0.1", 80), ("::ffff:10.0.0.1", 80), ("fe80::1%eth0", 80), 7]
    assert all(map(socket_guard.is_local_address, local)) and not any(map(socket_guard.is_local_address, beyond))
    assert socket_guard.is_local_address("10.0.0.1", is_lookup=True)
