"""Rocket.Chat: the JSON of a room, a list of messages with ``msg``, ``u`` and ``ts``, from its export or its API."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

from appliance.formats import json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import (
    as_dict,
    as_id,
    as_list,
    as_text,
    first_text,
    made_id,
    sent_at,
    with_attachments,
)
from appliance.formats.people_chats import Participants, PeopleMessageIds
from appliance.formats.records import counted, metadata_of
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_OPENED = frozenset({("messages",)})
_FIRST_KEYS = (("_id", "rid"), ("_id", "msg"), ("rid", "msg"))
_KEYS = frozenset({"_id", "rid", "u", "ts", "_updatedAt"})


def matches(head: DocumentHead) -> float:
    """The confidence that this is a list of such messages, by itself or under ``messages``."""
    found = json_stream.preview(head.text)
    if len(found) == 1 and isinstance(as_dict(found[0]).get("messages"), list):
        found = tuple(found[0]["messages"])
    messages = [as_dict(one) for one in found]
    if any("msg" in one and len(_KEYS & one.keys()) > 2 for one in messages):
        return 0.95
    return 0.7 if any("msg" in one and len(_KEYS & one.keys()) > 1 for one in messages) else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The messages in file order; a session is a room."""
    begun: set[str] = set()
    ids: dict[str, PeopleMessageIds] = {}
    participants = Participants()
    skipped: Counter[str] = Counter()
    for where, data in _messages(document):
        if isinstance(data, InputProblem):
            yield data
            continue
        files = [{"name": name} for one in map(as_dict, [data.get("file"), *as_list(data.get("files"))])
                 if (name := as_text(one.get("name")))]  # fmt: skip
        files = list({file["name"]: file for file in files}.values())
        shown = [first_text(as_dict(one), "text", "description") for one in as_list(data.get("attachments"))]
        words = "\n\n".join(part for part in (as_text(data.get("msg")), *shown) if part)
        if not words and not files and (words := unknown_text.text_under_text_keys(data)):
            yield unknown_text.kept(where)
        text = with_attachments(words, files)
        kind = as_text(data.get("t"))
        if not text.strip():
            skipped[f"type {kind}" if kind else "message"] += 1
            continue
        sent, note = sent_at(as_dict(data.get("ts")).get("$date", data.get("ts")), where)
        if note:
            yield note
        room = as_id(data.get("rid"))
        session = room or made_id("rocketchat", document.name.rpartition("/")[2])
        if session not in begun:
            begun.add(session)
            yield SessionRecord(session, room, sent)
        user = as_dict(data.get("u"))
        author = first_text(user, "name", "username") or as_text(data.get("alias")) or as_id(user.get("_id"))
        claims = ids.setdefault(session, PeopleMessageIds())
        identity, is_copy, id_note = claims.claim(as_id(data.get("_id")), text, as_text(user.get("_id")))
        if id_note:
            yield InputProblem(where, id_note, harmless=True)
        if is_copy:
            continue
        handle = as_text(user.get("username"))
        yield from participants.note(session, author, ("id", as_id(user.get("_id"))), ("handle", handle))
        role: Role = "system" if kind and kind not in ("e2e", "discussion-created") else "user"
        reactions = [
            {"emoji": emoji, "by": name}
            for emoji, about in as_dict(data.get("reactions")).items()
            for name in as_list(as_dict(about).get("usernames"))
        ]
        metadata = metadata_of(attachments=files, reactions=reactions, edited=bool(data.get("editedAt")))
        reply_to = as_id(data.get("tmid"))
        yield MessageRecord(session, role, text, identity, author, sent, reply_to, metadata, where)
    for kind, count in sorted(skipped.items()):
        yield InputProblem("", f"skipped {counted(count, 'record')} without text ({kind})", harmless=True)


def _messages(document: Document) -> Iterator[tuple[str, Any]]:
    """The messages, or problems, each with its place."""
    for part in json_stream.parts(document, _OPENED, _FIRST_KEYS):
        if isinstance(part, InputProblem):
            yield "", part
        elif part.shape in (("*",), ("messages", "*")):
            where = f"line {part.line}"
            problem = json_fields.object_problem(part.data, where, "message")
            yield where, problem or part.data
