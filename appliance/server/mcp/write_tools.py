"""The tools that change the memory: adding a turn, feedback, changing a fact, forgetting in two steps."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from appliance.errors import NotFound, UsageError
from appliance.server import hints
from appliance.server.confirmation import code_of, is_code_of
from appliance.server.mcp import pagination, rendering, results, schemas
from appliance.server.mcp.read_tools import fact_line, facts, message_line, people, person_line
from appliance.timestamps import iso_from_microseconds, now
from appliance.types.vocabulary import LOCAL

if TYPE_CHECKING:
    from appliance.resources import Session
    from appliance.server.mcp.access import McpAccess
    from appliance.types import ErasurePreview, Fact, Message, SessionInfo

PREVIEW_SAMPLE_SIZE = 5
"""Messages that a preview shows."""

ADDED_BY_MCP = {"client": "mcp"}
"""The metadata of messages and sessions that assistants add."""


def add(access: McpAccess, arguments: schemas.AddArguments) -> results.AddResult:
    """Store a turn. It is then on the disk and can be found."""
    session = _open_session(access, arguments.session)
    message = session.add(arguments.role, arguments.text, metadata=ADDED_BY_MCP)
    if arguments.pin:
        message = access.memory.pin(message.id)
    return results.AddResult(
        id=message.id, session=session.id, role=message.role, characters=len(message.text), pinned=message.pinned
    )


def feedback(access: McpAccess, arguments: schemas.FeedbackArguments) -> results.FeedbackResult:
    """Say what messages were worth. If one of them can't be read, nothing is noted."""
    found = [access.message_with_session(id)[0].id for id in dict.fromkeys(arguments.ids)]
    return results.FeedbackResult(
        kind=arguments.kind,
        messages=[
            results.FeedbackLine(id=id, importance=round(access.memory.feedback(id, arguments.kind).score, 4))
            for id in found
        ],
    )


def _open_session(access: McpAccess, reference: str) -> Session:
    """The session of an id or of a name that the client gives its conversation; a new name creates one."""
    if reference:
        try:
            return access.memory.sessions.get(access.session(reference).id, user_id=access.user)
        except NotFound:
            if reference[:1] == "s" and reference[1:].isdecimal():
                raise
    return access.memory.sessions.create(
        user_id=access.user,
        namespace=access.namespace,
        external_id=reference or access.conversation,
        metadata=ADDED_BY_MCP,
    )


def update(access: McpAccess, arguments: schemas.UpdateArguments) -> results.UpdateResult:
    """Replace the text of a message that an assistant stored. The text before is kept as an earlier revision.

    Raises:
        NotFound: There is no such message that the caller may see.
        UsageError: It was not stored by ``add``: what was imported stays as it was said.
    """
    old, info = access.message_with_session(arguments.id)
    if not _was_added(old, info):
        raise UsageError(
            f"{old.id} was not stored with memory_add and stays as it was said.",
            hint="The person can correct it with 'appliance correct'.",
        )
    session = access.memory.sessions.get(info.id, user_id=access.user)
    message = session.add(
        old.role,
        arguments.text,
        author=old.author,
        external_id=old.external_id,
        reply_to=old.reply_to,
        metadata={**old.metadata, "corrected": iso_from_microseconds(now())},
    )
    return results.UpdateResult(
        id=message.id, session=info.id, role=message.role, characters=len(message.text),
        versions=1 + len(access.memory.versions(message.id)),
    )  # fmt: skip


def _was_added(message: Message, info: SessionInfo) -> bool:
    """Whether an assistant stored a message. Earlier versions marked only the sessions that they began."""
    marked = (message.metadata.get("client"), info.metadata.get("client"))
    return info.format == LOCAL and ADDED_BY_MCP["client"] in marked


def update_facts(access: McpAccess, arguments: schemas.FactsArguments) -> results.FactsResult:
    """Read facts; or add, confirm, correct or reject a fact on the person's word."""
    if arguments.action in ("list", "history", "review"):
        return facts(access, arguments)
    memory_facts = access.memory.facts
    waiting = memory_facts.review(access.user, access.namespace)
    changed = _change_facts(access, arguments)
    waited = {fact.id for fact in waiting} - {arguments.id, *(fact.id for fact in changed)}
    history = memory_facts.list(access.user, access.namespace, state="superseded") if waited else ()
    settled = [fact for fact in history if fact.id in waited]  # they waited for a review, and the change has settled it
    return results.FactsResult(facts=[fact_line(fact) for fact in (*changed, *settled)])


def _change_facts(access: McpAccess, arguments: schemas.FactsArguments) -> Sequence[Fact]:
    memory_facts = access.memory.facts
    if arguments.action == "add":
        if not arguments.text.strip():
            raise UsageError("The action add needs text.", hint="Give one sentence, such as 'I live in Berlin'.")
        return memory_facts.add(arguments.text, user_id=access.user, namespace=access.namespace)
    if not arguments.id:
        raise UsageError(
            f"The action {arguments.action} needs the id of a fact.", hint="The action list gives the ids."
        )
    id = access.fact(arguments.id).id
    if arguments.action == "confirm":
        return [memory_facts.confirm(id)]
    if arguments.action == "reject":
        return [memory_facts.reject(id)]
    if not arguments.text.strip():
        raise UsageError("The action correct needs text.", hint="Give the right value in it.")
    return [memory_facts.correct(id, arguments.text)]


