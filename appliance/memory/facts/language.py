"""What a language's rules are made of, and how the value behind a rule's opening words is read.

A rule is data: the words that open a statement, and the kind of value that must follow. The readers are shared; what
differs between languages is words, and stands in ``Language``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field
from datetime import date
from typing import Literal

from appliance.memory.facts import dates
from appliance.memory.facts.passages import GAP
from appliance.memory.facts.patterns import Pattern
from appliance.memory.facts.tools import is_tool
from appliance.types import FactKind

Mode = Literal["holds", "ended", "corrects"]
"""What a statement says of its value: it holds, it no longer does, or it is what was meant before."""

_TOKEN = re.compile(rf"[ \t]*([^\s{GAP},;:!?()\[\]{{}}\"“”„»«…/|<>=*—–]+)")
_NUMBER = re.compile(r"[ \t]*(\d{1,3})\b(?![.,]\d|%|[:/])")
_JOINTS = re.compile(
    r"[ \t]*(?:,[ \t]*(?:(?:and|und|y|e)\b|&)?|\b(?:and|und|y|e|as well as|sowie|plus)\b|&)[ \t]*"
)
_WORKS = re.compile(
    "(?:app|application|website|site|webapp|game|book|novel|thesis|dissertation|paper|tool|library|engine|bot|chatbot|blo"
    "g"
    "|podcast|startup|platform|tracker|dashboard|plugin|extension|portfolio|film|documentary|album|course|prototype|robo"
    "t"
    "|system|compiler|framework|shop|store|cli|api|scraper|package|project|memoir|screenplay|script|newsletter|databas"
    "e"
    "|roman|doktorarbeit|masterarbeit|bachelorarbeit|webseite|spiel|buch|projekt|libro|novela|tesis|juego|aplicación|web"
    ")"
)
_VERSION = re.compile(
    r"[ \t]+v?(\d+(?:\.\d+){0,3}\w{0,6})\b(?![ \t]*(?:%|times|people|years|days|hours|gb|tb))"
)
_ARTICLE = re.compile(r"[ \t]*(?:an?|the|ein(?:e[nrms]?)?|der|die|das|den|dem|una?|el|la|los|las)\b[ \t]+")
_SMALL_IN_NAMES = frozenset(
    "of de del la las los von van der den am the and do da di du le upon bin al y & für".split()
)


_FIELD = re.compile(r"[ \t]+de[ \t]+([a-zà-ÿ]{3,20})\b")
"""What a profession is of, in Spanish: "analista de datos"."""

_OWNER = re.compile(r"['’]s?(?:\s.*)?$")
"""What makes a name an owner's: "my brother Tom's wife"."""

_THE = frozenset("us uk usa netherlands philippines bay bbc nhs un eu states czech emirates bahamas".split())
"""What has an article before it also where no capital is written."""
_DOING = re.compile(
    r"[ \t]*(?!(?:thing|king|spring|evening|morning|ring|string|wedding|something|nothing)\b)[a-z]{2,14}ing\b"
)
_CLAUSE_ENDS = frozenset(
    "and but or because cause cuz so since while when if as although though where who i i'm we even"
    " especially lately too"
    " also anymore now instead but which than is are was with_ lol haha tho".split()
)
_POINTING = frozenset(
    "it them him this that these those you your me us it's they're we're you're he's she's that's".split()
)
_SEVERING = frozenset(
    "it them my your our his her their its the that who which where when they're we're you're it's".split()
)
"""What stands behind a phrase that was cut off in the middle: "I like sneakers that ..."."""

MOST_WORDS = 6
"""Of a thing that somebody likes, makes or studies."""

LONGEST_VALUE = 200
"""Characters, of an instruction."""


@dataclass(frozen=True, slots=True, eq=False)
class Rule:
    """One way of saying something. ``pattern`` matches, in lower case, all that stands before the value, which ``read``
    then reads ("" takes the group ``value``, as ``value`` says). ``needs`` are words, or their first four letters,
    without one of which the pattern can't match.

    ``attribute`` and ``subject`` may name groups of the pattern: "{rel}" a relation, "{what}" as it stands. A rule must
    begin a clause, one that is ``loose`` may stand behind any word that does not bar it. ``follows`` must match behind
    the value, ``unless`` must not; ``then`` are rules that may go on where this one ends. ``also`` are more
    beginnings of words, one of which is needed too; ``gate`` is a pattern that several rules have in common, looked
    for only once. A rule that is ``passing`` reads what is taken for granted ("with my wife Ana"), anywhere in a
    sentence, be it a question; one that is ``carried`` a clause whose "I" began the sentence ("I'm 46, live in")."""

    name: str
    kind: FactKind
    attribute: str
    needs: tuple[str, ...]
    pattern: Pattern
    read: str = ""
    mode: Mode = "holds"
    confidence: float = 0.85
    several: bool = False
    loose: bool = False
    subject: str = "me"
    follows: Pattern | None = None
    unless: Pattern | None = None
    then: tuple[Rule, ...] = ()
    value: str = "{value}"
    also: frozenset[str] = frozenset()
    gate: Pattern | None = None
    passing: bool = False
    carried: bool = False


