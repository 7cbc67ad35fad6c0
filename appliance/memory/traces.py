"""The search for traces of an erasure: every file of the home is read for pieces of the erased texts, and the full text
is asked for their words.

What something that stays still says is no trace: ``still_said`` is the one place that lists it. The report states how
much was sought, because texts may be too short to be told apart, or too many.
"""

from __future__ import annotations

import os
import re
import sqlite3
import stat
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain, islice
from pathlib import Path

from appliance import paths
from appliance.memory import erased_texts
from appliance.memory.erased_texts import ErasedTexts
from appliance.paths import Home
from appliance.store import lexical, messages, watched_files
from appliance.store.file_search import TextFinder, data_bytes, find_in_file
from appliance.store.room import file_errors
from appliance.store.variants import normalize_text
from appliance.store.watched_files import NAMED_SQL
from appliance.types import ErasureReport

PIECE_CHARACTERS = 32
"""Characters of a piece: long enough to occur nowhere else, short enough to lie within one page of the database."""

MIN_TEXT_BYTES = 12
"""A trace of a shorter text ("ok, thanks") could not be told from another message's."""

MIN_NAME_BYTES = 6
"""A name is sought from this length on, if it is more than one word: a single one may stand in any file."""

MIN_DISTINCT_CHARACTERS = 6
"""A piece with fewer different characters, such as a ruled line, is no evidence of a text."""

PIECES_A_PASS = 20_000
"""Pieces that are sought in one pass over the files: their automaton takes about 50 MB."""

MAX_SCAN_BYTES = 2_000_000_000
"""Bytes to be searched, files times passes: half a minute. It bounds how many pieces are sought."""

MAX_WORDS = 20_000
"""Words that the full text is asked for, which takes up to 5 seconds."""

MAX_NAMED_MESSAGES = 10
"""Messages that are named as saying what was erased."""
MAX_SOUGHT_MESSAGES = 1_000
MAX_WATCHED_BYTES = 32_000_000
"""Messages that are sought in watched files, and bytes of those, the smallest first: a tenth of a second."""

_WORD = re.compile(r"\w{3,}")


def find_traces(db: sqlite3.Connection, home: Home, erased: ErasedTexts) -> ErasureReport:
    """Search every file of the home, and the full text, for what an erasure took away.

    Raises:
        HomeError: A file can't be read.
    """
    with file_errors(home.root, "searched for traces of what was forgotten"):
        return _find_traces(db, home, erased)


