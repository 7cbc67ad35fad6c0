"""How the screen starts: the verb, its settings, a home that refuses, and a home in which nothing is yet."""

from __future__ import annotations

import asyncio
import fcntl
import io
import os
import pty
import select
import struct
import subprocess
import sys
import termios
from collections.abc import Awaitable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from scenes import words
from screens import type_in, until
from textual.widgets import Button, Static
from typer.testing import CliRunner

from appliance import Appliance, config
from appliance.cli.app import app as verbs
from appliance.cli.app import run as command_line
from appliance.cli.tui import _check_terminal
from appliance.engine.engine import Engine
from appliance.errors import ConfigError, StoreError, UsageError
from appliance.paths import Home
from appliance_models import HashEmbedder
from appliance_tui.actions import ACTIONS
from appliance_tui.app import ApplianceApp
from appliance_tui.keys import resolve_keymap
from appliance_tui.screens.picker import PickerScreen
from appliance_tui.widgets.first_run import DEMO_USER, FirstRunPanel
from appliance_tui.widgets.rows import RowList
from appliance_tui.widgets.search_line import SearchInput
from appliance_tui.widgets.start_page import StartPagePanel
from tests.discovery import layouts
from tests.waits import PATIENCE

ROOT = Path(__file__).parents[2]
FRAME = b"Search"
SIZES = ("COLUMNS", "LINES")
CTRL_Q = b"\x11"


# --- the verb -------------------------------------------------------------------------------------------


def environment(**more: str) -> dict[str, str]:
    paths = os.pathsep.join(str(ROOT / name) for name in (".", "models", "tui"))
    return {**os.environ, "PYTHONPATH": paths, "TERM": "xterm-256color", "COLORTERM": "truecolor", **more}


@dataclass(slots=True)
class Terminal:
    """A program in a terminal of its own."""

    pid: int
    file: int
    said: bytes = b""

    def until(self, words: bytes) -> None:
        while words not in self.said:
            assert self.more(PATIENCE), self.said[-3000:].decode("utf-8", "replace")

    def more(self, seconds: float) -> bool:
        """Read what comes; False when nothing does any more."""
        if not select.select([self.file], [], [], max(0.0, seconds))[0]:
            return False
        try:
            came = os.read(self.file, 1 << 16)
        except OSError:  # the other end is closed
            return False
        self.said += came
        return bool(came)

    def code(self) -> int:
        """Its exit code, when it has ended."""
        while self.more(PATIENCE):
            pass
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


@contextmanager
def terminal(*arguments: str, **variables: str) -> Iterator[Terminal]:
    pid, file = pty.fork()
    if pid == 0:
        try:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 30, 100, 0, 0))
            os.execve(
                sys.executable,
                [sys.executable, "-m", "appliance", "tui", *arguments],
                # The size is the terminal's: what a test runner says of its own must not reach the program.
                {name: value for name, value in environment(**variables).items() if name not in SIZES},
            )
        finally:
            os._exit(99)
    try:
        yield Terminal(pid, file)
    finally:
        os.close(file)


@pytest.mark.slow
def test_the_program_shows_its_frame_and_leaves_by_its_key(home: Path) -> None:
    with terminal("--home", str(home)) as program:
        program.until(FRAME)
        program.until(b"0 messages")
        os.write(program.file, CTRL_Q)
        assert program.code() == 0


@pytest.mark.slow
def test_user_and_theme_are_those_of_the_command_line(home: Path) -> None:
    with terminal("--home", str(home), "--user", "ana", "--theme", "light") as program:
        program.until(b"ana")
        os.write(program.file, CTRL_Q)
        assert program.code() == 0
        assert b"48;2;250;249;246" in program.said  # the light theme's background


@pytest.mark.slow
def test_a_home_whose_owner_answers_nobody_is_told_as_the_command_line_does(home: Path) -> None:
    with Engine.open(home, worker=False), terminal("--home", str(home)) as program:
        assert program.code() == 3
        # However the sentence is broken into lines: the path of the home stands in it, and may be long.
        said = b" ".join(program.said.split())
        assert b"error: " in said and b"The memory is in use by" in said
        assert b"Traceback" not in program.said


@pytest.mark.slow
def test_a_dumb_terminal_is_refused_in_words(home: Path) -> None:
    with terminal("--home", str(home), TERM="dumb") as program:
        assert program.code() == 2
        assert b"TERM=dumb" in program.said and b"\x1b[" not in program.said


@pytest.mark.slow
def test_a_wrong_setting_is_told_before_anything_is_shown(home: Path) -> None:
    home.mkdir()
    (home / "config.toml").write_text('[tui.keys]\n"recall.pim" = "b"\n')
    with terminal("--home", str(home)) as program:
        assert program.code() == 2
        assert b"tui.keys.recall.pim" in program.said and b"recall.pin" in program.said
        assert FRAME not in program.said


