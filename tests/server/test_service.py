"""The daemon as a service: what the managers are given, and what they are asked, in which order."""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from xml.etree import ElementTree

import pytest
from typer.testing import CliRunner

from appliance import config
from appliance.cli.app import app
from appliance.paths import create_home, find_home
from appliance.runtime import child_process
from appliance.server.service import plan as plans
from appliance.server.service.plan import ServiceError, ServicePlan, plan_for
from appliance.server.service.systemd import SERVICE, SOCKET, Systemd
from tests.server import daemons
from tests.waits import PATIENCE

PLAN = ServicePlan(
    ("/opt/my apps/appliance", "serve", "--home", "/h/100% mine"), Path("/h/100% mine"), "127.0.0.1", 7707, True
)


class Manager:
    """Answers as a service manager's program does, and notes what it is asked."""

    def __init__(self, failing: str = "", shown: str = "") -> None:
        self.asked: list[str] = []
        self._failing = failing
        self._shown = shown

    def __call__(self, command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        asked = " ".join(command)
        self.asked.append(asked)
        if "disable" in command:
            self._shown = ""
        fails = bool(self._failing) and self._failing in asked
        out = self._shown if " show " in asked else "the last line of the journal" if "journalctl" in asked else ""
        return subprocess.CompletedProcess([*command], int(fails), out, "no" if fails else "")


@pytest.fixture
def units(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    return tmp_path / "systemd/user"


def test_systemd_is_told_and_asked_in_order(units: Path) -> None:
    manager = Manager(shown="UnitFileState=enabled\nActiveState=active\nSubState=running\nMainPID=12")
    systemd = Systemd(manager)
    systemd.install(PLAN)
    assert [one.removeprefix("systemctl --user ") for one in manager.asked] == [
        "show-environment", "daemon-reload", f"stop {SERVICE}", f"enable --now {SOCKET}", f"enable --now {SERVICE}",
    ]  # fmt: skip
    service = (units / SERVICE).read_text()
    assert 'ExecStart="/opt/my apps/appliance" serve --home "/h/100%% mine"\n' in service
    assert "IPAddressDeny=any\nIPAddressAllow=localhost\n" in service
    assert "ListenStream=127.0.0.1:7707\n" in (units / SOCKET).read_text()
    state = systemd.state(PLAN)
    assert (state.installed, state.running, state.current, state.detail) == (True, True, True, "active (running)")
    (units / SERVICE).write_text("by an older version")
    assert not systemd.state(PLAN).current
    assert systemd.remove(PLAN) and not [*units.iterdir()] and not systemd.remove(PLAN)


def test_the_units_of_a_package_are_told_and_given_up(units: Path) -> None:
    shown = "UnitFileState={}\nActiveState=inactive\nSubState=dead\nFragmentPath=/usr/lib/systemd/user/" + SERVICE
    manager = Manager(shown=shown.format("enabled"))
    systemd = Systemd(manager)
    state = systemd.state(PLAN)
    assert (state.installed, state.current, state.files) == (True, True, (Path("/usr/lib/systemd/user", SERVICE),))
    assert systemd.remove(PLAN) and f"systemctl --user disable --now {SOCKET} {SERVICE}" in manager.asked
    assert not Systemd(Manager(shown=shown.format("disabled"))).remove(PLAN)
    systemd.install(PLAN)
    assert {path.parent for path in systemd.state(PLAN).files} == {units}, "one's own go first"


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="no systemd here")
@pytest.mark.slow
def test_systemd_accepts_the_units_and_finds_them_closed(units: Path) -> None:
    program = shutil.which("true")
    assert program is not None
    plan = ServicePlan((program, "serve"), Path("/h/a"), "127.0.0.1", 7707, True)
    plans.write_files(Systemd(Manager()).files(plan))
    checked = subprocess.run(
        ["systemd-analyze", "verify", "--user", "--man=no", str(units / SERVICE), str(units / SOCKET)],
        capture_output=True, text=True, check=False, env=os.environ | {"XDG_RUNTIME_DIR": str(units)},
    )  # fmt: skip
    complaints = [line for line in checked.stderr.splitlines() if "memory-appliance" in line]
    assert not complaints, complaints


def test_without_a_port_of_its_own_there_is_no_socket_and_what_is_remote_can_be_reached(units: Path) -> None:
    files = Systemd(Manager()).files(ServicePlan(("/a",), Path("/h"), "127.0.0.1", 0, False))
    assert [path.name for path in files] == [SERVICE]
    assert "IPAddress" not in files[units / SERVICE]


@pytest.mark.parametrize(
    ("failing", "said", "hint"),
    [
        ("show-environment", "No systemd runs for this user here (no)", "--print"),
        (f"enable --now {SERVICE}", f"The unit {SERVICE} can't be started: no", "the last line of the journal"),
    ],
)
def test_what_systemd_refuses_is_said(units: Path, failing: str, said: str, hint: str) -> None:
    with pytest.raises(ServiceError) as raised:
        Systemd(Manager(failing)).install(PLAN)
    assert said in str(raised.value) and raised.value.hint is not None and hint in raised.value.hint


def test_without_systemd_other_ways_are_named_with_their_lines() -> None:
    def missing(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
        raise ServiceError(f"{command[0]} is not on this system.")

    with pytest.raises(ServiceError, match="This system has no systemd") as raised:
        Systemd(missing).install(PLAN)
    lines = str(raised.value.hint).splitlines()
    command = "'/opt/my apps/appliance' serve --home '/h/100% mine'"
    assert f"    @reboot {command.replace('%', chr(92) + '%')} >/dev/null 2>&1" in lines
    assert f"    ({command} >/dev/null 2>&1 &)" in lines
    assert '    Exec="/opt/my apps/appliance" serve --home "/h/100%% mine"' in lines


@pytest.mark.skipif(sys.platform == "win32", reason="there are no user ids")
def test_launchd_and_the_task_scheduler_get_what_they_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from appliance.server.service.launchd import Launchd
    from appliance.server.service.task_scheduler import TaskScheduler

    monkeypatch.setenv("HOME", str(tmp_path))
    manager = Manager()
    Launchd(manager).install(PLAN)
    ((path, content),) = Launchd(manager).files(PLAN).items()
    agent = plistlib.loads(path.read_bytes())
    assert agent["ProgramArguments"] == [*PLAN.command] and agent["RunAtLoad"] and path.read_text() == content
    assert [one.split()[1] for one in manager.asked] == ["bootout", "bootstrap"]

    home = tmp_path / "home & more"
    home.mkdir()
    plan = ServicePlan(("C:\\apps\\appliance.cmd", "serve", "--home", str(home)), home, "127.0.0.1", 7707, True)
    manager = Manager()
    TaskScheduler(manager).install(plan)
    task = ElementTree.parse(home / "service.xml")
    name = "{http://schemas.microsoft.com/windows/2004/02/mit/task}"
    assert task.findtext(f".//{name}Arguments") == f'serve --home "{home}"'
    assert [one.split()[1] for one in manager.asked] == ["/Create", "/Run"]


def test_the_plan_follows_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(child_process.COMMAND_VARIABLE, "/home/ana/.local/bin/appliance")
    home = create_home(find_home(tmp_path / "memory"))
    assert plan_for(home) == ServicePlan(
        ("/home/ana/.local/bin/appliance", "serve", "--home", str(home.root)), home.root, "127.0.0.1",
        config.load(home).server.port, True,
    )  # fmt: skip
    home.config.write_text('[llm]\nbase_url = "http://192.168.1.5:8080/v1"\nmodel = "m"\n[server]\nport = 0\n')
    assert not plan_for(home).only_loopback and plan_for(home).port == 0


def test_the_command_line_shows_and_changes_it(tmp_path: Path, units: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    manager = Manager(shown="UnitFileState=enabled\nActiveState=active\nSubState=running\nMainPID=12")
    monkeypatch.setattr(plans, "service_manager", lambda: Systemd(manager))
    home = str(tmp_path / "memory")

    def run(*arguments: str) -> str:
        ended = CliRunner().invoke(app, ["service", *arguments, "--home", home])
        assert ended.exit_code == 0, ended.output
        return ended.stdout

    assert f"# {units / SERVICE}\n" in run("install", "--print") and not units.exists() and not Path(home).exists()
    assert "running   yes, active (running)" in run("install")
    shown = json.loads(run("status", "--json"))
    assert shown["files"] == [str(units / SERVICE), str(units / SOCKET)] and shown["installed"]
    assert run("remove") == "The service is removed.\n" and run("remove") == "No service is installed.\n"


@pytest.mark.slow
@pytest.mark.enable_socket
@pytest.mark.skipif(sys.platform == "win32", reason="sockets are passed by descriptor")
def test_the_daemon_answers_on_the_socket_that_the_manager_passes(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as passed, tempfile.TemporaryDirectory() as home:
        port = passed.getsockname()[1]
        passing = (
            "import os, sys; os.dup2(int(sys.argv[1]), 3); os.set_inheritable(3, True)\n"
            "os.execve(sys.executable, sys.argv[2:], os.environ | {'LISTEN_PID': str(os.getpid()), 'LISTEN_FDS': '1'})"
        )
        process = subprocess.Popen(
            [sys.executable, "-c", passing, str(passed.fileno()), *daemons.command(Path(home) / "m")],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=daemons.environment(), pass_fds=[passed.fileno()],
        )  # fmt: skip
        try:
            assert process.stdout is not None
            assert json.loads(process.stdout.readline())["url"] == f"http://127.0.0.1:{port}"
            with socket.create_connection(("127.0.0.1", port), PATIENCE) as client:
                client.sendall(b"GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                assert client.recv(64).startswith(b"HTTP/1.1 200")
        finally:
            process.terminate()
            process.communicate(timeout=PATIENCE)
