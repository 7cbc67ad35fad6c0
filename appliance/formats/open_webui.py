"""Open WebUI: an export of chats, a single chat, or the database ``webui.db``.

A chat contains its messages twice: as the tree ``history.messages``, and as the list ``messages`` of the active
path. The parser reads the tree, and the list only if there is no tree. Texts contain reasoning, tool calls and
executed code as ``<details>`` blocks, which become messages of their own.
"""

from __future__ import annotations

import html
import re
import sqlite3
from collections.abc import Iterator
from datetime import UTC
from typing import Any

from appliance.formats import agent_records, json_stream, unknown_text
from appliance.formats import sqlite as databases
from appliance.formats import text as texts
from appliance.formats.agent_records import AgentContentPart, ConversationPlace
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, json_type, wrong_type
from appliance.formats.message_tree import NodeLink, OrderedNode, reading_order
from appliance.formats.records import best_score, counted, parse_objects
from appliance.formats.salvage import is_whole, salvage
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem, Record, SessionRecord

_FIRST_KEYS = (("id", "user_id"), ("id", "title"), ("title", "chat"))

_BLOCK_START = re.compile(
    r"""^[ \t]*<details\s+type=["'](reasoning|tool_calls|code_interpreter)["']"""
    r"""((?>(?:\s+[\w-]+=(?:"[^"]*"|'[^']*'))*))\s*>""",
    re.MULTILINE,
)
_BLOCK_END = "</details>"
_ATTRIBUTE = re.compile(r"""([\w-]+)=(?:"([^"]*)"|'([^']*)')""")
_SUMMARY = re.compile(r"\s*<summary>.*?</summary>[ \t]*\n?", re.DOTALL)
_QUOTED = re.compile(r"^[ \t]*>[ \t]?", re.MULTILINE)
# Reasoning at the start of an answer that the program was not configured to separate.
_THOUGHT = re.compile(r"\s*<(think|thinking|thought|reason|reasoning)>(.*?)</\1>\s*", re.DOTALL)

_KNOWN_KEYS = frozenset(
    "files childrenIds models usage info output sources statusHistory followUps annotation error arena".split()
)
_INTERPRETER = "code_interpreter"
# The owner of a shared link, which is a copy of its chat, begins with this.
_SHARED = "shared-"


def matches(head: DocumentHead) -> float:
    """The confidence that these are chats: a ``chat`` with a history, or the tables of the database."""
    if head.tables:
        return _score_tables(head.tables)
    return best_score(head, _score_record)


def parse(document: Document) -> Iterator[Record]:
    if _is_database(document):
        return _from_database(document)
    return parse_objects(document, _FIRST_KEYS, "chat", _row)


def _score_tables(tables: frozenset[str]) -> float:
    if "chat" not in tables or {"handle", "jid", "chat_message_join"} & tables:
        return 0.0
    return 0.95 if {"user", "auth"} <= tables else 0.3 if "messages" in tables else 0.6


def _score_record(record: dict[str, Any]) -> float:
    chat = record.get("chat")
    score = _score_chat(record)
    if isinstance(chat, dict):
        has_chat_keys = isinstance(chat.get("messages"), list) or {"models", "params"} <= chat.keys()
        return max(score, _score_chat(chat) or (0.9 if has_chat_keys else 0.0))
    return max(score, 0.9 if isinstance(chat, str) and '"history"' in chat and "user_id" in record else 0.0)


def _score_chat(chat: dict[str, Any]) -> float:
    history = chat.get("history")
    if not isinstance(history, dict):
        return 0.0
    return 0.95 if isinstance(history.get("messages"), dict) else 0.6 if "currentId" in history else 0.0


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
        with databases.open_readonly(document) as connection:
            cursor = connection.execute("SELECT * FROM chat")
            names = [column[0] for column in cursor.description]
            for number, values in enumerate(cursor, 1):
                row = dict(zip(names, values, strict=True))
                owner = as_text(row.get("user_id"))
                if owner.startswith(_SHARED):
                    shared += 1
                else:
                    owners.add(owner)
                    yield from _row(row, f"chat {number}")
    except (sqlite3.Error, *texts.READ_ERRORS) as error:
        yield InputProblem("table chat", f"reading stopped: {json_stream.error_text(error)}")
    if shared:
        copies = counted(shared, "shared copy of a chat", "shared copies of chats")
        yield InputProblem("", f"skipped {copies}", harmless=True)
    if len(owners) > 1:
        yield InputProblem("", f"the database has chats of {len(owners)} people; all were imported", harmless=True)


