"""Questions about a person's own history whose answer is known, without anybody judging and without a model.

Three kinds, each with a bias of its own, so that they are measured apart:

``asked``      A question that was asked is asked again, and the message that answered it at once is to be found.
               The question itself, and what says the same, is neither a hit nor an error: it is taken out of the
               ranking. What the memory knows from the question standing beside its answer counts, as it does when
               a person comes back to something; so this is kind to whatever looks at neighbours.
``phrase``     Four consecutive words that only one message of the history has. Kind to full text.
``keywords``   Four of the rarer half of a passage's words, in another order: what a person remembers of it. It is
               made by dropping words, no paraphrase, so it too is kind to full text.

What is compared is therefore the same system before and after a change, and only then one with another. A
question is kept as ids and offsets and remade from the messages, so that what is forgotten is gone here too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice, pairwise

from appliance.bench.wording import Word, folded, plain_words, telling, words
from appliance.engine import Engine
from appliance.errors import NotFound
from appliance.ingest.normalise import is_talk
from appliance.types import Message

KINDS = ("asked", "phrase", "keywords")

PHRASE_WORDS = 4
KEYWORDS = 4
"""Enough to mean one message, few enough to be remembered."""

PASSAGE_WORDS = 60
"""Keywords come from one place of a long message, as they would in a person's mind."""

TELLING_AT_LEAST = 2 * KEYWORDS
"""So many telling words has a message that phrases and keywords are taken from: half of them are dropped."""

QUESTION_TELLS, QUESTION_WORDS = 3, 60
"""A question that can be asked again says what it is about ("and then?" does not) and is no pasted page."""

ANSWER_TELLS = 3
"""Fewer can't be told from any other "yes, of course"."""

SPARE = 3
"""So many times the wanted number are looked at more closely: not every message has a phrase of its own."""

POOL = 50
"""So many times the wanted number of candidates are held at once, in a history of any size."""

_ASKS = re.compile(r"[?？؟]\W*$")


@dataclass(frozen=True, slots=True)
class Item:
    """A question as it is kept. ``message`` is to be found; ``asked`` is the message that asked, where the
    question is not made from the one that is to be found. ``spans`` are the offsets of the query's words in
    the text it is made from, in the query's order, and ``characters`` that text's length: where it has another
    one now, the message was edited and the question is no longer the same."""

    kind: str
    message: str
    asked: str | None
    spans: tuple[tuple[int, int], ...]
    characters: int

    @property
    def name(self) -> str:
        """What the question is called from run to run."""
        spans = ",".join(f"{start}-{end}" for start, end in self.spans)
        return " ".join((self.kind, self.message, self.asked or self.message, spans))


@dataclass(frozen=True, slots=True)
class Posed:
    """A question ready to be asked: its words, the text to be found, and the text that is no hit nor error."""

    item: Item
    query: str
    answer: str
    asked: str | None


@dataclass(frozen=True, slots=True)
class _Candidate:
    digest: bytes
    message: str
    asked: str | None


_Row = tuple[int, bytes, int, _Candidate]
"""A candidate with its turn in its session, its digest, and its session's place in time."""


def pose(memory: Engine, item: Item) -> Posed | None:
    """The question as it is asked today; None where a message of it is gone or was edited."""
    try:
        target = memory.message(item.message)
        source = memory.message(item.asked) if item.asked else target
    except NotFound:
        return None
    if (
        len(source.text) != item.characters
        or target.id != item.message
        or source.id != (item.asked or item.message)
    ):
        return None
    query = " ".join(" ".join(source.text[start:end].split()) for start, end in item.spans)
    return Posed(item, query, target.text, source.text if item.asked else None)


