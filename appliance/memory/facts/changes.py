"""Which facts a message takes back or moves: "the trip is cancelled", "my dentist moved the appointment to Friday".

Such a message names a thing in its own words and no slot. What it names is found among what the person has said before,
by the words that both have. Where several things have them, all of them are put up for review.

``resolve`` is a pure function of statements, so that any order of import gives the same facts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b

from appliance import languages
from appliance.languages import temporal
from appliance.lazy_dataclasses import dataclass
from appliance.memory.facts import phrasing
from appliance.memory.facts.grammar import CHANGE
from appliance.memory.facts.rule_extractor import GRAMMARS, FactMention
from appliance.memory.facts.timeline import CHANGE_SLOT, DOUBTED_END, PROPOSED, is_by_person, slot_key
from appliance.store.statements import Statement

# A message that says less than this surely only asks, and a move that is said so begins no date by itself.
MIN_CERTAIN_CONFIDENCE = 0.7
MIN_SHARED_WORDS = 0.6  # of the words for a thing

PLANS = frozenset(("plans", "wants", "considers", "looking for", "next home"))
_WISHES = frozenset(("wants", "considers", "looking for"))
_WORK = frozenset(("employer", "job", "school", "studies", "team"))
_PASTIMES = frozenset(
    ("plays", "practises", "learns", "habit", "member of", "collects", "reads", "volunteers", "owns", "project")
)
CHANGEABLE = PLANS | _PASTIMES | _WORK
"""The attributes whose values a message can take back, beside dates."""

_WORD = re.compile(r"[^\W_]+")
_ENDINGS = ("ing", "s")
# Verbs, and words of attributes, that say nothing of what is planned.
_EMPTY_WORDS = (
    "go going do doing take taking have having get getting make making be being run running do attend attending plan"
    " plans planning planned preparing prepare want wants start starting try new next home looking considers practises"
    " play plays playing practise practice practising learn learns learning read reading collect"
    " collects owns own habit member reads volunteers"
    " machen mache gehen gehe laufen laufe fahren fahre haben habe werden werde planen plane teilnehmen kaufen"
    " hacer ir voy vamos correr corro tener tengo tomar comprar"
)
_EMPTY = frozenset(_EMPTY_WORDS.split()).union(*(language.function_words for language in languages.LANGUAGES))
_MEANINGS: Mapping[str, str] = {
    word: meaning
    for meaning, alternatives in {
        "trip": "trips reise reisen verreise viaje viajar travel travelling traveling journey urlaub vacation holiday",
        "flight": "flug fliege fliegen vuelo volar volamos fly flying",
        "move": "moving umzug ziehe ziehen umziehen mudanza mudarme mudarnos mudarse mudo mudamos relocate"
        " relocating relocation",
        "wedding": "hochzeit boda heiraten heirate casarme casarnos marry married",
        "appointment": "termin cita appt",
        "doctor": "arzt ärztin arzttermin médico medico doctora",
        "dentist": "zahnarzt zahnärztin zahnarzttermin dentista",
        "exam": "prüfung klausur examen",
        "marathon": "maratón maraton",
        "party": "feier fiesta",
        "meeting": "treffen besprechung reunión",
        "course": "kurs curso class classes lessons",
        "visit": "besuchen besuche visitar",
    }.items()
    for word in alternatives.split()
}
_EVENT_NAMES = {word: name.split() for grammar in GRAMMARS for word, name in grammar.events.items()}
_CALENDAR = {word for name in (*temporal.MONTHS, *temporal.WEEKDAYS) for word in name.split()}


def _stem(word: str) -> str:
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 3 and not word.endswith("ss"):
            return word[: -len(ending)].rstrip("e")
    return word.rstrip("e") if len(word) > 3 else word


# What a thing is, and not which: "the trip" is any trip.
_KINDS = frozenset(
    map(_stem, {*_MEANINGS.values(), *(name for names in _EVENT_NAMES.values() for name in names), "plan"})
)


def is_change(mention: FactMention) -> bool:
    """Whether a statement of a message takes something back, or moves it."""
    return mention.attribute == CHANGE or (mention.kind == "date" and mention.mode == "corrects")


@dataclass(frozen=True, slots=True)
class Resolution:
    """What the changes of a user mean: by slot, the statements that follow. ``words`` are those of each change."""

    statements: Mapping[str, Sequence[Statement]]
    words: Sequence[AbstractSet[str]] = ()

    def of(self, slot: str) -> Sequence[Statement]:
        return self.statements.get(slot, ())

    def related(self, slots: AbstractSet[str], known: Iterable[str]) -> set[str]:
        """The slots, among the known ones, that a change may mean that may mean one of these slots."""
        by_word = _SlotsByWord()
        for slot in {*slots, *known}:
            by_word.add(slot)
        found: set[str] = set()
        for words in self.words:
            meant = {slot for slot in by_word.sharing(words) if _may_mean(words, slot_words(slot))}
            if not meant.isdisjoint(slots):
                found |= meant
        return found


class _SlotsByWord:
    """Slots by the words for their things, so that few are looked at for each change."""

    def __init__(self) -> None:
        self._slots: dict[str, set[str]] = {}

    def add(self, slot: str) -> None:
        for word in slot_words(slot):
            self._slots.setdefault(word, set()).add(slot)

    def sharing(self, words: Iterable[str]) -> set[str]:
        """The slots that have one of the words."""
        return set().union(*(self._slots.get(word, ()) for word in words))


NOTHING_CHANGED = Resolution({})


@dataclass(slots=True)
class _Thing:
    """A slot with what was said of it so far."""

    slot: str
    last: Statement
    words: AbstractSet[str]


def resolve(changes: Iterable[Statement], statements: Iterable[Statement]) -> Resolution:
    """Return what changes mean.

    Args:
        changes: All statements of a user that take something back or move it.
        statements: The user's statements about dates and ``CHANGEABLE`` attributes.
    """
    found: dict[str, list[Statement]] = {}
    things: dict[str, _Thing] = {}
    by_word = _SlotsByWord()
    all_words = []
    changed = list(changes)
    for entry in sorted([*changed, *statements], key=_order):
        if entry.slot != CHANGE_SLOT:
            if entry.mode != "ended":
                by_word.add(entry.slot)
                things[entry.slot] = _Thing(entry.slot, entry, slot_words(entry.slot))
            else:
                things.pop(entry.slot, None)
            continue
        words = _words(entry)
        all_words.append(words)
        near = [things[slot] for slot in sorted(by_word.sharing(words)) if slot in things]
        for statement in _apply(entry, words, near, things):
            by_word.add(statement.slot)
            found.setdefault(statement.slot, []).append(statement)
    return Resolution(found, all_words)


def _apply(
    change: Statement, words: AbstractSet[str], near: Iterable[_Thing], things: dict[str, _Thing]
) -> list[Statement]:
    """The statements that a change makes. ``near`` are the things that share its words; what is certain changes
    ``things``."""
    moves = _moves(change)
    candidates = [thing for thing in near if _is_open(thing, change)]
    own_slot = slot_key(change.subject, "date", change.attribute, change.value)
    if moves and own_slot in things and len(words) > 0 and things[own_slot] in candidates:
        meant, certain = [things[own_slot]], True
    else:
        meant, certain = _meant(words, candidates)
    certain = certain and change.confidence >= MIN_CERTAIN_CONFIDENCE
    if not meant and moves and change.confidence >= MIN_CERTAIN_CONFIDENCE:
        statement = replace(change, slot=own_slot, mode="holds")
        things[own_slot] = _Thing(own_slot, statement, slot_words(own_slot))
        return [statement]
    made = []
    for thing in meant:
        statement = _statement(change, thing, certain)
        made.append(statement)
        if certain and moves:
            things[thing.slot] = _Thing(thing.slot, statement, thing.words)
        elif certain:
            del things[thing.slot]
    return made


def _words(change: Statement) -> frozenset[str]:
    if not _moves(change):
        return thing_words(change.value)
    subject = "" if change.subject == phrasing.USER_SUBJECT else change.subject
    return thing_words(f"{subject} {change.attribute}")


def _moves(change: Statement) -> bool:
    """Whether a change names a new day, which is its value; its attribute then names the thing."""
    return change.attribute != CHANGE


def _statement(change: Statement, thing: _Thing, certain: bool) -> Statement:
    last = thing.last
    if _moves(change):
        mode, value = ("holds" if certain else PROPOSED), change.value
    else:
        mode, value = ("ended" if certain else DOUBTED_END), last.value
    digest = blake2b(change.digest + thing.slot.encode("utf-8", "surrogatepass"), digest_size=len(change.digest) or 12)
    return replace(
        change, slot=thing.slot, kind=last.kind, subject=last.subject, attribute=last.attribute, value=value, mode=mode,
        since=None, until=None, digest=digest.digest(),
    )  # fmt: skip


def _is_open(thing: _Thing, change: Statement) -> bool:
    """Whether a thing can still be taken back or moved: a day that is past can't."""
    last = thing.last
    if not (
        last.kind == "date"
        if change.kind == "date"
        else last.attribute in _WORK
        if change.kind == "profile"
        else last.kind == "date" or last.attribute in PLANS | _PASTIMES
    ):
        return False
    if last.kind != "date" or change.said_at is None or len(last.value) < 7:
        return True
    said_on = change.said_at[:10]
    return last.value[:10] >= said_on[: len(last.value[:10])]


