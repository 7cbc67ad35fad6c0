"""Encrypted backups: with a passphrase, or to recipients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pyrage
import pytest

from appliance import Appliance, Backups
from appliance.errors import StoreCorrupt, StoreError, UsageError
from appliance_models import HashEmbedder
from tests.passphrases import make_quick

SECRET = "the saffron elephant is in the blue cupboard"


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    make_quick(monkeypatch)


@pytest.fixture
def memory(tmp_path: Path) -> Any:
    with Appliance.open(tmp_path / "home", worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create(title="notes").add("user", SECRET)
        yield memory


@pytest.fixture
def identity(tmp_path: Path) -> tuple[Path, str]:
    """A file as age-keygen writes it, and its public key."""
    key = pyrage.x25519.Identity.generate()
    path = tmp_path / "key.txt"
    path.write_text(f"# created: today\n# public key: {key.to_public()}\n{key}\n")
    return path, str(key.to_public())


def first_message(home: Path) -> str:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        (line,) = memory.export()
        return str(line["content"])


@pytest.mark.parametrize("name", ["backups", "one.backup"])
def test_what_a_passphrase_encrypts_it_gives_back(memory: Appliance, tmp_path: Path, name: str) -> None:
    memory.backup(tmp_path / name, passphrase="correct horse")
    assert Backups.has_passphrase(tmp_path / name)
    assert len(Backups.list(tmp_path / name, passphrase="correct horse")) == 1
    assert not Backups.verify(tmp_path / name, read_data=True, passphrase="correct horse").problems
    Appliance.restore(tmp_path / name, tmp_path / "new", passphrase="correct horse")
    assert first_message(tmp_path / "new") == SECRET


def test_without_the_right_passphrase_nothing_is_read(memory: Appliance, tmp_path: Path) -> None:
    memory.backup(tmp_path / "backups", passphrase="correct horse")
    with pytest.raises(UsageError, match="does not fit"):
        Appliance.restore(tmp_path / "backups", tmp_path / "new", passphrase="wrong horse")
    with pytest.raises(StoreError, match="are encrypted") as error:
        Appliance.restore(tmp_path / "backups", tmp_path / "new")
    assert "APPLIANCE_BACKUP_PASSPHRASE" in (error.value.hint or "")
    with pytest.raises(StoreError, match="are encrypted"):
        Backups.list(tmp_path / "backups")
    assert not (tmp_path / "new").exists()


def test_only_sizes_and_times_are_in_the_clear(memory: Appliance, tmp_path: Path, identity: tuple[Path, str]) -> None:
    memory.backup(tmp_path / "backups", recipients=[identity[1]])
    for path in (tmp_path / "backups").rglob("*"):
        if path.is_file() and path.name not in ("repository.json", "lock"):
            data = path.read_bytes()
            assert data.startswith(b"age-encryption.org/v1"), path
            assert b"recall" not in data


def test_recipients_read_with_their_private_keys(memory: Appliance, tmp_path: Path, identity: tuple[Path, str]) -> None:
    memory.backup(tmp_path / "backups", recipients=[identity[1]])
    with pytest.raises(StoreError, match="are encrypted") as error:
        Backups.verify(tmp_path / "backups")
    assert "--identity" in (error.value.hint or "")
    other = tmp_path / "other.txt"
    other.write_text(str(pyrage.x25519.Identity.generate()))
    with pytest.raises(UsageError, match="does not fit"):
        Backups.list(tmp_path / "backups", identity=other)
    Appliance.restore(tmp_path / "backups", tmp_path / "new", identity=identity[0])
    assert first_message(tmp_path / "new") == SECRET


def test_more_backups_need_no_key_and_write_only_what_is_new(
    memory: Appliance, tmp_path: Path, identity: tuple[Path, str]
) -> None:
    memory.backup(tmp_path / "backups", recipients=[identity[1]])
    assert memory.backup(tmp_path / "backups").new_bytes == 0
    with pytest.raises(StoreError, match="are encrypted"):
        memory.backup(tmp_path / "backups", keep="1d")
    assert len(Backups.list(tmp_path / "backups", identity=identity[0])) == 2, "none was made without removing"
    assert len(memory.backup(tmp_path / "backups", keep="1d", identity=identity[0]).removed) == 2
    assert not Backups.verify(tmp_path / "backups", read_data=True, identity=identity[0]).problems


def test_a_folder_is_encrypted_from_its_beginning_or_not_at_all(
    memory: Appliance, tmp_path: Path, identity: tuple[Path, str]
) -> None:
    memory.backup(tmp_path / "plain")
    with pytest.raises(UsageError, match="not encrypted"):
        memory.backup(tmp_path / "plain", passphrase="correct horse")
    memory.backup(tmp_path / "sealed", passphrase="correct horse")
    with pytest.raises(UsageError, match="to others"):
        memory.backup(tmp_path / "sealed", recipients=[identity[1]])


def test_exchanged_recipients_are_noticed(memory: Appliance, tmp_path: Path, identity: tuple[Path, str]) -> None:
    memory.backup(tmp_path / "backups", recipients=[identity[1]])
    path = tmp_path / "backups" / "repository.json"
    head = msgspec.json.decode(path.read_bytes())
    for changed in ([str(pyrage.x25519.Identity.generate().to_public())], []):
        path.write_bytes(msgspec.json.encode({**head, "recipients": changed}))
        with pytest.raises(StoreError, match="recipients of these backups have changed"):
            memory.backup(tmp_path / "backups")


def test_damage_is_not_taken_for_a_wrong_key(memory: Appliance, tmp_path: Path, identity: tuple[Path, str]) -> None:
    report = memory.backup(tmp_path / "backups", recipients=[identity[1]])
    path = tmp_path / "backups" / "backups" / report.id
    data = bytearray(path.read_bytes())
    data[-3] ^= 1
    path.write_bytes(data)
    with pytest.raises(StoreCorrupt, match="damaged"):
        Appliance.restore(tmp_path / "backups", tmp_path / "new", identity=identity[0])


@pytest.mark.parametrize("text", ["age1nonsense", "ssh-ed25519 AAAA", "Ana"])
def test_an_invalid_recipient_is_refused_before_anything_is_written(
    memory: Appliance, tmp_path: Path, text: str
) -> None:
    with pytest.raises(UsageError, match="Invalid recipient"):
        memory.backup(tmp_path / "backups", recipients=[text])
    assert not list((tmp_path / "backups").glob("*.json"))


def test_a_file_without_a_key_is_said(memory: Appliance, tmp_path: Path, identity: tuple[Path, str]) -> None:
    memory.backup(tmp_path / "backups", recipients=[identity[1]])
    (tmp_path / "no.txt").write_text("nothing")
    for name in ("no.txt", "missing.txt"):
        with pytest.raises(UsageError, match=r"no private key|can't be read"):
            Backups.list(tmp_path / "backups", identity=tmp_path / name)


def test_a_request_does_not_show_its_passphrase() -> None:
    from appliance.requests import BackupRequest

    assert "horse" not in repr(BackupRequest("backups", passphrase="correct horse"))