def _row(data: dict[str, Any], where: str) -> Iterator[Record]:
    """A row of the table or of an export, or a chat without a row."""
    chat = data.get("chat", data)
    title = as_text(data.get("title")) or as_text(as_dict(chat).get("title")) or None
    if title:
        where += f" ({title})"
    if isinstance(chat, str | bytes):
        encoded = chat.encode("utf-8", "replace") if isinstance(chat, str) else chat
        chat, problems = json_stream.decode(encoded, where)
        if chat is json_stream.DAMAGED:
            problems.append(InputProblem(where, "the chat is not valid JSON; its intact part was imported"))
            chat = salvage(texts.decoded(encoded, "utf-8")[0])
        yield from problems
    if not isinstance(chat, dict):
        yield InputProblem(where, f"the chat is {json_type(chat)}, not an object; skipped")
        return
    messages = _messages(chat)
    if messages is None:
        yield InputProblem(where, "has no messages; skipped", harmless=is_whole(data))
        return
    session = as_id(data.get("id")) or as_id(chat.get("id"))
    if session is None:
        session = agent_records.made_id("open-webui", next(iter(messages), "") or chat.get("timestamp"))
    started = data.get("created_at") or chat.get("timestamp")
    created = read_time(started, UTC)
    if created is None and started:
        yield agent_records.unreadable_time(where, started)
    models = [as_text(model) for model in as_list(chat.get("models"))]
    yield SessionRecord(session, title, created, agent_records.model_of(*models))
    prompt = as_text(as_dict(chat.get("params")).get("system")) or as_text(chat.get("system"))
    if prompt.strip():
        yield agent_records.system_prompt(session, prompt, where)
    current = as_id(as_dict(chat.get("history")).get("currentId"))
    yield from _ordered_nodes(session, messages, current, where)


def _messages(chat: dict[str, Any]) -> dict[str, Any] | None:
    """The messages by id, from the tree, else from the list; None if the chat has neither."""
    tree = as_dict(chat.get("history")).get("messages")
    if isinstance(tree, dict) and tree:
        return tree
    listed = chat.get("messages")
    if not isinstance(listed, list):
        return tree if isinstance(tree, dict) else None
    messages: dict[str, Any] = {}
    previous: str | None = None
    for number, message in enumerate(listed, 1):
        identity = as_id(as_dict(message).get("id"))
        if identity is None or identity in messages:
            identity = str(number)
        if isinstance(message, dict) and is_whole(message) and "parentId" not in message:
            message = message | {"parentId": previous}
        messages[identity] = message
        previous = identity
    return messages


def _ordered_nodes(session: str, messages: dict[str, Any], current: str | None, where: str) -> Iterator[Record]:
    links: dict[str, NodeLink] = {}
    for key, message in messages.items():
        if not isinstance(message, dict):
            yield wrong_type(f"{where}, message {key}", "message", message)
            continue
        time = read_time(message.get("timestamp"), UTC)
        children = [child for child in as_list(message.get("childrenIds")) if isinstance(child, str)]
        links[key] = NodeLink(as_id(message.get("parentId")), children, time.timestamp() if time else None)
    if current is not None and current not in links:
        yield InputProblem(where, f"currentId {current} names no message; the last one was used", harmless=True)
    for placed in reading_order(links, current):
        place = f"{where}, message {placed.node}"
        if is_whole(message := messages[placed.node]):
            yield from _message(session, message, placed, place)
        else:
            yield InputProblem(place, "the message is damaged or cut off; skipped")


