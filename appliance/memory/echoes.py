"""Echoes of what is to be erased: near copies, answers that repeat it, summaries and facts that say it elsewhere.

After erasing "The spare keys are with Mrs. Aydın", an assistant's "Saved: spare keys with Mrs. Aydın" would still say
it. An echo repeats a sentence of an erased message, with a rare word of it: a word that many messages have is no
evidence, and neither is a message of one or two common words ("ok, thanks"), even where another says the same. Of a
longer message of frequent words only, whole copies are echoes. Echoes are offered, and erased only when the person says
so; ``Echoes.notes`` says what was not looked for.

What an app writes into each chat itself ("Messages and calls are end-to-end encrypted") repeats no person's words.
"""

from __future__ import annotations

import re
import sqlite3
from collections import defaultdict
from collections.abc import Collection, Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, field
from itertools import chain

from appliance.languages import STOP_WORDS
from appliance.memory import block_erasure
from appliance.store import archive, facts, lexical, messages, summaries
from appliance.store.file_search import TextFinder
from appliance.store.scripts import split_unspaced
from appliance.store.sql import JSON_KEYS_SQL, json_keys
from appliance.types import LOCAL, BlockErasure, Echo, EchoKind, Role, Scope
from appliance.types.placeholders import MAX_CHARACTERS, placeholder_kind

MAX_RARE_MESSAGES = 20
"""A word is rare if no more messages have it, the erased ones not counted."""

MAX_WORDS = 5_000
"""Words of the erased messages that are looked up, which takes a quarter of a second for a few messages."""

MAX_ERASED_POSTINGS = 1_000
"""A word that more of the erased messages have is not looked up further: it is no evidence of any one of them. With
``MAX_WORDS``, this bounds a preview's time however many messages are meant."""

MAX_ECHOES = 200

MAX_PHRASES, MAX_PHRASE_WORDS = 50, 12
"""Messages of frequent words whose copies the full text is asked for, and with how many of their first words. The links
between variants have the copies of all, as far as these are indexed."""

MIN_SHARED_WORDS = 3
MIN_SHARED_NUMBERED_WORDS = 2
MIN_DIGITS = 3
"""Shared words that make an echo; fewer do if one of them has so many digits, as in "the PIN is 4711"."""

MIN_NOTED_WORDS = 2
"""A message with so many words is recognised in a sentence of a note that has all of them."""

MIN_SHARE = 0.6
"""The share of the words of an erased sentence that another one has if it repeats it."""

MIN_OWN_SHARE = 0.25
"""The share of its own words that a sentence has from the erased one. With less, the words only happen to stand in a
long text."""

MAX_UNIT_WORDS = 40
"""A text with no more words is compared as a whole too: it may have other ends of sentences than its copy."""

_WORD = re.compile(r"\w+")
_SENTENCE_END = re.compile(r"(?<=[.!?…。！？])\s+|\n+")


@dataclass(frozen=True, slots=True)
class Echoes:
    """The echoes of messages, by what they are; the keys are those of the store. ``notes`` are sentences without a full
    stop."""

    messages: dict[int, EchoKind] = field(default_factory=dict)
    summaries: tuple[int, ...] = ()
    facts: tuple[int, ...] = ()
    blocks: tuple[BlockErasure, ...] = ()
    notes: tuple[str, ...] = ()

    def only(self, ids: Collection[str]) -> Echoes:
        """Those of the echoes that have one of these public ids."""
        return Echoes(
            {key: kind for key, kind in self.messages.items() if messages.message_id(key) in ids},
            tuple(key for key in self.summaries if summaries.public_id(key) in ids),
            tuple(key for key in self.facts if facts.fact_id(key) in ids),
            tuple(block for block in self.blocks if block.id in ids),
        )

    def listed(self) -> tuple[Echo, ...]:
        """The echoes with their public ids."""
        return (
            *(Echo(kind, messages.message_id(key)) for key, kind in sorted(self.messages.items())),
            *(Echo("summary", summaries.public_id(key)) for key in self.summaries),
            *(Echo("fact", facts.fact_id(key)) for key in self.facts),
            *(Echo("block", block.id) for block in self.blocks),
        )


