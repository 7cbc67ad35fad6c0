"""Copies of attached files in the home: once, private, opened without the export, erased with their last message."""

from __future__ import annotations

import hashlib
import shutil
import stat
from pathlib import Path

import pytest

from appliance import Appliance, NotFound
from appliance.backups import Backups
from appliance.engine.recovery import recover
from appliance.store import room
from tests.attachments.documents import chat
from tests.attachments.exports import FILES, PHOTO, whatsapp, zipped
from tests.homes import holding
from tests.http_calls import application, calling, owner

pytestmark = pytest.mark.usefixtures("every_field_index")


def copies(home: Path) -> dict[str, bytes]:
    """The copies of a home by their names."""
    return {path.name: path.read_bytes() for path in (home / "attachments").rglob("*") if path.is_file()}


def opened(memory: Appliance, id: str) -> bytes:
    """The content of an attachment that is not in its export any more."""
    file = Path(memory.attachments.file(id))
    try:
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        return file.read_bytes()
    finally:
        shutil.rmtree(file.parent)


def test_nothing_is_copied_unless_asked(memory: Appliance, home: Path, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    assert not (home / "attachments").exists()
    assert memory.status()["counts"]["kept_attachments"] == 0


def test_files_open_when_their_export_is_gone(memory: Appliance, home: Path, tmp_path: Path) -> None:
    archive = zipped(whatsapp(tmp_path / "chat"), tmp_path / "chat.zip")
    report = memory.ingest(archive, wait=False, keep_attachments=True)
    assert report.total("kept") == 2
    shutil.rmtree(tmp_path / "chat")
    archive.unlink()
    assert opened(memory, "m2.1") == FILES[PHOTO] and opened(memory, "m4.1") == FILES["plan.pdf"]
    assert copies(home) == {hashlib.sha256(data).hexdigest(): data for data in FILES.values()}
    for path in (home / "attachments").rglob("*"):
        assert stat.S_IMODE(path.stat().st_mode) == (0o700 if path.is_dir() else 0o600)
    status = memory.status()
    assert status["counts"]["kept_attachments"] == 2 and status["disk_bytes"]["attachments"] > 0
    assert [one.kept for one in memory.attachments.list()] == [True, True]
    assert memory.verify().checked["kept_attachments"] == 2


@pytest.mark.slow
def test_a_content_is_copied_once_and_goes_with_its_last_message(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        export = chat(tmp_path / "in", {"a.bin": b"one content\x00\xff of two", "b.bin": b"one content\x00\xff of two"})
        assert memory.ingest(export, wait=False, keep_attachments=True).total("kept") == 2
        assert memory.ingest(export, wait=False, keep_attachments=True).total("kept") == 0
        assert len(copies(home)) == 1
        memory.erasure.forget(memory.erasure.preview("m2"))
        assert len(copies(home)) == 1
        memory.erasure.forget(memory.erasure.preview("m3"))
        assert copies(home) == {}
    assert not holding(home, b"one content")


@pytest.mark.slow
def test_a_deleted_session_takes_its_copies_along(memory: Appliance, home: Path, tmp_path: Path) -> None:
    memory.ingest(chat(tmp_path / "in", {"a.bin": b"some bytes"}), wait=False, keep_attachments=True)
    memory.sessions.get("s").delete()
    memory.run_pending_jobs()
    assert copies(home) == {}


@pytest.mark.slow
def test_the_setting_keeps_files_of_every_import(home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("APPLIANCE_ATTACHMENTS_KEEP", "true")
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(chat(tmp_path / "in", {"a.bin": b"some bytes"}), wait=False)
        assert len(copies(home)) == 1
        memory.ingest(chat(tmp_path / "two", {"b.bin": b"other bytes"}), wait=False, keep_attachments=False)
        assert len(copies(home)) == 1


@pytest.mark.slow
def test_verify_finds_damaged_and_missing_copies(memory: Appliance, home: Path, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False, keep_attachments=True)
    first, second = sorted(path for path in (home / "attachments").rglob("*") if path.is_file())
    first.write_bytes(b"something else")
    second.unlink()
    problems = {problem.where: problem.message for problem in memory.verify().problems}
    assert problems.keys() == {"m2.1", "m4.1"}
    assert {"damaged" in one for one in problems.values()} == {True, False}
    assert memory.ingest(tmp_path / "chat", wait=False, keep_attachments=True).complete


@pytest.mark.slow
def test_copies_are_in_backups_and_recovered(home: Path, tmp_path: Path) -> None:
    with Appliance.open(home, worker=False) as memory:
        memory.ingest(whatsapp(tmp_path / "chat"), wait=False, keep_attachments=True)
        memory.backup(tmp_path / "backups")
    shutil.rmtree(tmp_path / "chat")
    Backups.restore(tmp_path / "backups", tmp_path / "restored")
    recover(home, tmp_path / "recovered")
    for name in ("restored", "recovered"):
        with Appliance.open(tmp_path / name, worker=False) as memory:
            assert opened(memory, "m2.1") == FILES[PHOTO], name
            assert memory.verify().problems == []
            memory.run_pending_jobs()
            assert len(copies(tmp_path / name)) == 2


@pytest.mark.slow
def test_a_full_disk_and_a_damaged_zip_cost_no_message(
    memory: Appliance, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = zipped(whatsapp(tmp_path / "chat", {"plan.pdf": bytes(range(256)) * 40}), tmp_path / "chat.zip")
    data = bytearray(archive.read_bytes())
    at = data.index(b"plan.pdf") + 40
    data[at : at + 8] = bytes(8)
    archive.write_bytes(data)
    report = memory.ingest(archive, wait=False, keep_attachments=True)
    assert report.total("new") == 4 and report.total("kept") == 0
    assert any("no copy was kept" in note.message for file in report.files for note in file.notes)
    assert not [path for path in (home / "attachments").rglob("*") if path.is_file()]
    monkeypatch.setattr(room, "free_bytes", lambda folder: 1)
    report = memory.ingest(chat(tmp_path / "in", {"a.bin": b"some bytes"}), wait=False, keep_attachments=True)
    assert "room" in report.stopped


@pytest.mark.slow
def test_a_large_file_is_kept_although_it_has_no_digest_before(
    memory: Appliance, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("appliance.ingest.attached_files.MAX_DIGESTED_BYTES", 4)
    memory.ingest(chat(tmp_path / "in", {"a.bin": b"some bytes"}), wait=False, keep_attachments=True)
    (one,) = memory.attachments.list()
    assert (one.kept, one.digest) == (True, hashlib.sha256(b"some bytes").hexdigest())
    assert len(copies(home)) == 1


@pytest.mark.slow
def test_an_upload_keeps_its_files_if_asked(memory: Appliance, home: Path, tmp_path: Path) -> None:
    archive = zipped(whatsapp(tmp_path / "chat", {**FILES, "plan.pdf": b"x"}), tmp_path / "chat.zip")
    app = application(memory)
    with calling(app, owner(memory)) as http:
        query = {"filename": "chat.zip", "keep_attachments": "true"}
        answer = http.post("/v1/import", params=query, content=archive.read_bytes()).json()
        assert answer["totals"]["kept"] == 2
    assert len(copies(home)) == 2
    assert opened(memory, "m2.1") == FILES[PHOTO]


@pytest.mark.slow
def test_an_attachment_that_was_never_there_is_not_found(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat", {}), wait=False, keep_attachments=True)
    with pytest.raises(NotFound):
        memory.attachments.file("m2.1")
