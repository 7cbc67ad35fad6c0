"""What a sentence is by its words, in English, German and Spanish, and what only looks like it."""

from __future__ import annotations

import pytest

from appliance.memory.extractive.cues import (
    cues,
    detect_languages,
    is_filler,
    is_non_answer,
    is_offer,
    settles,
    words_of,
)
from appliance.memory.extractive.entities import names
from appliance.types.file_names import paths

DECIDED = [
    "We decided to move the launch to March.",
    "I've decided on the blue one.",
    "OK, we’ve finally settled on Postgres.",
    "Let's go with the second option.",
    "I'll stick with Flask for now.",
    "The final decision is to keep both offices.",
    "No, we agreed on Thursday.",
    "We are sticking with the old logo.",
    "I have decided not to go.",
    "Wir haben uns für das kleinere Büro entschieden.",
    "Ich habe beschlossen, im Mai zu kündigen.",
    "Gut, wir bleiben bei SQLite.",
    "Entscheidung: wir nehmen den Zug.",
    "Hemos decidido cambiar de proveedor.",
    "Al final decidimos alquilar el piso.",
    "Nos quedamos con la segunda opción.",
]
NOT_DECIDED = [
    "We haven't decided yet.",
    "Did you decide on a colour?",
    "Should we go with the second option?",
    "If we decided to move, it would cost too much.",
    "I wish we had decided earlier, but I never agreed to it.",
    'The sign said "we decided to close".',
    "We almost decided to buy it.",
    "They decided to close the road.",
    "We agreed to disagree.",
    "I'm going with my sister to the lake.",
    "The decision is still open.",
    "Wir haben uns noch nicht entschieden.",
    "Wenn wir uns entschieden haben, sagen wir es dir.",
    "Vielleicht haben wir uns falsch entschieden.",
    "Todavía no hemos decidido nada.",
    "Si decidimos ir, te avisamos.",
    "¿Hemos decidido algo?",
]
PROMISED = [
    "I'll send you the report tomorrow.",
    "I will also call the landlord.",
    "We'll bring the cake.",
    "I promise to water the plants.",
    "I'm going to book the flights tonight.",
    "Let me check the invoice.",
    "Ich schicke dir morgen die Unterlagen.",
    "Ich kümmere mich um die Tickets.",
    "Das übernehme ich gern: ich werde alles vorbereiten.",
    "Te enviaré el contrato mañana.",
    "Voy a llamar al banco.",
    "Me encargo de la cena.",
]
NOT_PROMISED = [
    "I'll be honest, it was dull.",
    "I'll never forget that day.",
    "If it rains, I'll take the bus.",
    "Maybe I'll join you.",
    "I won't do that.",
    "I'm going to the beach.",
    "Will you send it?",
    '"I\'ll be back" is my favourite line.',
    "Ich werde nie verstehen, warum.",
    "Wenn es regnet, werde ich den Bus nehmen.",
    "Ich schreibe an einem Buch.",
    "Si puedo, te llamaré.",
    "Nunca te enviaré nada.",
]
OPEN = [
    "TODO: write the migration",
    "We still need to find a venue.",
    "The budget is still unclear.",
    "I haven't heard back from them.",
    "That remains to be seen.",
    "Open question: who pays?",
    "We're still waiting for the permit.",
    "Ich muss noch den Vermieter anrufen.",
    "Das ist noch nicht geklärt.",
    "Die Frage bleibt offen.",
    "Todavía tengo que pagar la factura.",
    "Falta decidir la fecha.",
    "El permiso sigue pendiente.",
]
NOT_OPEN = [
    "The shop is open on Sundays.",
    "Todo está bien.",
    "I need to breathe.",
    "She is waiting.",
    "Der Laden hat offen.",
    "Todos tenemos que comer.",
    "Wir warten.",
]
SOLVED = [
    "Thanks, that worked!",
    "That fixed it.",
    "It works now.",
    "Restarting fixed the problem.",
    "All tests pass.",
    "The bug is solved.",
    "It no longer crashes.",
    "Finally got it working.",
    "Jetzt funktioniert es.",
    "Das hat geklappt.",
    "Der Fehler ist behoben.",
    "Ya funciona.",
    "Eso lo arregló.",
    "El problema está solucionado, ya está resuelto.",
]
NOT_SOLVED = [
    "Did that fix it?",
    "That didn't fix it.",
    "I hope that fixed it.",
    "This is how it works.",
    "It works by hashing the key.",
    "If that worked, tell me.",
    "She showed me a trick that worked for her.",
    "Wenn das geklappt hat, sag es.",
    "Das hat nicht geklappt.",
    "Eso no lo arregló.",
    "¿Ya funciona?",
]
PROBLEM = [
    "The login doesn't work.",
    "It keeps crashing when I open a file.",
    "I'm getting an error in the build.",
    "Why do I get a TypeError: x is not a function?",
    "Der Drucker funktioniert nicht.",
    "Die App stürzt immer ab.",
    "El servidor no arranca.",
]
NOT_PROBLEM = ["The work is done.", "Terror films are fun.", "Sie läuft jeden Tag.", "No me gusta el café."]
CONCLUDED = [
    "In summary, use an index.",
    "The root cause was a missing comma.",
    "It turned out that the cable was loose.",
    "I recommend the smaller one.",
    "Die Ursache war ein Kabel.",
    "Ich empfehle die kleinere Wohnung.",
    "En resumen, usa un índice.",
    "La causa era un cable suelto.",
]


