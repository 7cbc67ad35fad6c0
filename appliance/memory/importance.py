"""How much a message is worth keeping close, 0 to 1, as a sum of named components.

The score of its words is computed when a message is stored and when it changes, in one pass over its beginning with
counts and sets of bytes, because it delays every ingestion. Pins, use and feedback come on top where the importance is
read (``store.importance``), so that none is ever out of date. The cues are single words of every known language."""

from __future__ import annotations

import string
from collections.abc import Mapping
from typing import Protocol

from appliance.languages import LANGUAGES
from appliance.store import feedback
from appliance.store.importance import StoredImportance, use_bonus
from appliance.store.priority import PINNED_IMPORTANCE
from appliance.types import Role

# Characters of a message that are read. A brief message says everything in them, a long one says at its beginning what
# it is about. They bound the cost of a message of any length.
SCANNED_CHARACTERS = 600
QUESTION_TAIL_CHARACTERS = 64  # at its end, in which a question mark is looked for
# The shares add up to 1. They were set by hand, on LoCoMo and BEAM together (python -m tests.eval.importance): each
# part that does well on either got more as long as the other lost nothing.
ROLE_WEIGHT = 0.25  # Who said it. On BEAM 74 % of the cited messages are the person's, who wrote half of all.
SELF_REFERENCE_WEIGHT = 0.20  # questions are about people's lives, not about the weather
# How much is said: on LoCoMo the number of words alone tells cited from uncited messages (AUC 0.73).
DENSITY_WEIGHT = 0.25
NAMES_WEIGHT = 0.12  # names, numbers and times: often asked for, and easily forgotten
DECISIONS_WEIGHT = 0.08  # something was decided, begun, bought, planned or is preferred
# Something is asked, missing or still to be done. It counts for little, because an answer may follow: on LoCoMo, where
# most questions are courtesy, such messages are cited less than the others.
UNRESOLVED_WEIGHT = 0.05
TOOLS_WEIGHT = 0.05  # a tool was used, a file touched, or code is shown

# The share of each role. What was not said openly (hidden, between agents) has at most a tool's share.
ROLE_SCORES: Mapping[Role, float] = {"user": 1.0, "assistant": 0.4, "tool": 0.1, "system": 0.0}

HIDDEN_ROLE_SCORE = ROLE_SCORES["tool"]

HALF_DENSITY_WORDS = 18  # words that reach half of the full density: a sentence or two
# Cues that reach half of a component's share: the first one says most.
HALF_SELF_REFERENCES, HALF_NAMES, HALF_DECISIONS = 1.0, 2.0, 1.0
QUESTION_SCORE = 0.5  # of a question, against something to be done

# Words that identify German, in which every noun has a capital and most nouns are no names.
GERMAN = frozenset((b"der", b"die", b"und", b"ist", b"nicht", b"das"))

CAPITALS_PER_GERMAN_NAME = 3  # capitals of German that count as one name

_OWN, _DECISION, _TIME, _OPEN = range(4)

# Words of the first person that another language uses otherwise are no cues: Spanish "he" ("I have"), English "he".
_AMBIGUOUS = frozenset[str]().union(*(language.function_words - language.first_person for language in LANGUAGES))

_CUE_WORDS = (
    *((_TIME, " ".join(language.time_words)) for language in LANGUAGES),
    *((_OWN, " ".join(language.first_person - _AMBIGUOUS)) for language in LANGUAGES),
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
        _OPEN,
        "todo fixme tbd unresolved unsure unclear waiting pending blocked stuck struggling unanswered"
        " offen ungeklärt unklar unsicher warte wartet aussteht ausstehend fehlt blockiert"
        " pendiente falta duda dudas espero esperando bloqueado atascado",
    ),
)
# A word of two kinds counts as the later kind: "deadline" is a decision rather than a time.
_CUES = {word.encode(): kind for kind, words in _CUE_WORDS for word in words.split()}
_CUE_SET = frozenset(_CUES)

