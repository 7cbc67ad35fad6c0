"""The read-only tools except the timeline and the overviews: search, context, get, sessions, facts and status."""

from __future__ import annotations

import zlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import msgspec

from appliance import __version__
from appliance.context import render
from appliance.errors import NotFound, UsageError
from appliance.server import hints
from appliance.server.mcp import pagination, rendering, results, schemas
from appliance.server.mcp.pagination import NAME_CHARACTERS, TITLE_CHARACTERS, shorten
from appliance.types.search import without_unlikely

if TYPE_CHECKING:
    from appliance.server.mcp.access import McpAccess
    from appliance.types import Fact, Hit, Message, Person, PersonDetails, PersonProposal, SessionInfo

MAX_NOTES = 5
MAX_NOTE_CHARACTERS = 250
"""Characters of a note; a search has one for each leg that could not run."""

MIN_PART_CHARACTERS = 600
"""If fewer characters are left, the next message goes to the next page."""

MAX_ATTACHMENT_NAMES = 5
"""Attachments listed by name; the text of the message has the others."""

MAX_ALIASES = 6
"""Other names of a person in a list."""

MAX_ALIASES_SHOWN = 50
"""Other names of a person that is shown alone."""

MAX_PROPOSALS = 10
"""Proposals of who may be one person, and reasons why identities are linked."""

MAX_EVIDENCE = 3
"""The latest messages named as a fact's evidence."""

ReadPosition = tuple[int, int, int]
"""The number of a message, a character offset in it, and a checksum of its text."""
READ_POSITION_TYPES = (int, int, int)

MAX_COUNTED_SESSIONS = 1_000
"""The most sessions counted for the status of one user; the status says if there are more."""


# --- messages: an index, the full text --------------------------------------------


def search(access: McpAccess, arguments: schemas.SearchArguments) -> results.SearchResult:
    """An index of the messages that match best."""
    digest = pagination.query_digest(
        "search",
        arguments.query,
        arguments.limit,
        arguments.session,
        arguments.role,
        *_time_range(arguments),
        arguments.source,
        arguments.authors,
        arguments.has,
        arguments.tags,
        arguments.tools,
        arguments.files,
        arguments.entities,
        arguments.topics,
        arguments.participants,
        arguments.include_archived,
        arguments.weak,
    )
    (start,) = cast("tuple[int]", pagination.decode_cursor(arguments.cursor, digest, (int,)) or (0,))
    session = access.readable_session(arguments.session) if arguments.session else None
    hits = access.memory.search(
        arguments.query,
        limit=arguments.limit,
        offset=start,
        user_id=access.user,
        namespace=access.namespace,
        session_id=session.id if session is not None else None,
        roles=None if arguments.role == "talk" else [arguments.role],
        sources=[arguments.source] if arguments.source else None,
        authors=arguments.authors or None,
        has=arguments.has or None,
        tags=arguments.tags or None,
        tools=arguments.tools or None,
        files=arguments.files or None,
        entities=arguments.entities or None,
        topics=arguments.topics or None,
        participants=arguments.participants or None,
        since=arguments.since or None,
        until=arguments.until or None,
        include_archived=arguments.include_archived,
        min_score=0 if arguments.weak else None,
    )
    listed = hits if arguments.weak or start else replace(hits, hits=tuple(without_unlikely(hits.hits)))
    is_ended = len(listed) < len(hits)
    readable = access.readable_hits(listed, session)
    lines = [hit_line(hit) for hit in readable]
    count = pagination.count_fitting(lines, rendering.render_message_line)
    is_cut = count < len(lines)
    next_start = readable[count - 1].rank if is_cut else start + arguments.limit
    return results.SearchResult(
        query=shorten(arguments.query),
        hits=lines[:count],
        found=hits.found,
        weaker=hits.total if not hits.hits else hits.total - len(listed) if is_ended else 0,
        notes=short_notes([*hints.filter_notes(arguments.query), *hits.notes]),
        next=pagination.encode_cursor(digest, next_start) if is_cut or (hits.more and not is_ended) else "",
    )


def get(access: McpAccess, arguments: schemas.GetArguments) -> results.GetResult:
    """Messages in full, as many as an answer holds."""
    ids = list(dict.fromkeys(arguments.ids))
    digest = pagination.query_digest("get", *ids)
    position = cast("ReadPosition | None", pagination.decode_cursor(arguments.cursor, digest, READ_POSITION_TYPES))
    missing: list[str] = []

    def fetch(number: int) -> tuple[Message, SessionInfo] | None:
        try:
            return access.message_with_session(ids[number])
        except NotFound:
            missing.append(ids[number])
            return None

    parts, next_position = read_parts(access, fetch, len(ids), position or (0, 0, 0))
    if not parts and position is None:
        raise NotFound(f"There is no message {', '.join(missing)}.", hint="memory_search gives the ids of messages.")
    return results.GetResult(
        messages=parts,
        missing=missing,
        left=len(ids) - next_position[0] if next_position else 0,
        next=pagination.encode_cursor(digest, *next_position) if next_position else "",
    )