def make(memory: Engine, user: str | None, kept: Sequence[Posed], wanted: Mapping[str, int]) -> list[Posed]:
    """The kept questions that still hold, then new ones up to ``wanted`` of each kind: always the same for the
    same history, and from all sessions and times alike.

    Reads the user's messages once, or twice where new questions are needed.
    """
    have = Counter(posed.item.kind for posed in kept)
    lacks = {kind: SPARE * (number - have[kind]) for kind, number in wanted.items() if number > have[kind]}
    taken = {(posed.item.kind, posed.item.message) for posed in kept}
    closer = {
        kind: [(candidate, memory.message(candidate.asked or candidate.message)) for candidate in candidates]
        for kind, candidates in _spread(memory, user, lacks, taken).items()
    }
    counts = _counted(memory, user, kept, closer)
    found = [
        posed
        for posed in kept
        if posed.item.kind != "phrase" or counts[" ".join(plain_words(posed.query))] == 1
    ]
    for kind, sources in closer.items():
        space = wanted[kind] - sum(posed.item.kind == kind for posed in found)
        made = (_made(memory, kind, candidate, source, counts) for candidate, source in sources)
        found += islice((posed for posed in made if posed is not None), space)
    return found


def _made(
    memory: Engine, kind: str, candidate: _Candidate, source: Message, counts: Mapping[str, int]
) -> Posed | None:
    spans = _spans(kind, source, counts)
    if spans is None:
        return None
    return pose(memory, Item(kind, candidate.message, candidate.asked, spans, len(source.text)))


# --- which messages ---------------------------------------------------------------------------------------


def talk(memory: Engine, user: str | None) -> Iterator[list[Message]]:
    """What was said in the open, session by session, the oldest first; the plain namespace, as in a search."""
    listed = memory.sessions.list(user_id=user)
    for info in sorted(listed, key=lambda info: (info.first_at or info.created_at, info.external_id)):
        yield [message for message in memory.sessions.messages(info.id) if is_talk(message)]


def _spread(
    memory: Engine, user: str | None, wanted: Mapping[str, int], taken: Collection[tuple[str, str]]
) -> dict[str, list[_Candidate]]:
    """Candidates of each kind, the best first."""
    if not wanted:
        return {}
    rows: dict[str, list[_Row]] = {kind: [] for kind in wanted}
    for place, said in enumerate(talk(memory, user)):
        by_kind: dict[str, list[_Candidate]] = {kind: [] for kind in wanted}
        for kind, candidate in _candidates(said):
            if kind in by_kind and (kind, candidate.message) not in taken:
                by_kind[kind].append(candidate)
        for kind, candidates in by_kind.items():
            best = nsmallest(wanted[kind], candidates, key=lambda c: c.digest)
            rows[kind] += [(turn, c.digest, place, c) for turn, c in enumerate(best)]
            if len(rows[kind]) > 2 * POOL * wanted[kind]:
                rows[kind] = nsmallest(POOL * wanted[kind], rows[kind], key=lambda row: row[:3])
    return {kind: _alike(every, wanted[kind]) for kind, every in rows.items()}


