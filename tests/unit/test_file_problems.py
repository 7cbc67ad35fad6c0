"""Files that could not be read completely: what is told of them, and how a person is done with them."""

from __future__ import annotations

import errno
import os
import shutil
import zipfile
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import UsageError
from appliance.formats import exported_markdown

GOOD = '{"session_id": "a", "message_id": "1", "role": "user", "content": "the boat is blue"}\n'


def troubles(memory: Appliance) -> list[str]:
    return [line for line in memory.status()["troubles"] if "not read completely" in line]


def test_a_file_that_was_imported_in_part_is_told_until_it_is_mended(memory: Appliance, tmp_path: Path) -> None:
    half = tmp_path / "half.jsonl"
    half.write_text(f"{GOOD}broken\n")
    memory.ingest(half)
    assert troubles(memory) == ["1 file was not read completely: 'appliance sources problems' says why, and what to do"]
    (found,) = memory.overview.file_problems()
    assert (found.path, found.state, found.is_there, found.is_watched) == (str(half), "partial", True, False)
    assert "line 2" in found.reason and (found.messages, found.sessions) == (1, 1)
    assert memory.status()["files"]["partial"] == 0, "it is no watched file"
    assert [(one.path, one.folder, one.state) for one in memory.overview.files()] == [(str(half), "", "partial")]

    half.rename(tmp_path / "away.jsonl")
    assert troubles(memory) == [] and not memory.overview.file_problems()[0].is_there
    (tmp_path / "away.jsonl").rename(half)
    assert troubles(memory), "it is there again"

    half.write_text(GOOD)
    memory.ingest(half, dry_run=True)
    assert troubles(memory)
    memory.ingest(half)
    assert troubles(memory) == [] and memory.overview.file_problems(dismissed=True) == []


def test_a_file_is_dismissed_and_counts_anew_once_it_is_imported_again(memory: Appliance, tmp_path: Path) -> None:
    packed = tmp_path / "chats.zip"
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("a.jsonl", GOOD)
        archive.writestr("b.jsonl", "broken\n")
    (tmp_path / "picture.jpg").write_bytes(b"\xff\xd8\xff")
    memory.ingest([packed, tmp_path / "nothing.json", tmp_path / "picture.jpg"])
    assert [one.path for one in memory.overview.file_problems()] == [str(packed)], "no export was named besides"
    assert memory.overview.dismiss_problems([str(tmp_path / "chat")]) == []
    (done,) = memory.overview.dismiss_problems([str(tmp_path)])
    assert done.messages == 1 and troubles(memory) == [] and memory.overview.file_problems() == []
    (kept,) = memory.overview.file_problems(dismissed=True)
    assert kept.state == "dismissed" and kept.reason == done.reason
    memory.ingest(packed)
    assert troubles(memory)
    packed.unlink()
    assert [one.path for one in memory.overview.dismiss_problems(gone=True)] == [str(packed)]


def test_a_named_file_that_is_not_recognised_is_kept_and_one_in_a_folder_or_a_picture_is_not(
    memory: Appliance, tmp_path: Path
) -> None:
    folder = tmp_path / "many"
    folder.mkdir()
    for path in (tmp_path / "bad.json", folder / "other.json"):
        path.write_text('{"marlene": [1, 2]}')
    for path in (tmp_path / "picture.png", folder / "picture.png"):
        path.write_bytes(b"\x89PNG\r\n\x1a\n")
    memory.ingest([tmp_path / "bad.json", tmp_path / "picture.png", folder])
    (found,) = memory.overview.file_problems()
    assert (found.path, found.state) == (str(tmp_path / "bad.json"), "failed")
    assert found.reason.startswith("not recognised") and "marlene" not in found.reason
    assert troubles(memory) and [one.path for one in memory.overview.files()] == [found.path]
    (tmp_path / "bad.json").write_text(GOOD)
    memory.ingest(tmp_path / "bad.json")
    assert troubles(memory) == [] and memory.overview.file_problems(dismissed=True) == []