def transcript(access: McpAccess, reference: str, cursor: str = "") -> results.GetResult:
    """A session in full, page by page."""
    info = access.readable_session(reference)
    messages = access.messages(info, records=False)
    digest = pagination.query_digest("transcript", info.id)
    position = cast("ReadPosition | None", pagination.decode_cursor(cursor, digest, READ_POSITION_TYPES)) or (0, 0, 0)
    parts, next_position = read_parts(access, lambda number: (messages[number], info), len(messages), position)
    return results.GetResult(
        messages=parts,
        left=len(messages) - next_position[0] if next_position else 0,
        next=pagination.encode_cursor(digest, *next_position) if next_position else "",
    )


def read_parts(
    access: McpAccess, fetch: Callable[[int], tuple[Message, SessionInfo] | None], count: int, position: ReadPosition
) -> tuple[list[results.MessagePart], ReadPosition | None]:
    """Full texts of messages, as many as an answer holds. They count as recalled.

    Args:
        access: Counts the recalls.
        fetch: Returns the message of a number, or None to skip it.
        count: How many messages there are.
        position: Where to begin.

    Returns:
        The texts, and the position of the next page.

    Raises:
        UsageError: The position is beyond the last message, or in a text that has changed since.
    """
    first, offset, expected_checksum = position
    if first and first >= count:
        raise UsageError("The cursor points beyond the last message.", hint="Leave it out to start again.")
    parts: list[results.MessagePart] = []
    remaining = pagination.PAGE_CHARACTERS
    next_position: ReadPosition | None = None
    for number in range(first, count):
        if parts and remaining < MIN_PART_CHARACTERS:
            next_position = (number, 0, 0)
            break
        if (entry := fetch(number)) is None:
            continue
        message, info = entry
        start = offset if number == first else 0
        checksum = zlib.crc32(message.text.encode())
        if start and (checksum != expected_checksum or start > len(message.text)):
            raise UsageError(
                f"Message {message.id} has changed since that page.", hint="Leave the cursor out to start again."
            )
        piece = _message_part(message, info, start, remaining)
        parts.append(piece)
        remaining -= max(pagination.json_length(piece), len(rendering.render_part(piece)))
        if piece.end < piece.characters:
            next_position = (number, piece.end, checksum)
            break
    access.record_recall([piece.id for piece in parts if piece.start == 0])
    return parts, next_position


def context(access: McpAccess, arguments: schemas.ContextArguments) -> results.ContextResult:
    """The context for a question, as text."""
    session_id = access.readable_session(arguments.session).id if arguments.session else None
    result = access.memory.context(
        arguments.query,
        session_id=session_id,
        user_id=access.user,
        namespace=access.namespace,
        budget=arguments.budget,
        recall_limit=arguments.recall_limit or None,
        min_score=0 if arguments.weak else arguments.min_score or None,
        **schemas.parse_filters(arguments.filters),
    )
    ids = [item.message_id for layer in result.layers for item in layer.items]
    return results.ContextResult(
        query=shorten(arguments.query),
        tokens=result.tokens,
        budget=result.budget,
        encoding=result.encoding,
        text=result.text,
        found=result.found,
        ids=list(dict.fromkeys(ids)),
        left_out=len(result.dropped),
        notes=short_notes(result.notes),
    )


# --- sessions -----------------------------------------------------------------------------------------------


def sessions(access: McpAccess, arguments: schemas.SessionsArguments) -> results.SessionsResult:
    """Sessions, last active first; or one session with its summary."""
    if arguments.session:
        info = access.session(arguments.session)
        summaries = access.memory.summaries.list(
            session_id=info.id, user_id=access.user, namespace=access.namespace, level="session", limit=1
        )
        text = summaries[0].text if summaries else ""
        end = pagination.find_page_end(text, 0, pagination.PAGE_CHARACTERS - 1_000, render.escape)
        more = (
            f" … ({len(text) - end:,} more characters: the person reads all with 'appliance summaries')"
            if end < len(text)
            else ""
        )
        return results.SessionsResult(sessions=[session_line(info)], summary=text[:end] + more)
    digest = pagination.query_digest(
        "sessions", arguments.title, *_time_range(arguments), arguments.source, arguments.tags
    )
    position = cast("tuple[str] | None", pagination.decode_cursor(arguments.cursor, digest, (str,)))
    page = access.memory.sessions.list(
        user_id=access.user,
        namespace=access.namespace,
        sources=[arguments.source] if arguments.source else (),
        since=arguments.since or None,
        until=arguments.until or None,
        title=arguments.title,
        tags=arguments.tags,
        limit=arguments.limit,
        after=position[0] if position else None,
    )
    lines = [session_line(info) for info in access.visible_sessions(page)]
    # The store's cursors point behind whole pages, so a page that is too long is fetched again with fewer sessions.
    if (count := pagination.count_fitting(lines, rendering.render_session)) < len(lines):
        return sessions(access, msgspec.structs.replace(arguments, limit=count))
    return results.SessionsResult(sessions=lines, next=pagination.encode_cursor(digest, page.next) if page.next else "")


