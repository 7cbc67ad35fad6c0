"""Questions about a person's own history whose answers are known without human judgement and without a model.

The three kinds are measured separately, because each has its own bias:

``asked``      Repeats a question of the history; the message that answered it directly is to be found. The question
               itself and its copies count neither as hits nor as errors and are removed from the ranking. The question
               is a neighbour of its answer, which favours systems that use neighbours.
``phrase``     Four consecutive words that only one message of the history has. This favours full text.
``keywords``   Four of the rarer half of a passage's words, in another order, as a person might remember them. No word
               is paraphrased, so this favours full text too.

The questions therefore compare a system before and after a change rather than different systems. A question is stored
as ids and offsets and rebuilt from the messages, so that erased text is gone from the questions too.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from hashlib import blake2b
from heapq import nsmallest
from itertools import islice, pairwise

from appliance.bench.tokenization import TextToken, content_words, normalize_text, normalized_words, tokenize
from appliance.client import Appliance
from appliance.errors import NotFound
from appliance.ingest.normalize import is_conversational
from appliance.lazy_dataclasses import dataclass
from appliance.types import Message

KINDS = ("asked", "phrase", "keywords")

PHRASE_WORDS = 4
KEYWORD_COUNT = 4
"""Enough to identify a message, few enough to remember."""

PASSAGE_WORDS = 60
"""The keywords of a long message come from one passage of it, as a person would remember them."""

MIN_CONTENT_WORDS = 2 * KEYWORD_COUNT
"""The content words that a message needs for phrases and keywords; half of them are dropped."""

MIN_QUESTION_CONTENT_WORDS, MAX_QUESTION_WORDS = 3, 60
"""A question is usable if it says what it is about ("and then?" does not) and is not a pasted page."""

MIN_ANSWER_CONTENT_WORDS = 3
"""An answer with fewer is like any other "yes, of course"."""

CANDIDATE_FACTOR = 3
"""Candidates per needed question, because not every message has a phrase that only it contains."""

POOL_FACTOR = 50
"""The rows held at once per needed candidate, whatever the size of the history."""

_QUESTION_MARK = re.compile(r"[?？؟]\W*$")


@dataclass(frozen=True, slots=True)
class KnownItem:
    """A question as it is stored.

    Attributes:
        kind: One of ``KINDS``.
        message: The id of the message to find.
        asked: The id of the message with the question, for the kind ``asked``.
        spans: The offsets of the query's words in the text that it is made from, in the query's order.
        characters: The length of that text. If it differs now, the message was edited and the question is invalid.
    """

    kind: str
    message: str
    asked: str | None
    spans: tuple[tuple[int, int], ...]
    characters: int

    @property
    def name(self) -> str:
        """Identifies the question across runs."""
        spans = ",".join(f"{start}-{end}" for start, end in self.spans)
        return " ".join((self.kind, self.message, self.asked or self.message, spans))


@dataclass(frozen=True, slots=True)
class KnownItemQuestion:
    """A question with its query, the text to find, and the question's own text, which counts neither as hit nor as
    error."""

    item: KnownItem
    query: str
    answer: str
    question_text: str | None


@dataclass(frozen=True, slots=True)
class _ItemCandidate:
    digest: bytes
    message_id: str
    question_id: str | None


_Row = tuple[int, bytes, int, _ItemCandidate]
"""A candidate with its rank in its session, its digest, and the position of its session in time."""


def build_question(memory: Appliance, item: KnownItem) -> KnownItemQuestion | None:
    """Build the query of a stored question; None if one of its messages is gone or was edited."""
    try:
        target = memory.message(item.message)
        source = memory.message(item.asked) if item.asked else target
    except NotFound:
        return None
    if len(source.text) != item.characters or target.id != item.message or source.id != (item.asked or item.message):
        return None
    query = " ".join(" ".join(source.text[start:end].split()) for start, end in item.spans)
    return KnownItemQuestion(item, query, target.text, source.text if item.asked else None)


def select_questions(
    memory: Appliance, user: str | None, previous: Sequence[KnownItemQuestion], counts_by_kind: Mapping[str, int]
) -> list[KnownItemQuestion]:
    """Select the stored questions that are still valid, then new ones up to the number for each kind.

    The selection is deterministic and covers all sessions and times evenly. It reads the user's messages once, or twice
    if new questions are needed.
    """
    previous_counts = Counter(posed.item.kind for posed in previous)
    candidate_counts = {
        kind: CANDIDATE_FACTOR * (number - previous_counts[kind])
        for kind, number in counts_by_kind.items()
        if number > previous_counts[kind]
    }
    used = {(posed.item.kind, posed.item.message) for posed in previous}
    sources_by_kind = {
        kind: [(candidate, memory.message(candidate.question_id or candidate.message_id)) for candidate in candidates]
        for kind, candidates in _candidates_by_kind(memory, user, candidate_counts, used).items()
    }
    counts = _count_occurrences(memory, user, previous, sources_by_kind)
    selected = [
        posed
        for posed in previous
        if posed.item.kind != "phrase" or counts[" ".join(normalized_words(posed.query))] == 1
    ]
    for kind, sources in sources_by_kind.items():
        needed = counts_by_kind[kind] - sum(posed.item.kind == kind for posed in selected)
        built = (_build_from_candidate(memory, kind, candidate, source, counts) for candidate, source in sources)
        selected += islice((posed for posed in built if posed is not None), needed)
    return selected


def _build_from_candidate(
    memory: Appliance, kind: str, candidate: _ItemCandidate, source: Message, counts: Mapping[str, int]
) -> KnownItemQuestion | None:
    spans = _spans(kind, source, counts)
    if spans is None:
        return None
    return build_question(memory, KnownItem(kind, candidate.message_id, candidate.question_id, spans, len(source.text)))


# --- which messages ---------------------------------------------------------------------------------------


def conversational_messages(memory: Appliance, user: str | None) -> Iterator[list[Message]]:
    """The conversational messages of each session, oldest first, in the default namespace, as in a search."""
    sessions = memory.sessions.list(user_id=user)
    for info in sorted(sessions, key=lambda info: (info.first_at or info.created_at, info.external_id)):
        yield [message for message in memory.sessions.messages(info.id) if is_conversational(message)]


def _candidates_by_kind(
    memory: Appliance, user: str | None, counts_by_kind: Mapping[str, int], used: Collection[tuple[str, str]]
) -> dict[str, list[_ItemCandidate]]:
    """The candidates of each kind, best first."""
    if not counts_by_kind:
        return {}
    rows: dict[str, list[_Row]] = {kind: [] for kind in counts_by_kind}
    for session_number, messages in enumerate(conversational_messages(memory, user)):
        by_kind: dict[str, list[_ItemCandidate]] = {kind: [] for kind in counts_by_kind}
        for kind, candidate in _session_candidates(messages):
            if kind in by_kind and (kind, candidate.message_id) not in used:
                by_kind[kind].append(candidate)
        for kind, candidates in by_kind.items():
            session_best = nsmallest(counts_by_kind[kind], candidates, key=lambda c: c.digest)
            rows[kind] += [(turn, c.digest, session_number, c) for turn, c in enumerate(session_best)]
            if len(rows[kind]) > 2 * POOL_FACTOR * counts_by_kind[kind]:
                rows[kind] = nsmallest(POOL_FACTOR * counts_by_kind[kind], rows[kind], key=lambda row: row[:3])
    return {kind: _sample_evenly(kind_rows, counts_by_kind[kind]) for kind, kind_rows in rows.items()}


def _sample_evenly(rows: Sequence[_Row], count: int) -> list[_ItemCandidate]:
    """Sample one candidate of each session, then a second of each, and so on. If there are more sessions than needed,
    they are divided into equal parts by time, and each part yields one."""
    chosen: list[_ItemCandidate] = []
    columns: dict[int, list[_Row]] = {}
    for row in sorted(rows, key=lambda row: (row[0], row[2])):
        columns.setdefault(row[0], []).append(row)
    for column in columns.values():
        parts = min(count - len(chosen), len(column))
        bounds = [len(column) * part // parts for part in range(parts + 1)] if parts else []
        picked = [min(column[a:b], key=lambda row: row[1])[3] for a, b in pairwise(bounds)]
        # Ordered by digest, so that the first few come from any time.
        chosen += sorted(picked, key=lambda candidate: candidate.digest)
    return chosen


def _session_candidates(messages: Sequence[Message]) -> Iterator[tuple[str, _ItemCandidate]]:
    previous: Message | None = None
    previous_counts: tuple[int, int] = (0, 0)
    for message in messages:
        plain = normalized_words(message.text)
        content_count = len(content_words(plain))
        if content_count >= MIN_CONTENT_WORDS:
            for kind in ("phrase", "keywords"):
                yield kind, _ItemCandidate(_digest(kind, message), message.id, None)
        if (
            previous is not None
            and content_count >= MIN_ANSWER_CONTENT_WORDS
            and _is_answer(previous, previous_counts, message)
        ):
            yield "asked", _ItemCandidate(_digest("asked", previous), message.id, previous.id)
        previous, previous_counts = message, (content_count, len(plain))


def _is_answer(question: Message, word_counts: tuple[int, int], answer: Message) -> bool:
    """Whether a message is another author's direct reply to a person's question."""
    return (
        question.role == "user"
        and (question.role, question.author) != (answer.role, answer.author)
        and not (question.metadata.get("branch") or answer.metadata.get("branch"))
        and word_counts[0] >= MIN_QUESTION_CONTENT_WORDS
        and word_counts[1] <= MAX_QUESTION_WORDS
        and _QUESTION_MARK.search(question.text) is not None
    )


def _digest(salt: str, message: Message) -> bytes:
    """A digest of the content, so that the same history gives the same questions in any home."""
    content = "\x1f".join((salt, message.external_id, message.text))
    return blake2b(content.encode("utf-8", "surrogatepass"), digest_size=8).digest()


# --- which words ------------------------------------------------------------------------------------------


def _count_occurrences(
    memory: Appliance,
    user: str | None,
    previous: Collection[KnownItemQuestion],
    sources_by_kind: Mapping[str, Sequence[tuple[_ItemCandidate, Message]]],
) -> Counter[str]:
    """In how many messages each phrase, word and question occurs that the selection depends on."""
    texts = {kind: [source.text for _, source in sources] for kind, sources in sources_by_kind.items()}
    question_texts = {normalize_text(text) for text in texts.get("asked", ())}
    phrases = {" ".join(normalized_words(posed.query)) for posed in previous if posed.item.kind == "phrase"}
    phrases |= {phrase for text in texts.get("phrase", ()) for phrase, _ in _phrases(tokenize(text))}
    first_words = {phrase.partition(" ")[0] for phrase in phrases}
    single = {word for text in texts.get("keywords", ()) for word in normalized_words(text)}
    counts: Counter[str] = Counter()
    if not question_texts | phrases | single:
        return counts
    for messages in conversational_messages(memory, user):
        for message in messages:
            plain = normalized_words(message.text)
            runs = {
                " ".join(plain[position : position + PHRASE_WORDS])
                for position, word in enumerate(plain)
                if word in first_words
            }
            counts.update(runs & phrases)
            counts.update(map(_word_key, single.intersection(plain)))
            if question_texts and (text := normalize_text(message.text)) in question_texts:
                counts[_question_key(text)] += 1
    return counts


def _word_key(plain: str) -> str:
    return f"word\n{plain}"  # no phrase and no word contains a line break


def _question_key(text: str) -> str:
    return f"question\n{text}"


def _spans(kind: str, source: Message, counts: Mapping[str, int]) -> tuple[tuple[int, int], ...] | None:
    """The offsets of a question's words; None if the message is not suitable for this kind."""
    if kind == "asked":
        # A question that was asked more than once may have other, unjudged answers.
        return ((0, len(source.text)),) if counts[_question_key(normalize_text(source.text))] == 1 else None
    tokens = tokenize(source.text)
    if kind == "phrase":
        unique_spans = [span for phrase, span in _phrases(tokens) if counts[phrase] == 1]
        return (min(unique_spans, key=lambda span: _order_key(source, span)),) if unique_spans else None
    return _keywords(source, tokens, counts)