def _message(session: str, message: dict[str, Any], placed: OrderedNode, where: str) -> Iterator[Record]:
    sent = read_time(message.get("timestamp"), UTC)
    if sent is None and message.get("timestamp") not in (None, ""):
        yield agent_records.unreadable_time(where, message["timestamp"])
    speaker = as_text(message.get("role"))
    role = agent_records.role_of(speaker)
    if role is None:
        yield InputProblem(where, f"unknown role {speaker!r}; imported as system")
        role = "system"
    content = agent_records.parse_content(message.get("content"))
    if role == "assistant":
        content.parts = [block for part in content.parts for block in _split_blocks(part)]
        if not any(part.text.strip() for part in content.parts):
            content.parts = list(_from_output(as_list(message.get("output"))))
    content.attachments += agent_records.attachments_of(as_list(message.get("files")))
    if content.is_empty and not message.get("error") and (rest := unknown_text.text_of_record(message, _KNOWN_KEYS)):
        content.parts.append(AgentContentPart("text", rest))
        content.unknown_types.append("")
    metadata = agent_records.model_of(message.get("model")) if role == "assistant" else {}
    if role == "system":
        metadata["hidden"] = True
    elif role == "tool":
        metadata["tools"] = [{"kind": "result"}]
    if as_text(message.get("originalContent")) or message.get("edited") is True:
        metadata["edited"] = True
    error = message.get("error")
    if not content.parts and (error_text := as_text(error) or as_text(as_dict(error).get("content"))):
        # The program showed this error in place of an answer.
        role, metadata = "system", {}
        content.parts.append(AgentContentPart("text", error_text))
    place = ConversationPlace(session, placed.node, sent, placed.parent, placed.is_off_path, where)
    yield from agent_records.records(place, role, content, metadata)


def _split_blocks(part: AgentContentPart) -> Iterator[AgentContentPart]:
    """Split an answer into its texts and blocks. Line ends between a text and a block belong to the block."""
    text = part.text
    if thought := _THOUGHT.match(text):
        yield AgentContentPart("reasoning", thought[2].strip("\n"))
        text = text[thought.end() :]
    at = 0
    while (start := _BLOCK_START.search(text, at)) is not None:
        end = _closing_position(text, start.end())
        if end < 0:
            break
        if before := text[at : start.start()].strip("\n"):
            yield AgentContentPart("text", before)
        yield from _block(start[1], start[2], text[start.end() : end])
        at = end + len(_BLOCK_END)
    if rest := text[at:].lstrip("\n") if at else text:
        yield AgentContentPart("text", rest)


def _closing_position(text: str, at: int) -> int:
    """Where a block ends, or -1. Reasoning may contain the end tag itself, but only on a quoted line."""
    while (at := text.find(_BLOCK_END, at)) >= 0:
        line = text[text.rfind("\n", 0, at) + 1 : at]
        if not line.lstrip().startswith((">", "&gt;")):
            break
        at += len(_BLOCK_END)
    return at


def _block(kind: str, attributes: str, inside: str) -> Iterator[AgentContentPart]:
    values = {name: html.unescape(double or single) for name, double, single in _ATTRIBUTE.findall(attributes)}
    summary = _SUMMARY.match(inside)
    body = (inside[summary.end() :] if summary else inside).strip("\n")
    if kind == "reasoning":
        if body.lstrip().startswith("&gt;"):
            body = html.unescape(body)
        yield AgentContentPart("reasoning", _QUOTED.sub("", body))
    elif kind == "tool_calls":
        name = values.get("name", "")
        yield AgentContentPart("call", agent_records.call_text(name, values.get("arguments", "")), name)
        # The result is an attribute in some versions, and between the tags in others.
        result = agent_records.decode_nested_json(values.get("result", "") or html.unescape(body))
        yield AgentContentPart("result", agent_records.result_text(result), name)
    else:
        yield AgentContentPart("call", body, _INTERPRETER)
        output = agent_records.decode_nested_json(values.get("output", ""))
        yield AgentContentPart("result", _output_text(output), _INTERPRETER)


def _output_text(output: Any) -> str:
    """The output of executed code: ``stdout``, ``stderr`` and ``result``."""
    if isinstance(output, dict):
        return "\n".join(agent_records.result_text(value) for value in output.values() if value not in (None, ""))
    return agent_records.result_text(output)


def _from_output(items: list[Any]) -> Iterator[AgentContentPart]:
    """The parts of an answer from ``output``, which repeats them, for an answer that is itself empty."""
    for item in items:
        fields = as_dict(item)
        kind = as_text(fields.get("type"))
        if kind == "message":
            yield from (part for part in agent_records.parse_content(fields.get("content")).parts if part.text)
        elif kind == "reasoning":
            yield AgentContentPart(
                "reasoning", agent_records.result_text(fields.get("summary") or fields.get("content"))
            )
        elif kind in ("function_call", "function_call_output"):
            yield from agent_records.parse_content([fields]).parts
        elif kind == "open_webui:code_interpreter":
            yield AgentContentPart("call", as_text(fields.get("code")), _INTERPRETER)
            yield AgentContentPart("result", _output_text(fields.get("output")), _INTERPRETER)