# --- facts ---------------------------------------------------------------------------------------------------


def facts(access: McpAccess, arguments: schemas.ReadFactsArguments | schemas.FactsArguments) -> results.FactsResult:
    """Facts about the person: those that hold, contradictions, or the history of one fact."""
    user, namespace, memory_facts = access.user, access.namespace, access.memory.facts
    selected: Sequence[Fact]
    if arguments.action == "history":
        if not arguments.id:
            raise UsageError("The action history needs the id of a fact.", hint="The action list gives the ids.")
        selected = memory_facts.history(access.fact(arguments.id).id)
    elif arguments.action == "review":
        selected = memory_facts.review(user, namespace)
    elif arguments.as_of:
        selected = memory_facts.list(user, namespace, as_of=arguments.as_of)
    else:
        selected = memory_facts.profile(user, namespace)
    if arguments.kind:
        selected = [fact for fact in selected if fact.kind == arguments.kind]
    digest = pagination.query_digest("facts", arguments.action, arguments.id, arguments.kind, arguments.as_of)
    (start,) = cast("tuple[int]", pagination.decode_cursor(arguments.cursor, digest, (int,)) or (0,))
    lines = [fact_line(fact) for fact in selected[start:]]
    count = pagination.count_fitting(lines, rendering.render_fact)
    left = len(lines) - count
    return results.FactsResult(
        facts=lines[:count],
        left=left,
        pending=memory_facts.pending() if access.grant.is_owner else 0,
        in_review=len(memory_facts.review(user, namespace)) if arguments.action == "list" else 0,
        next=pagination.encode_cursor(digest, start + count) if left else "",
    )


# --- people --------------------------------------------------------------------------------------------------


def people(access: McpAccess, arguments: schemas.ReadPeopleArguments | schemas.PeopleArguments) -> results.PeopleResult:
    """The people who wrote the messages, or one of them."""
    if arguments.action == "show" or (arguments.action == "list" and arguments.person):
        if not arguments.person:
            raise UsageError("The action show needs a person.", hint="The action list gives the ids.")
        return _person_result(
            access.memory.people.get(
                arguments.person, user_id=access.user, namespace=access.namespace, shared_only=True
            )
        )
    found = access.memory.people.list(access.user, access.namespace, shared_only=True)
    digest = pagination.query_digest("people")
    (start,) = cast("tuple[int]", pagination.decode_cursor(arguments.cursor, digest, (int,)) or (0,))
    lines = [person_line(one) for one in found.people[start:]]
    count = pagination.count_fitting(lines, rendering.render_person)
    left = len(lines) - count
    return results.PeopleResult(
        people=lines[:count],
        same=[] if start else [_proposal_text(one) for one in found.proposals[:MAX_PROPOSALS]],
        left=left,
        next=pagination.encode_cursor(digest, start + count) if left else "",
    )


def _person_result(found: PersonDetails) -> results.PeopleResult:
    return results.PeopleResult(
        people=[person_line(found.person, MAX_ALIASES_SHOWN)],
        same=[_proposal_text(one) for one in found.proposals[:MAX_PROPOSALS]],
        evidence=[shorten(words, 2 * TITLE_CHARACTERS) for words in found.evidence[:MAX_PROPOSALS]],
        conversations=[
            f"{one.session_id} {shorten(one.title or 'no title', TITLE_CHARACTERS)} ({one.source}, {one.messages})"
            for one in found.conversations
        ],
        recalled=[
            f"{one.message_id} ({one.times}) {shorten(' '.join(one.snippet.split()), TITLE_CHARACTERS)}"
            for one in found.asked_about
        ],
    )


def person_line(person: Person, aliases: int = MAX_ALIASES) -> results.PersonLine:
    also = dict.fromkeys(one.value for one in person.identities if one.value != person.name)
    return results.PersonLine(
        id=person.id,
        name=shorten(person.name, NAME_CHARACTERS),
        messages=person.messages,
        conversations=person.sessions,
        first=person.first or "",
        last=person.last or "",
        me=person.me,
        automated=person.automated,
        also=[shorten(value, NAME_CHARACTERS) for value in list(also)[:aliases]],
    )


def _proposal_text(proposal: PersonProposal) -> str:
    return shorten(f"{proposal.a} and {proposal.b}: {proposal.reason}", 2 * TITLE_CHARACTERS)