DATED = frozenset(
    word[:4]
    for word in (
        "january february march april may june july august september october november december jan"
        " feb mar apr jun jul aug sep"
        " sept oct nov dec monday tuesday wednesday thursday friday saturday sunday tomorrow today tonight"
        " januar februar märz mai juni juli oktober dezember montag dienstag mittwoch donnerstag"
        " freitag samstag sonntag"
        " morgen heute übermorgen enero febrero marzo abril mayo junio julio agosto septiembre"
        " octubre noviembre diciembre"
        " lunes martes miércoles jueves viernes sábado domingo mañana hoy day days week weeks tagen wochen"
    ).split()
) | {"0"}
"""Beginnings of words of which a date has one; "0" stands for all that begins with a digit."""

NUMBERED = frozenset("0")


@dataclass(frozen=True, slots=True, eq=False)
class Language:
    """A language's words. ``leads`` may stand directly before a statement, ``bars`` must not stand before a loose one.

    ``unreal`` says, anywhere before a statement in its sentence, that it is none (a condition, somebody else's words),
    ``unsure`` within its clause; ``harmless`` takes out of that what only looks so. ``undone`` takes it back behind it.
    ``elsewhere`` opens what the rest of the message is not the writer's own (a story, a text to translate). ``tail``
    begins a question behind a statement, ``asking`` a sentence that asks. ``stops`` end a phrase, ``hollow``
    begin what is no value. ``heads`` are the last words of jobs, ``tongues`` the names of languages by English ones.
    ``mine`` begins a sentence whose subject a later clause may carry on, unless ``others`` stand between.
    """

    code: str
    rules: tuple[Rule, ...]
    stops: frozenset[str]
    hollow: frozenset[str]
    leads: frozenset[str]
    bars: frozenset[str]
    unreal: Pattern
    unsure: Pattern
    harmless: Pattern
    undone: Pattern
    elsewhere: Pattern
    tail: Pattern
    asking: Pattern
    not_names: frozenset[str]
    heads: Pattern
    tongues: Mapping[str, str]
    relations: Mapping[str, str]
    events: Mapping[str, str] = field(default_factory=dict)
    mine: Pattern | None = None
    others: Pattern | None = None
    all_nouns_capital: bool = False


@dataclass(frozen=True, slots=True)
class Look:
    """What a reader looks at: the message, the same prepared, and up to where the sentence goes."""

    text: str
    low: str
    end: int
    language: Language
    casual: bool
    said: date | None


@dataclass(frozen=True, slots=True)
class Read:
    """A value and the place behind it."""

    value: str
    end: int


Reader = Callable[[Look, int], Read | None]


def _tokens(look: Look, at: int, stops: AbstractSet[str] | None = None) -> list[tuple[str, int, int]]:
    """The words from a place on, lowered, with their places, up to what ends a phrase."""
    found: list[tuple[str, int, int]] = []
    stops = look.language.stops if stops is None else stops
    while len(found) <= MOST_WORDS + 2 and (match := _TOKEN.match(look.low, at, look.end)):
        word = match[1].rstrip(".'")
        if not word or word == "-" or word in stops:
            break
        found.append((word, match.start(1), match.start(1) + len(word)))
        at = match.end()
        if len(word) < len(match[1]):
            break
    return found


def _is_capital(look: Look, start: int) -> bool:
    return look.text[start].isupper() or look.text[start].isdigit()


def _taken(look: Look, tokens: list[tuple[str, int, int]]) -> Read | None:
    if not tokens:
        return None
    return Read(look.text[tokens[0][1] : tokens[-1][2]], tokens[-1][2])


def _proper(look: Look, at: int, most: int) -> Read | None:
    """A name: words with capitals, small ones between them; in a casual message the words up to the next joint."""
    tokens = _tokens(look, at)
    if tokens and tokens[0][0] in ("the", "der", "die", "das", "la", "el", "los", "las"):
        tokens = tokens[1:]
        if tokens and not _is_capital(look, tokens[0][1]) and tokens[0][0] not in _THE:
            return None
    if not tokens or tokens[0][0] in look.language.hollow:
        return None
    if _is_capital(look, tokens[0][1]):
        run = tokens[:1]
        for number, token in enumerate(tokens[1:], 1):
            small = token[0] in _SMALL_IN_NAMES and number + 1 < len(tokens)
            inner = small and any(_is_capital(look, nxt[1]) for nxt in tokens[number + 1 : number + 2])
            if not (_is_capital(look, token[1]) or inner) or len(run) >= most:
                break
            run.append(token)
        return _taken(look, run)
    if look.casual and look.text[tokens[0][1]].isalpha() and tokens[0][0] not in look.language.not_names:
        run = tokens[: min(most, 2)]
        return _taken(look, run) if len(tokens) <= 3 else _taken(look, tokens[:1])
    return None