@pytest.mark.slow
def test_without_a_terminal_it_says_what_to_do(home: Path) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "appliance", "tui"],
        env=environment(), capture_output=True, stdin=subprocess.DEVNULL, timeout=60, check=False,
    )  # fmt: skip
    assert ended.returncode == 2
    assert b"needs a terminal" in ended.stderr and b"--serve" in ended.stderr and not ended.stdout
    assert not home.exists()


def test_a_redirected_stream_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    class Stream(io.StringIO):
        def isatty(self) -> bool:
            return True

    monkeypatch.delenv("TEXTUAL_DRIVER", raising=False)
    monkeypatch.setattr(sys, "stdin", Stream())
    monkeypatch.setattr(sys, "stdout", Stream())
    monkeypatch.setattr(sys, "stderr", io.StringIO())
    with pytest.raises(UsageError, match=r"needs a terminal, and stderr is not one\."):
        _check_terminal()
    monkeypatch.setattr(sys, "stdin", io.StringIO())
    with pytest.raises(UsageError, match="stdin and stderr are not one"):
        _check_terminal()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [(["--json"], "'appliance tui' has no JSON output."), (["--port", "8000"], "--port needs --serve.")],
)
def test_wrong_usage(arguments: list[str], says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["tui", *arguments]) == 2
    assert says in capsys.readouterr().err


def test_a_theme_that_is_none_is_told_before_the_browser_is_served(capsys: pytest.CaptureFixture[str]) -> None:
    assert command_line(["tui", "--serve", "--theme", "pink"]) == 2
    assert "dark, light, contrast, plain" in capsys.readouterr().err


def test_the_help_says_how(home: Path) -> None:
    shown = CliRunner().invoke(verbs, ["tui", "--help"])
    assert shown.exit_code == 0 and "appliance tui --serve" in shown.stdout and "--theme" in shown.stdout


# --- settings -------------------------------------------------------------------------------------------


def test_settings_are_read_and_listed(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home.mkdir()
    (home / "config.toml").write_text(
        '[tui]\ntheme = "light"\n[tui.keys]\n"recall.pin" = "ctrl+b"\nrecall.why = "ctrl+e"\n'
    )
    monkeypatch.setenv("APPLIANCE_TUI_MOTION", "false")
    settings, origins = config.load_with_origins(Home(home))
    assert (settings.tui.theme, settings.tui.motion) == ("light", False)
    assert resolve_keymap(settings.tui.keys, "x") == {"recall.pin": "ctrl+b", "recall.why": "ctrl+e"}
    assert origins["tui.keys.recall.pin"] == str(home / "config.toml")
    assert origins["tui.motion"] == "APPLIANCE_TUI_MOTION"
    listed = CliRunner().invoke(verbs, ["config", "--json"])
    assert '"tui.keys.recall.why"' in listed.stdout and '"tui.theme"' in listed.stdout


@pytest.mark.parametrize("written", ['theme = "pink"', "motion = 1", "keys = 3", "shade = 1"])
def test_settings_that_can_not_be_are_errors(home: Path, written: str) -> None:
    home.mkdir()
    (home / "config.toml").write_text(f"[tui]\n{written}\n")
    with pytest.raises(ConfigError) as caught:
        config.load(Home(home), {})
    assert "tui" in str(caught.value) and str(home) in str(caught.value)


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ("ctrl+b", "ctrl+b"), ("?", "question_mark"), ("b , f7", "b,f7"), ("B", "B"), ("ctrl+/", "ctrl+slash"),
        ("shift+left", "shift+left"), ("ß", "ß"), ("+", "plus"),
    ],
)  # fmt: skip
def test_keys_are_named_as_textual_does(keys: str, named: str) -> None:
    assert resolve_keymap({"recall.pin": keys}, "x")["recall.pin"].startswith(named)


