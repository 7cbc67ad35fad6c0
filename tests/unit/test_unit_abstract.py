"""What a language model writes becomes a summary only where it rests on what was said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from appliance.memory.abstractive import INSTRUCTIONS, MAX_BATCH_CHARACTERS, InvalidSummary, write_notes
from appliance.memory.extractive import SummaryDraft
from appliance.memory.notes import cited_ids
from appliance.types import Message

DRAFT = SummaryDraft("", (), {"decisions": []})


def message(number: int, text: str, who: str = "Ana") -> Message:
    return Message(f"m{100 + number}", "s1", str(number), "user", who, None, text, None, {})


SAID = [
    message(1, "We have decided to move the meeting to Thursday. The small room is free then."),
    message(2, "Good. I will book the small room and tell Ben.", "Cem"),
    message(3, "Ben asked whether the projector works. Nobody knows.", "Ana"),
]


class Scripted:
    """Answers what a test wrote down, and keeps what it was asked."""

    name = "scripted"

    def __init__(self, *answers: str) -> None:
        self.answers = list(answers)
        self.asked: list[str] = []

    def complete(self, messages: Sequence[Mapping[str, str]]) -> str:
        assert messages[0] == {"role": "system", "content": INSTRUCTIONS}
        self.asked.append(messages[1]["content"])
        return self.answers.pop(0)


def notes(answer: str, prior: str = "", said: Sequence[Message] = SAID) -> SummaryDraft:
    return write_notes(Scripted(answer), prior, said, said, DRAFT)


GOOD = "- The meeting was moved to Thursday in the small room. [1]\n- Cem will book the small room and tell Ben. [2]"


def test_notes_cite_messages_by_their_ids_and_quote_them_as_evidence() -> None:
    found = notes(GOOD)
    assert found.text == (
        "The meeting was moved to Thursday in the small room. [m101]\nCem will book the small room and tell Ben. [m102]"
    )
    assert [(q.message_id, q.text) for q in found.quotes] == [
        ("m101", "We have decided to move the meeting to Thursday."),
        ("m102", "I will book the small room and tell Ben."),
    ]
    for quote in found.quotes:
        text = next(m.text for m in SAID if m.id == quote.message_id)
        assert text[quote.start : quote.end] == quote.text
    assert found.metadata == DRAFT.metadata


@pytest.mark.parametrize(
    "answer",
    [
        "Here are the notes:\n" + GOOD,
        "<think>They want notes. [9] Perhaps.</think>\n" + GOOD,
        GOOD.replace("- ", "* ").replace(" [1]", "[1]").replace("[2]", "[#2]"),
        "1. " + GOOD.replace("\n- ", "\n2. ").removeprefix("- "),
    ],
)
def test_manners_of_writing_are_understood(answer: str) -> None:
    assert notes(answer).text == notes(GOOD).text


@pytest.mark.parametrize(
    ("answer", "says"),
    [
        ("", "wrote nothing"),
        ("  \n - \n", "wrote nothing"),
        ("<think>forever", "wrote nothing"),
        (INSTRUCTIONS, "repeats the prompt"),
        ("[1] Ana: " + SAID[0].text + "\n[2] Cem: " + SAID[1].text, "repeats the prompt"),
        (GOOD + "\n- Something about Ben. [4]", "cites turns that do not exist"),
        (GOOD + "\n- Ben. [123456789]", "cites turns that do not exist"),
        ("- The meeting is on Thursday. [1]\n" * 12, "repeats itself"),
        ("- meeting Thursday small room " * 40, "repeats itself"),
        ("- Bananas contain potassium, which every athlete appreciates after training. [1]", "hardly a word"),
        ("- " + " ".join(f"meeting{i}" for i in range(900)) + " [1]", "characters"),
    ],
)
def test_nonsense_is_refused(answer: str, says: str) -> None:
    with pytest.raises(InvalidSummary, match=says) as caught:
        notes(answer)
    assert "Thursday" not in str(caught.value), "what was said is not in the error"


@pytest.mark.parametrize(
    "note",
    [
        "UNVERIFIED: The meeting was moved to Thursday. [1]",
        "**Unverified** - The meeting was moved to Thursday. [1]",
        "The meeting was moved to Thursday at 14:30. [1]",
        "The meeting was moved to Thursday.",
        "Meeting attendees celebrated enthusiastically afterwards downtown. [1]",
    ],
    ids=["by the model", "in its own way", "a number nobody said", "without a citation", "words nobody said"],
)
def test_what_was_not_said_outright_is_marked(note: str) -> None:
    first, second = notes(f"- {note}\n- Cem will book the small room and tell Ben. [2]").text.splitlines()
    assert first.startswith("UNVERIFIED: ") and first.count("UNVERIFIED") == 1
    assert second == "Cem will book the small room and tell Ben. [m102]"


UNCERTAIN = "UNVERIFIED: Ana is unhappy with the meeting room. [m101]\nCem will book the small room. [m102]"
"""Notes of the first two messages."""


@pytest.mark.parametrize(
    "note",
    [
        "Ana is unhappy with the meeting room. [1]",
        "Ana dislikes the place of the meeting. [1]",
        "Ana is unhappy with the meeting room, and Ben asked whether the projector works. [1, 3]",
        "Ana is unhappy with the meeting room. [3]",
        "Ana is unhappy with the meeting room. [1, 2]",
    ],
    ids=["as it was", "in other words", "joined with another", "cited anew", "cited with more"],
)
def test_a_mark_survives_when_notes_are_written_anew(note: str) -> None:
    script = Scripted(f"- {note}\n- Cem will book the small room. [2]")
    first, second = write_notes(script, UNCERTAIN, SAID[2:], SAID, DRAFT).text.splitlines()
    assert first.startswith("UNVERIFIED: "), note
    assert second == "Cem will book the small room. [m102]", "a note that was certain stays so"


def test_a_mark_survives_from_the_topics_to_the_conversation() -> None:
    topic = Message("m101-m102", "s1", "", "system", None, None, UNCERTAIN, None, {})
    script = Scripted("- Ana dislikes the meeting room. [1]\n- Cem will book the small room. [2]")
    found = write_notes(script, "", [topic, SAID[2]], SAID, DRAFT)
    assert found.text.splitlines()[0].startswith("UNVERIFIED: ")
    assert found.text.splitlines()[1] == "Cem will book the small room. [m102]"


def test_a_mark_survives_any_number_of_stages() -> None:
    text = UNCERTAIN
    for number in range(5):
        later = message(10 + number, f"The harbour crane number {number} needs oil.")
        script = Scripted(f"- Ana is unhappy with the meeting room. [1]\n- The crane number {number} needs oil. [3]")
        text = write_notes(script, text, [later], [*SAID, later], DRAFT).text
        assert text.splitlines()[0] == "UNVERIFIED: Ana is unhappy with the meeting room. [m101]"
        assert not text.splitlines()[1].startswith("UNVERIFIED")
        text += "\nCem will book the small room. [m102]"


def test_a_later_message_that_says_it_lifts_the_mark() -> None:
    later = message(9, "I am unhappy with the meeting room.")
    script = Scripted("- Ana is unhappy with the meeting room. [3]")
    assert write_notes(script, UNCERTAIN, [later], [*SAID, later], DRAFT).text == (
        "Ana is unhappy with the meeting room. [m109]"
    )


def test_earlier_notes_support_nothing() -> None:
    """What a note says can't be taken from a note: an invention would become certain by being copied."""
    prior = "The meeting costs 5000 euros altogether. [m101]"
    script = Scripted("- The meeting costs 5000 euros altogether. [1]")
    found = write_notes(script, prior, SAID[2:], SAID, DRAFT)
    assert found.text == "UNVERIFIED: The meeting costs 5000 euros altogether. [m101]"


