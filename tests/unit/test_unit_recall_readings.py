"""Tables of questions in four languages: which are questions to the memory, and which only sound like it."""

from __future__ import annotations

from appliance.languages.recall_questions import RecallQuestion, read, readings

OWN = {
    "what did I say about pasta": "pasta",
    "what did I bring up about the boiler": "the boiler",
    "did I ever complain about the noise": "the noise",
    "what did I explain about docker last time": "docker",
    "when did I last ask about python": "python",
    "what did I tell you about my family": "my family",
    "habe ich schon mal nach Python gefragt": "Python",
    "wann habe ich den Boiler erwähnt": "den Boiler",
    "wann habe ich über Docker gesprochen": "Docker",
    "was habe ich dir über meine Familie erzählt": "meine Familie",
    "¿qué te conté sobre mi familia?": "mi familia",
    "¿cuándo pregunté por la caldera?": "la caldera",
    "qu'est-ce que je t'ai dit sur ma famille": "ma famille",
}
OWN_TIMES = {
    "what did I say yesterday": "yesterday",
    "what did I ask you on Monday": "on Monday",
    "what did I write in May 2023": "in May 2023",
    "was habe ich gestern gefragt": "gestern",
    "was habe ich dir letzte Woche geschrieben": "letzte Woche",
    "¿qué dije ayer?": "ayer",
}
TALK_TIMES = {
    "what did we talk about yesterday": "yesterday",
    "what did we discuss last week": "last week",
    "worüber haben wir gestern gesprochen": "gestern",
    "de qué hablamos ayer": "ayer",
}
TALK = {
    "when did we discuss pasta last": "pasta",
    "when did we discuss pasta": "pasta",
    "did we ever mention the boiler": "the boiler",
    "when did we bring up the boiler": "the boiler",
    "in which chat did we talk about pasta": "pasta",
    "when did we talk about Christmas": "Christmas",
    "wann haben wir über Photosynthese gesprochen": "Photosynthese",
    "wann haben wir zuletzt über Photosynthese geredet": "Photosynthese",
    "wann haben wir den Boiler erwähnt": "den Boiler",
    "wann sprachen wir über den Boiler": "den Boiler",
    "¿cuándo hablamos por última vez de la caldera?": "la caldera",
    "cuándo mencionamos la caldera": "la caldera",
    "quand avons-nous parlé de la chaudière pour la dernière fois": "la chaudière",
    "who asked about pasta": "pasta",
    "who wrote about KDE": "KDE",
    "who mentioned the boiler yesterday": "the boiler yesterday",
    "who said something about pasta?": "pasta",
    "who told me about the new bakery": "the new bakery",
    "who said that the bridge is closed": "the bridge is closed",
    "who knows about plumbing": "plumbing",
    "has anyone mentioned the boiler": "the boiler",
    "did anybody ask about pasta": "pasta",
    "what was said about the boiler": "the boiler",
    "when was the boiler last mentioned": "the boiler",
    "which messages mention the boiler": "the boiler",
    "wer hat über KDE geschrieben": "KDE",
    "wer hat nach pasta gefragt": "pasta",
    "wer hat den Boiler erwähnt": "den Boiler",
    "wer hat mir von der neuen Bäckerei erzählt": "der neuen Bäckerei",
    "wer weiß etwas über Klempnerei": "Klempnerei",
    "wer kennt sich mit Docker aus": "Docker",
    "hat jemand nach Pasta gefragt": "Pasta",
    "was wurde über den Boiler gesagt": "den Boiler",
    "¿quién preguntó por la pasta?": "la pasta",
    "quién ha escrito sobre KDE": "KDE",
    "quién mencionó la caldera": "la caldera",
    "¿alguien ha hablado de la caldera?": "la caldera",
    "qué se dijo sobre la caldera": "la caldera",
    "qui a parlé de la chaudière": "la chaudière",
    "qui a écrit sur KDE ?": "KDE",
    "qui a mentionné la chaudière": "la chaudière",
    "quelqu'un a parlé d'Anna": "Anna",
    "qu'a-t-on dit sur la chaudière": "la chaudière",
}
BY_NAME = {
    "what did Ana ask about the trip": ("Ana", "the trip", ""),
    "what did Ana ask me": ("Ana", "", ""),
    "what did Ana ask about": ("Ana", "", ""),
    "what did Ana talk about yesterday": ("Ana", "", "yesterday"),
    "what Diego wrote last week": ("Diego", "", "last week"),
    "what did Diego say about Christmas": ("Diego", "Christmas", ""),
    "when did Ana mention the boiler": ("Ana", "the boiler", ""),
    "did Ana ever say anything about the trip": ("Ana", "the trip", ""),
    "the latest messages from Ana": ("Ana", "", ""),
    "was hat Ana mich gefragt": ("Ana", "", ""),
    "was hat Ana gestern geschrieben": ("Ana", "", "gestern"),
    "hat Ana über die Reise gesprochen": ("Ana", "die Reise", ""),
    "wann hat Ana den Boiler erwähnt": ("Ana", "den Boiler", ""),
    "¿qué preguntó Ana sobre el viaje?": ("Ana", "el viaje", ""),
    "cuándo mencionó Ana la caldera": ("Ana", "la caldera", ""),
    "est-ce que Luc a parlé du voyage": ("Luc", "voyage", ""),
}
OTHERS = """
what did the doctor do about my knee|who wrote the book|who wrote Hamlet|who told the truth|who knows the way home
who asked for help|who knows how to fix a boiler|who is Diego|who talks too much|who spoke first|who sang
where is the boiler|when is the exam|when did we move|what did we buy yesterday|did we pay the rent|did I pay the rent
what did I eat yesterday|what happened yesterday|where did I go last week|when did I say I was moving to Lisbon
what should I say about the boiler|how do I ask about a raise|what is the news about pasta|has anyone seen my keys
did anyone call|wer hat das Buch geschrieben|wer hat angerufen|wer kennt Diego|wann haben wir geheiratet
was haben wir gestern gegessen|habe ich die Miete bezahlt|hat jemand angerufen|wo wohnt Hans
quién escribió el libro|quién llamó ayer|dónde vive Ana|cuándo comimos pasta
qui a écrit le livre|qui a appelé hier|où habite Luc|what did we say about that|who mentioned it
""".strip().replace("\n", "|").split("|")  # fmt: skip


def test_questions_to_the_memory_are_read_with_their_topics_and_times() -> None:
    expected = {
        **{text: RecallQuestion(topic, by_person=True) for text, topic in OWN.items()},
        **{text: RecallQuestion("", time, by_person=True) for text, time in OWN_TIMES.items()},
        **{text: RecallQuestion("", time) for text, time in TALK_TIMES.items()},
        **{text: RecallQuestion(topic) for text, topic in TALK.items()},
    }
    assert {text: read(text) for text in expected} == expected


def test_questions_for_the_words_of_somebody_have_names_topics_and_times() -> None:
    found = {text: [(one.name, one.topic, one.time) for one in readings(text)] for text in BY_NAME}
    assert {text: one for text, one in BY_NAME.items() if one not in found[text]} == {}


def test_questions_that_only_sound_like_these_are_left_as_they_are() -> None:
    assert {text: read(text) for text in OTHERS if read(text) is not None} == {}
    assert len(OTHERS) >= 40