def update_people(access: McpAccess, arguments: schemas.PeopleArguments) -> results.PeopleResult:
    """Read people; or merge, split or rename them, set who the owner is, or undo that, on the person's word."""
    if arguments.action in ("list", "show"):
        return people(access, arguments)
    memory_people, user, namespace = access.memory.people, access.user, access.namespace
    needed = {
        "merge": ("person", "other"),
        "split": ("person", "values"),
        "rename": ("person", "name"),
        "me": ("person",),
    }
    for name in needed.get(arguments.action, ()):
        if not getattr(arguments, name):
            raise UsageError(f"The action {arguments.action} needs {name}.", hint="The action list gives the ids.")
    if arguments.action == "merge":
        change = memory_people.merge(arguments.person, arguments.other, user_id=user, namespace=namespace)
    elif arguments.action == "split":
        change = memory_people.split(arguments.person, arguments.values, user_id=user, namespace=namespace)
    elif arguments.action == "rename":
        change = memory_people.rename(arguments.person, arguments.name, user_id=user, namespace=namespace)
    elif arguments.action == "me":
        change = memory_people.set_me(arguments.person, user_id=user, namespace=namespace)
    else:
        change = memory_people.undo(user, namespace)
    return results.PeopleResult(people=[person_line(one) for one in change.people], done=change.words)


def forget(access: McpAccess, arguments: schemas.ForgetArguments) -> results.ForgetResult:
    """Preview an erasure with a confirmation code; with that code, if nothing has changed since, erase for good."""
    preview = _preview(access, arguments)
    selection = (
        access.user, access.namespace, sorted(set(arguments.ids)), arguments.query.strip(), arguments.source,
        arguments.with_echoes,
    )  # fmt: skip
    counts = results.ForgetResult(
        done=False,
        messages=len(preview.messages),
        sessions=len(preview.sessions),
        characters=preview.characters,
        facts=preview.facts,
        sources=dict(preview.formats),
        files=len(preview.files),
        blocks=[f"{block.id}: {' '.join(block.texts)}" for block in preview.blocks],
        echoes=0 if arguments.with_echoes else len(preview.echoes),
        notes=[hints.over_mcp(note) for note in preview.notes],
    )
    if not arguments.confirm:
        return msgspec.structs.replace(
            counts,
            sample=_preview_sample(access, preview),
            titles=_readable_titles(access, preview),
            confirm=code_of(selection, preview),
        )
    if not is_code_of(arguments.confirm, selection, preview):
        raise UsageError(
            "The code is for another selection, or the selection has changed since; nothing was erased.",
            hint="Call again without confirm for a new preview and code.",
        )
    receipt = access.memory.erasure.forget(preview)
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


def _preview(access: McpAccess, arguments: schemas.ForgetArguments) -> ErasurePreview:
    """
    Raises:
        NotFound: There is no such message or session that the caller may see, or nothing matches.
        UsageError: No selection is given, or its words are too frequent to find.
    """
    if not (arguments.ids or arguments.query.strip() or arguments.source):
        raise UsageError(
            "Nothing is selected to forget.",
            hint="Give ids, words (query) or a source. All is erased by the person: 'appliance forget --everything'.",
        )
    ids = list(dict.fromkeys(arguments.ids))
    for id in ids:
        if id[0] == "m":
            access.message_with_session(id)
        else:
            access.session(id)
    preview = access.memory.erasure.preview(
        *ids, source=arguments.source or None, query=arguments.query.strip() or None,
        with_echoes=arguments.with_echoes, by="assistant", user_id=access.user, namespace=access.namespace,
    )  # fmt: skip
    # A session's external id can look like a message's id.
    named = {*ids, *(echo.id for echo in preview.echoes)} if arguments.with_echoes else set(ids)
    if ids and all(id[0] == "m" for id in ids) and not {f"m{key}" for key in preview.messages} <= named:
        raise UsageError(
            "The ids select more than these messages.",
            hint="Name other ids, or let the person erase them with 'appliance forget'.",
        )
    if preview.is_empty:
        raise NotFound("Nothing matches.", hint="memory_search shows what is stored; query matches exact words.")
    return preview


def _preview_sample(access: McpAccess, preview: ErasurePreview) -> list[results.MessageLine]:
    """The first messages of a preview that the caller may read."""
    lines: list[results.MessageLine] = []
    for key in preview.messages:
        if len(lines) == PREVIEW_SAMPLE_SIZE:
            break
        try:
            message, _ = access.message_with_session(f"m{key}")
        except NotFound:
            continue
        lines.append(message_line(message))
    return lines[: pagination.count_fitting(lines, rendering.render_sample_line)]


def _readable_titles(access: McpAccess, preview: ErasurePreview) -> dict[str, str]:
    """The titles of whole sessions in a preview, as far as the caller may read these."""
    titles: dict[str, str] = {}
    for key, title in preview.titles.items():
        with suppress(NotFound):
            titles[access.readable_session(f"s{key}").id] = title
    return titles
