"""The names of files, conversations and people are forgotten with what was said."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import watched_files
from appliance.store.watched_files import FileStamp, WatchedEntry
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

NAME = "Zorn"
FILE = "chat with Dr Zorn.jsonl"
KEPT = "the market opens at nine on Saturdays"


def chat(path: Path, session: str, *said: str, author: str = "me") -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [
        {"session_id": session, "message_id": f"{session} {number}", "role": "user", "author": author, "content": text}
        for number, text in enumerate(said)
    ]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    os.utime(path, (1_700_000_000, 1_700_000_000))
    return path


def names_left(home: Path, name: str = NAME) -> list[Path]:
    """The files of a home, but for those of the person, that hold a name in UTF-8 or UTF-16."""
    found = holding(home, name.encode(), name.lower().encode("utf-16-le"))
    return [path for path in found if home / "inbox" not in path.parents]


def watch(memory: Appliance) -> None:
    memory.watcher().run(once=True)


@pytest.fixture
def inbox(home: Path) -> Path:
    """The inbox with a chat to be forgotten, one that stays, and a file that is no chat."""
    folder = home / "inbox"
    chat(folder / FILE, "Talk with Dr Zorn", "the results are in", "come on Monday", author="Dr Zorn")
    chat(folder / "market.jsonl", "market", KEPT)
    (folder / "notes of Zorn.txt").write_text("nothing that anybody said")
    os.utime(folder / "notes of Zorn.txt", (1_700_000_000, 1_700_000_000))
    return folder


@pytest.mark.parametrize("how", ["source", "session"])
def test_no_name_of_a_forgotten_file_stays(memory: Appliance, home: Path, inbox: Path, how: str) -> None:
    (inbox / "notes of Zorn.txt").unlink()
    watch(memory)
    if how == "source":
        preview = memory.erasure.preview(source=str(inbox / FILE))
    else:
        preview = memory.erasure.preview("Talk with Dr Zorn")
    assert names_left(home), "the test would prove nothing"
    receipt = memory.erasure.forget(preview)
    assert receipt.proof.traces == () and receipt.proof.yours == (str(inbox / FILE),), "the person is told, this once"
    assert receipt.proof.names >= 2
    assert not names_left(home) and not any(NAME in str(one) for one in memory.erasure.receipts())
    assert [Path(file.path).name for file in memory.overview.files()] == ["market.jsonl"]
    assert not memory.verify().problems


def test_a_copy_whose_messages_were_all_known_is_forgotten_and_named_too(
    memory: Appliance, home: Path, inbox: Path, tmp_path: Path
) -> None:
    (inbox / "notes of Zorn.txt").unlink()
    original = tmp_path / "export.jsonl"
    original.write_bytes((inbox / FILE).read_bytes())
    memory.ingest(original)
    watch(memory)  # the copy in the inbox brings nothing new
    first, *rest = memory.sessions.get("Talk with Dr Zorn").messages()
    preview = memory.erasure.preview(first.id)
    assert preview.files == (str(original), str(inbox / FILE))
    memory.erasure.forget(preview)
    assert names_left(home), "what is left of the conversation is in it"
    receipt = memory.erasure.forget(memory.erasure.preview("Talk with Dr Zorn"))
    assert receipt.messages == len(rest) > 0
    assert not names_left(home) and receipt.proof.traces == ()
    assert [Path(file.path).name for file in memory.overview.files()] == ["market.jsonl"]
    assert not memory.verify().problems
    watch(memory)
    assert not names_left(home), "it is still there, and is not read again"


def test_everything_is_the_names_of_files_without_messages_too(memory: Appliance, home: Path, inbox: Path) -> None:
    watch(memory)
    memory.ingest(chat(inbox.parent.parent / "Zorn again.jsonl", "Talk with Dr Zorn", "the results are in"))
    memory.erasure.forget(memory.erasure.preview(everything=True))
    assert not names_left(home) and not names_left(home, "market") and memory.overview.files() == []
    watch(memory)
    assert not names_left(home) and not names_left(home, "market"), "what is forgotten is not read again"


def test_every_forgotten_file_is_known_whatever_its_digest_is(memory: Appliance) -> None:
    """One in 256 digests ends with a slash, which a path does not keep."""
    database = engine_of(memory)._database
    names = [b"/inbox/%d.jsonl" % number for number in range(2000)]
    with database.write() as tx:
        watched_files.enqueue(
            tx, [WatchedEntry(Path(os.fsdecode(name)), Path("/inbox"), FileStamp(1, 1), "queued") for name in names]
        )
        watched_files.forget(tx, names)
    find = watched_files.forgotten_entries(database.read())
    assert [name for name in names if find(Path(os.fsdecode(name))) is None] == []
    assert find(Path("/inbox/another.jsonl")) is None


def test_a_forgotten_file_is_read_again_when_it_has_something_new(memory: Appliance, home: Path, inbox: Path) -> None:
    watch(memory)
    memory.erasure.forget(memory.erasure.preview("Talk with Dr Zorn"))
    os.utime(inbox / FILE, (1_700_000_100, 1_700_000_100))
    watch(memory)
    assert FILE not in {Path(file.path).name for file in memory.overview.files()}, "it was only touched"
    chat(inbox / FILE, "Talk with Dr Zorn", "the results are in", "come on Monday", "bring the letter")
    os.utime(inbox / FILE, (1_700_000_200, 1_700_000_200))
    watch(memory)
    assert {one["content"] for one in memory.export()} == {KEPT, "bring the letter"}
    assert FILE in {Path(file.path).name for file in memory.overview.files()}


def test_a_name_that_is_left_is_a_trace(memory: Appliance, home: Path, inbox: Path) -> None:
    watch(memory)
    (home / "left.log").write_text(f"read {FILE}")
    assert memory.erasure.forget(memory.erasure.preview("Talk with Dr Zorn")).proof.traces == (str(home / "left.log"),)


def test_a_name_that_others_have_stays(memory: Appliance, home: Path, inbox: Path) -> None:
    chat(inbox / "other.jsonl", "other", "I met him", author="Dr Zorn")
    watch(memory)
    assert memory.erasure.forget(memory.erasure.preview("Talk with Dr Zorn")).proof.traces == ()
    assert names_left(home)


def test_a_file_is_one_source_however_its_path_is_typed(
    memory: Appliance, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat(tmp_path / "data" / FILE, "Talk", "the results are in")
    monkeypatch.chdir(tmp_path)
    report = memory.ingest(f"data/{FILE}")
    assert report.files[0].path == f"data/{FILE}", "as it was typed"
    monkeypatch.chdir(tmp_path / "data")
    assert memory.ingest(FILE).files[0].duplicates == 1
    for typed in (f"./{FILE}", FILE, str(tmp_path / "data" / FILE)):
        assert memory.erasure.preview(source=typed).files == (str(tmp_path / "data" / FILE),)