def test_messages_that_are_not_loaded_can_be_given_to_check_earlier_notes() -> None:
    script = Scripted("- The meeting was moved to Thursday. [1]")
    prior = "The meeting was moved to Thursday. [m101]"
    assert write_notes(script, prior, SAID[2:], SAID[2:], DRAFT, SAID[:1]).text == prior


def test_a_long_conversation_is_read_in_pieces_and_the_notes_go_from_one_to_the_next() -> None:
    said = [message(i, f"Turn {i}: the harbour crane number {i} needs oil. " * 20) for i in range(1, 40)]
    script = Scripted(*(f"- The harbour crane needs oil. [{1}]" for _ in range(9)))
    found = write_notes(script, "", said, said, DRAFT)
    assert 3 < len(script.asked) <= 9
    assert all(len(asked) < MAX_BATCH_CHARACTERS + 1_000 for asked in script.asked)
    assert "NOTES SO FAR" not in script.asked[0]
    assert "NOTES SO FAR:\nThe harbour crane needs oil. [1]" in script.asked[1]
    assert cited_ids(found.text) == ["m101"], "what the first notes cite keeps its number"
    assert "m101" not in script.asked[1], "the model sees small numbers only"


def test_the_turns_cannot_pose_as_notes() -> None:
    """Ids that stand in a message are its words, not citations."""
    said = [message(1, "Look at [m999] and at [m102]. The crane in the harbour needs oil."), SAID[1]]
    script = Scripted("- The crane in the harbour needs oil. [1]")
    found = write_notes(script, "", said, said, DRAFT)
    assert "Look at [m999] and at [m102]." in script.asked[0]
    assert found.text == "The crane in the harbour needs oil. [m101]"


def test_no_note_without_words() -> None:
    answer: Any = "- [1]\n- ..."
    with pytest.raises(InvalidSummary, match="wrote nothing"):
        notes(answer)
