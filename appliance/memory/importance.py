"""How much a message is worth keeping close, 0 to 1, from what it is and says, every part of it visible.

What its words are worth is weighed once, when it is stored, and again when they change: one pass over its beginning,
with counts and sets of bytes, because it stands in the way of every ingest. Being pinned and being recalled come on top
where it is read (``store.importance``), so that neither is ever out of date.

Cues are words in English, German and Spanish; another language is another line in a table.
"""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Protocol

from appliance.store.importance import Weighed, by_use
from appliance.store.priority import PINNED
from appliance.types import Role

HEAD = 600
"""How many characters of a message are looked at: who is brief says it all in them, and who is not says at the
beginning what it is about. It bounds the cost of a message of any length."""

TAIL = 64
"""How many of its last characters are looked at for the question that it ends with."""

# The shares add up to 1. They were set by hand, on LoCoMo and BEAM together (python -m tests.eval.importance): each
# part that does well on either got more as long as the other lost nothing.
ROLE = 0.25
"""Who said it. On BEAM 74 % of the cited messages are the person's, who wrote half of all."""

OWN = 0.20
"""They speak of themselves: what a memory is asked about is somebody's life, not the weather."""

DENSITY = 0.25
"""How much is said: on LoCoMo the number of words alone tells cited from uncited (AUC 0.73)."""

NAMES = 0.12
"""Names, numbers and times: what can be asked for, and what nobody remembers."""

DECISIONS = 0.08
"""Something was decided, begun, bought, planned or is preferred."""

UNRESOLVED = 0.05
"""Something is asked, missing or still to be done. Whether it was answered is not known yet, so it counts for little:
on LoCoMo, where most questions are courtesy, they are cited less than the rest."""

TOOLS = 0.05
"""A tool was used, a file touched, or code is shown."""

ROLES: Mapping[Role, float] = {"user": 1.0, "assistant": 0.4, "tool": 0.1, "system": 0.0}
"""What each role has of its share; of what is not said in the open (hidden, between agents) it is a tool's at most."""

UNSEEN = ROLES["tool"]

MANY_WORDS = 18
"""So many words are half of the full density: a sentence or two."""

SOME_OWN, SOME_NAMES, SOME_DECISIONS = 1.0, 2.0, 1.0
"""So many cues are half of a part's full share: the first says most."""

ASKED = 0.5
"""What a question has of its share, against a thing to be done."""

GERMAN = frozenset((b"der", b"die", b"und", b"ist", b"nicht", b"das"))
"""Words by which German is known, in which every noun has a capital and most are no names."""

NOUNS_A_NAME = 3
"""Capitals of German that count as one."""

_OWN, _DECISION, _TIME, _OPEN = range(4)

_CUE_WORDS = (
    (
        _OWN,
        "i my mine me we our us"
        " ich mein meine meinen meiner meinem mich mir wir unser unsere unseren uns"
        " yo mi mis mí nosotros nosotras nuestro nuestra nuestros nuestras soy tengo estoy",
    ),
    (
        _DECISION,
        "decided decide decision agreed chose chosen choosing settled deadline prefer preferred plan plans planning"
        " planned started joined bought booked moved signed finished accepted quit hired switched adopted promised"
        " favorite favourite always never"
        " entschieden entschied entscheidung beschlossen einigten ausgemacht frist bevorzuge lieber plane geplant"
        " vorhabe angefangen begonnen gekauft gebucht umgezogen unterschrieben fertig zugesagt versprochen lieblings"
        " immer nie decidido decidimos decidí decisión acordamos acordado elegí elegimos plazo prefiero pienso planeo"
        " empecé compré reservé mudé firmé terminé acepté prometí favorito favorita siempre nunca",
    ),
    (
        _TIME,
        "yesterday today tomorrow tonight last next week weekend month year ago since monday tuesday wednesday thursday"
        " friday saturday sunday january february march april june july august september october november"
        " december gestern heute morgen letzte letzten nächste nächsten woche wochenende monat jahr seit montag"
        " dienstag mittwoch donnerstag freitag samstag sonntag januar februar märz mai juni juli oktober dezember"
        " ayer hoy mañana pasado próximo próxima semana mes año hace desde lunes martes miércoles jueves viernes"
        " sábado domingo enero febrero marzo abril mayo junio julio agosto septiembre octubre noviembre diciembre",
    ),
    (
        _OPEN,
        "todo fixme tbd unresolved unsure unclear waiting pending blocked stuck struggling unanswered"
        " offen ungeklärt unklar unsicher warte wartet aussteht ausstehend fehlt blockiert"
        " pendiente falta duda dudas espero esperando bloqueado atascado",
    ),
)
_CUES = {word.encode(): kind for kind, words in _CUE_WORDS for word in words.split()}
_CUE_SET = frozenset(_CUES)

