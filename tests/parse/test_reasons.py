"""What is said of a file that can't be read is true of that file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from appliance.ingest import sources
from appliance.ingest.sources import DetectedDocument
from appliance.types import InputProblem


def reasons(path: Path) -> list[str]:
    """The errors of a file, with their places."""
    (item,) = sources.detect_documents([path])
    found = (
        [record for record in item.parser.parse(item.document) if isinstance(record, InputProblem)]
        if isinstance(item, DetectedDocument)
        else item.errors
    )
    return [f"{one.where}: {one.message}".removeprefix(": ") for one in found if not one.harmless]


@pytest.mark.parametrize(
    ("name", "data", "reason"),
    [
        ("conversations.json", b"[", "the file is cut off after 1 byte, too early to tell its format"),
        ("rows.json", b'{"a": "some words', "the file is cut off after 17 bytes, too early to tell its format"),
        ("_chat.txt", b"\x00\x01garbage", "the file is no text"),
        ("WhatsApp Chat with Ana.txt", bytes(range(256)) * 9, "the file is no text"),
        ("takeout.tgz", gzip.compress(b"chats", mtime=0), "not recognised: a gzip archive, which is not opened"),
        ("chats.tar", b"a".ljust(257, b"\0") + b"ustar", "not recognised: a tar archive, which is not opened"),
        ("scan.pdf", b"%PDF-1.7\n", "not recognised: a PDF document"),
    ],
)
def test_a_file_without_a_format_is_told_by_what_it_is(tmp_path: Path, name: str, data: bytes, reason: str) -> None:
    (tmp_path / name).write_bytes(data)
    assert reasons(tmp_path / name) == [reason]


def test_an_image_is_not_taken_for_an_export_that_was_cut_off(tmp_path: Path) -> None:
    (tmp_path / "photo.png").write_bytes(b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 9)
    (item,) = sources.detect_documents([tmp_path / "photo.png"])
    assert not isinstance(item, DetectedDocument)
    assert "a chat export is a text" in (item.hint or "") and "not finished" not in (item.hint or "")


def test_an_archive_in_a_folder_is_skipped_and_the_chats_beside_it_are_read(tmp_path: Path) -> None:
    (tmp_path / "more.tgz").write_bytes(gzip.compress(b"chats", mtime=0))
    (tmp_path / "chat.jsonl").write_text('{"session_id": "s", "role": "user", "content": "hello"}')
    chat, archive = sources.detect_documents([tmp_path])
    assert isinstance(chat, DetectedDocument) and chat.format == "native"
    assert not isinstance(archive, DetectedDocument)
    assert (archive.status, archive.notes[0].message) == (
        "skipped", "not recognised: a gzip archive, which is not opened",
    )  # fmt: skip


def test_a_format_is_still_asked_for_where_the_file_is_whole(tmp_path: Path) -> None:
    (tmp_path / "rows.json").write_text('{"rows": [1, 2]}')
    (reason,) = reasons(tmp_path / "rows.json")
    assert reason.startswith("not recognised: no known chat export begins with")


def test_a_link_that_leads_nowhere_is_told_with_its_target(tmp_path: Path) -> None:
    (tmp_path / "export.json").symlink_to(tmp_path / "gone.json")
    assert reasons(tmp_path / "export.json") == [f"it is a link to {tmp_path / 'gone.json'}, which does not exist"]


def test_a_record_that_is_cut_off_is_told_with_its_beginning_and_the_end(tmp_path: Path) -> None:
    chat = '{"id": "c", "title": "T", "mapping": {"a": {"id": "a", "message": {"content": {"parts": ["' + "x" * 3000
    (tmp_path / "conversations.json").write_text("[\n" + chat)
    size = len(chat) + 2
    first = reasons(tmp_path / "conversations.json")[0]
    assert first.startswith(f"line 2, byte 2: what begins here is cut off at the end of the file, after {size:,} bytes")
