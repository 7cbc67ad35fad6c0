"""Questions to the memory: whose words they ask for, and about what."""

from __future__ import annotations

import pytest

from appliance.languages.recall_questions import RecallQuestion, content, read, readings

ASKED = [
    ("everything Diego wrote", "Diego", ""),
    ("Show me everything that Diego has ever written about the move", "Diego", "the move"),
    ("all the messages from Ana Silva", "Ana Silva", ""),
    ("messages by Ana about the trip?", "Ana", "the trip"),
    ("what did Mum say about the boiler", "Mum", "the boiler"),
    ("What did my mum tell me about the boiler?", "mum", "the boiler"),
    ("what has Ben Carter said", "Ben Carter", ""),
    ("what did Müllers Hans schreiben", "Müllers Hans", ""),
    ("Was hat Mama über den Boiler gesagt?", "Mama", "den Boiler"),
    ("was hat Hans mir geschrieben", "Hans", ""),
    ("was schrieb Müllers Hans zur Heizung", "Müllers Hans", "zur Heizung"),
    ("alles, was Diego geschrieben hat", "Diego", ""),
    ("alles was die Oma über den Garten erzählt hat", "Oma", "den Garten"),
    ("alle Nachrichten von Ana", "Ana", ""),
    ("¿Qué dijo mamá sobre la caldera?", "mamá", "la caldera"),
    ("que me escribio Diego", "Diego", ""),
    ("todo lo que Diego ha escrito", "Diego", ""),
    ("todo lo que dijo Ana del viaje", "Ana", "del viaje"),
    ("los mensajes de mi madre", "madre", ""),
    ("qu'est-ce que maman a dit sur la chaudière ?", "maman", "la chaudière"),
    ("qu’est-ce qu’Anna m’a écrit", "Anna", ""),
    ("tout ce que Diego a écrit", "Diego", ""),
    ("qu'a dit Luc du voyage", "Luc", "du voyage"),
    ("tous les messages de Luc", "Luc", ""),
    ("o que disse a Camille sobre a caldeira?", "Camille", "a caldeira"),
    ("o que é que o Luís escreveu", "Luís", ""),
    ("tudo o que a Ana me disse", "Ana", ""),
    ("as mensagens da Ana Silva", "Ana Silva", ""),
]


@pytest.mark.parametrize(
    ("question", "name", "time"),
    [
        ("Qu'est-ce que Camille a dit en mars 2024", "Camille", "en mars 2024"),
        ("qu'a dit Camille en juin 2025 ?", "Camille", "en juin 2025"),
        ("qu'a dit Camille l'été dernier", "Camille", "l'été dernier"),
        ("qu'a dit Camille au mois de mars", "Camille", "au mois de mars"),
        ("tout ce que Camille a écrit la semaine dernière", "Camille", "la semaine dernière"),
        ("o que disse a Camille em março de 2024", "Camille", "em março de 2024"),
        ("o que a Ana escreveu na semana passada", "Ana", "na semana passada"),
    ],
)
def test_a_question_asks_for_somebodys_words_of_a_time(question: str, name: str, time: str) -> None:
    assert (name, "", time) in [(one.name, one.topic, one.time) for one in readings(question)]


def test_questions_for_own_words_of_a_time() -> None:
    for question, time in (("qu'ai-je dit hier", "hier"), ("qu'ai-je écrit en mars 2024", "en mars 2024")):
        assert read(question) == RecallQuestion("", time, by_person=True)
    for question in ("was habe ich hier gesagt", "was hat Ana hier geschrieben"):
        assert not [one for one in (read(question), *readings(question)) if one is not None and one.time]


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


OWN, PERSON, NOTHING = "own", "person", "nothing"


@pytest.mark.parametrize(
    ("question", "topic", "kind"),
    [
        ("what did I ask about python", "python", OWN),
        ("What did I ask you about Python last week?", "Python last week", OWN),
        ("what have I asked", "", OWN),
        ("can you tell me what I asked about fonts", "fonts", OWN),
        ("did I ever tell you about my dog", "my dog", OWN),
        ("when did I ask about the boiler", "the boiler", OWN),
        ("when did I mention the boiler", "the boiler", OWN),
        ("my questions about python", "python", OWN),
        ("habe ich dir von meinem Hund erzählt?", "meinem Hund", OWN),
        ("¿qué te pregunté sobre python?", "python", OWN),
        ("qu’ai-je demandé sur python ?", "python", OWN),
        ("t'ai-je parlé de mon chien", "mon chien", OWN),
        ("which python questions did I ask", "python", OWN),
        ("what was my last question", "", OWN),
        ("did I say anything about docker before?", "docker", OWN),
        ("do you recall what I said about the boiler", "the boiler", OWN),
        ("what do you know about my dog?", "my dog", None),
        ("the last time we talked about docker", "docker", None),
        ("do you remember the boiler", "the boiler", None),
        ("remind me of the boiler, please", "the boiler", None),
        ("when did we last talk about docker", "docker", None),
        ("weißt du noch, was Ana wollte", "was Ana wollte", None),
        ("erinnerst du dich an den Boiler?", "den Boiler", None),
        ("wann haben wir über Docker gesprochen", "Docker", None),
        ("¿te acuerdas de la caldera?", "la caldera", None),
        ("cuándo hablamos de la caldera", "la caldera", None),
        ("tu te souviens de la chaudière", "la chaudière", None),
        ("what did we talk about last time", "", None),
        ("worüber haben wir zuletzt gesprochen", "", None),
        ("what do you know about me", "", PERSON),
        ("Hey, who am I?", "", PERSON),
        ("summarize what you know about me", "", PERSON),
        ("tell me about myself", "", PERSON),
        ("do you know who I am", "", PERSON),
        ("wer bin ich", "", PERSON),
        ("Was weisst du ueber mich?", "", PERSON),
        ("¿qué sabes de mí?", "", PERSON),
        ("que sais-tu de moi ?", "", PERSON),
        ("where is the boiler", "where is the boiler", NOTHING),
        ("what did we say about that", "what did we say about that", NOTHING),
        (
            "When did I say I was planning to meet my mentor?",
            "When did I say I was planning to meet my mentor?",
            NOTHING,
        ),
        ("what did Diego say about me", "what did Diego say about me", NOTHING),
        ("I asked about python " * 20, "I asked about python " * 20, NOTHING),
    ],
)
def test_words_of_asking_are_no_content(question: str, topic: str, kind: str | None) -> None:
    expected = RecallQuestion(topic, by_person=kind == OWN, about_person=kind == PERSON)
    assert read(question) == (None if kind == NOTHING else expected)
    assert content(question) == topic