@pytest.mark.parametrize(
    ("given", "where", "says"),
    [
        ({"recall.pim": "b"}, "tui.keys.recall.pim", "There is no such action."),
        ({"recall": {"pim": "b"}}, "tui.keys.recall.pim", "There is no such action."),
        ({"recall.pin": ""}, "tui.keys.recall.pin", "A key is missing."),
        ({"recall.pin": "b,,c"}, "tui.keys.recall.pin", "A key is missing."),
        ({"recall.pin": "ctl+b"}, "tui.keys.recall.pin", "'ctl+b' is not a key"),
        ({"recall.pin": "controlb"}, "tui.keys.recall.pin", "is not a key"),
        ({"recall.pin": "ctrl+"}, "tui.keys.recall.pin", "is not a key"),
        ({"recall.pin": "<any>"}, "tui.keys.recall.pin", "is not a key"),
        ({"recall.pin": "d"}, "tui.keys.recall.pin", "'d' is already the key of recall.forget"),
        ({"list.down": "n"}, "tui.keys.list.down", "'n' is already the key of reading.next_found"),
        ({"recall.pin": "c", "recall.copy": "c"}, "tui.keys.recall", "'c' is already the key of"),
    ],
)
def test_keys_that_can_not_be_are_errors_with_their_place(
    given: dict[str, str | dict[str, str]], where: str, says: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        resolve_keymap(given, "config.toml")
    assert where in str(caught.value.where) and says in str(caught.value)


def test_two_actions_can_change_their_keys(home: Path) -> None:
    assert resolve_keymap({"recall.pin": "d", "recall.forget": "p"}, "x") == {"recall.pin": "d", "recall.forget": "p"}


def test_the_table_itself_has_no_key_twice_in_a_place() -> None:
    taken = [(action.place, key) for action in ACTIONS for key in action.keys.split(",")]
    assert len(taken) == len(set(taken))


# --- in which nothing is yet ----------------------------------------------------------------------------


def run(body: Awaitable[None]) -> None:
    async def go() -> None:
        await body

    asyncio.run(go())


def app_on(home: Path) -> ApplianceApp:
    return ApplianceApp(lambda: Appliance.open(home, embedder=HashEmbedder()), motion=False)


@pytest.mark.parametrize("size", [(80, 24), (200, 60)])
def test_an_empty_home_says_how_to_begin(home: Path, size: tuple[int, int]) -> None:
    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=size) as pilot:
            await until(pilot, lambda: bool(app.status_text))
            lines = app.screen.query_one("#welcome-lines", Static)
            await until(pilot, lambda: str(home / "inbox") in str(lines.visual))
            said = str(lines.visual)
            assert "appliance ingest" in said and "drop" in said
            assert all(program in said for program in ("ChatGPT", "Claude", "WhatsApp", "Slack", "Telegram"))
            assert app.screen.query_one(FirstRunPanel).region.right <= size[0]
            app.screen.query_one("#welcome-demo", Button).press()
            await until(pilot, lambda: app.user == DEMO_USER)

    run(body())


@pytest.mark.slow
def test_what_lies_on_this_machine_is_listed_and_read_by_one_key(home: Path, tmp_path: Path) -> None:
    projects = layouts.claude_code(tmp_path / "person")

    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            panel = app.screen.query_one(FirstRunPanel)
            found = panel.query_one("#welcome-found", RowList)
            await until(pilot, lambda: found.display and "Claude Code: 1 conversation, 2026-01-05" in words(app))
            await pilot.press("f8")
            memory = app.memory_worker.memory()
            await until(pilot, lambda: memory.overview.counts()["messages"] == 2)
            await until(pilot, lambda: not panel.display and app.screen.query_one(StartPagePanel).display)
            assert config.load(memory.home).watch.folders == (str(projects),)
            layouts.claude_code(tmp_path / "person", "0d5e2c8a-4a0c-4e55-8a5e-7f1f0a6b1c02")
            await until(pilot, lambda: memory.overview.counts()["messages"] == 4)

    run(body())


def test_one_of_what_lies_on_this_machine_is_imported_by_enter(home: Path, tmp_path: Path) -> None:
    projects = layouts.claude_code(tmp_path / "person")
    other = tmp_path / "person" / "Downloads" / "WhatsApp Chat with Ines.txt"
    other.parent.mkdir()
    other.write_text("05/01/2026, 08:00 - Ines: Which pier is free?\n05/01/2026, 08:01 - Tom: The northern one.\n" * 3)

    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            panel = app.screen.query_one(FirstRunPanel)
            await until(pilot, lambda: len(panel.found) == 2)
            await until(pilot, lambda: "⏎ Import" in words(app) and "2 histories on this machine" in words(app))
            await pilot.press("down")
            rows = panel.query_one("#welcome-found", RowList)
            assert app.focused is rows
            await until(pilot, lambda: "⏎ Import" in words(app))
            rows.mark(str(projects))
            await pilot.press("enter")
            memory = app.memory_worker.memory()
            await until(pilot, lambda: memory.overview.counts()["messages"] == 2)
            await until(
                pilot,
                lambda: len(panel.found) == 1 and any("1 other history" in one.message for one in app._notifications),
            )
            assert config.load(memory.home).watch.folders == (), "only F8 watches"
            await until(pilot, lambda: app.query_one(StartPagePanel).display and "f8 Import all" in words(app))
            await until(pilot, lambda: not panel.display and isinstance(app.focused, SearchInput))

    run(body())


