"""Forgetting: a look changes nothing, a yes names the count, and a receipt says what became of it."""

from __future__ import annotations

import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from forget_dialog import asks, done, run, told, two_conversations
from screens import until
from textual.pilot import Pilot
from textual.widgets import Checkbox, Input, Static

from appliance import Appliance
from appliance.engine.erasure import ErasureService
from appliance.errors import DaemonGone
from appliance.types import Echo, ErasurePreview, Message, Receipt
from appliance_tui.app import ApplianceApp
from appliance_tui.erasure import (
    ErasureRequest,
    ErasureSummary,
    place_note,
    preview_erasure,
    receipt_fields,
    receipt_text,
)
from appliance_tui.screens.forget import NOTHING_NAMED_HINT, ForgetScreen
from appliance_tui.screens.search import SearchScreen
from appliance_tui.widgets.erasure_rows import erasure_rows, render_row
from appliance_tui.widgets.prompt_line import QuestionLine
from appliance_tui.widgets.rows import RowList

OLD = datetime(2020, 5, 1, tzinfo=UTC)


@pytest.fixture
def talk(memory: Appliance) -> list[str]:
    return two_conversations(memory)


def test_a_message_goes_by_its_number_and_the_receipt_comes_back(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        assert "This erases 1 message (40 characters; 1 from local)" in told(screen)
        assert [one.id for one in screen._sample_rows.items] == [talk[0]]
        await until(pilot, lambda: screen.query_one("#forget-count", Input).has_focus)
        await pilot.press("1", "enter")
        await done(pilot, screen)
        assert memory.overview.messages(talk) == memory.overview.messages(talk[1:])
        assert "traces    none found" in told(screen)
        await pilot.press("escape")
        await until(pilot, lambda: given)
        assert [one.id for one in memory.erasure.receipts()] == [one.id for one in given if one]

    run(memory, (talk[0],), body)


def lines(screen: ForgetScreen) -> list[str]:
    """What stands in the list."""
    return [render_row(row, 100).plain for row in screen._sample_rows.items]


def test_what_repeats_it_is_offered_first_and_goes_with_it(memory: Appliance, talk: list[str]) -> None:
    answer = memory.sessions.create(title="Answers").add("assistant", "Saved: blue envelope under the stairs.")

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        assert "This erases 1 message" in told(screen)
        heading, echo, _, message = lines(screen)
        assert heading == "May still say it: 1 other item (space erases one too, ctrl+o all)"
        assert echo.startswith(f"[ ] {answer.id}") and "answer: Saved: blue envelope under the stairs." in echo
        assert talk[0] in message
        await until(pilot, lambda: screen.query_one("#forget-count", Input).has_focus)
        await pilot.press("ctrl+o")
        await until(pilot, lambda: "This erases 2 messages" in told(screen) and asks(screen))
        assert lines(screen)[0] == "Repeats it: 1 other item, 1 ticked to be erased too"
        assert lines(screen)[1].startswith("[x]")
        assert lines(screen)[2] == "To be erased: 2 messages; 1 of them ticked above"
        assert sum(answer.id in line for line in lines(screen)) == 1
        assert screen.query_one("#forget-count", Input).has_focus  # the question of the number is where it was
        await pilot.press("2", "enter")
        await done(pilot, screen)
        assert [message.id for message in memory.overview.messages([*talk, answer.id])] == talk[1:]

    run(memory, (talk[0],), body)


@pytest.mark.slow
def test_one_of_what_repeats_it_can_be_chosen(memory: Appliance, talk: list[str]) -> None:
    answers = memory.sessions.create(title="Answers")
    ids = [answers.add("assistant", f"{word}: blue envelope under the stairs.").id for word in ("Saved", "Noted")]

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        def boxes() -> list[str]:
            return [line[:3] for line in lines(screen) if line.startswith("[")]

        await until(pilot, lambda: asks(screen) and boxes() == ["[ ]", "[ ]"])
        screen._sample_rows.focus()
        screen._sample_rows.mark(("echo", ids[1]))
        await pilot.press("space")
        await until(pilot, lambda: boxes() == ["[ ]", "[x]"] and "2 messages" in told(screen))
        await pilot.press("ctrl+o")
        await until(pilot, lambda: boxes() == ["[x]", "[x]"] and "3 messages" in told(screen))
        await pilot.press("space")  # all but the selected one
        await until(pilot, lambda: boxes() == ["[x]", "[ ]"] and "2 messages" in told(screen))
        screen.query_one("#forget-count", Input).focus()
        await pilot.press("2", "enter")
        await done(pilot, screen)
        assert [message.id for message in memory.overview.messages([*talk, *ids])] == [*talk[1:], ids[1]]

    run(memory, (talk[0],), body)


def test_a_copy_is_called_exact_only_where_it_is() -> None:
    message = Message("m1", "s1", "x", "user", None, None, "The blue envelope.", None, {})
    preview = ErasurePreview((1,), (), (), 18, {}, (), echoes=(Echo("copy", "m2"), Echo("copy", "m3")))
    summary = ErasureSummary(preview, [message], {"m2": message.text, "m3": "the blue envelope"})
    rows = [render_row(row, 80).plain for row in erasure_rows(summary, ())]
    assert "exact copy: The blue envelope." in rows[1] and "near copy: the blue envelope" in rows[2]


@pytest.mark.slow
def test_a_fact_that_would_still_say_it_is_listed_with_its_words(memory: Appliance, talk: list[str]) -> None:
    (fact,) = memory.facts.add(attribute="envelope", value="the blue envelope under the stairs")

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        assert any(fact.id in line and "blue envelope" in line for line in lines(screen))
        screen._sample_rows.focus()
        await pilot.press("enter")  # a fact has no place in a conversation
        assert pilot.app.screen is screen

    run(memory, (talk[0],), body)


@pytest.mark.parametrize(
    "typed", ["", "02", *(pytest.param(one, marks=pytest.mark.slow) for one in ("y", "1", "2 messages"))]
)
def test_nothing_but_the_number_is_a_yes(memory: Appliance, talk: list[str], typed: str) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        count = screen.query_one("#forget-count", Input)
        count.value = typed
        count.focus()
        await pilot.press("enter")
        await pilot.pause(0.1)
        assert screen._stage == "naming"
        assert count.value == typed
        await pilot.press("escape")
        await until(pilot, lambda: given == [None])
        assert len(memory.overview.messages(talk)) == 3
        assert memory.erasure.receipts() == []

    run(memory, (talk[0], talk[1]), body)


@pytest.mark.slow
def test_what_is_typed_is_looked_for_and_enter_leads_to_the_number(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: told(screen) == NOTHING_NAMED_HINT)
        await pilot.press(*"blue", "space", *"envelope")
        await until(pilot, lambda: asks(screen))
        assert [one.id for one in screen._sample_rows.items] == talk[:2]
        prompt = screen.query_one("#forget-prompt", Static)
        assert str(prompt.render()) == "Press enter, then 2 and enter, to erase 2 messages:"
        await pilot.press("enter")
        await until(pilot, lambda: str(prompt.render()) == "Type 2 and enter to erase 2 messages:")
        screen.query_one("#forget-ids", Input).value = talk[1]  # narrows
        await until(pilot, lambda: not asks(screen))  # what is on the screen is not what would go
        await until(pilot, lambda: asks(screen))
        assert [one.id for one in screen._sample_rows.items] == [talk[1]]
        await pilot.press("enter")
        assert screen.query_one("#forget-count", Input).has_focus
        await pilot.press("1", "enter")
        await done(pilot, screen)
        assert [one.id for one in memory.overview.messages(talk)] == [talk[0], talk[2]]

    run(memory, (), body)


def test_a_source_and_a_conversation_can_be_named(memory: Appliance, talk: list[str], tmp_path: Path) -> None:
    session = memory.message(talk[2]).session_id
    zipped = tmp_path / "chat.zip"
    with zipfile.ZipFile(zipped, "w") as archive:
        archive.writestr("_chat.txt", "[12/03/2023, 21:05:11] Thomas: the password is Benhamou\n")
    memory.ingest(zipped)

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        screen.query_one("#forget-source", Input).value = "local"
        await until(pilot, lambda: "3 messages" in told(screen))
        screen.query_one("#forget-source", Input).value = "nowhere"
        await until(pilot, lambda: "No message came from 'nowhere'" in told(screen))
        assert not asks(screen)
        screen.query_one("#forget-source", Input).value = str(zipped)
        await until(pilot, lambda: asks(screen) and f"The source covers 1 file: {zipped}/_chat.txt." in told(screen))
        assert f"The file {zipped} was not changed, and may still contain it." in told(screen)
        screen.query_one("#forget-source", Input).value = ""
        screen.query_one("#forget-ids", Input).value = session
        await until(pilot, lambda: "1 whole conversation" in told(screen))

    run(memory, (), body)


def test_it_says_first_where_words_are_that_no_text_has(memory: Appliance, talk: list[str]) -> None:
    club = memory.sessions.create(title="Garden club")
    club.add("user", "Prune the quince.")
    club.add("user", "The club meets on Monday.")

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        words = screen.query_one("#forget-words", Input)
        assert "title" in words.placeholder
        words.value = "garden"
        await until(pilot, lambda: asks(screen))
        where, erases = told(screen).splitlines()[:2]
        assert where.startswith("No message has these words in the text. Also selected: 2 in conversations whose title")
        assert erases.startswith("This erases 2 messages")
        words.value = "club"
        await until(pilot, lambda: "1 message has these words in the text. Also selected: 1 in conv" in told(screen))
        words.value = "meets"
        await until(pilot, lambda: asks(screen) and told(screen).startswith("This erases 1 message"))

    run(memory, (), body)


def test_digits_typed_beside_a_line_are_of_the_number(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await pilot.click("#forget-everything")
        await until(pilot, lambda: asks(screen))
        assert screen.focused is screen.query_one("#forget-everything")
        count = screen.query_one("#forget-count", Input)
        await pilot.press("1", "2", "enter")
        assert (count.value, count.has_focus) == ("12", True)
        await until(pilot, lambda: "That doesn't match. Type 3" in str(screen.query_one("#forget-prompt").render()))
        assert not pilot.app._notifications  # one would hide the line
        screen.query_one("#forget-since", Input).focus()
        await pilot.press("2")
        assert count.value == "12"  # digits of a date are of the date

    run(memory, (), body)


def test_a_title_an_author_and_dates_narrow(memory: Appliance, talk: list[str]) -> None:
    memory.sessions.create(title="Tea with Ben").add("user", "Two cups.", author="Ben", timestamp=OLD)
    memory.embed_pending()

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        screen.query_one("#forget-title", Input).value = "tea"
        await until(pilot, lambda: "2 messages" in told(screen))
        assert "Whole conversations: Tea · Tea with Ben\n" in f"{told(screen)}\n"
        screen.query_one("#forget-title", Input).value = "te"
        await until(pilot, lambda: told(screen) == "No matches: nothing to forget.")
        screen.query_one("#forget-title", Input).value = "tea"
        await until(pilot, lambda: "2 messages" in told(screen))
        screen.query_one("#forget-author", Input).value = "Ben"
        await until(pilot, lambda: "1 message " in told(screen))
        screen.query_one("#forget-since", Input).value = "2021-01-01"
        await until(pilot, lambda: told(screen) == "No matches: nothing to forget.")
        screen.query_one("#forget-since", Input).value = "2020-13"
        await until(pilot, lambda: "2020-13" in told(screen) and not asks(screen))
        screen.query_one("#forget-since", Input).value = ""
        screen.query_one("#forget-until", Input).value = "2020-12-31"
        await until(pilot, lambda: asks(screen) and "1 message " in told(screen))

    run(memory, (), body)


@pytest.mark.slow
def test_everything_stands_alone(memory: Appliance, talk: list[str]) -> None:
    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        box = screen.query_one("#forget-everything", Checkbox)
        assert "X" not in str(box.render())
        screen.query_one("#forget-words", Input).value = "tea"
        await until(pilot, lambda: asks(screen))
        box.focus()
        await pilot.press("space")
        await until(pilot, lambda: "can't be combined" in told(screen))
        assert "X" in str(box.render())
        assert not asks(screen)
        screen.query_one("#forget-words", Input).value = ""
        await until(pilot, lambda: "3 messages" in told(screen) and "2 whole conversations" in told(screen))
        count = screen.query_one("#forget-count", Input)
        count.value = "3"
        count.focus()
        await pilot.press("enter")
        await done(pilot, screen)
        assert not list(memory.sessions.list())

    run(memory, (), body)


def test_what_came_in_since_the_look_is_asked_about_anew(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    session = memory.message(talk[2]).session_id
    # No event tells of it, as where the daemon's line was down for a moment.
    monkeypatch.setattr(ForgetScreen, "on_memory_changed", lambda self, message: None)

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        memory.sessions.get(session).add("user", "And black tea at night.")
        await pilot.press("1", "enter")
        await until(pilot, lambda: screen._stage == "naming" and "2 messages" in told(screen))
        assert memory.erasure.receipts() == []
        assert len(memory.sessions.messages(session)) == 2

    run(memory, (session,), body)


@pytest.mark.slow
def test_an_error_is_said_and_it_can_be_tried_again(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*about: Any) -> None:
        raise DaemonGone("the daemon is gone")

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        with monkeypatch.context() as patched:
            patched.setattr(ErasureService, "forget", fails)
            await pilot.press("1", "enter")
            await until(pilot, lambda: screen._stage == "erasing" or screen._stage == "naming")
            await until(pilot, lambda: screen._stage == "naming" and asks(screen))
        assert len(memory.overview.messages(talk)) == 3
        count = screen.query_one("#forget-count", Input)
        count.focus()
        await pilot.press("1", "enter")
        await done(pilot, screen)
        assert len(memory.overview.messages(talk)) == 2

    run(memory, (talk[0],), body)


@pytest.mark.slow
def test_an_erasure_whose_answer_is_lost_shows_its_receipt(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    real = ErasureService.forget

    def loses_the_answer(*about: Any) -> None:
        real(*about)
        raise DaemonGone("the daemon is gone")

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        monkeypatch.setattr(ErasureService, "forget", loses_the_answer)
        await until(pilot, lambda: asks(screen))
        await pilot.press("1", "enter")
        await done(pilot, screen)
        assert "receipt   e1" in told(screen)
        await pilot.press("escape")
        await until(pilot, lambda: [one.id for one in given if one] == ["e1"])

    run(memory, (talk[0],), body)


def test_a_receipt_is_saved_for_its_owner_alone_and_copied(memory: Appliance, talk: list[str], tmp_path: Path) -> None:
    receipt = memory.erasure.forget(memory.erasure.preview(talk[0]))
    target = tmp_path / "receipt.txt"

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await pilot.press("ctrl+s")  # nothing is shown that could be saved
        line = screen.query_one(QuestionLine)
        assert not line.display
        await pilot.press("ctrl+r")
        await until(pilot, lambda: screen._shown_receipt is not None)
        await pilot.press("y")
        assert pilot.app.clipboard == receipt_text(receipt)
        assert "none found" in pilot.app.clipboard
        await pilot.press("ctrl+s")
        assert line.value == f"~/appliance-receipt-{receipt.id}.txt"
        dialog = screen.query_one("#forgetting")
        assert "enter saves the receipt" in str(dialog.border_subtitle) and screen.submits == "forget.save"
        line.value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: target.exists() and target.read_text() == receipt_text(receipt))
        assert target.stat().st_mode & 0o777 == 0o600
        await until(pilot, lambda: not line.display)
        await pilot.press("ctrl+s")
        line.value = str(target)
        await pilot.press("enter")
        await until(pilot, lambda: any("already exists" in one.message for one in pilot.app._notifications))
        assert line.has_focus and line.value == str(target)  # to be corrected
        await pilot.press("end", "2", "enter")
        await until(pilot, lambda: not line.display)
        assert Path(f"{target}2").read_text() == receipt_text(receipt)

    run(memory, (), body)


@pytest.mark.slow
def test_earlier_receipts_are_listed_with_their_proofs(memory: Appliance, talk: list[str]) -> None:
    receipt = memory.erasure.forget(memory.erasure.preview(talk[0]))

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        screen.query_one("#forget-words", Input).value = "tea"
        await until(pilot, lambda: asks(screen))
        await pilot.press("ctrl+r")
        rows = screen.query_one("#forget-receipts", RowList)
        await until(pilot, lambda: rows.items)
        assert [one.id for one in rows.items] == [receipt.id]
        await until(pilot, lambda: f"{receipt.proof.files} files" in told(screen))
        assert not asks(screen)
        await pilot.press("escape")
        await until(pilot, lambda: asks(screen))
        assert screen.query_one("#forget-words", Input).value == "tea"

    run(memory, (), body)


def test_a_message_that_would_go_can_be_read_first(
    memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[tuple[str, str | None]] = []
    monkeypatch.setattr(ApplianceApp, "read", lambda self, *about: opened.append(about))

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        screen._sample_rows.focus()
        await pilot.press("enter")
        assert opened == [(memory.message(talk[0]).session_id, talk[0])]

    run(memory, (talk[0],), body, (80, 24))


@pytest.mark.slow
def test_the_screen_below_is_told(memory: Appliance, talk: list[str], monkeypatch: pytest.MonkeyPatch) -> None:
    heard: list[str] = []
    monkeypatch.setattr(SearchScreen, "on_memory_changed", lambda self, message: heard.append(message.kind))

    async def body(pilot: Pilot[None], screen: ForgetScreen, given: list[Receipt | None]) -> None:
        await until(pilot, lambda: asks(screen))
        await pilot.press("1", "enter")
        await done(pilot, screen)
        await until(pilot, lambda: "forgotten" in heard)

    run(memory, (talk[0],), body)


# --- what needs no screen -----------------------------------------------------------------------------------


def test_a_receipt_says_what_was_found(memory: Appliance, talk: list[str]) -> None:
    from dataclasses import replace

    receipt = memory.erasure.forget(memory.erasure.preview(talk[0]))
    lines = dict(receipt_fields(receipt))
    assert lines["erased"] == "1 message (40 characters; 1 from local)"
    assert lines["traces"] == "none found"
    found = replace(receipt, proof=replace(receipt.proof, traces=("a/b",), yours=("inbox/x.zip",)))
    lines = dict(receipt_fields(found))
    assert (lines["traces"], lines["note"]) == ("a/b", "Your export inbox/x.zip still contains it.")
    stored = replace(found, proof=replace(found.proof, yours=("an export in the inbox",)))
    assert dict(receipt_fields(stored))["note"] == "An export in the inbox still contains it."
    two = replace(stored, proof=replace(found.proof, yours=("an export in the inbox",) * 2))
    assert [text for name, text in receipt_fields(two) if name == "note"] == [
        "2 exports in the inbox still contain it."
    ]
    assert "traces" not in dict(receipt_fields(replace(receipt, state="open")))
    kept = replace(receipt, backups=("/usb/backup",), proof=replace(receipt.proof, awaits_server=True))
    notes = [text for name, text in receipt_fields(kept) if name == "note"]
    assert any("/usb/backup may still contain it" in note for note in notes)
    assert any("Points on the server are not erased yet" in note for note in notes)
    unproved = replace(receipt, proof=type(receipt.proof)())
    assert "none found" not in dict(receipt_fields(unproved)).values()


def test_sentences_of_core_memory_are_listed_and_counted(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", "The spare keys are with Mrs. Aydın")
    memory.core.set("person", "Has a cat.\nSpare keys: Mrs. Aydın.")
    offered = preview_erasure(memory, ErasureRequest(ids=(said.id,)), None)
    assert offered.echo_texts == {"core:person": "Spare keys: Mrs. Aydın."}
    assert "core memory: Spare keys" in render_row(list(erasure_rows(offered, ()))[1], 80).plain
    taken = preview_erasure(memory, ErasureRequest(ids=(said.id,), with_echoes=True), None)
    assert "1 block of core memory" in taken.description and taken.keys != offered.keys
    receipt = memory.erasure.forget(taken.preview)
    assert "1 block of core memory" in dict(receipt_fields(receipt))["erased"]


def test_what_has_the_words_and_no_message_is_named() -> None:
    preview = ErasurePreview((), (7,), (), 0, {}, (), found_in={"text": 0}, found_alone={"facts": 2, "titles": 1})
    expected = "Also selected: 2 facts without a message; 1 conversation without a message, by titles."
    assert place_note(preview) == f"No message has these words in the text. {expected}"