# Punctuation separates words, and case makes no difference; what is beyond ASCII stays as it is.
_PLAIN = bytes(
    ord(" ") if chr(code) in string.punctuation else ord(chr(code).lower()) if code < 128 else code
    for code in range(256)
)
_ENDS = b".!?\n"
_UNMARKED = bytes(set(range(256)) - {*string.ascii_uppercase.encode(), *string.digits.encode(), *_ENDS})
_QUESTION_MARKS = ("?", "？", "؟")


PARTS = ("role", "own", "density", "names", "decisions", "unresolved", "tools")
"""What the worth of words is made of; ``explain`` adds what comes on top."""


class Weighable(Protocol):
    """A message as it is stored; ``metadata`` is JSON text."""

    @property
    def role(self) -> Role: ...
    @property
    def talk(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def metadata(self) -> str: ...


def weigh(message: Weighable) -> float:
    """What a message's role and words are worth, 0 to 1."""
    return sum(_parts(message))


def parts(message: Weighable) -> dict[str, float]:
    """What each part adds to the worth of the words; together at most 1."""
    return dict(zip(PARTS, _parts(message), strict=True))


def explain(message: Weighable, known: Weighed, now: int) -> dict[str, float]:
    """What each part adds to the importance of a message at ``now``, in microseconds since 1970; their sum is that
    importance."""
    found = parts(message)
    worth = sum(found.values())
    found["recalled"] = by_use(worth, known.times, known.last_at, now)
    found["pinned"] = PINNED - worth - found["recalled"] if known.pinned else 0.0
    return found


def _parts(message: Weighable) -> tuple[float, float, float, float, float, float, float]:
    """In the order of ``PARTS``. It stands in the way of every ingest: no regular expression, no loop over words."""
    text = message.text
    head = text[:HEAD].encode("utf-8", "replace")
    words = head.translate(_PLAIN).split()
    counts = [0, 0, 0, 0]
    for word in _CUE_SET.intersection(words):
        counts[_CUES[word]] += 1
    own, decided, times, opened = counts
    many = len(words)
    named = times + _names(head.translate(None, _UNMARKED), words)
    role = ROLES[message.role] if message.talk else min(UNSEEN, ROLES[message.role])
    asked = ASKED if text[-TAIL:].rstrip().endswith(_QUESTION_MARKS) else 0.0
    metadata = message.metadata
    works = b"`" in head or '"tools":' in metadata or '"files":' in metadata
    return (
        ROLE * role,
        OWN * own / (own + SOME_OWN),
        DENSITY * many / (many + MANY_WORDS),
        NAMES * named / (named + SOME_NAMES),
        DECISIONS * decided / (decided + SOME_DECISIONS),
        UNRESOLVED * (1.0 if opened else asked),
        TOOLS if works else 0.0,
    )


def _names(marked: bytes, words: list[bytes]) -> int:
    """About how many names and digits there are, from the capitals, digits and ends of sentences of a text: a capital
    that begins no sentence and is no "I" begins a name."""
    ends = len(marked) - len(marked.translate(None, _ENDS))
    found = len(marked) - ends - max(1, ends) - marked.count(b"I")
    if found <= 0:
        return 0
    return found // NOUNS_A_NAME if found >= NOUNS_A_NAME and not GERMAN.isdisjoint(words) else found
