"""The catalogue of attachments: what is known of a file, where it lies, and what becomes of it."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sqlite3
import stat
from pathlib import Path

import pytest

from appliance import Appliance, NotFound, UsageError
from appliance.engine.recovery import recover
from appliance.store import message_parts
from tests.attachments.exports import FILES, PHOTO, native, whatsapp, zipped


def test_a_file_beside_a_chat_is_measured(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    plan, photo = memory.attachments.list()
    assert (photo.name, photo.kind, photo.type, photo.path) == (PHOTO, "image", "image/jpeg", PHOTO)
    assert photo.size == len(FILES[PHOTO])
    assert photo.digest == hashlib.sha256(FILES[PHOTO]).hexdigest()
    assert (photo.author, photo.timestamp, photo.source) == (
        "Ana", "2025-03-05T10:16:10", str(tmp_path / "chat" / "_chat.txt"),
    )  # fmt: skip
    assert (plan.kind, plan.type) == ("file", "application/pdf")
    assert memory.attachments.get(photo.id) == photo
    assert Path(memory.attachments.file(photo.id)) == tmp_path / "chat" / PHOTO
    assert memory.status()["counts"]["attachments"] == 2


def test_a_file_in_a_zip_is_unpacked_for_its_owner_alone(memory: Appliance, tmp_path: Path) -> None:
    archive = zipped(whatsapp(tmp_path / "chat"), tmp_path / "chat.zip", within="WhatsApp Chat/")
    memory.ingest(archive, wait=False)
    shutil.rmtree(tmp_path / "chat")
    photo = memory.attachments.list(["image"])[0]
    assert photo.digest == hashlib.sha256(FILES[PHOTO]).hexdigest()
    file = Path(memory.attachments.file(photo.id))
    try:
        assert file.read_bytes() == FILES[PHOTO]
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
        assert stat.S_IMODE(file.parent.stat().st_mode) == 0o700
    finally:
        shutil.rmtree(file.parent)
    archive.unlink()
    with pytest.raises(NotFound, match="not at"):
        memory.attachments.file(photo.id)


def test_a_file_that_the_export_lacks_is_listed_by_its_name(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat", {}), wait=False)
    plan, photo = memory.attachments.list()
    assert (plan.path, plan.size, plan.digest, plan.kind) == (None, None, None, "file")
    assert photo.kind == "image"
    with pytest.raises(NotFound, match="not in the export"):
        memory.attachments.file(photo.id)
    with pytest.raises(NotFound, match="no attachment"):
        memory.attachments.get("m2.9")


def test_a_second_import_fills_in_what_is_new_without_a_revision(memory: Appliance, tmp_path: Path) -> None:
    folder = whatsapp(tmp_path / "chat", {})
    memory.ingest(folder, wait=False)
    before = [message.metadata for message in memory.sessions.messages("s1")]
    whatsapp(folder)
    report = memory.ingest(folder, wait=False)
    assert sum(file.updated + file.new for file in report.files) == 0
    assert [one.size for one in memory.attachments.list()] == [len(FILES["plan.pdf"]), len(FILES[PHOTO])]
    assert [message.metadata for message in memory.sessions.messages("s1")] == before
    for name in FILES:
        (folder / name).unlink()
    memory.ingest(folder, wait=False)
    assert [one.digest is not None for one in memory.attachments.list()] == [True, True]


def test_a_file_that_changed_has_the_digest_of_its_new_content(memory: Appliance, tmp_path: Path) -> None:
    folder = whatsapp(tmp_path / "chat")
    memory.ingest(folder, wait=False)
    (folder / "plan.pdf").write_bytes(b"%PDF another plan of the garden")
    memory.ingest(folder, wait=False)
    plan = memory.attachments.list(["file"])[0]
    assert plan.digest == hashlib.sha256(b"%PDF another plan of the garden").hexdigest()


def test_of_two_files_with_one_name_none_is_chosen_unless_the_path_says_which(
    memory: Appliance, tmp_path: Path
) -> None:
    for folder in ("a", "b"):
        (tmp_path / "in" / folder).mkdir(parents=True)
        (tmp_path / "in" / folder / "x.png").write_bytes(folder.encode() * 3)
    lines = [
        {"message_id": "1", "metadata": {"attachments": [{"name": "x.png"}]}},
        {"message_id": "2", "metadata": {"attachments": [{"name": "b/x.png"}, {"name": "../../x.png"}]}},
    ]
    memory.ingest(native(tmp_path / "in" / "chat.jsonl", lines), wait=False)
    found = {one.id: one.path for one in memory.attachments.list()}
    assert found == {"m1.1": None, "m2.1": "b/x.png", "m2.2": None}


def test_a_file_of_chatgpt_has_its_id_before_its_name(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "file-8hT3bQxyz-garden.png").write_bytes(b"png")
    lines = [{"message_id": "1", "metadata": {"attachments": [{"name": "garden.png"}, {"name": "file-8hT3bQxyz"}]}}]
    memory.ingest(native(folder / "chat.jsonl", lines), wait=False)
    assert {one.path for one in memory.attachments.list()} == {"file-8hT3bQxyz-garden.png"}


def test_an_edited_message_has_its_present_attachments(memory: Appliance, tmp_path: Path) -> None:
    (tmp_path / "kept.jpg").write_bytes(b"kept")
    path = tmp_path / "chat.jsonl"
    names = [{"name": "kept.jpg"}, {"name": "old.pdf"}]
    memory.ingest(native(path, [{"message_id": "1", "metadata": {"attachments": names}}]), wait=False)
    names = [{"name": "kept.jpg"}, {"name": "new.mp3"}]
    edited = {"message_id": "1", "content": "https://example.org", "metadata": {"attachments": names}}
    memory.ingest(native(path, [edited]), wait=False)
    assert [(one.name, one.kind, one.size) for one in memory.attachments.list()] == [
        ("kept.jpg", "image", 4), ("new.mp3", "audio", None),
    ]  # fmt: skip
    assert len(memory.search("example", has=["link"], min_score=0)) == 1


@pytest.mark.parametrize("value", ["text", {"name": "x"}, [1, None, [2]], [{"name": 7}], [{"name": ""}], ["plain.png"]])
def test_attachments_of_another_shape_harm_nothing(memory: Appliance, tmp_path: Path, value: object) -> None:
    line = {"message_id": "1", "metadata": {"attachments": value}}
    report = memory.ingest(native(tmp_path / "chat.jsonl", [line]), wait=False)
    assert report.files[0].new == 1
    expected = {'[{"name": 7}]': ["7"], '[{"name": ""}]': ["file"], '["plain.png"]': ["plain.png"]}
    assert [one.name for one in memory.attachments.list()] == expected.get(json.dumps(value), [])


def test_what_is_forgotten_leaves_the_catalogue(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=True)
    memory.erasure.forget(memory.erasure.preview("m2", "m3"))
    assert [one.name for one in memory.attachments.list()] == ["plan.pdf"]
    with sqlite3.connect(memory.home.database) as db:
        assert db.execute("SELECT message_id FROM attachment").fetchall() == [(4,)]
        assert db.execute("SELECT * FROM message_link").fetchall() == []


def test_a_home_without_a_catalogue_gets_one_from_its_messages(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat", {}), wait=False)
    before = memory.attachments.list()
    memory.close()
    db = sqlite3.connect(memory.home.database)
    db.executescript("DELETE FROM attachment; DELETE FROM message_link;")
    db.create_function("unpack", 1, lambda body: "")
    message_parts.fill(db)
    db.commit()
    assert db.execute("SELECT message_id FROM message_link").fetchall() == [(3,)]
    db.close()
    with Appliance.open(memory.home.root, worker=False) as again:
        assert again.attachments.list() == before


def test_a_listing_takes_the_filters_of_a_search(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    assert [one.name for one in memory.attachments.list(authors=["ana"])] == [PHOTO]
    assert [one.name for one in memory.attachments.list(since="2025-03-10")] == ["plan.pdf"]
    assert memory.attachments.list(sources=["slack"]).total == 0
    assert memory.attachments.list(user_id="eve").total == 0
    page = memory.attachments.list(limit=1, offset=1)
    assert ([one.name for one in page], page.total) == ([PHOTO], 2)
    memory.sessions.get("s1").set_storage_scope("none")
    assert memory.attachments.list().total == 0
    assert memory.attachments.list(session_id="s1").total == 2
    for wrong in ({"limit": 0}, {"offset": -1}, {"kinds": ["smell"]}, {"roles": ["owner"]}):
        with pytest.raises(UsageError):
            memory.attachments.list(**wrong)


def test_a_file_that_cannot_be_read_costs_its_digest_only(memory: Appliance, tmp_path: Path) -> None:
    folder = whatsapp(tmp_path / "chat")
    archive = zipped(folder, tmp_path / "chat.zip")
    data = bytearray(archive.read_bytes())
    at = data.index(b"PHOTO") + len("PHOTO-2025-03-05.jpg")
    data[at : at + 4] = bytes(byte ^ 0xFF for byte in data[at : at + 4])
    archive.write_bytes(data)
    report = memory.ingest(archive, wait=False)
    assert sum(file.new for file in report.files) == 4
    assert {one.name: one.digest is None for one in memory.attachments.list()} == {PHOTO: True, "plan.pdf": False}


def test_nothing_is_copied_into_the_home(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    names = {name for _, _, names in os.walk(memory.home.root) for name in names}
    assert not names & set(FILES)


def test_a_recovered_home_knows_the_files_again(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)
    memory.sessions.get("s1").tag(["garden"])
    before = memory.attachments.list()
    memory.close()
    report = recover(memory.home.root, tmp_path / "new")
    assert not report.lost
    with Appliance.open(tmp_path / "new", worker=False) as again:
        assert again.attachments.list() == before
        assert again.sessions.info("s1").tags == ("garden",)
        assert len(again.search("roses", has=["link"], min_score=0)) == 1
