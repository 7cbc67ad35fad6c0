"""The daemon as a process: begun, ended, killed, told to read its settings anew, watched by a service manager."""

from __future__ import annotations

import json
import os
import signal
import socket
import tempfile
import threading
from pathlib import Path
from typing import Any

import pytest
from daemons import TALK, command, end, environment, filled, running, start

from appliance import Appliance
from appliance.errors import HomeError, HomeLocked
from appliance.paths import Home
from appliance.server import logs, sockets
from appliance.transports.daemon import DaemonTransport
from tests import forked_programs
from tests.waits import PATIENCE, until


def modes(home: Path) -> dict[str, int]:
    return {path.name: path.stat().st_mode & 0o777 for path in home.iterdir()}


@pytest.mark.slow
def test_it_is_private_and_leaves_nothing_of_itself_behind(home: Path) -> None:
    mask = os.umask(0)
    try:
        daemon = start(home)
    finally:
        os.umask(mask)
    there = modes(home)
    assert {"token", "daemon.json", "logs"} <= there.keys()
    assert daemon.socket.stat().st_mode & 0o777 == 0o600
    assert {mode for name, mode in there.items() if (home / name).is_dir()} == {0o700}
    assert {mode for name, mode in there.items() if not (home / name).is_dir()} == {0o600}
    assert len(daemon.token) >= 40
    code, errors = end(daemon)
    assert code == 0 and not errors
    assert not daemon.socket.exists() and not (home / "daemon.json").exists()
    assert modes(home / "logs") == {"daemon.log": 0o600}


@pytest.mark.slow
def test_a_second_one_is_refused_naming_the_first(home: Path) -> None:
    with running(home) as daemon:
        ended = forked_programs.run(command(home), capture_output=True, env=environment(), timeout=60, check=False)
    assert ended.returncode == 3
    said = json.loads(ended.stdout)["error"]
    assert f"'appliance serve' (process {daemon.process.pid})" in said["message"]


@pytest.mark.slow
@pytest.mark.usefixtures("socket_enabled")
def test_a_port_in_use_and_an_address_that_others_reach_are_refused(home: Path) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = str(taken.getsockname()[1])
        ended = forked_programs.run(
            [*command(home), "--port", port], capture_output=True, env=environment(), timeout=60, check=False
        )
    assert ended.returncode == 2
    assert f"Port {port} is in use" in ended.stderr.decode()
    ended = forked_programs.run(
        [*command(home), "--host", "0.0.0.0"], capture_output=True, env=environment(), timeout=60, check=False
    )
    assert ended.returncode == 2
    assert "Other machines can reach 0.0.0.0" in ended.stderr.decode()
    assert not home.exists(), "no memory is begun in vain"


@pytest.mark.slow
def test_killed_it_leaves_what_hinders_nobody(home: Path) -> None:
    filled(home)
    daemon = start(home)
    daemon.process.kill()
    daemon.process.communicate()
    assert daemon.socket.exists() and (home / "daemon.json").exists()
    with Appliance.open(home, worker=False) as memory:
        assert not memory.is_attached
        assert memory.search("ferry")
    with running(home), Appliance.open(home) as memory:
        assert memory.is_attached
        assert not memory.verify().problems


@pytest.mark.slow
def test_it_answers_what_is_under_way_before_it_ends(home: Path) -> None:
    filled(home)
    daemon = start(home)
    answers: list[Any] = []
    with Appliance.open(home) as memory:
        began = threading.Event()

        def ingest() -> None:
            lines = [{**TALK[0], "session_id": "x", "message_id": f"x{n}", "content": f"Wave {n}"} for n in range(400)]
            file = home.parent / "waves.jsonl"
            file.write_text("".join(json.dumps(line) + "\n" for line in lines))
            answers.append(memory.ingest(file, wait=False, on_file=lambda path, count: began.set()))

        thread = threading.Thread(target=ingest)
        thread.start()
        began.wait(PATIENCE)
        assert end(daemon)[0] == 0
        thread.join(30)
    assert answers and answers[0].total("new") == 400
    with Appliance.open(home, worker=False) as memory:
        assert memory.status()["counts"]["messages"] == 400 + len(TALK)


def limit_of(home: Path) -> int:
    with Appliance.open(home) as memory:
        return memory.settings.search.limit


@pytest.mark.slow
def test_settings_are_read_anew_and_nobody_is_refused_meanwhile(home: Path) -> None:
    filled(home)
    with running(home) as daemon, Appliance.open(home) as memory:
        assert len(memory.search("the")) > 2
        (home / "config.toml").write_text("[search]\nlimit = 2\n")
        refused: list[BaseException] = []
        done = threading.Event()

        def ask() -> None:
            line = DaemonTransport(Home(home))
            while not done.is_set():
                try:
                    line.handshake()
                except BaseException as error:
                    refused.append(error)
            line.close()

        thread = threading.Thread(target=ask)
        thread.start()
        daemon.process.send_signal(signal.SIGHUP)
        until(lambda: limit_of(home) == 2, "the new limit")
        done.set()
        thread.join()
        assert not refused
        assert daemon.process.poll() is None
        with Appliance.open(home) as again:
            assert len(again.search("the")) == 2


