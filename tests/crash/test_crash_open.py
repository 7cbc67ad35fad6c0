"""What stands in the way when a home is opened is told as an error of the program, without the words of a message."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from crash_runs import chat, open_memory, write

from appliance import Appliance
from appliance.errors import ApplianceError, ConfigError, HomeError
from tests.homes import copied


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("built")
    with open_memory(folder / "home") as memory:
        memory.ingest(write(folder / "ana.jsonl", chat("ana", 60)))
    return folder / "home"


def folder_instead(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.mkdir()


def file_instead(path: Path) -> None:
    shutil.rmtree(path)
    path.write_text("x")


OBSTACLES: dict[str, tuple[Callable[[Path], object], type[ApplianceError]]] = {
    "a folder named lock": (lambda home: folder_instead(home / "lock"), HomeError),
    "a folder of settings": (lambda home: folder_instead(home / "config.toml"), ConfigError),
    "settings that are no text": (lambda home: (home / "config.toml").write_bytes(b"\xff\xfe=\0"), ConfigError),
    "a folder named recall.db": (lambda home: folder_instead(home / "recall.db"), ApplianceError),
    "a file named vectors": (lambda home: file_instead(home / "vectors"), HomeError),
    "a file named index": (lambda home: file_instead(home / "index"), HomeError),
}


@pytest.mark.parametrize("obstacle", OBSTACLES)
def test_what_stands_in_the_way_is_named(built: Path, home: Path, obstacle: str) -> None:
    place, kind = OBSTACLES[obstacle]
    place(copied(built, home))
    with pytest.raises(kind) as refused:
        open_memory(home)
    assert str(home) in str(refused.value)


def test_a_folder_in_place_of_the_vectors_leaves_the_search_by_words(built: Path, home: Path) -> None:
    copied(built, home)
    for ledger in list((home / "vectors").iterdir()):
        folder_instead(ledger)
    with open_memory(home) as memory:
        found = memory.search("violin")
        assert found and any("ledger" in note for note in found.notes)
        with pytest.raises(HomeError, match="ledger"):
            memory.embed_pending() or memory.reindex()


def test_a_folder_in_place_of_the_archive_index_is_named(built: Path, home: Path) -> None:
    with open_memory(copied(built, home)) as memory:
        memory.archive.run(days=0, importance=1.0)
    (archive,) = (home / "index").glob("*.archive")
    folder_instead(archive)
    with open_memory(home) as memory, pytest.raises(HomeError, match="archive"):
        memory.search("violin", include_archived=True)


def test_a_folder_in_place_of_the_list_of_backups_hides_no_search(built: Path, home: Path, tmp_path: Path) -> None:
    copied(built, home)
    (home / "backups" / "list.json").mkdir(parents=True)
    with open_memory(home) as memory:
        assert memory.backups.known() == []
        with pytest.raises(HomeError, match=r"list\.json"):
            memory.backups.make(tmp_path / "backups")


WORDS = ("violin", "harbour", "lantern", "copper")


def use(memory: Appliance) -> None:
    memory.search("violin")
    memory.sessions.list()
    list(memory.export())
    memory.verify()


@pytest.mark.parametrize(
    "seed", [pytest.param(seed, marks=() if seed < 3 else pytest.mark.campaign) for seed in range(12)]
)
def test_flipped_bytes_are_told_without_a_message_s_words(built: Path, home: Path, seed: int) -> None:
    chance = random.Random(seed)
    path = copied(built, home) / "recall.db"
    data = bytearray(path.read_bytes())
    for _ in range(20):  # most in the first pages: the header and the schema
        data[chance.randrange(100, 20_000 if chance.random() < 0.7 else len(data))] = chance.randrange(256)
    path.write_bytes(data)
    for action in (use, lambda memory: memory.sessions.create(title="new").add("user", "kettle")):
        said = ""
        try:
            with open_memory(home) as memory:
                action(memory)
        except ApplianceError as error:
            said = f"{error} {error.hint}"
        assert not any(word in said for word in WORDS), said