def _find_traces(db: sqlite3.Connection, home: Home, erased: ErasedTexts) -> ErasureReport:
    # Copies of attachments that are still there belong to messages that stay.
    left_out = {home.erasing, home.attachments}
    sizes = {path: data_bytes(path) for path in paths.files(home.root) if left_out.isdisjoint(path.parents)}
    pieces = distinctive_pieces(erased)
    max_pieces = PIECES_A_PASS * max(1, MAX_SCAN_BYTES // max(sum(sizes.values()), 1))
    sought = list(pieces)[:: -(-len(pieces) // max_pieces) or 1]
    found: dict[Path, set[str]] = {path: set() for path in sizes}
    frames: dict[Path, int] = {}
    for batch in _passes(sought):
        finder = TextFinder(batch)
        for path in sizes:
            in_file, frames[path] = find_in_file(path, finder)
            found[path] |= in_file
    inbox = {path for path in sizes if home.inbox in path.parents}
    still = _still_said(db, {piece for path in found.keys() - inbox for piece in found[path]})
    repeated = _repeated(len(erased.texts), sought, pieces, still)
    words = _words([*erased.names, *erased.texts])
    traces = {str(path) for path in found.keys() - inbox if found[path] - still}
    if lexical.finds_missing_rows(db, words):
        traces.add(str(home.database))
    return ErasureReport(
        files=sum(size > 0 for size in sizes.values()),
        bytes=sum(sizes.values()),
        texts=len({number for piece in sought for number in pieces[piece] if number < len(erased.texts)}),
        names=len({number for piece in sought for number in pieces[piece] if number >= len(erased.texts)}),
        traces=tuple(sorted(traces)),
        yours=tuple(sorted(str(path) for path in inbox if found[path])),
        searched=True,
        erased_texts=erased.count,
        pieces=len(sought),
        words=len(words),
        frames=sum(frames.values()),
        repeated=len(repeated),
        repeated_by=_messages_that_say(db, repeated),
    )


def other_files_with(db: sqlite3.Connection, keys: Sequence[int], known: Collection[str]) -> list[str]:
    """Return watched files, besides the ``known`` ones, in which the texts of these messages stand now: of files that
    no message was read from, such as an export for reading, nothing else tells. What is long or large is not read."""
    pieces = distinctive_pieces(erased_texts.read(db, keys[:MAX_SOUGHT_MESSAGES], 0))
    files = dict(_watched_sizes(db, known)) if pieces else {}
    finder, found, left = TextFinder([*pieces][:PIECES_A_PASS]) if files else None, [], MAX_WATCHED_BYTES
    for path in sorted(files, key=files.__getitem__):
        if finder is None or (left := left - files[path]) < 0:
            break
        with suppress(OSError):
            if find_in_file(path, finder)[0]:
                found.append(paths.display_path(path))
    return found


def _watched_sizes(db: sqlite3.Connection, known: Collection[str]) -> Iterator[tuple[Path, int]]:
    named = {*known, *(str(parent) for path in known for parent in Path(path).parents)}  # a zip by its documents
    for file in watched_files.entries(db):
        with suppress(OSError):
            if paths.display_path(file.path) not in named and stat.S_ISREG((found := file.path.stat()).st_mode):
                yield file.path, found.st_size


def _repeated(
    texts: int, sought: Sequence[str], pieces: Mapping[str, Sequence[int]], still: Collection[str]
) -> dict[int, set[str]]:
    """The texts that something which stays says from end to end: their numbers, each with its pieces."""
    partly = {number for piece in sought if piece not in still for number in pieces[piece]}
    wholly: dict[int, set[str]] = {}
    for piece in sought:
        for number in pieces[piece] if piece in still else ():
            if number < texts and number not in partly:
                wholly.setdefault(number, set()).add(piece)
    return wholly


def _messages_that_say(db: sqlite3.Connection, texts: Mapping[int, set[str]]) -> tuple[str, ...]:
    """The ids of the first messages that have all pieces of one of the texts."""
    said: dict[int, set[str]] = {}
    for batch in _passes(sorted(set().union(*texts.values()))):
        finder = TextFinder(batch)
        for key, text in db.execute("SELECT id, text FROM message"):
            if found := set(finder.find(text.encode("utf-8", "surrogatepass"))):
                said.setdefault(key, set()).update(found)
    those = (key for key in sorted(said) if any(pieces <= said[key] for pieces in texts.values()))
    return tuple(messages.message_id(key) for key in islice(those, MAX_NAMED_MESSAGES))


def _passes(pieces: Sequence[str]) -> Iterator[Sequence[str]]:
    for start in range(0, len(pieces), PIECES_A_PASS):
        yield pieces[start : start + PIECES_A_PASS]


def distinctive_pieces(erased: ErasedTexts) -> dict[str, list[int]]:
    """Return the pieces by which texts and names are recognised, each with the numbers of those that it is of: texts
    first, then names. The pieces cover all of a text but for what many texts share."""
    pieces: dict[str, list[int]] = {}
    for number, text in enumerate((*erased.texts, *erased.names)):
        if _is_distinctive(text, is_name=number >= len(erased.texts)):
            for piece in _pieces(text):
                if len(set(piece)) >= min(MIN_DISTINCT_CHARACTERS, len(text) - 2):
                    pieces.setdefault(piece, []).append(number)
    return pieces


def _is_distinctive(text: str, *, is_name: bool) -> bool:
    size = len(text.encode("utf-8", "surrogatepass"))
    return size >= MIN_NAME_BYTES and not text.isalnum() if is_name else size >= MIN_TEXT_BYTES


def _pieces(text: str) -> Iterator[str]:
    last = max(0, len(text) - PIECE_CHARACTERS)
    for start in (*range(0, last, PIECE_CHARACTERS), last):
        # A summary writes something else before and after what it quotes, so that a space there may be another one.
        yield text[start : start + PIECE_CHARACTERS].strip()


def _words(texts: Iterable[str]) -> list[str]:
    words: dict[str, None] = {}
    for text in texts:
        words.update(dict.fromkeys(_WORD.findall(text.casefold())))
        if len(words) >= MAX_WORDS:
            break
    return list(words)[:MAX_WORDS]


def still_said(db: sqlite3.Connection) -> Iterator[str]:
    """Yield every text of the memory that stays because somebody said or set it. Summaries are made of messages and go
    with them, so that none of them is here."""
    for query in (
        "SELECT text, metadata, author FROM message",
        "SELECT text, metadata, author FROM revision",
        "SELECT title, metadata, external_id FROM session",
        "SELECT subject, attribute, value FROM fact_decision",
        "SELECT label, description, NULL FROM core_block",
        "SELECT value, NULL, NULL FROM core_block_revision",
        "SELECT value, NULL, NULL FROM profile_identity",
        "SELECT identities, others, name FROM person_decision",
        "SELECT path, NULL, NULL FROM source",
        "SELECT path, NULL, NULL FROM unfinished_import",
        f"SELECT path, reason, NULL FROM file WHERE {NAMED_SQL}",
    ):
        for row in db.execute(query):
            yield from (os.fsdecode(value) for value in row if value)


def _still_said(db: sqlite3.Connection, pieces: set[str]) -> set[str]:
    """Those of the pieces that something which stays says, as it is written or in a form that is derived from it."""
    said = _said(pieces, lambda: still_said(db))
    # Names of people, words of the full text and more are stored without case and accents: "andre_" of "Andre_Gon".
    return said | _said(pieces - said, lambda: chain.from_iterable(map(_folded, still_said(db))))


def _folded(text: str) -> set[str]:
    return {normalize_text(text), lexical.fold(text), lexical.fold_marks(text)}


def _said(pieces: set[str], texts: Callable[[], Iterable[str]]) -> set[str]:
    """Those of the pieces that occur in any of the texts, which are read once for each pass."""
    said: set[str] = set()
    for batch in _passes(sorted(pieces)):
        finder = TextFinder(batch)
        for text in texts():
            said.update(finder.find(text.encode("utf-8", "surrogatepass")))
    return said
