"""Open WebUI: an export of chats, one bare chat, or the database ``webui.db``.

A chat holds its messages twice: as a tree, ``history.messages``, and as the list ``messages`` of the
path that was last seen. The tree is read, and the list only where there is none. Reasoning, tool calls
and code that ran stand within the words, as ``<details>`` blocks, and are taken out of them.
"""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from appliance.ingest.parse import jsonstream, pieces
from appliance.ingest.parse import sqlite as databases
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text
from appliance.ingest.parse.pieces import Piece, Place
from appliance.ingest.parse.salvage import is_whole, salvage
from appliance.ingest.parse.tree import Link, Placed, reading_order
from appliance.ingest.parse.when import read_time
from appliance.types import Problem, Record, SessionRecord

_FIRST_KEYS = (("id", "user_id"), ("id", "title"), ("title", "chat"))

_OPENED = re.compile(
    r"""^[ \t]*<details\s+type=["'](reasoning|tool_calls|code_interpreter)["']"""
    r"""((?:\s+[\w-]+=(?:"[^"]*"|'[^']*'))*+)\s*>""",
    re.MULTILINE,
)
_CLOSED = "</details>"
_NAMED = re.compile(r"""([\w-]+)=(?:"([^"]*)"|'([^']*)')""")
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>[ \t]*\n?", re.DOTALL)
_QUOTED = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# What a model writes before its answer where the program was not told to take it out.
_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reason|reasoning)>(.*?)</\1>\s*", re.DOTALL)

_INTERPRETER = "code_interpreter"
# A shared link is a copy of its chat, under this owner.
_SHARED = "shared-"


def matches(head: Head) -> float:
    """How surely these are chats of Open WebUI: ``chat`` with a history, or the database's tables."""
    if head.tables:
        return _database(head.tables)
    best = 0.0
    for record in jsonstream.preview(head.text):
        if not isinstance(record, dict):
            continue
        if isinstance(chat := record.get("chat"), dict):
            kept = isinstance(chat.get("messages"), list) or {"models", "params"} <= chat.keys()
            best = max(best, _bare(chat) or (0.9 if kept else 0.0))
        elif isinstance(chat, str) and '"history"' in chat and "user_id" in record:
            best = max(best, 0.9)
        best = max(best, _bare(record))
    return best


def parse(document: Document) -> Iterator[Record]:
    """The chats, one at a time."""
    if _is_database(document):
        yield from _from_database(document)
        return
    for value in jsonstream.records(document, _FIRST_KEYS):
        if isinstance(value, Problem):
            yield value
        else:
            yield from _row(value.data, f"chat {value.number}")


def _database(tables: frozenset[str]) -> float:
    if "chat" not in tables or {"handle", "jid", "chat_message_join"} & tables:
        return 0.0
    return 0.95 if {"user", "auth"} <= tables else 0.3 if "messages" in tables else 0.6


def _bare(chat: dict[str, Any]) -> float:
    history = chat.get("history")
    if not isinstance(history, dict):
        return 0.0
    return 0.95 if isinstance(history.get("messages"), dict) else 0.6 if "currentId" in history else 0.0


# --- the database ---------------------------------------------------------------------------------


def _is_database(document: Document) -> bool:
    try:
        with document.open() as stream:
            return texts.read_some(stream, len(databases.MAGIC)) == databases.MAGIC
    except texts.READ_ERRORS:
        return False


def _from_database(document: Document) -> Iterator[Record]:
    shared = 0
    owners: set[str] = set()
    try:
        with databases.opened(document) as connection:
            cursor = connection.execute("SELECT * FROM chat")
            names = [column[0] for column in cursor.description]
            for number, values in enumerate(cursor, 1):
                row = dict(zip(names, values, strict=True))
                owner = as_text(row.get("user_id"))
                if owner.startswith(_SHARED):
                    shared += 1
                    continue
                owners.add(owner)
                yield from _row(row, f"chat {number}")
    except (sqlite3.Error, *texts.READ_ERRORS) as error:
        yield Problem("table chat", f"reading stopped: {jsonstream.explained(error)}")
    if shared:
        yield Problem("", f"{shared} shared copies of chats were passed over", harmless=True)
    if len(owners) > 1:
        yield Problem("", f"the database holds chats of {len(owners)} people; all were read", harmless=True)


