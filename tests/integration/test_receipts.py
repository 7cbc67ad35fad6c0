"""A receipt says what was done and what was searched, whoever writes meanwhile, and after an interruption."""

from __future__ import annotations

import errno
import threading
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import ApplianceError, HomeError
from appliance.memory import erased_texts
from appliance.memory import traces as traces_module
from appliance.memory.erased_texts import ErasedTexts
from appliance.store import lexical
from appliance.types import Receipt
from appliance_models import HashEmbedder
from appliance_tui.erasure import receipt_text
from tests.engines import engine_of
from tests.homes import holding

pytestmark = pytest.mark.usefixtures("every_field_index")

SECRET = "the blue envelope lies under the third stair of the lighthouse"
ADD_INTERVAL_SECONDS = 0.25


@contextmanager
def adding(memory: Appliance) -> Iterator[None]:
    """Another thread adds messages to a conversation of its own."""
    stop = threading.Event()
    session = memory.sessions.create(title="busy")

    def add() -> None:
        number = 0
        while not stop.wait(ADD_INTERVAL_SECONDS):
            session.add("user", f"the ferry of hour {(number := number + 1)} was late again")

    thread = threading.Thread(target=add)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def secretive(memory: Appliance) -> str:
    """The id of a conversation to be forgotten, beside one that stays."""
    session, other = memory.sessions.create(), memory.sessions.create()
    for number in range(40):
        session.add("user", f"{SECRET}, as I wrote {number} times")
        other.add("user", f"the market opens at nine on day {number}")
    memory.embed_pending()
    return session.id


def assert_true(receipt: Receipt, messages: int) -> None:
    assert (receipt.state, receipt.messages, receipt.proof.traces) == ("done", messages, ())
    assert receipt.vectors >= messages
    assert receipt.proof.searched and receipt.proof.files > 1 and receipt.proof.texts == messages


def traces(home: Path, text: str) -> list[Path]:
    """The files of a home that hold a text."""
    return holding(home, text.encode())


def test_a_job_leaves_the_receipt_of_a_running_erasure_alone(memory: Appliance) -> None:
    session = secretive(memory)
    seen: list[Receipt] = []

    def while_it_runs(done: int, pending: int) -> None:
        assert engine_of(memory).erasure.finish_interrupted(lambda: True) == 0
        seen.extend(memory.erasure.receipts())

    receipt = memory.erasure.forget(memory.erasure.preview(session), while_it_runs)
    assert seen and {one.state for one in seen} == {"open"} and not any(one.proof.searched for one in seen)
    assert_true(receipt, 40)


@pytest.mark.slow
def test_a_receipt_is_true_while_somebody_adds(home: Path) -> None:
    with Appliance.open(home, embedder=HashEmbedder()) as memory:
        session = secretive(memory)
        with adding(memory):
            receipt = memory.erasure.forget(memory.erasure.preview(session))
        assert_true(receipt, 40)
        assert memory.erasure.receipts() == [receipt]
        assert not traces(home, SECRET)


