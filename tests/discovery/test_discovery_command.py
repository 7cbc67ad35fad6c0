"""``appliance discover`` and ``GET /v1/discover``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from appliance import Appliance, config
from appliance.cli.app import app
from appliance.engine import discovery
from appliance.errors import ConfigError
from appliance.ingest.discovery.places import Machine
from appliance.paths import Home
from appliance_models import HashEmbedder
from tests.discovery import layouts

Run = Callable[..., Result]


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    made = tmp_path / "ines"
    made.mkdir()
    monkeypatch.setattr(discovery, "this_machine", lambda: Machine(made, "linux", {}))
    return made


@pytest.fixture
def run(home: Path) -> Run:
    return lambda *arguments: CliRunner().invoke(app, [*map(str, arguments), "--home", str(home)])


def folders(home: Path) -> list[str]:
    return list(config.load(Home(home)).watch.folders)


def test_json_has_the_shape_of_the_contract(run: Run, person: Path) -> None:
    path = layouts.claude_code(person)
    shown = json.loads(run("discover", "--json").stdout)
    (one,) = shown["found"]
    assert (one["tool"], one["format"], one["path"]) == ("Claude Code", "claude_code", str(path))
    assert (one["conversations"], one["first"], one["last"]) == (1, layouts.FIRST, layouts.LAST)
    assert one["bytes"] == sum(file.stat().st_size for file in path.rglob("*.jsonl")) and one["watched"] is False


def test_what_is_accepted_is_watched(run: Run, home: Path, person: Path) -> None:
    claude, export = layouts.claude_code(person), layouts.chatgpt_zip(person)
    layouts.codex(person)
    assert folders(home) == []
    done = run("discover", "--watch", "claude code", export)
    assert done.exit_code == 0 and folders(home) == [str(claude), str(export)]
    shown = json.loads(run("discover", "--json").stdout)["found"]
    assert {one["tool"]: one["watched"] for one in shown} == {
        "Claude Code": True, "ChatGPT export": True, "Codex": False,
    }  # fmt: skip
    assert json.loads(run("discover", "--watch", "--json").stdout)["added"] == [str(person / ".codex/sessions")]
    assert len(folders(home)) == 3


def test_without_watch_nothing_is_set(run: Run, home: Path, person: Path) -> None:
    layouts.claude_code(person)
    done = run("discover")
    assert "Claude Code" in done.stdout and "2026-01-05" in done.stdout and "--watch" in done.stderr
    assert folders(home) == []


def test_to_look_creates_nothing(run: Run, home: Path, person: Path) -> None:
    layouts.claude_code(person)
    assert run("discover").exit_code == run("discover", "--json").exit_code == 0
    assert run("discover", "--watch", "no such program").exit_code == 4
    assert not home.exists()
    home.mkdir()
    (home / "config.toml").write_text(f'[watch]\nfolders = ["{person}"]\n', encoding="utf-8")
    assert json.loads(run("discover", "--json").stdout)["found"][0]["watched"] is True
    assert [path.name for path in home.iterdir()] == ["config.toml"]


def test_what_can_not_be_read_is_told_and_not_watched(run: Run, home: Path, person: Path) -> None:
    path = person / ".config/Signal/sql/db.sqlite"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"\x00" * 64)
    done = run("discover", "--watch")
    assert "encrypted" in done.stderr and "signal-export" in done.stderr and folders(home) == []


def test_a_name_that_was_not_found(run: Run, person: Path) -> None:
    done = run("discover", "--watch", "Carrier Pigeon")
    assert done.exit_code == 4 and "Carrier Pigeon" in done.stderr


def test_an_import_of_nothing_into_an_empty_memory_names_the_verb(run: Run, person: Path, tmp_path: Path) -> None:
    layouts.aider(person)
    assert "appliance discover" in run("ingest", tmp_path / "nothing.zip").stderr
    run("ingest", layouts.aider(person))
    assert "appliance discover" not in run("ingest", tmp_path / "nothing.zip").stderr


def test_nothing_is_found(run: Run, person: Path) -> None:
    assert "No histories were found" in run("discover").stdout


@pytest.mark.parametrize(
    "before",
    [
        "",
        "[watch]\nsettle = 3.0\n",
        '[watch]\nfolders = ["/a"]  # mine\nsettle = 3.0\n',
        '# mine\n[watch]\nfolders = [\n  "/a", # one ]\n]\nsettle = 3.0\n\n[search]\nlimit = 7\n',
        "[watch]\nfolders = []",
    ],
)
def test_a_list_is_set_wherever_it_stands(tmp_path: Path, before: str) -> None:
    home = Home(tmp_path)
    home.config.write_text(before)
    was = config.load(home, {})
    assert config.add_watched(home, ["/b", '/a "quoted"']) == ["/b", '/a "quoted"']
    now = config.load(home, {})
    assert now.watch.folders == (*was.watch.folders, "/b", '/a "quoted"')
    assert (now.watch.settle, now.search) == (was.watch.settle, was.search)
    assert ("# mine" in home.config.read_text()) == before.startswith("# mine")


def test_a_file_that_is_no_toml_stays_as_it_is(tmp_path: Path) -> None:
    home = Home(tmp_path)
    home.config.write_text("[watch\n")
    with pytest.raises(ConfigError):
        config.add_watched(home, ["/b"])
    assert home.config.read_text() == "[watch\n"


def test_python_and_progress(home: Path, person: Path) -> None:
    layouts.claude_code(person)
    seen: list[tuple[str, int, int]] = []
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        found = memory.discover(on_place=lambda path, done, left: seen.append((path, done, left)))
    assert len(found) == 1 and [one.tool for one in found] == ["Claude Code"]
    assert seen == [(str(person / ".claude/projects"), 0, 1)]
