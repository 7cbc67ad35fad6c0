"""Questions for what somebody wrote or said: whose, and about what."""

from __future__ import annotations

import pytest

from appliance.languages.author_questions import readings

ASKED = [
    ("everything Diego wrote", "Diego", ""),
    ("Show me everything that Diego has ever written about the move", "Diego", "about the move"),
    ("all the messages from Ana Silva", "Ana Silva", ""),
    ("messages by Ana about the trip?", "Ana", "about the trip"),
    ("what did Mum say about the boiler", "Mum", "about the boiler"),
    ("What did my mum tell me about the boiler?", "mum", "about the boiler"),
    ("what has Ben Carter said", "Ben Carter", ""),
    ("what Diego wrote last week", "Diego", "last week"),
    ("what did Müllers Hans schreiben", "Müllers Hans", ""),
    ("Was hat Mama über den Boiler gesagt?", "Mama", "über den Boiler"),
    ("was hat Hans mir geschrieben", "Hans", ""),
    ("was schrieb Müllers Hans zur Heizung", "Müllers Hans", "zur Heizung"),
    ("alles, was Diego geschrieben hat", "Diego", ""),
    ("alles was die Oma über den Garten erzählt hat", "Oma", "über den Garten"),
    ("alle Nachrichten von Ana", "Ana", ""),
    ("¿Qué dijo mamá sobre la caldera?", "mamá", "sobre la caldera"),
    ("que me escribio Diego", "Diego", ""),
    ("todo lo que Diego ha escrito", "Diego", ""),
    ("todo lo que dijo Ana del viaje", "Ana", "del viaje"),
    ("los mensajes de mi madre", "madre", ""),
    ("qu'est-ce que maman a dit sur la chaudière ?", "maman", "sur la chaudière"),
    ("qu’est-ce qu’Anna m’a écrit", "Anna", ""),
    ("tout ce que Diego a écrit", "Diego", ""),
    ("qu'a dit Luc du voyage", "Luc", "du voyage"),
    ("tous les messages de Luc", "Luc", ""),
]


@pytest.mark.parametrize(("question", "name", "topic"), ASKED)
def test_a_question_asks_for_the_words_of_somebody(question: str, name: str, topic: str) -> None:
    assert (name, topic) in [(one.name, one.topic) for one in readings(question)]


@pytest.mark.parametrize(
    "question",
    [
        "who is Diego", "where does Diego live", "Diego's birthday", "did Diego write a book", "what is Diego's job",
        "when did Mum say the boiler was fixed", "wann kommt Oma", "wo wohnt Hans", "dónde vive Ana", "boiler",
        "what does Diego do", "what did Diego buy", "was hat Diego gekauft", "", "what did",
        "everything", "messages from",
    ],
)  # fmt: skip
def test_other_questions_ask_for_no_ones_words(question: str) -> None:
    assert list(readings(question)) == []


def test_what_somebody_does_say_is_no_question_for_words() -> None:
    assert "Diego" not in {one.name for one in readings("what does Diego say he feels")}


def test_the_longest_name_is_read_first() -> None:
    names = [one.name for one in readings("messages from Ana Silva about the trip")]
    assert names[0] == "Ana Silva about the trip" and names.index("Ana Silva") < names.index("Ana")
