"""The tools that change the memory: remembering a turn, settling a fact, forgetting in two steps."""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Sequence
from typing import TYPE_CHECKING, cast

import msgspec

from appliance.errors import NotFound, UsageError
from appliance.server.mcp import pages, shapes, words
from appliance.server.mcp.reading import fact_line, facts, message_line

if TYPE_CHECKING:
    from appliance.memory.session import Session
    from appliance.server.mcp.reach import Reach
    from appliance.types import Doomed, Fact

SAMPLE = 5
"""Messages that a preview shows of what would go."""

CODE = 6
"""Bytes of a confirmation code: nobody guesses it, and a small model copies it without a slip."""

_KEY = secrets.token_bytes(32)
"""Makes the codes of this process its own: a preview is confirmed where it was given."""


def add(reach: Reach, asked: shapes.Add) -> shapes.Stored:
    """Store a turn; when this returns it is on the disk and can be found."""
    session = _conversation(reach, asked.session)
    message = session.add(asked.role, asked.text)
    if asked.pin:
        message = reach.memory.pin(message.id)
    return shapes.Stored(
        id=message.id,
        session=session.id,
        role=message.role,
        characters=len(message.text),
        pinned=message.pinned,
    )


def _conversation(reach: Reach, reference: str) -> Session:
    """The session of an id, or of a name that the client gives its conversation: begun when it is new."""
    if reference:
        try:
            # What is found by an id is kept: private conversations have no such ids.
            return cast("Session", reach.memory.sessions.get(reach.session(reference).id, user_id=reach.user))
        except NotFound:
            if reference[:1] == "s" and reference[1:].isdecimal():
                raise
    return reach.memory.sessions.create(
        user_id=reach.user,
        namespace=reach.namespace,
        external_id=reference or reach.conversation,
        metadata={"client": "mcp"},
    )


def settle(reach: Reach, asked: shapes.Facts) -> shapes.Known:
    """What is known; or add, confirm, correct or reject a fact, because the person says so."""
    known = reach.memory.facts
    if asked.action in ("list", "history", "review"):
        return facts(reach, asked)
    if asked.action == "add":
        if not asked.text.strip():
            raise UsageError("add what?", hint="give one sentence in text, such as 'I live in Berlin'")
        return _settled(known.add(asked.text, user_id=reach.user, namespace=reach.namespace))
    if not asked.id:
        raise UsageError(f"{asked.action} which fact?", hint="give its id; action list has the ids")
    id = reach.fact(asked.id).id
    if asked.action == "confirm":
        return _settled([known.confirm(id)])
    if asked.action == "reject":
        return _settled([known.reject(id)])
    if not asked.text.strip():
        raise UsageError("correct it to what?", hint="give the right value in text")
    return _settled([known.correct(id, asked.text)])


def _settled(found: Sequence[Fact]) -> shapes.Known:
    return shapes.Known(facts=[fact_line(fact) for fact in found])


def forget(reach: Reach, asked: shapes.Forget) -> shapes.Forgotten:
    """First what would go, with a code; with that code, and nothing changed since, the same is erased for good."""
    doomed = _doomed(reach, asked)
    code = _code(reach, asked, doomed)
    counts = shapes.Forgotten(
        done=False,
        messages=len(doomed.messages),
        sessions=len(doomed.sessions),
        characters=doomed.characters,
        facts=doomed.facts,
        sources=dict(doomed.formats),
        files=len(doomed.files),
    )
    if not asked.confirm:
        return msgspec.structs.replace(counts, sample=_sample(reach, doomed), confirm=code)
    if not hmac.compare_digest(asked.confirm.strip().lower().encode(), code.encode()):
        raise UsageError(
            "the code confirms another selection, or what it holds has changed since; nothing was erased",
            hint="call again without confirm, look at the preview, and take its code",
        )
    receipt = reach.memory.forgetting.forget(doomed)
    return msgspec.structs.replace(
        counts,
        done=True,
        receipt=receipt.id,
        at=receipt.at,
        vectors=receipt.vectors,
        searched_files=receipt.proof.files,
        traces=len(receipt.proof.traces),
        exports_with_traces=len(receipt.proof.yours),
    )


def _doomed(reach: Reach, asked: shapes.Forget) -> Doomed:
    """
    Raises:
        NotFound: no such message or session of the caller's, or nothing that matches.
        UsageError: nothing is named, or words too frequent to find.
    """
    if not (asked.ids or asked.query.strip() or asked.source):
        raise UsageError(
            "nothing is named to forget",
            hint="name ids, words (query) or a source; a whole memory is erased by 'appliance forget --everything'",
        )
    ids = list(dict.fromkeys(asked.ids))
    for id in ids:
        if id[0] == "m":
            reach.message(id)
        else:
            reach.session(id)
    doomed = reach.memory.forgetting.preview(
        *ids, source=asked.source or None, query=asked.query.strip() or None, user_id=reach.user,
        namespace=reach.namespace,
    )  # fmt: skip
    # An external id of some session may look like a message's id of ours.
    if ids and all(id[0] == "m" for id in ids) and not {f"m{key}" for key in doomed.messages} <= set(ids):
        raise UsageError("the ids mean more than these messages", hint="erase them by 'appliance forget'")
    if not (doomed.messages or doomed.sessions or doomed.facts):
        raise NotFound(
            "nothing holds that", hint="memory_search finds what is there; query means words as they stand"
        )
    return doomed


def _code(reach: Reach, asked: shapes.Forget, doomed: Doomed) -> str:
    selection = (
        reach.user, reach.namespace, sorted(set(asked.ids)), asked.query.strip(), asked.source,
        doomed.messages, doomed.sessions, doomed.characters, doomed.facts,
    )  # fmt: skip
    return hmac.new(_KEY, msgspec.json.encode(selection), hashlib.sha256).digest()[:CODE].hex()


def _sample(reach: Reach, doomed: Doomed) -> list[shapes.Line]:
    """The first of what would go, as far as the caller may read it."""
    lines: list[shapes.Line] = []
    for key in doomed.messages:
        if len(lines) == SAMPLE:
            break
        try:
            message, _ = reach.message(f"m{key}")
        except NotFound:
            continue
        lines.append(message_line(message))
    return lines[: pages.fitting(lines, words.line)]
