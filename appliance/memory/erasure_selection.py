"""Which messages an erasure means, and what goes with them."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Collection, Iterable, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from appliance.errors import NotFound, UsageError
from appliance.memory import block_erasure, erasure_files
from appliance.memory.echoes import Echoes, find_echoes
from appliance.memory.erasure_words import (
    BLOCKS_PLACE,
    FoundWords,
    find_words,
    messages_by,
    messages_of,
    messages_of_author,
    sessions_by_title,
)
from appliance.store import authors, documents, imports, messages, profiles, sessions, statements
from appliance.store.author_selection import AuthorSelection, missing_whole_name, resolve_authors
from appliance.store.damage import TITLE_SQL
from appliance.store.facts import fact_key
from appliance.store.sql import JSON_KEYS_SQL, has_row, json_keys
from appliance.types import LOCAL, BlockEditor, ErasurePreview, Scope
from appliance.types.erasure import BLOCK_PREFIX, MAX_NAMED_SESSIONS


@dataclass(frozen=True, slots=True)
class Selection:
    """What is to be forgotten of a scope; the fields narrow each other.

    Attributes:
        references: Ids of messages, sessions, facts and blocks of core memory ("core:person").
        source: A format's name, or the path of a file, or of a zip or a folder for all files in it.
        query: Whole words as they stand.
        title: Whole words of the titles of sessions, as they stand.
        author: A person, or the whole name of an author; see ``author_selection``.
        author_name: The whole name of an author as it is written.
        since, until: A time range in microseconds since 1970; messages without a time are not in it.
        everything: Without any of the others, the whole scope, with its facts and its sessions without messages.
        with_echoes: Also what else says it; see ``memory.echoes``.
        echo_ids: Of that only what has these public ids; empty for all.
        by: Who erases. An assistant takes nothing out of blocks that are read-only, and names none.
    """

    references: Sequence[str] = ()
    source: str = ""
    query: str = ""
    title: str = ""
    author: str = ""
    author_name: str = ""
    since: int | None = None
    until: int | None = None
    everything: bool = False
    with_echoes: bool = False
    echo_ids: Sequence[str] = ()
    by: BlockEditor = "person"

    @property
    def named(self) -> frozenset[str]:
        """The names of the fields that select something, but for ``everything``."""
        # By their values and not their types: what came from another process has lists for tuples.
        is_named = {
            "references": bool(self.references),
            "source": bool(self.source),
            "query": bool(self.query),
            "title": bool(self.title),
            "author": bool(self.author),
            "author_name": bool(self.author_name),
            "since": self.since is not None,
            "until": self.until is not None,
        }
        return frozenset(name for name, named in is_named.items() if named)

    def is_only(self, field_name: str) -> bool:
        """Whether this field alone selects, and not the whole scope."""
        return self.named == {field_name} and not self.everything


def select(db: sqlite3.Connection, scope: Scope, selection: Selection) -> ErasurePreview:
    """Return the messages of a scope that are meant, and what goes with them.

    Raises:
        UsageError: Nothing is named, the query has frequent words only, several people have the author's name, a block
            or a fact is narrowed, or an assistant names a block.
        NotFound: The scope has no such message, session or fact, or nothing from such a source.
    """
    if not (selection.named or selection.everything):
        raise UsageError("Nothing is selected to forget.", hint="Name messages, sessions, a source or words.")
    parts = ["s.user_id = ?", "s.namespace = ?"]
    values: list[str | int] = [scope.user_id, scope.namespace]
    named_sessions: set[int] = set()
    found = FoundWords()
    blocks, references = block_erasure.named_blocks(db, scope, selection.references)
    named_by_id, references = statements.named_facts(db, scope, references)
    if (blocks or named_by_id) and selection.named != {"references"}:
        what = f"{blocks[0].id} is a whole block of core memory" if blocks else f"f{min(named_by_id)} is a whole fact"
        raise UsageError(f"{what}, which nothing narrows.", hint="Name it alone, or with messages and conversations.")
    if selection.by == "assistant":
        block_erasure.require_writable(blocks)

    def narrow(keys: Iterable[int], column: str = "m.id") -> None:
        parts.append(f"{column} IN {JSON_KEYS_SQL}")
        values.append(json_keys(keys))

    if selection.references:
        named_messages, named_sessions = _resolve_references(db, scope, references)
        # A message that states a fact would state it again.
        narrow({*named_messages, *statements.messages_of_facts(db, named_by_id)})
    if selection.title:
        titled = sessions_by_title(db, scope, selection.title)
        named_sessions = titled & named_sessions if selection.references else titled
        narrow(titled, "m.session_id")
    within = imports.sources_within(db, selection.source) if selection.source else {}
    if selection.source:
        parts.append(_FROM_SOURCE_SQL)
        values += [selection.source, json_keys(within)]
    if selection.query:
        found = find_words(db, scope, selection.query)
        narrow(found.all_messages)
    # Parts of a name would erase the messages of others: "Jane" is in "Jungle Jane".
    meant = resolve_authors(db, scope, [selection.author], whole=True) if selection.author else AuthorSelection()
    if meant.ambiguous:
        raise UsageError(
            f"{meant.ambiguous[0]}.", hint="Give the id of one of them; 'appliance people show ID' says who it is."
        )
    if selection.author:
        narrow(messages_of_author(db, scope, meant, selection.author))
    if selection.author_name:
        narrow(messages_by(db, scope, selection.author_name, authors.has_whole_name))
    for condition, bound in (("m.at >= ?", selection.since), ("m.at < ?", selection.until)):
        if bound is not None:
            parts.append(condition)
            values.append(bound)
    rows = _message_rows(db, " AND ".join(parts), values)
    # An address book has no messages: it goes when it is named alone.
    only_source = selection.is_only("source")
    contacts = profiles.contacts_of_source(db, scope, selection.source, within) if only_source else []
    if selection.source and not rows and not contacts and not _has_any(db, scope, selection.source, within):
        raise _nothing_from(db, scope, selection.source, within)
    read = {
        *filter(None, (row.path for row in rows)),
        *messages.source_paths(db, {file for _, file in contacts}).values(),
    }
    covered = erasure_files.covered_files(selection.source, within, read)
    written_as = Counter(row.author for row in rows) if selection.author or selection.author_name else Counter[str]()
    missing = [*meant.missing, *([selection.author_name] if selection.author_name else [])]
    everything = not selection.named
    echoes = Echoes() if everything else find_echoes(db, scope, [row.key for row in rows])
    erased_echoes = Echoes()
    if selection.with_echoes:
        erased_echoes = echoes.only(selection.echo_ids) if selection.echo_ids else echoes
        rows += _message_rows(db, f"m.id IN {JSON_KEYS_SQL}", [json_keys(erased_echoes.messages)])
    # The text of a document goes with the message that carries it.
    pages = documents.pages_of(db, [row.key for row in rows]).difference(row.key for row in rows)
    rows += _message_rows(db, f"m.id IN {JSON_KEYS_SQL}", [json_keys(pages)]) if pages else []
    keys = [row.key for row in rows]
    touched_sessions = {row.session for row in rows}
    only_words = selection.is_only("query")
    found_alone: dict[str, int] = {}
    if only_words:  # what has the words and no message
        found_alone = _found_alone(db, found, touched_sessions)
        touched_sessions |= found.all_sessions
        blocks += found.blocks
    if everything:
        blocks = block_erasure.all_blocks(db, scope)
    erased_blocks, block_notes = block_erasure.settle([*blocks, *erased_echoes.blocks], selection.by, everything)
    remaining_sessions = _sessions_with_remaining(db, touched_sessions | named_sessions, keys)
    emptied_sessions = touched_sessions - remaining_sessions
    if everything:
        emptied_sessions |= sessions.keys_in_scope(db, scope)
    elif selection.references or selection.title:
        # A session goes with its last message. One that an application leads stays for it, unless it was named.
        emptied_sessions &= named_sessions | _imported(db, emptied_sessions)
    named_facts = {*named_by_id, *erased_echoes.facts, *(found.facts if only_words else ())}
    facts = statements.facts_resting_on(db, keys) | named_facts
    whole_sessions = tuple(sorted(emptied_sessions | (named_sessions - remaining_sessions)))
    return ErasurePreview(
        messages=tuple(sorted(keys)),
        sessions=whole_sessions,
        touched=tuple(sorted(touched_sessions | named_sessions)),
        characters=sum(row.characters for row in rows),
        formats=dict(Counter(row.format for row in rows)),
        files=erasure_files.existing_files(
            db, keys, read.union(row.path for row in rows if row.path), touched_sessions
        ),
        facts=statements.count_facts(db, scope) if everything else len(facts),
        all_of=scope if everything else None,
        found_in={place: len(found_keys.intersection(keys)) for place, found_keys in found.messages.items()},
        named_facts=tuple(sorted(named_facts)),
        echoes=echoes.listed(),
        summaries=erased_echoes.summaries,
        found_elsewhere=_found_elsewhere(found, keys),
        found_alone=found_alone,
        contacts=tuple(contacts),
        authors=dict(written_as.most_common()),
        notes=(
            *(missing_whole_name(db, scope, name) for name in missing if not rows),
            *echoes.notes,
            *block_notes,
            *found.notes,
        ),
        blocks=erased_blocks,
        block_echoes=echoes.blocks,
        by=selection.by,
        source_files=covered,
        titles=_titles(db, whole_sessions[:MAX_NAMED_SESSIONS]),
    )


def _titles(db: sqlite3.Connection, keys: Iterable[int]) -> dict[int, str]:
    """The titles of sessions, also those that were made of what was said; "" where there is none."""
    rows = db.execute(
        f"SELECT id, {TITLE_SQL} FROM session s WHERE id IN {JSON_KEYS_SQL} ORDER BY id", (json_keys(keys),)
    )
    return {key: title or "" for key, title in rows}


def _found_elsewhere(found: FoundWords, keys: Iterable[int]) -> dict[int, tuple[str, ...]]:
    """The messages that have the words somewhere else than in their text, each with the places."""
    text = found.messages.get("text", set())
    places = ((key, tuple(place for place, having in found.messages.items() if key in having)) for key in keys)
    return {key: those for key, those in places if those and key not in text}


def _found_alone(db: sqlite3.Connection, found: FoundWords, sessions_of_messages: Set[int]) -> dict[str, int]:
    """How many sessions and facts have the words and no message, by the place where the words stand."""
    alone = {place: len(keys - sessions_of_messages) for place, keys in found.sessions.items()}
    alone[BLOCKS_PLACE] = len(found.blocks)
    alone["facts"] = len(statements.facts_without_messages(db, found.facts))
    return {place: count for place, count in alone.items() if count}


class _MessageRow(NamedTuple):
    key: int
    session: int
    characters: int
    format: str
    path: str | None
    author: str


def _message_rows(db: sqlite3.Connection, where: str, values: Sequence[str | int]) -> list[_MessageRow]:
    rows = db.execute(
        "SELECT m.id, m.session_id, length(m.text), s.format, f.path, coalesce(m.author, '') FROM message m"
        " JOIN session s ON s.id = m.session_id"
        f" LEFT JOIN source f ON f.id = m.source_id WHERE {where} ORDER BY m.id",
        values,
    )
    return [_MessageRow(*row) for row in rows]


_FROM_SOURCE_SQL = f"(s.format = ? OR m.source_id IN {JSON_KEYS_SQL})"


def _has_any(db: sqlite3.Connection, scope: Scope, format: str, files: Iterable[int]) -> bool:
    """Whether a scope has a message of a format or from any of these files."""
    return has_row(
        db,
        "SELECT 1 FROM message m JOIN session s ON s.id = m.session_id WHERE s.user_id = ? AND s.namespace = ?"
        f" AND {_FROM_SOURCE_SQL} LIMIT 1",
        (scope.user_id, scope.namespace, format, json_keys(files)),
    )


def _nothing_from(db: sqlite3.Connection, scope: Scope, source: str, files: Iterable[int]) -> NotFound:
    """Why there is no message of a format or from these files."""
    is_known = has_row(
        db,
        "SELECT 1 FROM source_session l JOIN session s ON s.id = l.session_id WHERE s.user_id = ? AND s.namespace = ?"
        f" AND l.source_id IN {JSON_KEYS_SQL} LIMIT 1",
        (scope.user_id, scope.namespace, json_keys(files)),
    )
    if is_known:
        return NotFound(
            f"No message counts as one of {source!r}: those in it were known from another file, or forgotten.",
            hint="Name that file, which 'appliance sources' lists, or the conversations by their ids.",
        )
    return NotFound(
        f"No message came from {source!r}.",
        hint="Name a format, as 'appliance sessions' shows it, or the path of a file, a zip or a folder that was"
        " read: 'appliance sources' lists the files.",
    )


def _resolve_references(db: sqlite3.Connection, scope: Scope, references: Sequence[str]) -> tuple[list[int], set[int]]:
    """The messages of ids, and the sessions among the references."""
    keys: list[int] = []
    session_keys: set[int] = set()
    for reference in references:
        try:
            info = sessions.find(db, reference, scope.user_id)
        except NotFound:
            if reference.startswith(BLOCK_PREFIX):
                raise NotFound(
                    f"The core memory has no block {reference.removeprefix(BLOCK_PREFIX)!r}.",
                    hint="'appliance core' lists the blocks.",
                ) from None
            try:
                keys.append(messages.find(db, reference, scope).id)
            except NotFound:
                if fact_key(reference) is None:
                    raise
                raise NotFound(f"There is no fact {reference!r}.", hint="'appliance facts' lists the facts.") from None
            continue
        if info.namespace != scope.namespace:
            raise NotFound(f"User {scope.user_id!r} has no session {reference!r}.")
        key = sessions.key(info)
        session_keys.add(key)
        keys += messages_of(db, [key])
    return keys, session_keys


def _sessions_with_remaining(db: sqlite3.Connection, keys: Iterable[int], erased: Collection[int]) -> set[int]:
    """The sessions among ``keys`` that keep some of their messages."""
    rows = db.execute(
        f"SELECT DISTINCT session_id FROM message WHERE session_id IN {JSON_KEYS_SQL} AND id NOT IN {JSON_KEYS_SQL}",
        (json_keys(keys), json_keys(erased)),
    )
    return {key for (key,) in rows}


def _imported(db: sqlite3.Connection, keys: Iterable[int]) -> set[int]:
    """The sessions among ``keys`` that were read from a file: no application adds to them."""
    rows = db.execute(f"SELECT id FROM session WHERE id IN {JSON_KEYS_SQL} AND format <> ?", (json_keys(keys), LOCAL))
    return {key for (key,) in rows}