@pytest.mark.slow
def test_after_a_restart_f8_asks_which_of_the_others_to_import(home: Path, tmp_path: Path) -> None:
    projects = layouts.claude_code(tmp_path / "person")
    other = tmp_path / "person" / "Downloads" / "WhatsApp Chat with Ines.txt"
    other.parent.mkdir()
    other.write_text("05/01/2026, 08:00 - Ines: Which pier is free?\n05/01/2026, 08:01 - Tom: The northern one.\n" * 3)
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        memory.ingest(projects, wait=False)

    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.query_one(StartPagePanel).display)
            await pilot.press("f8")
            await until(pilot, lambda: isinstance(app.screen, PickerScreen) and "1 found" in words(app))
            assert "WhatsApp" in words(app) and "Claude Code" not in words(app)
            await pilot.press("down", "enter")
            memory = app.memory_worker.memory()
            await until(pilot, lambda: memory.overview.counts()["messages"] == 8)
            assert config.load(memory.home).watch.folders == ()

    run(body())


@pytest.mark.slow
def test_an_export_that_is_downloaded_after_f8_is_read(home: Path, tmp_path: Path) -> None:
    downloads = tmp_path / "person" / "Downloads"
    downloads.mkdir(parents=True)
    chat = "05/01/2026, 08:00 - Ines: Which pier is free?\n05/01/2026, 08:01 - Tom: The northern one.\n" * 3
    (downloads / "WhatsApp Chat with Ines.txt").write_text(chat)
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text("[watch]\nsettle = 0\n")

    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            panel = app.screen.query_one(FirstRunPanel)
            await until(pilot, lambda: len(panel.found) == 1)
            await pilot.press("f8")
            memory = app.memory_worker.memory()
            await until(pilot, lambda: memory.overview.counts()["messages"])
            assert config.load(memory.home).watch.folders == (str(downloads),)
            before = memory.overview.counts()["messages"]
            (downloads / "WhatsApp Chat with Tom.txt").write_text(chat.replace("pier", "quay"))
            await until(pilot, lambda: memory.overview.counts()["messages"] > before)
            await pilot.press("f8")
            await until(pilot, lambda: any("None is left" in one.message for one in app._notifications))

    run(body())


@pytest.mark.slow
def test_the_first_enter_imports_the_selected_history(home: Path, tmp_path: Path) -> None:
    layouts.claude_code(tmp_path / "person")

    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            panel = app.screen.query_one(FirstRunPanel)
            await until(
                pilot, lambda: panel.found and "⏎ Import" in words(app) and "F5 and a ask for its path" in words(app)
            )
            await type_in(pilot, "pier")
            await pilot.press("enter")
            assert app.focused is panel.query_one("#welcome-found", RowList), "who has typed does not import at once"
            await until(pilot, lambda: "⏎ Import" in words(app))
            await pilot.press("escape", "ctrl+u", "enter")
            memory = app.memory_worker.memory()
            await until(pilot, lambda: memory.overview.counts()["messages"] == 2)

    run(body())


def test_escape_leaves_how_to_begin_for_the_line(home: Path) -> None:
    async def body() -> None:
        app = app_on(home)
        async with app.run_test(size=(80, 24)) as pilot:
            await until(pilot, lambda: app.screen.query_one(FirstRunPanel).display)
            await pilot.press("down")
            assert isinstance(app.focused, Button)
            await pilot.press("escape")
            assert isinstance(app.focused, SearchInput)

    run(body())


def test_the_samples_are_another_users_and_go_without_a_trace(home: Path) -> None:
    async def body() -> None:
        app = app_on(home)
        async with app.run_test() as pilot:
            await until(pilot, lambda: bool(app.status_text))
            await pilot.press("f9")
            await until(pilot, lambda: app.user == DEMO_USER)
            memory = app.memory_worker.memory()
            assert sum(one.messages for one in memory.overview.activity(user_id=DEMO_USER)) > 100
            assert (
                memory.overview.activity() == []
                and not memory.search("wifi")
                and memory.search("wifi", user_id=DEMO_USER)
            )
            before = len(app.import_queue.outcomes)
            await pilot.press("f9")
            await until(pilot, lambda: app.user is None)
            await pilot.press("f9")
            await until(pilot, lambda: app.user == DEMO_USER)
            assert len(app.import_queue.outcomes) == before  # they are not read twice
        # As 'appliance forget --user demo --everything' does, which would look for the model of this test.
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
            memory.erasure.forget(memory.erasure.preview(user_id=DEMO_USER, everything=True))
        with Appliance.open(home, worker=False, embedder=HashEmbedder()) as left:
            assert left.status()["counts"]["messages"] == 0

    run(body())


def test_an_index_that_can_not_be_opened_does_not_end_the_screen(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: Appliance) -> None:
        raise StoreError("the server does not answer")

    monkeypatch.setattr(Appliance, "warm_up", refuse)

    async def body() -> None:
        app = app_on(home)
        async with app.run_test() as pilot:
            await until(pilot, lambda: bool(app.status_text))
            assert app.failure is None and app.is_running

    asyncio.run(body())