# Punctuation becomes a space and capitals become small; bytes beyond ASCII stay as they are.
_PLAIN = bytes(
    ord(" ") if chr(code) in string.punctuation else ord(chr(code).lower()) if code < 128 else code
    for code in range(256)
)
_ENDS = b".!?\n"
_UNMARKED = bytes(set(range(256)) - {*string.ascii_uppercase.encode(), *string.digits.encode(), *_ENDS})
_QUESTION_MARKS = ("?", "？", "؟")


# Of the score of the words; ``explain`` adds those that come on top.
COMPONENTS = ("role", "own", "density", "names", "decisions", "unresolved", "tools")


class ScorableMessage(Protocol):
    """A message as it is stored; ``metadata`` is JSON text."""

    @property
    def role(self) -> Role: ...
    @property
    def conversational(self) -> bool: ...
    @property
    def text(self) -> str: ...
    @property
    def metadata(self) -> str: ...


def score(message: ScorableMessage) -> float:
    """Return what a message's role and words are worth, 0 to 1."""
    return sum(_components(message))


def score_components(message: ScorableMessage) -> dict[str, float]:
    """Return what each component adds to the score of the words; together at most 1."""
    return dict(zip(COMPONENTS, _components(message), strict=True))


def explain(message: ScorableMessage, stored: StoredImportance, now: int) -> dict[str, float]:
    """Return what each component adds to the importance of a message at ``now``; their sum is the importance. That of
    feedback is negative where it takes away.

    Args:
        now: Microseconds since 1970.
    """
    components = score_components(message)
    word_score = sum(components.values())
    components["recalled"] = use_bonus(word_score, stored.recall_count, stored.last_recalled_at, now)
    components["feedback"] = feedback.score_change(word_score + components["recalled"], stored.feedback, now)
    components["pinned"] = PINNED_IMPORTANCE - sum(components.values()) if stored.pinned else 0.0
    return components


def _components(message: ScorableMessage) -> tuple[float, float, float, float, float, float, float]:
    """The components in the order of ``COMPONENTS``. Every ingestion waits for this: no regular expression, no loop
    over words."""
    text = message.text
    head = text[:SCANNED_CHARACTERS].encode("utf-8", "replace")
    words = head.translate(_PLAIN).split()
    counts = [0, 0, 0, 0]
    for word in _CUE_SET.intersection(words):
        counts[_CUES[word]] += 1
    self_references, decision_cues, time_cues, open_cues = counts
    word_count = len(words)
    name_count = time_cues + _count_names(head.translate(None, _UNMARKED), words)
    role = ROLE_SCORES[message.role] if message.conversational else min(HIDDEN_ROLE_SCORE, ROLE_SCORES[message.role])
    question_score = QUESTION_SCORE if text[-QUESTION_TAIL_CHARACTERS:].rstrip().endswith(_QUESTION_MARKS) else 0.0
    metadata = message.metadata
    uses_tools = b"`" in head or '"tools":' in metadata or '"files":' in metadata
    return (
        ROLE_WEIGHT * role,
        SELF_REFERENCE_WEIGHT * self_references / (self_references + HALF_SELF_REFERENCES),
        DENSITY_WEIGHT * word_count / (word_count + HALF_DENSITY_WORDS),
        NAMES_WEIGHT * name_count / (name_count + HALF_NAMES),
        DECISIONS_WEIGHT * decision_cues / (decision_cues + HALF_DECISIONS),
        UNRESOLVED_WEIGHT * (1.0 if open_cues else question_score),
        TOOLS_WEIGHT if uses_tools else 0.0,
    )


def _count_names(marked: bytes, words: list[bytes]) -> int:
    """About how many names and digits a text has, from its capitals, digits and sentence ends. A capital that begins
    no sentence and is no "I" begins a name."""
    ends = len(marked) - len(marked.translate(None, _ENDS))
    found = len(marked) - ends - max(1, ends) - marked.count(b"I")
    if found <= 0:
        return 0
    is_german = found >= CAPITALS_PER_GERMAN_NAME and not GERMAN.isdisjoint(words)
    return found // CAPITALS_PER_GERMAN_NAME if is_german else found
