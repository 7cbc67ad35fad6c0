"""``kill -9`` at any moment, then open: what was acknowledged is there, nothing twice, all stores agree."""

from __future__ import annotations

import json
import os
import shutil
from collections import Counter
from pathlib import Path

import pytest
from crash_runs import Acknowledged, but_found, chat, content, moments, open_memory, run, write

import appliance_models
from appliance_models import HashEmbedder
from tests import homes

pytestmark = [pytest.mark.skipif(os.name != "posix", reason="there is no SIGKILL"), pytest.mark.slow]

MESSAGES = 1_100
FEW, MANY = 3, 20


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("exports")
    return [write(folder / f"{name}.jsonl", chat(name, MESSAGES)) for name in ("ana", "ben")]


@pytest.fixture(scope="module")
def edited(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("later")
    return [write(folder / f"{name}.jsonl", chat(name, MESSAGES, edited=True)) for name in ("ana", "ben")]


def copied(home: Path, to: Path) -> Path:
    shutil.rmtree(to, ignore_errors=True)
    homes.copied(home, to)
    return to


def ids(path: Path) -> list[str]:
    return [json.loads(line)["message_id"] for line in path.read_text(encoding="utf-8").splitlines()]


def check_nothing_is_lost_or_twice(home: Path, said: Acknowledged, before: set[str]) -> None:
    """After a kill: ``before`` and all that was acknowledged is there, once, and everything agrees."""
    with open_memory(home) as memory:
        there = Counter(line["message_id"] for line in memory.export())
        acknowledged = {id for path, count in said.files.items() for id in ids(Path(path))[:count]}
        assert not (before | acknowledged) - set(there)
        assert set(there.values()) <= {1}
        assert not memory.verify().problems


@pytest.mark.parametrize("action", ["ingest", "large"])
@pytest.mark.parametrize("count", [FEW, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_ingests(tmp_path: Path, files: list[Path], action: str, count: int) -> None:
    whole = run(action, tmp_path / "whole", files)
    with open_memory(tmp_path / "whole") as memory:
        expected = content(memory)
    home = tmp_path / "killed"
    kills = 0
    for moment in moments(whole, count, seed=count):
        shutil.rmtree(home, ignore_errors=True)
        said = run(action, home, files, moment)
        kills += said.killed
        check_nothing_is_lost_or_twice(home, said, set())
        with open_memory(home) as memory:
            assert memory.status()["counts"]["embedded"] >= said.embedded, "what was embedded stays so"
            memory.ingest(files)
            assert content(memory) == expected
    assert kills > count / 2, "most moments fell within the run"


@pytest.mark.parametrize("count", [2, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_ingests_revisions(tmp_path: Path, files: list[Path], edited: list[Path], count: int) -> None:
    run("ingest", tmp_path / "first", files)
    whole = run("ingest", copied(tmp_path / "first", tmp_path / "whole"), edited)
    with open_memory(tmp_path / "whole") as memory:
        expected = content(memory)
    assert expected.revisions == 2 * MESSAGES / 5
    before = {id for path in files for id in ids(path)}
    for moment in moments(whole, count, seed=count):
        home = copied(tmp_path / "first", tmp_path / "killed")
        said = run("ingest", home, edited, moment)
        check_nothing_is_lost_or_twice(home, said, before)
        with open_memory(home) as memory:
            memory.ingest(edited)
            assert but_found(content(memory)) == but_found(expected)


@pytest.mark.parametrize("action", ["model", "rollback"])
@pytest.mark.parametrize("count", [2, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_changes_the_model(
    tmp_path: Path, files: list[Path], edited: list[Path], action: str, count: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(appliance_models, "load", lambda name, *rest, **options: HashEmbedder(dimension=48))
    first = tmp_path / "first"
    run("ingest", first, files)
    if action == "rollback":
        run("model", first, [])
        run("ingest", first, edited)  # what the old generation lacks
    with open_memory(first) as memory:
        exported, served = list(memory.export()), memory.status()["model"]["name"]
    before = {line["message_id"] for line in exported}
    whole = run(action, copied(first, tmp_path / "whole"), [])
    for moment in moments(whole, count, seed=count):
        home = copied(first, tmp_path / "killed")
        said = run(action, home, [], moment)
        check_nothing_is_lost_or_twice(home, said, before)
        with open_memory(home) as memory:
            memory.embed_pending()
            content(memory)
            if memory.status()["model"]["name"] == served:
                memory.reindex(**({"model": "other"} if action == "model" else {"rollback": True}))
            assert memory.status()["model"]["name"] != served
            assert content(memory).exported == exported, "what serves is whole, whichever it is"
            memory.reindex(drop_old=True)
            for folder in (memory.home.vectors, memory.home.index):
                assert len(list(folder.iterdir())) == 1, "no generation is left behind"
            content(memory)


@pytest.mark.parametrize("action", ["reindex", "vectors"])
@pytest.mark.parametrize("count", [2, pytest.param(MANY, marks=pytest.mark.campaign)])
@pytest.mark.timeout(900)
def test_killed_while_it_reindexes(tmp_path: Path, files: list[Path], action: str, count: int) -> None:
    run("ingest", tmp_path / "first", files)
    with open_memory(tmp_path / "first") as memory:
        expected = content(memory)
    whole = run(action, copied(tmp_path / "first", tmp_path / "whole"), [])
    before = {id for path in files for id in ids(path)}
    for moment in moments(whole, count, seed=count):
        home = copied(tmp_path / "first", tmp_path / "killed")
        said = run(action, home, [], moment)
        check_nothing_is_lost_or_twice(home, said, before)
        with open_memory(home) as memory:
            memory.embed_pending()
            assert content(memory) == expected, "what serves after the kill is whole"
    with open_memory(home) as memory:
        memory.reindex(vectors=action == "vectors")
        assert content(memory) == expected
        for folder in (memory.home.vectors, memory.home.index):
            assert len(list(folder.iterdir())) == 1, "no generation is left behind"
