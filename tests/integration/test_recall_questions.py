"""Questions to the memory are answered by what they ask about, not by messages that say "ask" or "know"."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance

CHATS = {
    "own": [("user", None, "How do I reverse a list in Python?"), ("assistant", None, "Call reversed() or slice it.")],
    "life": [
        ("user", None, "I live in Lisbon and my sister is called Carla"),
        ("assistant", None, "Lisbon is a fine city for long walks by the river."),
    ],
    "kitchen": [
        ("user", None, "We decided to repaint the kitchen walls in green before the summer begins"),
        ("assistant", None, "Two coats of green paint will do for the kitchen walls."),
        ("user", None, "The painter comes on Monday and brings the brushes and the ladder"),
        ("assistant", None, "Then clear the kitchen on Sunday evening."),
        ("user", None, "The green paint costs forty euros for each of the two buckets"),
    ],
    "plans": [
        ("user", None, "I pack the blue tent for the lake", "2024-05-03T10:00:00"),
        ("user", "Bob", "Bob sees the heron of yesterday and says nothing", "2024-05-03T10:01:00"),
    ],
    "team": [
        ("user", "Bob", "The video calls of the whole team failed again on Monday because the licence has expired"),
        ("user", "Alice", "We decided to buy a new licence for the video calls before the end of the month"),
        ("user", "Bob", "Then the accounting department has to approve the new licence for the calls first"),
        ("user", "Alice", "Accounting will approve the licence on Thursday, and the calls will work on Friday"),
        ("user", "Bob", "The licence costs ninety euros for each of the twelve people in the team"),
    ],
    "channel": [
        ("user", "ubotu", "Please ask your question, just ask, and we all know more about it"),
        ("user", "Tonren", "you know what they say: do not ask to ask about python"),
        ("user", "ro_", "I don't know anything about me or you, as you know"),
    ],
}


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    folder = tmp_path_factory.mktemp("asked")
    lines = [
        {"session_id": name, "message_id": f"{name}{n}", "role": role, "author": author, "content": text}
        | ({"timestamp": times[0]} if times else {})
        for name, said in CHATS.items()
        for n, (role, author, text, *times) in enumerate(said)
    ]
    (folder / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as opened:
        opened.ingest(folder / "chat.jsonl")
        yield opened


def test_what_a_person_asked_is_looked_for_among_their_own_words(memory: Appliance) -> None:
    for question in ("what did I ask about python", "was habe ich über Python gefragt"):
        hits = memory.search(question)
        assert hits[0].external_id == "own0" and {hit.role for hit in hits} == {"user"}
        assert all(hit.author is None for hit in hits)
        assert "only messages by the user were searched, for whose words the question asks" in hits.notes
    context = memory.context("what did I ask about python", budget=400)
    assert "reverse a list" in context.text and "ubotu" not in context.text and "ro_" not in context.text
    assert memory.search("what did I ask about python", authors=["Tonren"])[0].external_id == "channel1"
    elsewhere = memory.search("did I ever mention Tonren")
    assert not memory.search("what did I ask", since="2030-01-01"), "it names nothing that others could have said"
    assert elsewhere[0].author == "Tonren" and "certainly by the user" in elsewhere.notes[0]
    assert "appliance people me" in elsewhere.notes[0]


def test_while_nobody_is_known_to_be_the_user_signed_words_that_match_better_are_found(tmp_path: Path) -> None:
    said = [
        ("family", "Berta", "2024-03-11T09:00:00Z", "Der Zahnarzt war grässlich, die Krone kostet 640 Euro"),
        ("family", "Lena", "2024-03-11T09:01:00Z", "Oh je, du Arme."),
        ("pills", None, "2024-03-15T09:00:00Z", "Ich nehme Ramipril 5 mg, darf ich Grapefruit essen?"),
    ]
    lines = [
        {
            "session_id": session,
            "message_id": f"x{n}",
            "role": "user",
            "author": author,
            "timestamp": at,
            "content": text,
        }
        for n, (session, author, at, text) in enumerate(said)
    ]
    (tmp_path / "chat.jsonl").write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    with Appliance.open(tmp_path / "home", worker=False) as memory:
        memory.ingest(tmp_path / "chat.jsonl")
        question = "was habe ich im März 2024 über den Zahnarzt geschrieben"
        hits = memory.search(question)
        assert hits[0].external_id == "x0" and "appliance people me" in hits.notes[0]
        assert [hit.external_id for hit in memory.search(question, offset=1)] == [one.external_id for one in hits[1:]]
        assert memory.search(question, sort="time").notes == hits.notes, "each page and order is of the same search"
        assert not memory.search("was habe ich im März 2024 über Grapefruit geschrieben", offset=5)
        assert memory.search("was habe ich über Grapefruit gefragt")[0].external_id == "x2"
        memory.people.set_me("Berta")
        hits = memory.search(question)
        assert hits[0].external_id == "x0" and hits.notes[0].startswith("only messages by the user (Berta")


@pytest.mark.parametrize("question", ["what do you know about me", "who am I?", "¿qué sabes de mí?"])
def test_a_question_about_the_person_is_answered_by_facts(memory: Appliance, question: str) -> None:
    hits = memory.search(question)
    assert [hit.external_id for hit in hits] == ["life0"] and hits.found and hits.likely == 1
    assert hits[0].why["score"] == {"listed": 1.0}
    assert "is about the user, whose facts are in these messages" in hits.notes[0]
    context = memory.context(question, budget=400)
    profile = next(layer for layer in context.layers if layer.name == "profile")
    assert any("Lisbon" in item.text for item in profile.items) and context.found
    assert "ubotu" not in context.text and "Tonren" not in context.text


def test_a_time_without_a_topic_lists_that_time_and_nothing_else(memory: Appliance) -> None:
    for question, day in [("what did I say yesterday", "2024-05-04"), ("was habe ich gestern gesagt", "2024-05-04")]:
        hits = memory.search(question, as_of=day)
        assert [hit.external_id for hit in hits] == ["plans0"] and not hits.times
        assert "all messages of its time (" in hits.notes[1]
        none = memory.search(question, as_of="2024-06-04")
        assert not none and not none.found and none.notes[-1].startswith("No messages from ")
    for question in ("what did we talk about on 3 May 2024", "what did we talk about in May"):
        assert [hit.external_id for hit in memory.search(question)] == ["plans1", "plans0"]
    assert [hit.external_id for hit in memory.search("what did Bob say on 3 May 2024")] == ["plans1"]
    context = memory.context("what did we talk about on 4 June 2024", budget=400)
    assert not context.found and "tent" not in context.text and "licence" not in context.text


def test_who_asked_is_no_content(memory: Appliance) -> None:
    for question in (
        "who asked about the licence",
        "wer hat nach der licence gefragt",
        "quién preguntó por la licence",
    ):
        hits = memory.search(question)
        assert hits[0].external_session_id == "team" and "channel" not in {hit.external_session_id for hit in hits}


def test_messages_of_others_are_hits_only_if_they_match_well(memory: Appliance) -> None:
    nothing = memory.search("what did Bob say about the giant squid")
    assert not nothing and nothing.notes[-1] == "what others wrote does not match well either"
    others = memory.search("what did Bob say about the kitchen walls")
    assert others[0].external_session_id == "kitchen" and "the messages of all were searched" in others.notes[0]


def test_what_was_talked_about_last_is_the_newest_with_summaries(memory: Appliance) -> None:
    hits = memory.search("what did we talk about last time", count=True)
    assert hits.total == sum(map(len, CHATS.values())) and "names nothing to look for" in hits.notes[0]
    session = memory.search("painter")[0].session_id
    made = memory.summaries.make(session)
    context = memory.context("what do you know about me", budget=400)
    assert made and any(one.id in context.text for one in made)
    of_others = memory.summaries.make(memory.search("licence")[0].session_id)
    assert of_others and "Alice" not in memory.context("what do you know about me", budget=400).text
    memory.sessions.get(session).set_storage_scope("none")
    context = memory.context("what do you know about me", budget=400)
    assert not any(one.id in context.text for one in made)