def place(look: Look, at: int) -> Read | None:
    """A town or a country, with its region behind a comma."""
    read = _proper(look, at, 4)
    if read is None or any(c.isdigit() for c in read.value):
        return None
    region = re.compile(r",[ \t]+([A-Z][\w.]+(?:[ \t][A-Z]\w+)?)(?=[ \t]*(?:$|[.,!?)\n]))").match(
        look.text, read.end, look.end
    )
    if (
        region
        and region[1].lower() not in look.language.stops | look.language.hollow
        and not look.language.all_nouns_capital
    ):
        return Read(look.text[read.end - len(read.value) : region.end()], region.end())
    return read


def person(look: Look, at: int) -> Read | None:
    """A person's or an animal's name."""
    read = _proper(look, at, 3)
    if read is None or any(c.isdigit() for c in read.value):
        return None
    if read.value.lower().split()[0].rstrip("'s") in look.language.not_names:
        return None
    return read


def capital_person(look: Look, at: int) -> Read | None:
    """A name that must have a capital, beside a word that says whose it is ("my wife Priya")."""
    read = person(look, at)
    if read is None or not (read.value[0].isupper() and read.value[1:2].islower()):
        return None
    owner = _OWNER.search(read.value)
    return Read(read.value[: owner.start()], read.end - len(owner.group())) if owner else read


def org(look: Look, at: int) -> Read | None:
    """Where somebody works or studies: a name, or "a bakery"."""
    read = _proper(look, at, 5)
    if read is not None:
        return read
    if (article := _ARTICLE.match(look.low, at, look.end)) and not _is_capital(look, article.start()):
        tokens = [
            t
            for t in _tokens(look, article.end())[:4]
            if t[0] not in ("different", "new", "big", "small", "time")
        ]
        if tokens and tokens[0][0] not in look.language.hollow and not look.language.all_nouns_capital:
            return Read(look.text[at : tokens[-1][2]].strip(), tokens[-1][2])
    return None


def job(look: Look, at: int) -> Read | None:
    """A profession, known by its last word; at most four words before it."""
    if article := _ARTICLE.match(look.low, at, look.end):
        at = article.end()
    tokens = _tokens(look, at)[:5]
    best = 0
    for number, (word, _, _) in enumerate(tokens, 1):
        if look.language.heads.fullmatch(word):
            best = number
    if best and best == len(tokens) and look.language.code == "es":
        field = _FIELD.match(look.text, tokens[best - 1][2], look.end)
        nouns = look.language.stops | look.language.hollow | look.language.not_names
        if field and field[1] not in nouns:
            return Read(look.text[tokens[0][1] : field.end()], field.end())
    if not best or tokens[0][0] in ("former", "ex", "ehemaliger", "ex-", "terrible", "bad", "good", "great"):
        return None
    return _taken(look, tokens[:best])


def thing(look: Look, at: int) -> Read | None:
    """What somebody likes, studies, makes: a few words that begin like a noun's, or something that is done."""
    doing = _DOING.match(look.low, at, look.end)
    tokens = _tokens(look, at, _CLAUSE_ENDS if doing else None)
    if not tokens or tokens[0][0] in look.language.hollow or len(tokens) > MOST_WORDS + (2 if doing else 0):
        return None
    if (
        not tokens[0][0][0].isalnum()
        or not any(c.isalpha() for c in tokens[0][0])
        or any(word in _POINTING for word, _, _ in tokens)
    ):
        return None
    if len(tokens) > 1 and tokens[-2][0] in ("a", "an") and look.low.startswith(",", tokens[-1][2]):
        return None  # "a safe, inviting place": the phrase goes on
    behind = _TOKEN.match(look.low, tokens[-1][2], look.end)
    if behind and behind[1] in _SEVERING:
        return None
    return _taken(look, tokens)


def articled(look: Look, at: int) -> Read | None:
    """A thing, without the article before it."""
    article = _ARTICLE.match(look.low, at, look.end)
    return thing(look, article.end() if article else at)