# --- a chat -----------------------------------------------------------------------------------------


def _row(data: Any, where: str) -> Iterator[Record]:
    """A row of the table or of an export, or the chat without its row."""
    if not isinstance(data, dict):
        yield Problem(where, f"not a chat but a {type(data).__name__}; passed over")
        return
    chat = data.get("chat", data)
    title = as_text(data.get("title")) or as_text(as_dict(chat).get("title")) or None
    if title:
        where += f" ({title})"
    if isinstance(chat, str | bytes):
        written = chat.encode("utf-8", "replace") if isinstance(chat, str) else chat
        chat, problems = jsonstream.decode(written, where)
        if chat is jsonstream.DAMAGED:
            problems.append(Problem(where, "the chat is not valid JSON; what is whole in it was kept"))
            chat = salvage(texts.decoded(written, "utf-8")[0])
        yield from problems
    if not isinstance(chat, dict):
        yield Problem(where, f"the chat is a {type(chat).__name__}, not an object; passed over")
        return
    messages = _messages(chat)
    if messages is None:
        yield Problem(where, "has no messages (no history); passed over", harmless=is_whole(data))
        return
    session = as_id(data.get("id")) or as_id(chat.get("id"))
    if session is None:
        born = next(iter(messages), "") or chat.get("timestamp")
        session = pieces.made_id("open-webui", born)
    started = data.get("created_at") or chat.get("timestamp")
    created = read_time(started, UTC)
    if created is None and started:
        yield pieces.unreadable(where, started)
    models = [as_text(model) for model in as_list(chat.get("models"))]
    yield SessionRecord(session, title, created, pieces.model_of(*models))
    prompt = as_text(as_dict(chat.get("params")).get("system")) or as_text(chat.get("system"))
    if prompt.strip():
        yield pieces.system_prompt(session, prompt, where)
    current = as_id(as_dict(chat.get("history")).get("currentId"))
    yield from _placed(session, messages, current, where)


def _messages(chat: dict[str, Any]) -> dict[str, Any] | None:
    """The messages by their ids: those of the tree, else of the list; None where there are neither."""
    tree = as_dict(chat.get("history")).get("messages")
    if isinstance(tree, dict) and tree:
        return tree
    listed = chat.get("messages")
    if not isinstance(listed, list):
        return tree if isinstance(tree, dict) else None
    found: dict[str, Any] = {}
    above: str | None = None
    for number, message in enumerate(listed, 1):
        identity = as_id(as_dict(message).get("id"))
        if identity is None or identity in found:
            identity = str(number)
        if isinstance(message, dict) and is_whole(message) and "parentId" not in message:
            message = message | {"parentId": above}
        found[identity] = message
        above = identity
    return found


def _placed(session: str, messages: dict[str, Any], current: str | None, where: str) -> Iterator[Record]:
    links: dict[str, Link] = {}
    for key, message in messages.items():
        if not isinstance(message, dict):
            yield Problem(
                f"{where}, message {key}", f"a {type(message).__name__}, not an object; passed over"
            )
            continue
        time = read_time(message.get("timestamp"), UTC)
        children = [child for child in as_list(message.get("childrenIds")) if isinstance(child, str)]
        links[key] = Link(as_id(message.get("parentId")), children, time.timestamp() if time else None)
    if current is not None and current not in links:
        yield Problem(where, f"currentId {current} is not there; the last message was taken", harmless=True)
    for placed in reading_order(links, current):
        place = f"{where}, message {placed.node}"
        if is_whole(message := messages[placed.node]):
            yield from _message(session, message, placed, place)
        else:
            yield Problem(place, "the message is damaged or cut off; passed over")