def told(cue: str, yes: list[str], no: list[str]) -> list[object]:
    return [pytest.param(cue, one, is_it, id=one) for own, is_it in ((yes, True), (no, False)) for one in own]


@pytest.mark.parametrize(
    ("cue", "sentence", "is_it"),
    [
        *told("decided", DECIDED, NOT_DECIDED),
        *told("promised", PROMISED, NOT_PROMISED),
        *told("open", OPEN, NOT_OPEN),
        *told("solved", SOLVED, NOT_SOLVED),
        *told("problem", PROBLEM, NOT_PROBLEM),
        *told("concluded", CONCLUDED, []),
    ],
)
def test_a_sentence_is_what_its_words_say(cue: str, sentence: str, is_it: bool) -> None:
    assert (cue in cues(sentence, detect_languages(words_of(sentence)))) is is_it


@pytest.mark.parametrize(
    "sentence",
    [
        "Hey Mel!",
        "Good to see you!",
        "Thanks so much, that helps.",
        "Sounds great!",
        "Let me know if you have any other questions about the setup of your database server.",
        "Guten Morgen!",
        "Vielen Dank dir.",
        "Sag Bescheid, wenn du noch etwas brauchst, ich bin den ganzen Tag da.",
        "¡Hola!",
        "Muchas gracias.",
        "No dudes en preguntar si necesitas más ayuda con el servidor.",
    ],
)
def test_a_greeting_says_nothing(sentence: str) -> None:
    assert is_filler(sentence)


@pytest.mark.parametrize(
    "sentence",
    [
        "Great Expectations is the book that I am reading with my class this year.",
        "No flights leave from Bergen on Sundays in winter.",
        "Hello World was the first program that I wrote at school.",
        "Klar ist, dass wir im Sommer umziehen und die Wohnung kündigen.",
        "Claro que la reunión del lunes se cambió al martes por la tarde.",
    ],
)
def test_a_sentence_that_only_begins_like_one_does(sentence: str) -> None:
    assert not is_filler(sentence)


def test_a_reply_can_answer_nothing() -> None:
    assert is_non_answer("No idea, let me ask Tom.")
    assert is_non_answer("Keine Ahnung.")
    assert is_non_answer("No lo sé todavía.")
    assert not is_non_answer("In the drawer, next to the keys.")


def test_an_offer_of_help_is_no_question() -> None:
    assert is_offer("Would you like me to write the tests?")
    assert is_offer("Soll ich die Tests schreiben?")
    assert not is_offer("Which database do you run?")


@pytest.mark.parametrize(
    ("sentence", "found"),
    [
        ("Yesterday I met Anna Berg in Oslo about the Fjord project.", ["Anna Berg", "Oslo", "Fjord"]),
        ("It costs $1,200 and takes 45 % of 3 GB on v2.3.1.", ["$1,200", "45 %", "3 GB", "v2.3.1"]),
        ("Tomorrow is fine.", []),
        ("If it rains (it does) We stay, and Our tent dries at home with Will.", ["Will"]),
        ("See you there 😀 Bring the tent of Anna.", ["Anna"]),
    ],
)
def test_names_are_found_within_a_sentence(sentence: str, found: list[str]) -> None:
    assert [*names(sentence)] == found


def test_where_every_noun_has_a_capital_only_a_run_of_them_is_a_name() -> None:
    assert [*names("Gestern traf ich Anna Berg wegen der Wohnung in der Stadt.", nouns_capitalized=True)] == [
        "Anna Berg"
    ]


def test_files_are_found_by_their_endings() -> None:
    text = "See src/app/main.py, ./setup.cfg and `notes.md`; not https://a.example/x.html, request.json or Node.js."
    assert paths(text) == ("src/app/main.py", "setup.cfg", "notes.md")
    assert paths("console.log(process.env), math.log; app.py and logger.js") == ("app.py", "logger.js")


@pytest.mark.parametrize(
    ("decision", "item", "ends"),
    [
        (
            "We decided on blue as the colour of the kitchen.",
            "We still need to decide the colour of the kitchen.",
            True,
        ),
        ("We decided on the kitchen from Bremen.", "We still need to decide the colour of the kitchen.", False),
        ("We have chosen the hotel by the harbour.", "We still need to find a hotel at the harbour.", True),
        ("We decided to leave on Monday.", "We still need to decide the colour.", False),
    ],
)
def test_an_open_item_ends_with_a_decision_about_it(decision: str, item: str, ends: bool) -> None:
    assert settles(decision, "decided", item) is ends