def tool(look: Look, at: int) -> Read | None:
    """A program or a system that is known, or has a version or a capital; with its version."""
    if article := _ARTICLE.match(look.low, at, look.end):
        at = article.end()
    tokens = _tokens(look, at)
    if not tokens:
        return None
    for count in (3, 2, 1):
        run = tokens[:count]
        if len(run) == count and is_tool(look.low[run[0][1] : run[-1][2]]):
            end = run[-1][2]
            for word, start, stop in tokens[count : count + 2]:
                if look.text[start].isupper() and not look.language.all_nouns_capital and not is_tool(word):
                    end = stop
                else:
                    break
            version = _VERSION.match(look.low, end, look.end)
            return Read(
                look.text[run[0][1] : version.end() if version else end], version.end() if version else end
            )
    if look.language.all_nouns_capital or tokens[0][0] in look.language.hollow | look.language.not_names:
        return None
    run = []
    for token in tokens[:4]:
        if not look.text[token[1]].isupper() and not (run and re.fullmatch(r"v?\d[\w.]*", token[0])):
            break
        run.append(token)
    return _taken(look, run) if run and len(look.text[run[0][1] : run[0][2]]) > 1 else None


def product(look: Look, at: int) -> Read | None:
    """A make with its model: at least one word with a capital."""
    if article := _ARTICLE.match(look.low, at, look.end):
        at = article.end()
    tokens = _tokens(look, at)[:5]
    run: list[tuple[str, int, int]] = []
    for token in tokens:
        if not _is_capital(look, token[1]) and run:
            break
        run.append(token)
    return _taken(look, run) if any(look.text[start].isupper() for _, start, _ in run) else None


def field_of_study(look: Look, at: int) -> Read | None:
    """What somebody studies: no book, no chapter."""
    read = thing(look, at)
    return read if read and not re.search(r"['’\d]|\bbook\b", read.value, re.IGNORECASE) else None


def work(look: Look, at: int) -> Read | None:
    """What somebody makes, known by its last word."""
    read = thing(look, at)
    return read if read and _WORKS.fullmatch(read.value.lower().rsplit(None, 1)[-1]) else None


def capital_org(look: Look, at: int) -> Read | None:
    """A firm, by its name alone."""
    read = org(look, at)
    return read if read and read.value[0].isupper() else None


def number(look: Look, at: int) -> Read | None:
    """An age."""
    match = _NUMBER.match(look.low, at, look.end)
    return Read(match[1], match.end(1)) if match and 0 < int(match[1]) < 120 else None


def tongue(look: Look, at: int) -> Read | None:
    """The name of a language, in English."""
    for word, _, end in _tokens(look, at)[:4]:
        if word in look.language.tongues:
            return Read(look.language.tongues[word], end)
        if word not in (
            "a",
            "little",
            "some",
            "bit",
            "fluent",
            "native",
            "basic",
            "ein",
            "bisschen",
            "etwas",
            "fließend",
            "of",
            "good",
            "decent",
            "un",
            "poco",
            "de",
            "both",
            "gut",
            "conversational",
            "broken",
            "algo",
        ):
            return None
    return None


def day(look: Look, at: int) -> Read | None:
    """A date, with the year from when it was said."""
    found = dates.named(look.low, at, look.end, look.said)
    return Read(found.value, found.end) if found else None


def birthday(look: Look, at: int) -> Read | None:
    """A day of the year, or one with its year."""
    found = dates.named(look.low, at, look.end, None)
    if found is None:
        return None
    return Read(found.value, found.end) if found.day or found.yearless else None


def rest(look: Look, at: int) -> Read | None:
    """All up to the end of the sentence, of two words at least: an instruction."""
    words = look.text[at : look.end]
    stop = look.low.find(GAP, at, look.end)
    value = (words if stop < 0 else look.text[at:stop]).strip(" \t,-–—:")
    value = re.sub(
        r",?\s+(?:please|thanks|thank you|bitte|danke|por favor|gracias|ok|okay)\s*$",
        "",
        value,
        flags=re.IGNORECASE,
    )
    if len(value.split()) < 2 or len(value) > LONGEST_VALUE or stop >= 0:
        return None
    return Read(value, look.end)


READERS: Mapping[str, Reader] = {
    "place": place,
    "person": person,
    "capital person": capital_person,
    "org": org,
    "job": job,
    "thing": thing,
    "articled": articled,
    "tool": tool,
    "product": product,
    "work": work,
    "field": field_of_study,
    "capital org": capital_org,
    "number": number,
    "tongue": tongue,
    "day": day,
    "birthday": birthday,
    "rest": rest,
}


def joint(look: Look, at: int) -> int | None:
    """The place behind "," or "and" at a place; None where there is none."""
    match = _JOINTS.match(look.low, at, look.end)
    return match.end() if match and match.end() > at else None
