"""What a stretch of conversation settled and left open, and what it speaks of: a summary's metadata."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from appliance.memory.summarise.cues import answers_nothing, offers, says_nothing
from appliance.memory.summarise.reading import Reading, Sentence
from appliance.types import Message

MOST = 12
"""Items of each kind: of decisions and the like the latest, of names the most frequent."""

FEWEST_WORDS = 4
"""A question of fewer words ("And you?") does not say what it asks."""

REACH = 30
"""Messages before the word that something works in which its problem is looked for."""

LOOKED = 20_000
"""Characters of a message in which names and files are looked for."""

_PATH = re.compile(
    r"(?<![\w/.:@-])(?:~?/|\.{1,2}/)?(?:[\w.-]{1,80}/){0,12}[\w-][\w.-]{0,80}\.(?:py|pyi|ipynb|js|jsx|ts|tsx|mjs|css|scss|html?|json|ya?ml|toml"
    r"|ini|cfg|conf|md|rst|txt|csv|tsv|sql|sh|bash|zsh|ps1|rs|go|java|kt|swift|c|h|cc|cpp|hpp|cs|rb|php|lua|r|jl|ex|exs|vue|svelte|xml|lock"
    r"|log|env|pdf|docx?|xlsx?|pptx?|png|jpe?g|gif|svg|zip|gz|db|sqlite)(?![\w/-]|\.\w)"
)
_DOTTED = re.compile(
    r"(?:[a-z]+\.)?(?:node|next|vue|nuxt|express|three|d3|react|angular|chart|discord|socket)\.(?:js|ts)",
    re.IGNORECASE,
)
_NAME = re.compile(r"[^\W\d_a-zß-öø-ÿ][\w'’-]*(?: (?:[^\W\d_a-zß-öø-ÿ][\w'’-]*|\d{1,4}(?:\.\d+)*))*")
_NUMBER = re.compile(
    r"(?<![\w.,/:-])(?:[$€£¥] ?\d[\d.,]*\d|[$€£¥] ?\d|\d[\d.,]*\d? ?(?:%|€|\$|£|(?:km|kg|GB|MB|TB|ms|USD|EUR)(?!\w))"
    r"|\d{4}-\d\d-\d\d|\d{1,2}[:.]\d\d ?(?:am|pm|Uhr|h)\b|v?\d+\.\d+(?:\.\d+)*|\d{3,})(?![\w-])"
)
_INNER = re.compile(r"[a-z][A-Z]|[A-Z]{2}|\d")
_SMALL_GERMAN = re.compile(
    r"\b(?:der|die|das|und|ist|nicht|ein|eine|ich|mit|auf|für|wir|den|dem|zu|von|im)\b"
)
_COMMON = frozenset(
    "I I'm I'll I've I'd OK TODO FIXME FAQ LOL OMG PS BTW FYI ASAP NOT AND THE A No Yes Monday Tuesday Wednesday"
    " Thursday Friday Saturday Sunday January February March April May June July August September October November"
    " December Mom Dad God Sir Note Step Hey Hi".split()
)


def findings(reading: Reading) -> Mapping[str, Any]:
    """``decisions``, ``commitments``, ``unresolved`` and ``solved`` as lists of ``{"text", "message_id"}``; ``tools``,
    ``files`` and ``entities`` as lists of names. What was not found is an empty list."""
    said = reading.messages
    people = [s for s in reading.sentences if said[s.message].role == "user"]
    return {
        "decisions": _items(reading, [s for s in people if "decided" in s.cues]),
        "commitments": _items(reading, [s for s in people if "promised" in s.cues]),
        "unresolved": _items(reading, _unresolved(reading)),
        "solved": _solved(reading),
        "tools": _tools(reading.everything),
        "files": _files(reading.everything),
        "entities": _entities(reading),
    }


def _items(reading: Reading, sentences: Sequence[Sentence]) -> list[dict[str, str]]:
    found: dict[str, dict[str, str]] = {}
    for sentence in sentences:
        text = " ".join(reading.text(sentence).split())
        found.pop(text.casefold(), None)
        found[text.casefold()] = {"text": text, "message_id": reading.messages[sentence.message].id}
    return list(found.values())[-MOST:]


def _unresolved(reading: Reading) -> list[Sentence]:
    return [
        s
        for s in reading.sentences
        if ("open" in s.cues and not s.asks and reading.messages[s.message].role == "user")
        or _unanswered(reading, s)
    ]


def _unanswered(reading: Reading, sentence: Sentence) -> bool:
    """Whether a question found no answer: nobody else spoke after it, or who did knew none."""
    text = reading.text(sentence)
    if not sentence.asks or len(text.split()) < FEWEST_WORDS or says_nothing(text) or offers(text):
        return False
    asker = reading.speaker(sentence.message)
    following = range(sentence.message + 1, len(reading.messages))
    reply = next((i for i in following if reading.speaker(i) != asker), None)
    return reply is None or answers_nothing(reading.messages[reply].text)


def _solved(reading: Reading) -> list[dict[str, str]]:
    """Each problem that is later said to be gone: its sentence, and the message that says so."""
    found: dict[tuple[int, int], dict[str, str]] = {}
    for gone in (s for s in reading.sentences if "solved" in s.cues):
        asker = reading.speaker(gone.message)
        problems = [
            s
            for s in reading.sentences
            if "problem" in s.cues
            and 0 <= gone.message - s.message <= REACH
            and (s.message, s.start) < (gone.message, gone.start)
        ]
        own = [s for s in problems if reading.speaker(s.message) == asker] or problems
        if own and (own[-1].message, own[-1].start) not in found:
            problem = own[-1]
            found[(problem.message, problem.start)] = {
                "text": " ".join(reading.text(problem).split()),
                "message_id": reading.messages[problem.message].id,
                "solved_by": reading.messages[gone.message].id,
            }
    return list(found.values())[-MOST:]


def _tools(messages: Sequence[Message]) -> list[str]:
    return _named(messages, "tools", "name")


def _files(messages: Sequence[Message]) -> list[str]:
    told = _named(messages, "files", "path")
    seen = Counter(
        path.lstrip("./") if path.startswith("./") else path
        for message in messages
        if message.role in ("user", "assistant")
        for path in _PATH.findall(message.text[:LOOKED])
        if not _DOTTED.fullmatch(path)
    )
    return list(dict.fromkeys([*told, *(path for path, _ in seen.most_common(MOST))]))[: 2 * MOST]


def _named(messages: Sequence[Message], key: str, name: str) -> list[str]:
    """The names under a key of the metadata, which a parser gives as text or as objects that have one."""
    found: dict[str, None] = {}
    for message in messages:
        listed = message.metadata.get(key)
        for one in listed if isinstance(listed, list | tuple) else ():
            value = one.get(name) or one.get("name") if isinstance(one, Mapping) else one
            if isinstance(value, str) and value.strip():
                found[value.strip()] = None
    return list(found)[: 2 * MOST]


def _entities(reading: Reading) -> list[str]:
    """Names that stand within sentences, and numbers that say something, the most frequent first.

    A word with a capital is a name where it does not begin a sentence; in German, where every noun has one, only a
    run of two or a word with a capital or a digit inside.
    """
    counts: Counter[str] = Counter()
    for sentence in reading.sentences:
        text = reading.text(sentence)
        german = len(_SMALL_GERMAN.findall(text)) >= 2 if not text.isascii() or " " in text else False
        for match in _NAME.finditer(text):
            name = match.group().strip("'’-")
            name = re.sub(r"['’]s$", "", name)
            if not _begins(text, match.start()) and _is_name(name, german):
                counts[name] += 1
        counts.update(match.group().rstrip(".,") for match in _NUMBER.finditer(text))
    authors = {message.author for message in reading.messages if message.author}
    firsts = {author.split()[0] for author in authors if author.split()}
    return [name for name, _ in counts.most_common(3 * MOST) if name not in authors | firsts][:MOST]


def _begins(text: str, start: int) -> bool:
    """Whether a place is the first word of its sentence, or of a clause in quotes or behind a colon."""
    before = text[:start].rstrip(" \"'“„«(*_[¡¿")
    return not before or before[-1] in ".!?:…-–—" or before.endswith("\n")


def _is_name(name: str, german: bool) -> bool:
    words = name.split()
    if len(name) < 2 or all(word in _COMMON for word in words):
        return False
    return not german or len(words) > 1 or _INNER.search(name) is not None