def find_echoes(db: sqlite3.Connection, scope: Scope, erased: Sequence[int]) -> Echoes:
    """Find what else in a scope says what messages say that are about to go. A placeholder or a notice of an app says
    nothing."""
    erased_keys = set(erased)
    notices = _notices(db, erased)
    index = _RareWords(db, [key for key in _without_placeholders(db, erased) if key not in notices])
    copies = _variants(db, [*index.distinctive, *index.frequent]) | _copies(db, scope, index.frequent[:MAX_PHRASES])
    found: dict[int, EchoKind] = dict.fromkeys(sorted(copies - erased_keys), "copy")
    owner = (scope.user_id, scope.namespace)
    candidates = db.execute(
        "SELECT m.id, m.role, m.text FROM message m JOIN session s ON s.id = m.session_id"
        f" WHERE m.id IN {JSON_KEYS_SQL} AND s.user_id = ? AND s.namespace = ?",
        (json_keys(index.messages - erased_keys - found.keys()), *owner),
    )
    archived = ((key, role, text) for key, role, text in archive.texts(db, scope) if key not in erased_keys)
    for key, role, text in chain(candidates, index.with_a_rare_word(archived)):
        if key not in found and index.is_echoed_by(text):
            found[key] = "answer" if role == "assistant" else "repetition"
    notes = _notes(index, len(erased), len(found))
    found = dict(list(found.items())[:MAX_ECHOES])
    gone = erased_keys | found.keys()
    summary_rows = db.execute(
        "SELECT u.id, u.text FROM summary u JOIN session s ON s.id = u.session_id"
        " WHERE s.user_id = ? AND s.namespace = ?",
        owner,
    )
    # What the person added or confirmed stays without evidence; its value is what it says.
    fact_rows = db.execute("SELECT id, value FROM fact WHERE user_id = ? AND namespace = ? AND decided", owner)
    return Echoes(
        found,
        _without_covering(db, (key for key, text in summary_rows if index.is_echoed_by(text)), gone),
        tuple(key for key, value in fact_rows if index.has_all_of(value)),
        tuple(block_erasure.sentences_that_say(db, scope, index.is_noted_by)),
        notes,
    )


def _notes(index: _RareWords, erased: int, found: int) -> tuple[str, ...]:
    """What was not looked for, and what is not listed."""
    notes = []
    if short := len(index.short):
        what = "it" if erased == 1 else f"{short:,} of the {erased:,} messages"
        notes.append(
            f"Messages that repeat {what} were not looked for: {'it is' if short == 1 else 'they are'} too short to be"
            f" recognised in others, with fewer than {MIN_SHARED_WORDS} words that say something"
        )
    if frequent := len(index.frequent):
        of = "" if erased == 1 else f" of {frequent:,} of {erased:,} messages"
        why = f"all words of {'it' if frequent == 1 else 'them'} are frequent"
        why += ", or too many to be looked up" if index.is_cut else ""
        notes.append(f"Only copies of the whole were looked for{of}: {why}")
    if found > MAX_ECHOES:
        notes.append(f"{found:,} other messages repeat it, of which the first {MAX_ECHOES} are listed")
    return tuple(notes)


def _copies(db: sqlite3.Connection, scope: Scope, keys: Sequence[int]) -> set[int]:
    """The messages of a scope with the same words in the same order as one of these, also before they are indexed."""
    found: set[int] = set()
    for key, text in db.execute(f"SELECT id, text FROM message WHERE id IN {JSON_KEYS_SQL}", (json_keys(keys),)):
        words = list(_words(text))
        rows = db.execute(
            "SELECT m.id, m.text FROM message_fts CROSS JOIN message m ON m.id = message_fts.rowid"
            " JOIN session s ON s.id = m.session_id WHERE message_fts MATCH ? AND m.id <> ? AND s.user_id = ?"
            " AND s.namespace = ?",
            (lexical.quote_fts(" ".join(words[:MAX_PHRASE_WORDS])), key, scope.user_id, scope.namespace),
        )
        found.update(other for other, copied in rows if list(_words(copied)) == words)
    return found