def _alike(rows: Sequence[_Row], wanted: int) -> list[_Candidate]:
    """One of each session, then a second of each, and so on. Where more sessions have one than are needed,
    they are cut into equal parts by time, and each part gives one."""
    chosen: list[_Candidate] = []
    columns: dict[int, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: (row[0], row[2])):
        columns.setdefault(row[0], []).append(row)
    for column in columns.values():
        parts = min(wanted - len(chosen), len(column))
        cuts = [len(column) * part // parts for part in range(parts + 1)] if parts else []
        picked = [min(column[a:b], key=lambda row: row[1])[3] for a, b in pairwise(cuts)]
        # In the order of their digests, so that the first few of them are from any time.
        chosen += sorted(picked, key=lambda candidate: candidate.digest)
    return chosen


def _candidates(said: Sequence[Message]) -> Iterator[tuple[str, _Candidate]]:
    before: Message | None = None
    tells_before: tuple[int, int] = (0, 0)
    for message in said:
        found = plain_words(message.text)
        tells = len(telling(found))
        if tells >= TELLING_AT_LEAST:
            for kind in ("phrase", "keywords"):
                yield kind, _Candidate(_digest(kind, message), message.id, None)
        if before is not None and tells >= ANSWER_TELLS and _answers(before, tells_before, message):
            yield "asked", _Candidate(_digest("asked", before), message.id, before.id)
        before, tells_before = message, (tells, len(found))


def _answers(question: Message, tells: tuple[int, int], answer: Message) -> bool:
    """Whether somebody else said something to a person's question at once."""
    return (
        question.role == "user"
        and (question.role, question.author) != (answer.role, answer.author)
        and not (question.metadata.get("branch") or answer.metadata.get("branch"))
        and tells[0] >= QUESTION_TELLS
        and tells[1] <= QUESTION_WORDS
        and _ASKS.search(question.text) is not None
    )


def _digest(salt: str, message: Message) -> bytes:
    """From the content, so that the same history gives the same questions in any home."""
    content = "\x1f".join((salt, message.external_id, message.text))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()


# --- which words ------------------------------------------------------------------------------------------


def _counted(
    memory: Engine,
    user: str | None,
    kept: Collection[Posed],
    closer: Mapping[str, Sequence[tuple[_Candidate, Message]]],
) -> Counter[str]:
    """In how many messages each phrase, each word and each question occurs that this choice hangs on."""
    texts = {kind: [source.text for _, source in sources] for kind, sources in closer.items()}
    asked = {folded(text) for text in texts.get("asked", ())}
    phrases = {" ".join(plain_words(posed.query)) for posed in kept if posed.item.kind == "phrase"}
    phrases |= {phrase for text in texts.get("phrase", ()) for phrase, _ in _phrases(words(text))}
    begin = {phrase.partition(" ")[0] for phrase in phrases}
    single = {word for text in texts.get("keywords", ()) for word in plain_words(text)}
    counts: Counter[str] = Counter()
    if not asked | phrases | single:
        return counts
    for said in talk(memory, user):
        for message in said:
            found = plain_words(message.text)
            runs = {
                " ".join(found[place : place + PHRASE_WORDS])
                for place, word in enumerate(found)
                if word in begin
            }
            counts.update(runs & phrases)
            counts.update(map(_of_word, single.intersection(found)))
            if asked and (text := folded(message.text)) in asked:
                counts[_of_question(text)] += 1
    return counts


def _of_word(plain: str) -> str:
    return f"word\n{plain}"  # no phrase and no word holds a line's end


def _of_question(text: str) -> str:
    return f"question\n{text}"


def _spans(kind: str, source: Message, counts: Mapping[str, int]) -> tuple[tuple[int, int], ...] | None:
    """Where a question's words stand; None where the message makes no question of this kind."""
    if kind == "asked":
        # Asked more than once it may have other answers, which nobody has judged.
        return ((0, len(source.text)),) if counts[_of_question(folded(source.text))] == 1 else None
    found = words(source.text)
    if kind == "phrase":
        own = [span for phrase, span in _phrases(found) if counts[phrase] == 1]
        return (min(own, key=lambda span: _order(source, span)),) if own else None
    return _keywords(source, found, counts)


def _phrases(found: Sequence[Word]) -> Iterator[tuple[str, tuple[int, int]]]:
    """Consecutive words of which at least two tell something."""
    for first in range(len(found) - PHRASE_WORDS + 1):
        part = found[first : first + PHRASE_WORDS]
        plain = [word.plain for word in part]
        if len(telling(plain)) > 1:
            yield " ".join(plain), (part[0].start, part[-1].end)


def _keywords(
    source: Message, found: Sequence[Word], counts: Mapping[str, int]
) -> tuple[tuple[int, int], ...] | None:
    room = len(found) - PASSAGE_WORDS
    first = int.from_bytes(_digest("passage", source)) % (room + 1) if room > 0 else 0
    passage = {word.plain: word for word in reversed(found[first : first + PASSAGE_WORDS])}
    tells = [passage[plain] for plain in telling(passage)]
    if len(tells) < TELLING_AT_LEAST:
        return None
    tells.sort(key=lambda word: (counts[_of_word(word.plain)], word.plain))
    rare = sorted((w.start, w.end) for w in tells[: len(tells) // 2])
    chosen = sorted(rare, key=lambda span: _order(source, span))[:KEYWORDS]
    if chosen == sorted(chosen):
        chosen.reverse()
    return tuple(chosen)


def _order(source: Message, span: tuple[int, int]) -> bytes:
    return _digest(f"{span[0]}-{span[1]}", source)
