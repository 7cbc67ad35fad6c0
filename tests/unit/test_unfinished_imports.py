"""Whether a file was read to its end, and imports that were broken off: they are listed until they are finished."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, UnfinishedImport
from appliance.errors import UsageError
from appliance.ingest import batches, pages
from tests.engines import engine_of

KEY = "sk-proj-" + "Zt4mQ9xL2vB7nK1pR8sW3yD6"

PAGE_MESSAGES = pages.PAGE_MESSAGES - 1
"""The messages of the first page of a conversation, which is an entry itself."""


class Broken(Exception):
    """What breaks an import off."""


def chat(session: str, count: int) -> str:
    return "".join(
        json.dumps({"session_id": session, "message_id": f"{session}-{n}", "role": "user", "content": f"heron {n}"})
        + "\n"
        for n in range(count)
    )


@pytest.fixture(autouse=True)
def small_and_quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each page is a transaction, and a watcher waits for nothing."""
    monkeypatch.setattr(batches, "BATCH_MESSAGES", PAGE_MESSAGES)
    monkeypatch.setenv("APPLIANCE_WATCH_SETTLE", "0.05")


def break_off(
    memory: Appliance, *paths: Path, at: Callable[[str, int], bool] = lambda file, n: True, **more: Any
) -> None:
    """Import, and stop when a transaction was stored that ``at`` says."""

    def stop(file: str, messages: int) -> None:
        if at(file, messages):
            raise Broken

    with pytest.raises(Broken):
        memory.ingest(list(paths), on_file=stop, **more)


def resume(memory: Appliance, one: UnfinishedImport) -> None:
    memory.ingest(one.path, **one.options)