def _meant(words: AbstractSet[str], candidates: Iterable[_Thing]) -> tuple[list[_Thing], bool]:
    """The things that words mean, and whether that is certain."""
    scores = [(_score(words, thing.words), thing) for thing in candidates]
    best = max((score for score, _ in scores), default=0.0)
    if best >= MIN_SHARED_WORDS:
        meant = [thing for score, thing in scores if score == best]
        # A wish for something of the kind outlives the plan: "I want to run a marathon".
        most = max((thing.words for thing in meant), key=len)
        meant = [thing for thing in meant if not (thing.last.attribute in _WISHES and thing.words < most)] or meant
        return meant, _are_one(meant)
    # "My flight to Vienna is cancelled", and only "my flight" was said before.
    vague = [thing for _, thing in scores if thing.words and thing.words < words]
    return vague, False


def _are_one(things: Sequence[_Thing]) -> bool:
    """Whether things are one: one of them says all that the others say."""
    most = max((thing.words for thing in things), key=len)
    return all(thing.words <= most for thing in things)


def _score(words: AbstractSet[str], others: AbstractSet[str]) -> float:
    """The share of words that others have too; 0 if these say nothing but what kind of thing it is, and there are
    better ones."""
    shared = words & others
    if not shared or (shared <= _KINDS and not words <= _KINDS):
        return 0.0
    return len(shared) / len(words)


