"""The question that was just asked is not its own best answer, and is found still."""

from __future__ import annotations

import pytest

from appliance import Appliance

ANSWER = "My passport expires in March 2031, the identity card a year later"
OTHERS = [
    "The passport photo was expensive",
    "At the border they looked at my passport for long",
    "When do the milk and the yoghurt expire",
    "Does anybody know where the passports are",
    "My visa expires soon",
    "The library card has expired",
    "The otters are asleep",
]


@pytest.fixture
def talked(memory: Appliance) -> Appliance:
    session = memory.sessions.create(external_id="papers")
    for text in (ANSWER, *OTHERS):
        session.add("user", text)
    memory.embed_pending()
    return memory


def found(memory: Appliance, query: str, **how: object) -> list[str]:
    return [hit.text for hit in memory.search(query, **how)]  # type: ignore[arg-type]


@pytest.mark.parametrize("wait", [True, False])
@pytest.mark.parametrize("mode", ["hybrid", "lexical"])
@pytest.mark.parametrize(
    ("said", "query"),
    [
        ("when does my passport expire?", "when does my passport expire?"),
        ("When does my passport expire", "when does my passport expire?"),
        ("When does my  passport expire??", "When does my passport expire"),
        ("Wann läuft mein passport ab?", "wann läuft mein passport ab"),
        ("¿Cuándo caduca mi passport?", "cuándo caduca mi passport"),
    ],
)
def test_a_question_comes_after_what_answers(talked: Appliance, wait: bool, mode: str, said: str, query: str) -> None:
    for author in ("Ana", "Ben"):
        talked.sessions.create().add("user", said, author=author)
    if wait:
        talked.embed_pending()
    hits = talked.search(query, mode=mode)
    texts = [hit.text for hit in hits]
    others = [text for text in texts if text != said]
    assert len(others) == len(texts) - 2
    assert texts.index(said) == min(len(others), 5)
    for hit in hits:
        assert 0 <= hit.score <= 1
    assert [hit.points for hit in hits] == sorted((hit.points for hit in hits), reverse=True)


def test_what_is_no_question_is_found_as_it_stands(talked: Appliance) -> None:
    for text in ("The otters are asleep", "the otters are asleep?", '"When do the milk and the yoghurt expire"'):
        assert found(talked, text)[0] == text.strip('"?').replace("the otters", "The otters")
    talked.sessions.create().add("user", "What a day at the zoo!")
    assert found(talked, "What a day at the zoo!")[0] == "What a day at the zoo!"


def test_the_session_that_asks_knows_its_own_words(talked: Appliance) -> None:
    session = talked.sessions.create()
    session.add("user", "Tell me about the otters")
    talked.embed_pending()
    assert found(talked, "tell me about the otters")[0] == "Tell me about the otters"
    (retrieved,) = [one for one in session.context("tell me about the otters").layers if one.name == "retrieved"]
    assert max(retrieved.items, key=lambda item: item.why["relevance"]).text == "The otters are asleep"


def test_a_question_alone_is_found(memory: Appliance) -> None:
    memory.sessions.create().add("user", "where are the otters?")
    assert found(memory, "where are the otters?") == ["where are the otters?"]


def test_a_greeting_has_no_answer_and_is_found_as_it_stands(talked: Appliance) -> None:
    for text in ("Hello there!", "Hello! How can I help you today?", "Hi", "Can you greet me?", "I am fine, hello",
                 "Hello! How are you?", "Hello again", "How are you all"):  # fmt: skip
        talked.sessions.create().add("user", text)
    talked.embed_pending()
    assert found(talked, "Hello! How are you?")[0] == "Hello! How are you?"