def test_a_file_is_complete_with_its_last_message_and_not_before(memory: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(chat("a", 2 * PAGE_MESSAGES + 10))
    seen: list[tuple[int, bool]] = []

    def look(path: str, messages: int) -> None:
        (one,) = memory.overview.imported_files()
        seen.append((one.messages, one.complete))
        assert memory.overview.unfinished_imports() == [], "it runs"

    memory.ingest(file, on_file=look)
    assert [complete for _, complete in seen] == [False, False, True]
    assert 0 < seen[0][0] < seen[1][0] < seen[2][0] == 2 * PAGE_MESSAGES + 10
    file.write_text(chat("b", PAGE_MESSAGES))  # that a full batch was the last one shows afterwards
    memory.ingest(file)
    assert [one.complete for one in memory.overview.imported_files()] == [True]
    assert memory.overview.unfinished_imports() == []


def test_an_import_that_was_broken_off_is_listed_until_it_is_finished(memory: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(chat("a", 2 * PAGE_MESSAGES + 10))
    break_off(memory, file)
    (read,) = memory.overview.imported_files()
    assert 0 < read.messages <= PAGE_MESSAGES and not read.complete
    (begun,) = memory.overview.unfinished_imports()
    assert (begun.path, begun.user_id, begun.options) == (str(file), memory.settings.user, {})
    status = memory.status()
    assert "1 import was broken off: 'appliance ingest --resume' reads the rest" in status["troubles"]
    assert [one["path"] for one in status["files"]["unfinished"]] == [str(file)]
    assert memory.overview.start_page().waiting.imports == 1
    assert memory.overview.start_page(user_id="other").waiting.imports == 0
    memory.ingest(file, dry_run=True)
    assert memory.overview.unfinished_imports() == [begun]
    resume(memory, begun)
    assert [(one.messages, one.complete) for one in memory.overview.imported_files()] == [
        (2 * PAGE_MESSAGES + 10, True)
    ]
    assert memory.overview.unfinished_imports() == [] == memory.status()["files"]["unfinished"]
    assert len({line["message_id"] for line in memory.export()}) == memory.overview.counts()["messages"]


@pytest.mark.parametrize("count", [3, PAGE_MESSAGES, 2 * PAGE_MESSAGES + 10])
def test_an_import_that_is_stopped_with_the_last_message_of_its_file_is_finished(
    memory: Appliance, tmp_path: Path, count: int
) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(chat("a", count))
    break_off(memory, file, at=lambda file, n: n == count)
    assert [(one.messages, one.complete) for one in memory.overview.imported_files()] == [(count, True)]
    assert memory.overview.unfinished_imports() == []


def test_what_an_import_found_wrong_before_it_was_stopped_is_kept(memory: Appliance, tmp_path: Path) -> None:
    for name, text in (("a", chat("a", 3) + "broken\n"), ("b", chat("b", 3)), ("c", chat("c", 3))):
        (tmp_path / f"{name}.jsonl").write_text(text)
    break_off(memory, tmp_path, at=lambda file, n: file.endswith("b.jsonl"))
    assert [one.path for one in memory.overview.file_problems()] == [str(tmp_path / "a.jsonl")]


@pytest.mark.slow
def test_each_path_that_was_asked_for_is_finished_by_itself(memory: Appliance, tmp_path: Path) -> None:
    first, folder, archive = tmp_path / "a.jsonl", tmp_path / "many", tmp_path / "z.zip"
    first.write_text(chat("a", 3))
    folder.mkdir()
    for name in ("b", "c"):
        (folder / f"{name}.jsonl").write_text(chat(name, 3))
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("d.jsonl", chat("d", 3))
    break_off(memory, first, folder, archive, at=lambda file, n: file.endswith("b.jsonl"))
    assert [one.path for one in memory.overview.unfinished_imports()] == [str(folder), str(archive)]
    assert {Path(one.path).name for one in memory.overview.imported_files() if one.complete} == {
        "a.jsonl", "b.jsonl",
    }, "what was read of the folder was read completely"  # fmt: skip
    break_off(memory, folder, at=lambda file, n: file.endswith("c.jsonl"))
    assert [one.path for one in memory.overview.unfinished_imports()] == [str(archive)], "nothing of the folder is left"
    memory.ingest(tmp_path)  # reads what lies in it, too
    assert memory.overview.unfinished_imports() == []
    assert memory.overview.counts()["messages"] == 12


def test_it_goes_on_as_it_was_asked_for(memory: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(
        chat("a", PAGE_MESSAGES) + json.dumps({"session_id": "a", "role": "user", "content": f"It is {KEY}."}) + "\n"
    )
    break_off(memory, file, user_id="ben", namespace="work", secrets="drop", format="native")
    (begun,) = memory.overview.unfinished_imports(user_id="ben")
    assert (begun.user_id, begun.namespace) == ("ben", "work")
    assert memory.overview.unfinished_imports(user_id="me") == []
    memory.ingest(file)  # for another memory: that of ben is still not finished
    assert memory.overview.unfinished_imports() == [begun]
    resume(memory, begun)
    assert memory.overview.unfinished_imports() == []
    texts = [line["content"] for line in memory.export(user_id="ben")]
    assert len(texts) == PAGE_MESSAGES + 1 and not any(KEY in text for text in texts)


@pytest.mark.slow
def test_what_stored_nothing_was_not_begun(memory: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(chat("a", 3))
    with pytest.raises(UsageError):
        memory.ingest(file, format="no such format")
    memory.ingest(tmp_path / "nowhere.jsonl")
    assert memory.overview.unfinished_imports() == []


@pytest.mark.slow
def test_a_file_that_is_gone_may_come_back(memory: Appliance, tmp_path: Path) -> None:
    file = tmp_path / "a.jsonl"
    file.write_text(chat("a", 2 * PAGE_MESSAGES))
    break_off(memory, file)
    file.unlink()
    (begun,) = memory.overview.unfinished_imports()
    other = tmp_path / "b.jsonl"
    other.write_text(chat("b", 2 * PAGE_MESSAGES))
    break_off(memory, other, tmp_path / "nowhere.jsonl")
    assert [one.path for one in memory.overview.unfinished_imports()] == [str(file), str(other)]
    resume(memory, begun)
    assert memory.overview.unfinished_imports()[0] == begun, "its disk may be away"
    for path in (file, other):
        memory.overview.give_up_import(str(path))
    assert memory.overview.unfinished_imports() == []
    assert not any(one.complete for one in memory.overview.imported_files(str(file)))


def test_an_upload_is_not_listed(memory: Appliance) -> None:
    file = memory.home.uploads / "one" / "a.jsonl"
    file.parent.mkdir(parents=True)
    file.write_text(chat("a", 2 * PAGE_MESSAGES))
    break_off(memory, file)
    assert memory.overview.unfinished_imports() == []


@pytest.mark.slow
def test_a_watched_file_finishes_the_import_of_it(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "watched"
    folder.mkdir()
    (folder / "a.jsonl").write_text(chat("a", 2 * PAGE_MESSAGES))
    break_off(memory, folder / "a.jsonl")
    memory.watcher([folder]).run(once=True)
    assert memory.overview.unfinished_imports() == []
    assert [(one.messages, one.complete) for one in memory.overview.imported_files()] == [(2 * PAGE_MESSAGES, True)]


@pytest.mark.slow
def test_a_file_with_errors_is_not_complete(memory: Appliance, tmp_path: Path) -> None:
    archive = tmp_path / "z.zip"
    with zipfile.ZipFile(archive, "w") as packed:
        packed.writestr("a.jsonl", chat("a", 2 * PAGE_MESSAGES))
    data = bytearray(archive.read_bytes())
    data[data.index(b"heron 7")] = ord("H")  # the checksum shows it at the end of the file
    archive.write_bytes(data)
    report = memory.ingest(archive)
    (one,) = memory.overview.imported_files()
    assert report.files[0].status == "partial" and not one.complete
    assert memory.overview.unfinished_imports() == [], "the rest can't be read: nothing waits"


@pytest.mark.slow
@pytest.mark.parametrize("how", ["everything", "source", "other"])
def test_forgetting_forgets_the_path(memory: Appliance, tmp_path: Path, how: str) -> None:
    file, kept = tmp_path / "farewell to marlene.jsonl", tmp_path / "kept.jsonl"
    file.write_text(chat("a", 2 * PAGE_MESSAGES))
    kept.write_text(chat("b", 2 * PAGE_MESSAGES))
    break_off(memory, file)
    break_off(memory, kept, user_id="ben")
    options = {"everything": {"everything": True}, "source": {"source": str(file)}, "other": {"user_id": "ben"}}[how]
    preview = memory.erasure.preview(**options, **({"everything": True} if how == "other" else {}))  # type: ignore[arg-type]
    memory.erasure.forget(preview)
    left = [Path(one.path).name for one in memory.overview.unfinished_imports()]
    assert left == [file.name if how == "other" else kept.name]
    if how != "other":
        engine_of(memory)._database.compact()
        assert b"marlene" not in memory.home.database.read_bytes()