def _may_mean(words: AbstractSet[str], others: AbstractSet[str]) -> bool:
    return _score(words, others) >= MIN_SHARED_WORDS or bool(others and others < words)


@lru_cache(maxsize=1 << 15)
def slot_words(slot: str) -> frozenset[str]:
    """The words by which the thing of a slot is known. A slot has its subject, its attribute, and for an attribute of
    many values the value."""
    subject, _, rest = slot.partition("\x1f")
    parts = [] if subject == phrasing.USER_SUBJECT else [subject]
    attribute, _, value = rest.partition("\x1f")
    return thing_words(" ".join([*parts, value or attribute]))


@lru_cache(maxsize=1 << 15)
def thing_words(text: str) -> frozenset[str]:
    """The words by which a thing is known, without those that only join them, and without times."""
    words = [word for word in _WORD.findall(text.casefold()) if len(word) > 1 and not word.isdigit()]
    kept = [word for word in words if word not in _EMPTY and word not in _CALENDAR]
    found: set[str] = set()
    for word in kept or words:
        names = _EVENT_NAMES.get(word, [word])
        found.update(_stem(_MEANINGS.get(name, name)) for name in names)
    return frozenset(found)


def _order(entry: Statement) -> tuple[object, ...]:
    is_told = entry.slot == CHANGE_SLOT
    return entry.order_at, is_by_person(entry), entry.position, entry.start, is_told, entry.digest