def _without_placeholders(db: sqlite3.Connection, keys: Sequence[int]) -> Iterator[int]:
    beginnings = messages.excerpts(db, keys, MAX_CHARACTERS + 1)
    return (key for key in keys if key not in beginnings or placeholder_kind(beginnings[key].excerpt) is None)


def _notices(db: sqlite3.Connection, keys: Sequence[int]) -> set[int]:
    """What apps wrote among these messages: those of the system in chats among people, which are no pages of documents.
    In a talk with an assistant they are a person's instructions."""
    written = db.execute(
        "SELECT m.id, m.session_id FROM message m JOIN session s ON s.id = m.session_id"
        f" WHERE m.id IN {JSON_KEYS_SQL} AND m.role = 'system' AND s.format <> ?"
        " AND NOT EXISTS (SELECT 1 FROM document_page p WHERE p.message_id = m.id)",
        (json_keys(keys), LOCAL),
    ).fetchall()
    assisted = db.execute(
        "SELECT value FROM json_each(?) one WHERE EXISTS (SELECT 1 FROM message WHERE session_id = one.value"
        " AND role = 'assistant')",
        (json_keys({session for _, session in written}),),
    )
    with_assistant = {session for (session,) in assisted}
    return {key for key, session in written if session not in with_assistant}


def _variants(db: sqlite3.Connection, keys: Collection[int]) -> set[int]:
    """Messages that were linked with these as saying the same in the same or nearly the same words."""
    rows = db.execute(
        "SELECT message_id FROM variant WHERE how <> 'meaning' AND memory IN"
        f" (SELECT memory FROM variant WHERE message_id IN {JSON_KEYS_SQL})",
        (json_keys(keys),),
    )
    return {key for (key,) in rows}


def _without_covering(db: sqlite3.Connection, keys: Iterable[int], messages: Collection[int]) -> tuple[int, ...]:
    """The summaries without those that go by themselves, because a message goes that they cover."""
    rows = db.execute(
        f"SELECT u.id FROM summary u WHERE u.id IN {JSON_KEYS_SQL} AND NOT EXISTS (SELECT 1 FROM message m"
        f" WHERE m.id IN {JSON_KEYS_SQL} AND m.session_id = u.session_id"
        " AND (m.order_at, m.position, m.id) >= (u.first_order, u.first_position, u.first_id)"
        " AND (m.order_at, m.position, m.id) <= (u.last_order, u.last_position, u.last_id)) ORDER BY u.id",
        (json_keys(keys), json_keys(messages)),
    )
    return tuple(key for (key,) in rows)