def _phrases(tokens: Sequence[TextToken]) -> Iterator[tuple[str, tuple[int, int]]]:
    """The runs of consecutive words with at least two content words."""
    for first in range(len(tokens) - PHRASE_WORDS + 1):
        part = tokens[first : first + PHRASE_WORDS]
        plain = [word.normalized for word in part]
        if len(content_words(plain)) > 1:
            yield " ".join(plain), (part[0].start, part[-1].end)


def _keywords(
    source: Message, tokens: Sequence[TextToken], counts: Mapping[str, int]
) -> tuple[tuple[int, int], ...] | None:
    last_start = len(tokens) - PASSAGE_WORDS
    first = int.from_bytes(_digest("passage", source)) % (last_start + 1) if last_start > 0 else 0
    passage = {word.normalized: word for word in reversed(tokens[first : first + PASSAGE_WORDS])}
    content_tokens = [passage[plain] for plain in content_words(passage)]
    if len(content_tokens) < MIN_CONTENT_WORDS:
        return None
    content_tokens.sort(key=lambda word: (counts[_word_key(word.normalized)], word.normalized))
    rare = sorted((w.start, w.end) for w in content_tokens[: len(content_tokens) // 2])
    chosen = sorted(rare, key=lambda span: _order_key(source, span))[:KEYWORD_COUNT]
    if chosen == sorted(chosen):
        chosen.reverse()
    return tuple(chosen)


def _order_key(source: Message, span: tuple[int, int]) -> bytes:
    return _digest(f"{span[0]}-{span[1]}", source)
