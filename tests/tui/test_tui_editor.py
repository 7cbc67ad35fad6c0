"""A conversation is read in an editor: from a private, read-only file, which is removed when the editor ends."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from pseudo_terminal import pseudo_terminal
from screens import fill, run, shown, type_in, until

from appliance_tui import editor
from appliance_tui.widgets.hits import HitList
from tests.homes import copied
from tests.waits import until as wait_until

SPY = """#!{python}
import os, stat, sys
path = sys.argv[-1]
folder = os.path.dirname(path)
modes = [oct(stat.S_IMODE(os.stat(one).st_mode)) for one in (path, folder)]
open({report!r}, "w").write("\\n".join([*sys.argv[1:-1], *modes, path, open(path, encoding="utf-8").read()]))
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    return fill(folder / "home", folder)


@pytest.fixture
def spy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An editor by the name of vi that reports how it was called."""
    program, report = tmp_path / "vi", tmp_path / "report"
    program.write_text(SPY.format(python=sys.executable, report=str(report)))
    program.chmod(0o700)
    monkeypatch.setenv("VISUAL", f"'{program}' -R")
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    return report


@pytest.mark.slow
def test_a_conversation_opens_at_the_current_message(
    built: Path, home: Path, spy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    suspended: list[str] = []

    @contextmanager
    def suspend() -> Iterator[None]:
        suspended.append("began")
        yield
        suspended.append("ended")

    async def body() -> None:
        async with shown(copied(built, home)) as (app, pilot):
            monkeypatch.setattr(app, "suspend", suspend)
            await type_in(pilot, "leaves")
            await until(pilot, lambda: app.screen.query_one(HitList).hits)
            await pilot.press("enter")
            await until(pilot, lambda: getattr(app.screen, "info", None))
            await pilot.press("end")
            await pilot.press("e")  # this terminal can't be given to another program
            await pilot.pause()
            assert not suspended and any("x exports" in note.message for note in app._notifications)
            monkeypatch.setattr(type(app._driver), "can_suspend", True)
            await pilot.press("e")  # the first press says what the next one does, and how to come back
            said = "The same key again opens vi; type :q! there to come back."
            await until(pilot, lambda: any(said in note.message for note in app._notifications))
            assert not suspended
            await pilot.press("e")
            await until(pilot, lambda: suspended == ["began", "ended"])
            await pilot.press("escape", "escape")
        option, line, file_mode, folder_mode, path, *text = spy.read_text(encoding="utf-8").split("\n")
        assert (option, file_mode, folder_mode) == ("-R", "0o400", "0o700")
        assert text[2] == "# Harbour watch" and text[int(line.removeprefix("+")) - 1].startswith("**assistant**")
        assert text[int(line.removeprefix("+")) + 1] == "Noted."
        assert Path(path).parent.parent == tmp_path and not Path(path).parent.exists()

    run(body)


@pytest.mark.parametrize(
    ("visual", "edits", "expected"),
    [("nope --wait", "true -x 'a b'", ["true", "-x", "a b"]), ("'open", "", ["sh"]), ("", "", ["sh"])],
)
def test_the_editor_is_the_one_that_is_named_else_a_pager(visual: str, edits: str, expected: list[str]) -> None:
    assert editor.editor_command({"VISUAL": visual, "EDITOR": edits}, ("no-such-pager", "sh")) == expected
    assert editor.editor_command({}, ("no-such-pager",)) is None


def test_what_a_killed_screen_has_left_goes_at_the_next_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    dead, alive = (tmp_path / f"{editor.PREFIX}{process}-x" for process in (child.pid, os.getpid()))
    foreign, link = tmp_path / f"{editor.PREFIX}notes", tmp_path / f"{editor.PREFIX}{child.pid}-link"
    for folder in (dead, alive, foreign):
        folder.mkdir()
        (folder / editor.FILE_NAME).touch()
    link.symlink_to(foreign)
    editor.remove_leftovers()
    assert not dead.exists() and alive.exists() and (foreign / editor.FILE_NAME).exists()


def test_a_private_folder_is_closed_to_others_and_goes_after_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path))
    with suppress(RuntimeError), editor.private_folder() as folder:
        assert stat.S_IMODE(folder.stat().st_mode) == 0o700 and folder.parent == tmp_path
        (folder / editor.FILE_NAME).touch(0o400)
        raise RuntimeError
    assert not folder.exists()


@pytest.mark.slow
def test_the_terminal_is_the_editor_s_until_it_ends(built: Path, home: Path, tmp_path: Path) -> None:
    program = tmp_path / "editor"
    program.write_text('#!/bin/sh\necho READY; head -n 3 "$1"\nread answer; echo got $answer\n')
    program.chmod(0o700)
    environment = {"VISUAL": str(program), "XDG_RUNTIME_DIR": str(tmp_path)}
    with pseudo_terminal(copied(built, home), **environment) as terminal:
        terminal.until("9 messages")
        terminal.type("\x1bOQ")  # F2
        terminal.until("The ledger")
        terminal.until("Rename")  # a conversation is selected
        start = len(terminal.sent)
        terminal.type("e")
        terminal.until("again opens editor", start)
        terminal.type("e")
        terminal.until("# The ledger", start)
        assert len(list(tmp_path.glob(f"{editor.PREFIX}*"))) == 1
        terminal.type("back\n")
        terminal.until("got", start)
        terminal.until("Harbour watch", start)  # the screen is drawn again
        wait_until(lambda: not list(tmp_path.glob(f"{editor.PREFIX}*")), "the removal of the file")
        assert terminal.process.poll() is None