@pytest.mark.slow
def test_settings_that_can_t_be_read_change_nothing(home: Path) -> None:
    filled(home)
    with running(home) as daemon, Appliance.open(home) as memory:
        (home / "config.toml").write_text("[search]\nlimit = many\n")
        daemon.process.send_signal(signal.SIGHUP)
        log = home / "logs" / "daemon.log"
        until(lambda: "can't reload the settings" in log.read_text(), "the log's line")
        assert "Invalid TOML" in log.read_text()
        assert memory.search("ferry")
        (home / "config.toml").unlink()


@pytest.mark.slow
def test_it_watches_the_inbox(home: Path) -> None:
    with running(home, APPLIANCE_WATCH_SETTLE="0.1"), Appliance.open(home) as memory:
        (home / "inbox" / "new.jsonl").write_text(json.dumps(TALK[0]) + "\n")
        until(lambda: memory.search("Ischia", mode="lexical"), "the message")


@pytest.mark.slow
def test_the_log_has_no_word_of_any_message(home: Path) -> None:
    filled(home)
    with running(home), Appliance.open(home) as memory:
        memory.search("Ischia ferry harbour master")
        memory.context("spelt bread", budget=500)
        memory.sessions.create(external_id="sourdough", title="Sourdough").add("user", "Rosa likes the storm")
        with pytest.raises(Exception, match="no session"):
            memory.sessions.get("sailing secrets")
    log = (home / "logs" / "daemon.log").read_text()
    assert log.count('"what": "request"') > 5
    for line in log.splitlines():
        assert json.loads(line)["level"] in ("info", "warning")
    for word in ("Ischia", "ferry", "spelt", "sourdough", "Rosa", "storm", "sailing"):
        assert word not in log


def test_a_bug_is_told_by_its_place_alone(tmp_path: Path) -> None:
    def fails() -> None:
        raise KeyError("what somebody said")

    with logs.daemon_log(tmp_path / "logs"):
        try:
            fails()
        except KeyError as error:
            logs.logging.getLogger("appliance.test").error("a call failed", exc_info=error)
    (line,) = (tmp_path / "logs" / "daemon.log").read_text().splitlines()
    assert "somebody" not in line
    said = json.loads(line)
    assert said["error"] == "KeyError" and said["places"][-1].endswith(" fails")


def test_of_what_a_library_logs_arguments_and_their_placeholders_are_left_out(tmp_path: Path) -> None:
    with logs.daemon_log(tmp_path / "logs"):
        library = logs.logging.getLogger("mcp.server")
        library.warning("Rejecting %s for session %-8.3s: 100%% of it", "this", "that")
        library.warning("50% off")
        library.warning(ValueError("what somebody said"))
    said = [json.loads(line)["what"] for line in (tmp_path / "logs" / "daemon.log").read_text().splitlines()]
    assert said == ["Rejecting … for session …: 100% of it", "50% off", "ValueError"]


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="/dev/full stands for a full disk")
def test_a_log_that_finds_no_room_says_so_once(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "logs").mkdir()
    (tmp_path / "logs" / "daemon.log").symlink_to("/dev/full")
    with logs.daemon_log(tmp_path / "logs"):
        for _ in range(3):
            logs.logging.getLogger("appliance.test").info("a line")
    (line,) = capsys.readouterr().err.splitlines()
    assert (
        line
        == f"The log can't be written to {tmp_path / 'logs' / 'daemon.log'} (No space left on device). Serving goes on."
    )


@pytest.mark.slow
def test_the_service_manager_is_told(home: Path, tmp_path: Path) -> None:
    where = tmp_path / "notify"
    with socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM) as manager:
        manager.bind(str(where))
        manager.settimeout(30)
        daemon = start(home, NOTIFY_SOCKET=str(where), WATCHDOG_USEC="400000")
        heard = [manager.recv(4096).decode() for _ in range(3)]
        assert heard[0] == f"READY=1\nMAINPID={daemon.process.pid}"
        assert heard[1:] == ["WATCHDOG=1", "WATCHDOG=1"]
        daemon.process.terminate()
        while (word := manager.recv(4096).decode()) == "WATCHDOG=1":
            pass
        assert word == "STOPPING=1"
        daemon.process.communicate(timeout=PATIENCE)


@pytest.mark.slow
def test_a_home_with_a_long_path_has_its_socket_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runtime = Path("/tmp") / f"appliance-test-{os.getpid()}"
    runtime.mkdir(mode=0o700)
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(runtime))
    home = tmp_path / ("deep" * 30) / "home"
    try:
        with running(home) as daemon, Appliance.open(home) as memory:
            assert daemon.socket.parent == runtime
            assert memory.is_attached
        assert not daemon.socket.exists()
    finally:
        runtime.rmdir()


@pytest.mark.usefixtures("socket_enabled")
def test_a_folder_that_others_write_to_gets_no_socket() -> None:
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        Path(folder).chmod(0o777)
        with (
            pytest.raises(HomeError, match="Other users may write to this folder"),
            sockets.listen(Home(Path(folder)), "127.0.0.1", 0),
        ):
            pass


@pytest.mark.slow
def test_a_daemon_of_another_version_is_said(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with running(home):
        monkeypatch.setattr("appliance.transports.daemon.VERSION", "9.9.9")
        with pytest.raises(HomeLocked, match=r"A daemon of version \S+ owns the memory, but this is version 9.9.9"):
            Appliance.open(home)
