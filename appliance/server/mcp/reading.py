"""The tools that only read, but for the timeline: search, get, contexts, sessions, facts and status."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from appliance import __version__
from appliance.context import render
from appliance.errors import NotFound, UsageError
from appliance.server.mcp import pages, shapes, words
from appliance.server.mcp.pages import NAME, TITLE, short

if TYPE_CHECKING:
    from appliance.server.mcp.reach import Reach
    from appliance.types import Fact, Hit, Message, SessionInfo

DEEPEST = 100
"""Hits that paging goes down to: behind them, another question finds more than further pages do."""

NOTES = 5
NOTE = 250
"""Characters of a note about a search; there is one for each leg that could not run."""

PIECE_AT_LEAST = 600
"""Characters of room below which a further message is left for the next page."""

ATTACHMENTS = 5
"""Names of attachments that are listed; the text of a message says what else was in it."""

EVIDENCE = 3
"""Messages that are named for a fact, the latest."""

Spot = tuple[int, int, int]
"""Which message, which character of it, and a checksum of its text."""
SPOT = (int, int, int)

COUNTED = 1_000
"""Sessions that are counted for a status of one user; behind that it says that there are more."""


# --- messages: an index, what stands around one, the full text --------------------------------------------


def search(reach: Reach, asked: shapes.Search) -> shapes.Found:
    """The messages that answer best, in an index."""
    question = pages.about(
        "search", asked.query, asked.limit, asked.session, asked.role, *_time(asked), asked.source
    )
    (start,) = cast("tuple[int]", pages.place(asked.cursor, question, (int,)) or (0,))
    inside = reach.session(asked.session).id if asked.session else None
    hits = reach.memory.search(
        asked.query,
        limit=min(start + asked.limit + 1, DEEPEST),
        user_id=reach.user,
        namespace=reach.namespace,
        session_id=inside,
        roles=None if asked.role == "talk" else [asked.role],
        sources=[asked.source] if asked.source else None,
        since=asked.since or None,
        until=asked.until or None,
    )
    lines = [_hit(hit) for hit in hits[start : start + asked.limit]]
    count = pages.fitting(lines, words.line)
    rest = start + count
    notes = [short(note, NOTE) for note in hits.notes[:NOTES]]
    if rest >= DEEPEST:
        notes.append(
            f"these are the last of the best {DEEPEST}: ask with other words, or a filter, for others"
        )
    return shapes.Found(
        query=short(asked.query),
        hits=lines[:count],
        notes=notes,
        next=pages.cursor(question, rest) if rest < len(hits) else "",
    )


def get(reach: Reach, asked: shapes.Get) -> shapes.Read:
    """Messages in full, as much as an answer holds."""
    ids = list(dict.fromkeys(asked.ids))
    question = pages.about("get", *ids)
    begin = cast("Spot | None", pages.place(asked.cursor, question, SPOT))
    missing: list[str] = []

    def fetch(number: int) -> tuple[Message, SessionInfo] | None:
        try:
            return reach.message(ids[number])
        except NotFound:
            missing.append(ids[number])
            return None

    taken, following = in_full(reach, fetch, len(ids), begin or (0, 0, 0))
    if not taken and begin is None:
        raise NotFound(f"no message {', '.join(missing)}", hint="memory_search gives the ids of messages")
    return shapes.Read(
        messages=taken,
        missing=missing,
        left=len(ids) - following[0] if following else 0,
        next=pages.cursor(question, *following) if following else "",
    )


def transcript(reach: Reach, reference: str, cursor: str = "") -> shapes.Read:
    """A session in full, page by page."""
    info = reach.open_session(reference)
    found = reach.messages(info, records=False)
    question = pages.about("transcript", info.id)
    begin = cast("Spot | None", pages.place(cursor, question, SPOT)) or (0, 0, 0)
    taken, following = in_full(reach, lambda number: (found[number], info), len(found), begin)
    return shapes.Read(
        messages=taken,
        left=len(found) - following[0] if following else 0,
        next=pages.cursor(question, *following) if following else "",
    )


def in_full(
    reach: Reach, fetch: Callable[[int], tuple[Message, SessionInfo] | None], count: int, begin: Spot
) -> tuple[list[shapes.Piece], Spot | None]:
    """The full texts of ``count`` messages from a spot on, as far as an answer has room, and where the next page
    begins. What is given counts as recalled.

    Raises:
        UsageError: the spot is behind the last, or in a text that has changed since.
    """
    at, offset, known = begin
    if at and at >= count:
        raise UsageError("the cursor points behind the last message", hint="leave it out to begin anew")
    taken: list[shapes.Piece] = []
    room = pages.ROOM
    following: Spot | None = None
    for number in range(at, count):
        if taken and room < PIECE_AT_LEAST:
            following = (number, 0, 0)
            break
        if (one := fetch(number)) is None:
            continue
        message, info = one
        start = offset if number == at else 0
        mark = zlib.crc32(message.text.encode())
        if start and (mark != known or start > len(message.text)):
            raise UsageError(
                f"{message.id} has changed since that page", hint="leave the cursor out to begin anew"
            )
        piece = _piece(message, info, start, room)
        taken.append(piece)
        room -= max(pages.size(piece), len(words.piece(piece)))
        if piece.end < piece.characters:
            following = (number, piece.end, mark)
            break
    reach.note_recalled([piece.id for piece in taken if piece.start == 0])
    return taken, following


def context(reach: Reach, asked: shapes.Context) -> shapes.Built:
    """What is known and remembered for a question, ready to read."""
    inside = reach.session(asked.session).id if asked.session else None
    built = reach.memory.context(
        asked.query,
        session_id=inside,
        user_id=reach.user,
        namespace=reach.namespace,
        budget=asked.budget,
    )
    ids = [item.message_id for layer in built.layers for item in layer.items]
    return shapes.Built(
        query=short(asked.query),
        tokens=built.tokens,
        budget=built.budget,
        encoding=built.encoding,
        text=built.text,
        ids=list(dict.fromkeys(ids)),
        left_out=len(built.dropped),
        notes=[short(note, NOTE) for note in built.notes[:NOTES]],
    )


# --- sessions -----------------------------------------------------------------------------------------------


def sessions(reach: Reach, asked: shapes.Sessions) -> shapes.Listed:
    """Conversations, the last active first; or one of them with its summary."""
    if asked.session:
        info = reach.session(asked.session)
        whole = reach.memory.summaries.list(
            session_id=info.id, user_id=reach.user, namespace=reach.namespace, level="session", limit=1
        )
        text = whole[0].text if whole else ""
        end = pages.cut(text, 0, pages.ROOM - 1_000, str)
        more = (
            f" … ({len(text) - end:,} more characters: 'appliance summaries' has all)"
            if end < len(text)
            else ""
        )
        return shapes.Listed(sessions=[session_line(info)], summary=text[:end] + more)
    question = pages.about("sessions", asked.title, *_time(asked), asked.source)
    found = cast("tuple[str] | None", pages.place(asked.cursor, question, (str,)))
    page = reach.memory.sessions.list(
        user_id=reach.user,
        namespace=reach.namespace,
        sources=[asked.source] if asked.source else (),
        since=asked.since or None,
        until=asked.until or None,
        title=asked.title,
        limit=asked.limit,
        after=found[0] if found else None,
    )
    lines = [session_line(info) for info in page if info.storage_scope != "none"]
    # The store's cursors stand behind whole pages: a page that would be too long is asked for again, shorter.
    if (count := pages.fitting(lines, words.session)) < len(lines):
        return sessions(reach, msgspec.structs.replace(asked, limit=count))
    return shapes.Listed(sessions=lines, next=pages.cursor(question, page.next) if page.next else "")


# --- facts ---------------------------------------------------------------------------------------------------


def facts(reach: Reach, asked: shapes.ReadFacts | shapes.Facts) -> shapes.Known:
    """What is known of the person: what holds, what contradicts it, or all that was known of one thing."""
    user, namespace, known = reach.user, reach.namespace, reach.memory.facts
    found: Sequence[Fact]
    if asked.action == "history":
        if not asked.id:
            raise UsageError("history of which fact?", hint="give its id; action list has the ids")
        found = known.history(reach.fact(asked.id).id)
    elif asked.action == "review":
        found = known.review(user, namespace)
    elif asked.as_of:
        found = known.list(user, namespace, as_of=asked.as_of)
    else:
        found = known.profile(user, namespace)
    if asked.kind:
        found = [fact for fact in found if fact.kind == asked.kind]
    question = pages.about("facts", asked.action, asked.id, asked.kind, asked.as_of)
    (start,) = cast("tuple[int]", pages.place(asked.cursor, question, (int,)) or (0,))
    lines = [fact_line(fact) for fact in found[start:]]
    count = pages.fitting(lines, words.fact)
    left = len(lines) - count
    return shapes.Known(
        facts=lines[:count],
        left=left,
        pending=known.pending() if reach.grant.is_owner else 0,
        in_review=len(known.review(user, namespace)) if asked.action == "list" else 0,
        next=pages.cursor(question, start + count) if left else "",
    )


# --- status --------------------------------------------------------------------------------------------------


def status(reach: Reach, asked: shapes.Status) -> shapes.State:
    """How the memory is, and how much is in it: all of it for its owner, else what is the caller's."""
    whole = reach.memory.status()
    health = str(whole["health"])
    if reach.grant.is_owner:
        counts = {name: int(count) for name, count in whole["counts"].items()}
        counted = "the whole memory"
    else:
        listed = reach.memory.sessions.list(user_id=reach.user, namespace=reach.namespace, limit=COUNTED)
        counts = {
            "sessions": len(listed),
            "messages": sum(info.messages for info in listed),
            "facts": len(reach.memory.facts.list(reach.user, reach.namespace)),
        }
        counted = f"the latest {COUNTED:,} sessions" if listed.next else "what this access reaches"
        # What hinders may name files and people of others.
        health = (
            "ok" if health == "ok" else "at work, or in need of its owner: 'appliance status' tells them more"
        )
    return shapes.State(
        health=short(health, NOTE),
        user=reach.user,
        namespace=reach.namespace,
        read_only=reach.grant.read_only,
        version=__version__,
        counts=counts,
        counted=counted,
        model=str(whole["model"]["name"]),
    )