def test_two_erasures_at_once_have_a_true_receipt_each(memory: Appliance) -> None:
    sessions = [secretive(memory), secretive(memory)]
    previews = [memory.erasure.preview(session) for session in sessions]
    receipts: list[Receipt] = []
    threads = [
        threading.Thread(target=lambda one=one: receipts.append(memory.erasure.forget(one)))  # type: ignore[misc]
        for one in previews
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(receipts) == 2
    for receipt in receipts:
        assert receipt.state == "done" and receipt.proof.searched and receipt.proof.texts == 40


def interrupt(memory: Appliance, monkeypatch: pytest.MonkeyPatch, session: str) -> None:
    """Interrupt an erasure after its first step."""
    with monkeypatch.context() as patch:
        patch.setattr(engine_of(memory)._index_service, "expunge", lambda *progress: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            memory.erasure.forget(memory.erasure.preview(session))


def test_an_interrupted_erasure_is_searched_when_it_is_finished(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        interrupt(memory, monkeypatch, secretive(memory))
        (receipt,) = memory.erasure.receipts()
        assert receipt.state == "open" and not receipt.proof.searched
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.run_pending_jobs()
        assert_true(memory.erasure.receipts()[0], 40)
        assert not traces(home, SECRET) and not (home / "erasing").exists()


def test_the_next_erasure_finishes_an_interrupted_one(memory: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    interrupt(memory, monkeypatch, secretive(memory))
    memory.erasure.forget(memory.erasure.preview(secretive(memory)))
    for receipt in memory.erasure.receipts():
        assert_true(receipt, 40)


def test_an_interrupted_erasure_is_told_and_finished_on_request(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    interrupt(memory, monkeypatch, secretive(memory))
    assert "a forget is not finished" in memory.status()["health"]
    (problem,) = memory.verify().problems
    assert problem.where == "erasing" and "'appliance reindex --pending' finishes this" in problem.message
    memory.embed_pending()
    assert not memory.verify().problems
    assert_true(memory.erasure.receipts()[0], 40)
    assert memory.status()["health"] == "ok"


def test_an_erasure_that_fails_at_first_keeps_no_texts(
    memory: Appliance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The texts are written before the database has room for the erasure, which may then not happen."""
    session = secretive(memory)

    def keep_and_fail(folder: Path, key: int, erased: ErasedTexts) -> None:
        keep(folder, key, erased)
        (folder / f"e{key + 1}.json.new").write_text(SECRET)  # what a write leaves that finds no room
        raise OSError(errno.ENOSPC, "full")

    keep = erased_texts.keep
    with monkeypatch.context() as patch:
        patch.setattr(erased_texts, "keep", keep_and_fail)
        with pytest.raises((OSError, ApplianceError)):
            memory.erasure.forget(memory.erasure.preview(session))
    assert not (home / "erasing").exists() and len(memory.sessions.get(session).messages()) == 40
    assert memory.status()["health"] == "ok" and not memory.verify().problems


def test_texts_that_a_killed_erasure_left_are_told_and_removed(memory: Appliance, home: Path) -> None:
    """It is killed after its texts were written and before the database was."""
    secretive(memory)
    erased_texts.keep(home / "erasing", 1, ErasedTexts([SECRET], 1))
    assert "the texts of a forget that did not happen" in memory.status()["health"]
    assert [problem.where for problem in memory.verify().problems] == ["erasing"]
    memory.embed_pending()
    assert not (home / "erasing").exists() and not memory.verify().problems


@pytest.mark.parametrize("damage", ["garbage", "another word", "a folder"])
def test_a_receipt_without_its_texts_says_that_nothing_was_searched(
    memory: Appliance, home: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    interrupt(memory, monkeypatch, secretive(memory))
    (path,) = (home / "erasing").iterdir()
    if damage == "a folder":
        path.unlink()
        path.mkdir()
    else:
        path.write_text(path.read_text().replace("envelope", "elephant") if damage == "another word" else damage)
    memory.run_pending_jobs()
    (receipt,) = memory.erasure.receipts()
    assert receipt.state == "done" and receipt.vectors >= 40
    assert not receipt.proof.searched and receipt.proof.files == 0


# --- the search for traces ------------------------------------------------------------------------------------


def test_a_file_that_cannot_be_read_leaves_the_receipt_open_and_is_named(
    memory: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.sessions.create()
    session.add("user", SECRET)
    memory.embed_pending()

    def unreadable(path: Path, *given: object) -> object:
        raise PermissionError(errno.EACCES, "Permission denied", str(path))

    with monkeypatch.context() as patched:
        patched.setattr(traces_module, "find_in_file", unreadable)
        with pytest.raises(HomeError, match=r"Permission denied.*are forgotten and not found any more"):
            memory.erasure.forget(memory.erasure.preview(session.id))
    assert [receipt.state for receipt in memory.erasure.receipts()] == ["open"]
    memory.run_pending_jobs()
    assert_true(memory.erasure.receipts()[0], 1)


def test_all_texts_are_sought_in_a_small_home(memory: Appliance, home: Path) -> None:
    session = secretive(memory)
    session_of_few = memory.sessions.create()
    session_of_few.add("user", "ok")
    long = " ".join(f"Paragraph {i} of a confession nobody should read, item {i * 7919}." for i in range(100))
    session_of_few.add("user", long)
    proof = memory.erasure.forget(memory.erasure.preview(session, session_of_few.id)).proof
    assert (proof.erased_texts, proof.texts) == (42, 41), "'ok' can't be told apart"
    assert proof.pieces > len(long) // 32 and proof.words > 100
    assert proof.bytes < 20_000_000, "holes of the index don't count"


@pytest.mark.parametrize("place", ["beginning", "middle", "end"])
def test_a_piece_of_a_long_text_is_a_trace(memory: Appliance, home: Path, place: str) -> None:
    long = " ".join(f"Paragraph {i} of a confession nobody should read, item {i * 7919}." for i in range(100))
    start = {"beginning": 0, "middle": 3210, "end": len(long) - 70}[place]
    said = memory.sessions.create().add("user", long)
    (home / "left.bin").write_bytes(zlib.compress(long[start : start + 70].encode("utf-16-le")))
    receipt = memory.erasure.forget(memory.erasure.preview(said.id))
    assert receipt.proof.traces == (str(home / "left.bin"),) and receipt.proof.frames >= 1


def test_a_word_of_a_missing_message_in_the_full_text_is_a_trace(
    memory: Appliance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    said = memory.sessions.create().add("user", "Quillfeather")
    monkeypatch.setattr(lexical, "remove_from_index", lambda tx, keys: None)
    assert memory.erasure.forget(memory.erasure.preview(said.id)).proof.traces == (str(home / "recall.db"),)


def test_more_pieces_than_one_pass_are_sought_in_several(
    memory: Appliance, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(traces_module, "PIECES_A_PASS", 7)
    session = secretive(memory)
    (home / "left.txt").write_text(f"{SECRET}, as I wrote 39 times")
    proof = memory.erasure.forget(memory.erasure.preview(session)).proof
    assert proof.texts == 40 and proof.traces == (str(home / "left.txt"),)


def test_a_phrase_that_stays_is_no_trace_where_a_summary_quotes_it(memory: Appliance) -> None:
    """The summary puts a space before the phrase, as the erased text did; in the message that stays there is none."""
    phrase = "the lighthouse keeper counts the herring boats"
    gone, stays = memory.sessions.create(), memory.sessions.create()
    before = "yesterday evening, as she said,".ljust(traces_module.PIECE_CHARACTERS, ",")
    gone.add("user", f"{before} {phrase}")
    for number in range(30):
        stays.add("user", f"{phrase} on day {number}, and the harbour crane waits for oil.")
    memory.run_pending_jobs()
    assert any(phrase in summary.text for summary in memory.summaries.list(session_id=stays.id))
    assert_true(memory.erasure.forget(memory.erasure.preview(gone.id)), 1)


def test_a_text_that_another_user_has_too_is_no_trace_but_is_told(memory: Appliance) -> None:
    said = memory.sessions.create(user_id="ana").add("user", f"{SECRET}, said by Ana", author="andre_")
    both = memory.sessions.create(user_id="ana").add("user", SECRET)
    # The name is in that of somebody else, as people's names are stored: without case.
    kept = memory.sessions.create(user_id="kim").add("user", SECRET, author="Andre_Gondim")
    memory.people.list(user_id="kim")
    receipt = memory.erasure.forget(memory.erasure.preview(said.id, both.id, user_id="ana"))
    assert receipt.proof.traces == () and (receipt.proof.erased_texts, receipt.proof.repeated) == (2, 1)
    assert receipt.proof.repeated_by == (kept.id,) and kept.id in receipt_text(receipt)
    assert "none found; 1 of the texts stays where another message says the same" in receipt_text(receipt)
    (last,) = memory.search(SECRET, user_id="kim")
    assert memory.erasure.forget(memory.erasure.preview(last.message_id, user_id="kim")).proof.repeated == 0
