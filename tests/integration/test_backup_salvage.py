"""What can be read of a backup with damaged blocks."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.engine.recovery import recover
from appliance.errors import NotFound, StoreCorrupt, StoreVersion
from appliance.store.backup.encryption import Keys
from appliance_models import HashEmbedder

COUNT = 2_000


def opened(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


@pytest.fixture
def memory(tmp_path: Path) -> Path:
    """A closed home with conversations, larger than a frame of a backup."""
    lines = [
        {"session_id": f"s{number // 50}", "message_id": f"m-{number}", "role": "user",
         "content": f"message {number} about lantern {number * 7919 % 1000} " + "and oil " * 20}
        for number in range(COUNT)
    ]  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    with opened(tmp_path / "home") as memory:
        memory.ingest(path, wait=False)
    return tmp_path / "home"


def texts(home: Path) -> dict[str, str]:
    with opened(home) as memory:
        return {message["message_id"]: message["content"] for message in memory.export() if "message_id" in message}


def damage(folder: Path, share: float, count: int = 3) -> None:
    """Invert some bytes of the largest pack."""
    pack = max((folder / "packs").iterdir(), key=lambda path: path.stat().st_size)
    data = bytearray(pack.read_bytes())
    for at in range(int(len(data) * share), int(len(data) * share) + count):
        data[at] ^= 0xFF
    pack.write_bytes(data)


@pytest.mark.parametrize("share", [0.4, 0.7, 0.95])
def test_damaged_bytes_cost_what_is_near_them_and_no_other_message(memory: Path, tmp_path: Path, share: float) -> None:
    with opened(memory) as open_memory:
        open_memory.backup(tmp_path / "backups")
    damage(tmp_path / "backups", share)
    with pytest.raises(StoreCorrupt, match="damaged"):
        Appliance.restore(tmp_path / "backups", tmp_path / "restored")
    report = recover(tmp_path / "backups", tmp_path / "new")
    stored, saved = texts(memory), texts(tmp_path / "new")
    assert len(saved) > COUNT / 2 and saved.items() <= stored.items()
    assert any("bytes are damaged in the backup" in part.reason for part in report.lost) or len(saved) == COUNT
    assert not list(tmp_path.glob(".*"))  # what was read of the backup is gone


def test_a_backup_of_a_newer_program_is_refused_as_that(memory: Path, tmp_path: Path) -> None:
    with opened(memory) as open_memory:
        open_memory.backup(tmp_path / "backups")
    (tmp_path / "backups" / "repository.json").write_text('{"format": 99, "id": "x"}')
    with pytest.raises(StoreVersion):
        recover(tmp_path / "backups", tmp_path / "new")


def test_a_whole_backup_is_recovered_whole(memory: Path, tmp_path: Path) -> None:
    with opened(memory) as open_memory:
        first = open_memory.backup(tmp_path / "backups").id
        open_memory.sessions.create().add("user", "said after the first backup")
        open_memory.backup(tmp_path / "backups")
    report = recover(tmp_path / "backups", tmp_path / "new")
    assert (report.messages, report.lost) == (COUNT + 1, ())
    assert recover(tmp_path / "backups", tmp_path / "older", first).messages == COUNT
    with pytest.raises(NotFound):
        recover(tmp_path / "backups", tmp_path / "none", "1999")


def test_a_missing_pack_costs_what_it_held(memory: Path, tmp_path: Path) -> None:
    with opened(memory) as open_memory:
        first = open_memory.backup(tmp_path / "backups").id
        open_memory.sessions.create().add("user", "said after the first backup")
        open_memory.backup(tmp_path / "backups")
    (tmp_path / "backups" / "packs" / f"{first}-0").rename(tmp_path / "lost")
    report = recover(tmp_path / "backups", tmp_path / "new")
    assert [part.where for part in report.lost][:1] == ["recall.db"]
    assert texts(tmp_path / "new").items() <= texts(memory).items()


def test_an_encrypted_backup_is_recovered_with_its_passphrase(memory: Path, tmp_path: Path) -> None:
    with opened(memory) as open_memory:
        open_memory.backup(tmp_path / "backups", passphrase="lighthouse keeper")
    report = recover(tmp_path / "backups", tmp_path / "new", keys=Keys("lighthouse keeper"))
    assert (report.messages, report.lost) == (COUNT, ())