# --- status --------------------------------------------------------------------------------------------------


def status(access: McpAccess, arguments: schemas.StatusArguments) -> results.StatusResult:
    """Health and counts: of the whole memory for its owner, else of what the caller may see."""
    full_status = access.memory.status()
    health = str(full_status["health"])
    if access.grant.is_owner:
        counts = {name: int(count) for name, count in full_status["counts"].items()}
        counted_scope = "the whole memory"
    else:
        page = access.memory.sessions.list(user_id=access.user, namespace=access.namespace, limit=MAX_COUNTED_SESSIONS)
        visible = access.visible_sessions(page)
        counts = {
            "sessions": len(visible),
            "messages": sum(info.messages for info in visible),
            "facts": len(access.memory.facts.list(access.user, access.namespace)),
        }
        counted_scope = f"the latest {MAX_COUNTED_SESSIONS:,} sessions" if page.next else "what this access may see"
        # The details may name other people and files.
        health = "ok" if health == "ok" else "busy, or in need of the person, whom 'appliance status' tells more"
    return results.StatusResult(
        health=shorten(hints.over_mcp(health), MAX_NOTE_CHARACTERS),
        user=access.user,
        namespace=access.namespace,
        read_only=access.grant.read_only,
        version=__version__,
        counts=counts,
        counted=counted_scope,
        model=str(full_status["model"]["name"]),
    )


# --- parts of answers ----------------------------------------------------------------------------------------


def short_notes(notes: Sequence[str]) -> list[str]:
    return [shorten(hints.over_mcp(note), MAX_NOTE_CHARACTERS) for note in notes[:MAX_NOTES]]


def session_line(info: SessionInfo) -> results.SessionLine:
    return results.SessionLine(
        id=info.id,
        title=shorten(info.title or info.external_id, TITLE_CHARACTERS),
        source=info.format,
        messages=info.messages + info.shared,
        first=info.first_at or "",
        last=info.last_at or "",
        pinned=info.pinned,
    )


def message_line(message: Message, *, is_current: bool = False) -> results.MessageLine:
    return results.MessageLine(
        id=message.id,
        session=message.session_id,
        who=shorten(message.who, NAME_CHARACTERS),
        text=shorten(message.text),
        characters=len(message.text),
        when=message.timestamp or "",
        time=_time_of(message),
        here=is_current,
    )


def fact_line(fact: Fact) -> results.FactLine:
    message_ids = dict.fromkeys(quote.message_id for quote in fact.evidence[-MAX_EVIDENCE:])
    return results.FactLine(
        id=fact.id,
        text=shorten(fact.text, 2 * pagination.SNIPPET_CHARACTERS),
        kind=fact.kind,
        state=fact.state,
        sure=round(fact.confidence, 2),
        since=fact.since or "",
        until=fact.until or "",
        messages=list(message_ids),
        by=shorten(fact.made_by, NAME_CHARACTERS),
        replaced_by=fact.replaced_by or "",
    )


def hit_line(hit: Hit) -> results.MessageLine:
    return results.MessageLine(
        id=hit.message_id,
        session=hit.session_id,
        who=shorten(hit.who, NAME_CHARACTERS),
        text=shorten(hit.snippet, pagination.SNIPPET_CHARACTERS + 40),
        characters=len(hit.text),
        when=hit.timestamp or "",
        time=_time_of(hit),
        title=shorten(hit.session_title or "", TITLE_CHARACTERS),
        score=round(hit.score, 3),
        alike=hit.folded,
    )


def _time_of(shown: Hit | Message) -> str:
    """Whose time is shown, where it is not the message's own."""
    return "" if shown.time == "message" else shown.time


def _message_part(message: Message, info: SessionInfo, start: int, limit: int) -> results.MessagePart:
    names = [
        shorten(str(attachment.get("name") or "unnamed"), NAME_CHARACTERS)
        for attachment in message.metadata.get("attachments") or []
        if isinstance(attachment, dict)
    ]
    empty_part = results.MessagePart(
        id=message.id,
        session=message.session_id,
        who=shorten(message.who, NAME_CHARACTERS),
        text="",
        start=start,
        end=start,
        characters=len(message.text),
        when=message.timestamp or "",
        time=_time_of(message),
        title=shorten(info.title or "", TITLE_CHARACTERS),
        attachments=names[:MAX_ATTACHMENT_NAMES],
    )
    overhead = max(pagination.json_length(empty_part), len(rendering.render_part(empty_part)))
    end = pagination.find_page_end(message.text, start, max(limit - overhead, 1), render.escape_block)
    return msgspec.structs.replace(empty_part, text=message.text[start:end], end=end)


def _time_range(arguments: schemas.SearchArguments | schemas.SessionsArguments) -> tuple[str, str]:
    return arguments.since, arguments.until
