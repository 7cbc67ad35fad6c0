"""What was accepted is watched: hidden folders, single files, and databases that change through their log."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from appliance import Appliance, config
from appliance.engine import discovery
from appliance.engine import watching as watching_module
from appliance.ingest.discovery.places import Machine
from appliance.paths import Home
from tests.discovery import layouts
from tests.discovery.layouts import ANSWER, LAYOUTS, QUESTION, tree
from tests.waits import until
from tests.watch_runs import contents, opened, read_once, watching


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "ines"
    made.mkdir()
    for module in (discovery, watching_module):
        monkeypatch.setattr(module, "this_machine", lambda: Machine(made, "linux", {}))
    return made


@pytest.fixture
def memory(home: Path, person: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


def test_all_that_is_found_is_read_after_it_was_accepted(home: Path, person: Path, tmp_path: Path) -> None:
    for layout in LAYOUTS:
        layout.build(person)
    before = tree(person)
    with opened(home) as memory:
        found = memory.discover().found
        assert not any(one.watched for one in found)
        assert len(config.add_watched(memory.home, [one.path for one in found])) == len(LAYOUTS)
        assert config.add_watched(memory.home, [found[0].path]) == []
        assert all(one.watched for one in memory.discover())
    with opened(home) as memory:
        memory.watcher().run(once=True)
        said = contents(memory)
        files = memory.status()["files"]
    assert sum(QUESTION in text for text in said) == sum(ANSWER in text for text in said) == len(LAYOUTS)
    assert (files["failed"], files["partial"], files["queued"]) == (0, 0, 0)
    assert tree(person) == before


def test_of_a_tools_folder_only_its_chats_are_read(memory: Appliance, person: Path) -> None:
    folder = layouts.copilot_chat(person)
    (folder / "0a1b/notes.txt").write_text("[05/01/2026, 08:00] Ana: no chat of the tool\n" * 5)
    reports = read_once(memory, folder)
    assert [report.path for report in reports] == [str(folder / "0a1b/chatSessions/s1.json")]


def test_a_session_that_grows_in_a_hidden_folder_is_followed(memory: Appliance, person: Path) -> None:
    projects = layouts.claude_code(person)
    (session,) = projects.rglob("*.jsonl")
    with watching(memory, projects) as reports:
        until(lambda: len(reports) == 1)
        record = json.loads(session.read_text().splitlines()[0])
        message = {"role": "user", "content": "And the southern one?"}
        grown = record | {
            "uuid": "c",
            "parentUuid": f"{session.stem}-b",
            "timestamp": "2026-01-05T08:02:00Z",
            "message": message,
        }
        with session.open("a") as file:
            file.write(json.dumps(grown) + "\n")
        until(lambda: len(reports) == 2)
    assert (reports[1].new, reports[1].updated, reports[1].duplicates) == (1, 0, 2)
    assert contents(memory) == ["And the southern one?", ANSWER, QUESTION]


def test_a_database_that_changes_through_its_log_is_read_again(memory: Appliance, person: Path) -> None:
    path = layouts.cursor(person)
    with closing(sqlite3.connect(path, isolation_level=None, timeout=0)) as program:
        program.execute("PRAGMA wal_autocheckpoint = 0")
        with watching(memory, path) as reports:
            until(lambda: len(reports) == 1)
            before = path.stat().st_mtime_ns
            composer = json.loads(program.execute("SELECT value FROM cursorDiskKV WHERE key LIKE 'c%'").fetchone()[0])
            composer["fullConversationHeadersOnly"].append({"bubbleId": "b3", "type": 1})
            bubble = {"bubbleId": "b3", "type": 1, "text": "Since when?", "createdAt": "2026-01-05T08:02:00+00:00"}
            program.execute("BEGIN IMMEDIATE")
            program.execute("INSERT INTO cursorDiskKV VALUES ('bubbleId:c1:b3', ?)", (json.dumps(bubble),))
            program.execute("UPDATE cursorDiskKV SET value = ? WHERE key LIKE 'c%'", (json.dumps(composer),))
            program.execute("COMMIT")
            assert path.stat().st_mtime_ns == before, "only the log has changed"
            until(lambda: len(reports) == 2)
    assert (reports[1].new, reports[1].updated, reports[1].duplicates) == (1, 0, 2)
    assert contents(memory) == ["Since when?", ANSWER, QUESTION]


def test_beside_a_watched_file_nothing_is_read(memory: Appliance, person: Path) -> None:
    path = layouts.aider(person)
    (path.parent / "chat.jsonl").write_text('{"session_id": "s", "role": "user", "content": "no"}\n')
    with watching(memory, path) as reports:
        until(lambda: len(reports) == 1)
        with path.open("a") as file:
            file.write("\n#### And the southern one?\n")
        until(lambda: len(reports) == 2)
    assert {report.path for report in reports} == {str(path)} and reports[1].new == 1


def test_a_folder_within_a_watched_one_is_not_watched_twice_unless_it_would_be_left_out(
    memory: Appliance, person: Path
) -> None:
    projects, cache = layouts.claude_code(person), person / ".cache/lm-studio/conversations"
    cache.mkdir(parents=True)
    assert memory.watcher([person, projects, cache]).folders == [memory.home.inbox, person, cache]


def test_what_was_accepted_and_is_gone_is_told_and_the_rest_is_watched(home: Path, person: Path) -> None:
    path = layouts.aider(person)
    gone = person / "Downloads/gone.zip"
    with opened(home) as memory:
        config.add_watched(Home(home), [str(gone), str(path)])
    troubles: list[str] = []
    with opened(home) as memory:
        memory.watcher(on_trouble=troubles.append).run(once=True)
        assert len(contents(memory)) == 2
    (trouble,) = troubles
    assert str(gone) in trouble and "watch.folders" in trouble