@pytest.mark.slow
def test_what_became_of_a_watched_file_is_said_the_same_everywhere(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    first, copy, export = tmp_path / "first.jsonl", folder / "copy.jsonl", folder / "export.md"
    first.write_text(GOOD)
    copy.write_text(f"{GOOD}broken\n")
    memory.ingest(first)
    export.write_text(f"{exported_markdown.MARKER_WITHOUT_IDS}\n\n# A\n\n**user**\n\nthe boat is blue\n")
    for name in ("environment/pyvenv.cfg", "kit/current", "kit/versions/1/bin/python"):
        (folder / name).parent.mkdir(parents=True)
        (folder / name).touch()
    memory.watching.add([str(folder)])
    told: list[str] = []
    memory.watcher(on_trouble=told.append).run(once=True)
    assert [line.rpartition(": ")[2] for line in told] == [
        "an installation of a program", "a virtual environment of Python",
    ]  # fmt: skip
    (problem,) = memory.overview.file_problems()
    assert (problem.messages, problem.sessions, problem.is_watched) == (0, 1, True), "all known from the first file"

    first.write_text("")
    memory.ingest(first)
    assert [one.complete for one in memory.overview.imported_files(str(first))] == [False]
    preview = memory.erasure.preview(query="the boat is blue")
    assert preview.files == (str(copy), str(export)), "the first is empty, and nothing was read from the export"

    assert memory.watching.list()[1].files == {"partial": 1, "skipped": 1}
    copy.unlink()
    assert memory.watching.list()[1].files == {"skipped": 1, "gone": 1}
    states = memory.status()["files"]
    assert (states["gone"], states["partial"]) == (1, 0)
    listed = {Path(one.path).name: one.state for one in memory.overview.files()}
    assert listed == {"first.jsonl": "failed", "copy.jsonl": "gone", "export.md": "skipped"}
    shutil.rmtree(folder)
    assert any(f"the watched folder {folder} is not there" in line for line in memory.status()["troubles"])
    with pytest.raises(UsageError, match="It is a memory itself"):
        memory.watching.add([str(memory.home.root)])


def test_the_name_of_a_forgotten_file_is_not_kept(memory: Appliance, tmp_path: Path) -> None:
    half = tmp_path / "half.jsonl"
    half.write_text(f"{GOOD}broken\n")
    memory.ingest(half)
    memory.erasure.forget(memory.erasure.preview(source=str(half)))
    assert memory.overview.file_problems(dismissed=True) == []
    memory.ingest(half)
    assert memory.overview.file_problems(dismissed=True) == [] and memory.overview.counts()["messages"] == 0


def test_a_folder_that_may_not_be_read_is_told_until_it_can_be(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Root may read every folder, so that the refusal is played here."""
    exports, locked = tmp_path / "exports", tmp_path / "exports" / "locked"
    locked.mkdir(parents=True)
    (exports / "chat.jsonl").write_text(GOOD)
    listed, stat = os.listdir, Path.stat

    def refuse(path: Any) -> list[str]:
        if Path(path) == locked:
            raise PermissionError(errno.EACCES, "Permission denied", path)
        return listed(path)

    with monkeypatch.context() as refused:
        refused.setattr(os, "listdir", refuse)
        assert not memory.ingest(exports).complete
    (found,) = memory.overview.file_problems()
    assert (found.path, found.state, found.is_there, found.messages) == (str(locked), "failed", True, 0)
    assert "Permission denied" in found.reason and troubles(memory)
    memory.ingest(exports / "chat.jsonl")
    assert troubles(memory), "it was not read meanwhile"
    memory.ingest(exports)
    assert troubles(memory) == [] and memory.overview.file_problems(dismissed=True) == []

    # A folder whose names may be listed, and not what they name.
    (locked / "hidden.jsonl").write_text(GOOD)

    def refuse_stat(path: Path, **more: Any) -> os.stat_result:
        if path.parent == locked:
            raise PermissionError(errno.EACCES, "Permission denied", str(path))
        return stat(path, **more)

    isfile, isdir = os.path.isfile, os.path.isdir
    with monkeypatch.context() as refused:
        refused.setattr(Path, "stat", refuse_stat)
        refused.setattr(os.path, "isfile", lambda path: Path(path).parent != locked and isfile(path))
        refused.setattr(os.path, "isdir", lambda path: Path(path).parent != locked and isdir(path))
        memory.ingest(locked)
    assert [one.path for one in memory.overview.file_problems()] == [str(locked)]
    memory.ingest(locked)
    assert troubles(memory) == []
    (tmp_path / "empty").mkdir()
    memory.ingest([tmp_path / "empty", tmp_path / "nowhere"])
    assert troubles(memory) == [], "what holds nothing, or is not there, is told once"