# --- parts of answers ----------------------------------------------------------------------------------------


def session_line(info: SessionInfo) -> shapes.SessionLine:
    return shapes.SessionLine(
        id=info.id,
        title=short(info.title or info.external_id, TITLE),
        source=info.format,
        messages=info.messages + info.shared,
        first=info.first_at or "",
        last=info.last_at or "",
        pinned=info.pinned,
    )


def message_line(message: Message, *, here: bool = False) -> shapes.Line:
    return shapes.Line(
        id=message.id,
        session=message.session_id,
        who=short(message.author or message.role, NAME),
        text=short(message.text),
        characters=len(message.text),
        when=message.timestamp or "",
        here=here,
    )


def fact_line(fact: Fact) -> shapes.FactLine:
    cited = dict.fromkeys(quote.message_id for quote in fact.evidence[-EVIDENCE:])
    return shapes.FactLine(
        id=fact.id,
        text=short(fact.text, 2 * pages.SNIPPET),
        kind=fact.kind,
        state=fact.state,
        sure=round(fact.confidence, 2),
        since=fact.since or "",
        until=fact.until or "",
        messages=list(cited),
        by=short(fact.made_by, NAME),
        replaced_by=fact.replaced_by or "",
    )


def _hit(hit: Hit) -> shapes.Line:
    return shapes.Line(
        id=hit.message_id,
        session=hit.session_id,
        who=short(hit.author or hit.role, NAME),
        text=short(hit.snippet, pages.SNIPPET + 40),
        characters=len(hit.text),
        when=hit.timestamp or "",
        title=short(hit.session_title or "", TITLE),
        score=round(hit.score, 3),
        alike=len(hit.why.get("folded", ())),
    )


def _piece(message: Message, info: SessionInfo, start: int, room: int) -> shapes.Piece:
    names = [
        short(str(one.get("name") or "unnamed"), NAME)
        for one in message.metadata.get("attachments") or []
        if isinstance(one, dict)
    ]
    bare = shapes.Piece(
        id=message.id,
        session=message.session_id,
        who=short(message.author or message.role, NAME),
        text="",
        start=start,
        end=start,
        characters=len(message.text),
        when=message.timestamp or "",
        title=short(info.title or "", TITLE),
        attachments=names[:ATTACHMENTS],
    )
    head = max(pages.size(bare), len(words.piece(bare)))
    end = pages.cut(message.text, start, max(room - head, 1), render.quoted)
    return msgspec.structs.replace(bare, text=message.text[start:end], end=end)


def _time(asked: shapes.Search | shapes.Sessions) -> tuple[str, str]:
    return asked.since, asked.until