def _message(session: str, message: dict[str, Any], placed: Placed, where: str) -> Iterator[Record]:
    sent = read_time(message.get("timestamp"), UTC)
    if sent is None and message.get("timestamp") not in (None, ""):
        yield pieces.unreadable(where, message["timestamp"])
    spoken = as_text(message.get("role"))
    role = pieces.role_of(spoken)
    if role is None:
        yield Problem(where, f"unknown role {spoken!r}; kept as system")
        role = "system"
    content = pieces.content_of(message.get("content"))
    if role == "assistant":
        content.pieces = [piece for whole in content.pieces for piece in _apart(whole)]
        if not any(piece.text.strip() for piece in content.pieces):
            content.pieces = list(_from_output(as_list(message.get("output"))))
    content.attachments += pieces.attachments_of(as_list(message.get("files")))
    metadata = pieces.model_of(message.get("model")) if role == "assistant" else {}
    if role == "system":
        metadata["hidden"] = True
    elif role == "tool":
        metadata["tools"] = [{"kind": "result"}]
    if as_text(message.get("originalContent")) or message.get("edited") is True:
        metadata["edited"] = True
    failed = message.get("error")
    if not content.pieces and (told := as_text(failed) or as_text(as_dict(failed).get("content"))):
        # In place of an answer the person was shown this.
        role, metadata = "system", {}
        content.pieces.append(Piece("text", told))
    place = Place(session, placed.node, sent, placed.parent, placed.branch, where)
    yield from pieces.records(place, role, content, metadata)


def _apart(whole: Piece) -> Iterator[Piece]:
    """The words of an answer and the blocks between them, each by itself.

    Line ends between words and a block belong to the block."""
    text = whole.text
    if thought := _THOUGHT.match(text):
        yield Piece("reasoning", thought[2].strip("\n"))
        text = text[thought.end() :]
    at = 0
    while (opened := _OPENED.search(text, at)) is not None:
        closed = _closing(text, opened.end())
        if closed < 0:
            break
        if words := text[at : opened.start()].strip("\n"):
            yield Piece("text", words)
        yield from _block(opened[1], opened[2], text[opened.end() : closed])
        at = closed + len(_CLOSED)
    if words := text[at:].lstrip("\n") if at else text:
        yield Piece("text", words)


def _closing(text: str, at: int) -> int:
    """Where a block ends, or -1. What a model thought may hold the mark, but then on a quoted line."""
    while (at := text.find(_CLOSED, at)) >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if not line.lstrip().startswith((">", "&gt;")):
            break
        at += len(_CLOSED)
    return at


def _block(kind: str, attributes: str, inside: str) -> Iterator[Piece]:
    named = {name: html.unescape(one or two) for name, one, two in _NAMED.findall(attributes)}
    summary = _SUMMARY.match(inside)
    body = (inside[summary.end() :] if summary else inside).strip("\n")
    if kind == "reasoning":
        if body.lstrip().startswith("&gt;"):
            body = html.unescape(body)
        yield Piece("reasoning", _QUOTED.sub("", body))
    elif kind == "tool_calls":
        name = named.get("name", "")
        yield Piece("call", pieces.called(name, named.get("arguments", "")), name)
        # Some versions have the result as an attribute, others between the tags.
        result = pieces.decoded(named.get("result", "") or html.unescape(body))
        yield Piece("result", pieces.said(result), name)
    else:
        yield Piece("call", body, _INTERPRETER)
        yield Piece("result", _printed(pieces.decoded(named.get("output", ""))), _INTERPRETER)


def _printed(output: Any) -> str:
    """What a program printed: the texts of ``stdout``, ``stderr`` and ``result``."""
    if isinstance(output, dict):
        return "\n".join(pieces.said(value) for value in output.values() if value not in (None, ""))
    return pieces.said(output)


def _from_output(items: list[Any]) -> Iterator[Piece]:
    """What ``output`` repeats of an answer, for where the answer itself is empty."""
    for item in items:
        given = as_dict(item)
        kind = as_text(given.get("type"))
        if kind == "message":
            yield from (p for p in pieces.content_of(given.get("content")).pieces if p.text)
        elif kind == "reasoning":
            yield Piece("reasoning", pieces.said(given.get("summary") or given.get("content")))
        elif kind in ("function_call", "function_call_output"):
            yield from pieces.content_of([given]).pieces
        elif kind == "open_webui:code_interpreter":
            yield Piece("call", as_text(given.get("code")), _INTERPRETER)
            yield Piece("result", _printed(given.get("output")), _INTERPRETER)