class _RareWords:
    """The rare words of the erased messages, and what has them.

    Attributes:
        messages: Those that have a rare word.
        distinctive: The erased messages that another one can be recognised to repeat.
        frequent: Those of enough words, of which none is rare: only a copy of the whole can be recognised.
        short: Those of too few words.
        is_cut: Whether there were more words than are looked up.
    """

    def __init__(self, db: sqlite3.Connection, erased: Sequence[int]) -> None:
        self.messages: set[int] = set()
        self.distinctive: list[int] = []
        self.frequent: list[int] = []
        self.short: list[int] = []
        self.is_cut = False
        self._words_by_text: list[Set[str]] = []
        self._texts_by_stem: dict[str, list[int]] = defaultdict(list)
        self._units: list[Set[str]] = []
        self._units_by_stem: dict[str, list[int]] = defaultdict(list)
        counted: dict[str, bool] = {}
        erased_keys = set(erased)
        rows = db.execute(f"SELECT id, text FROM message WHERE id IN {JSON_KEYS_SQL}", (json_keys(erased),))
        for key, text in rows:
            words = _content_words(text)
            for stem, word in words.items():
                if stem not in counted and len(counted) < MAX_WORDS:
                    counted[stem] = self._is_rare(db, word, erased_keys)
                self.is_cut = self.is_cut or stem not in counted
            rare = [stem for stem in words if counted.get(stem)]
            if rare:
                for stem in rare:
                    self._texts_by_stem[stem].append(len(self._words_by_text))
                self._words_by_text.append(words.keys())
                units = [unit for unit in _units(text, words.keys()) if _is_distinctive(unit)]
                for unit in units:
                    for stem in unit & set(rare):
                        self._units_by_stem[stem].append(len(self._units))
                    self._units.append(unit)
            if not _is_distinctive(words.keys()):
                self.short.append(key)
            elif rare:
                self.distinctive.append(key)
            else:
                self.frequent.append(key)

    def _is_rare(self, db: sqlite3.Connection, word: str, erased: Set[int]) -> bool:
        query = "SELECT rowid FROM message_fts WHERE message_fts MATCH ? LIMIT ?"
        limit = MAX_RARE_MESSAGES + min(len(erased), MAX_ERASED_POSTINGS) + 1
        found = {key for (key,) in db.execute(query, (lexical.quote_fts(split_unspaced(word)), limit))}
        others = found - erased
        if len(found) == limit or len(others) > MAX_RARE_MESSAGES:
            return False
        self.messages |= others
        return True

    def with_a_rare_word(self, rows: Iterable[tuple[int, Role, str]]) -> Iterator[tuple[int, Role, str]]:
        """The rows whose text has a rare word, for texts that the full text does not have."""
        finder = TextFinder(self._texts_by_stem)
        for key, role, text in rows:
            if next(finder.find(lexical.fold(text).encode("utf-8", "surrogatepass")), None) is not None:
                yield key, role, text

    def is_echoed_by(self, text: str) -> bool:
        """Whether a text, or a sentence of it, repeats one of the erased messages or a sentence of it."""
        return any(map(self._is_echo, _units(text, _content_words(text).keys())))

    def is_noted_by(self, sentence: str) -> bool:
        """Whether a sentence of a note repeats one of the erased messages, has no words but those of one ("Allergies:
        penicillin" counts without what is before the colon, too), or has all words of one."""
        if sentence.rstrip().endswith(":"):
            return False  # a heading, which says nothing alone
        words = _content_words(sentence).keys()
        return (
            self.is_echoed_by(sentence)
            or self.has_all_of(sentence)
            or self.has_all_of(sentence.partition(": ")[2])
            or any(
                len(self._words_by_text[text]) >= MIN_NOTED_WORDS and self._words_by_text[text] <= words
                for word in words
                for text in self._texts_by_stem.get(word, ())
            )
        )

    def has_all_of(self, value: str) -> bool:
        """Whether one of the erased messages has all words of a value, a rare one among them."""
        words = _content_words(value).keys()
        texts = {text for word in words for text in self._texts_by_stem.get(word, ())}
        return any(words <= self._words_by_text[text] for text in texts)

    def _is_echo(self, words: Set[str]) -> bool:
        units = {unit for word in words for unit in self._units_by_stem.get(word, ())}
        return any(_repeats(words, self._units[unit]) for unit in units)


def _repeats(words: Set[str], erased: Set[str]) -> bool:
    shared = words & erased
    return (
        _is_distinctive(shared) and len(shared) >= MIN_SHARE * len(erased) and len(shared) >= MIN_OWN_SHARE * len(words)
    )


def _is_distinctive(words: Set[str]) -> bool:
    """Whether words are enough to recognise what has them."""
    has_number = any(sum(map(str.isdigit, word)) >= MIN_DIGITS for word in words)
    telling = [word for word in words if not (word.isdigit() and len(word) < MIN_DIGITS)]  # "10" and "04" are in much
    return len(telling) >= (MIN_SHARED_NUMBERED_WORDS if has_number else MIN_SHARED_WORDS)


def _units(text: str, words: Set[str]) -> list[Set[str]]:
    """The words of each sentence of a text, and ``words``, those of the whole, if it is short."""
    sentences = [_content_words(sentence).keys() for sentence in _SENTENCE_END.split(text)]
    return [*sentences, *([words] if len(sentences) > 1 and len(words) <= MAX_UNIT_WORDS else [])]


def _content_words(text: str) -> dict[str, str]:
    """The words of a text that say something, by what is compared of them."""
    return {lexical.stem(word): word for word in _words(text) if word not in STOP_WORDS}


def _words(text: str) -> Iterator[str]:
    return (match[0] for match in _WORD.finditer(split_unspaced(lexical.fold(text))))
