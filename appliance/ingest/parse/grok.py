"""Grok: ``prod-grok-backend.json`` of an account's export, and sessions of the Grok CLI.

The export is one object with all conversations; they are read one at a time. Answers that were made
again and edited prompts are branches.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from appliance.ingest.parse import grok_cli, jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, Placed, reading_order
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

# Marks for cards that the page draws; what they show is not in the message.
_CARD = re.compile(r"<grok:render\b[^>]*>.*?</grok:render>|<grok:render\b[^>]*/>", re.DOTALL)


def matches(head: Head) -> float:
    """How surely this is an export's conversations with ``responses``, or lines of a CLI session."""
    best = grok_cli.matches(head)
    for record in jsonstream.preview(head.text):
        if isinstance(record, dict):
            found = record.get(turns.WRAPPER)
            for entry in found if isinstance(found, list) else [record]:
                best = max(best, _sure(entry))
    return best


def _sure(entry: Any) -> float:
    given = as_dict(entry)
    if isinstance(given.get("conversation"), dict) and isinstance(given.get("responses"), list):
        answers = [_response(one) for one in given["responses"]]
        told = any("sender" in answer and "message" in answer for answer in answers)
        return 0.95 if told or not answers else 0.7
    conversation = as_dict(given.get("conversation"))
    return 0.8 if {"create_time", "modify_time", "system_prompt_name"} <= conversation.keys() else 0.0


def parse(document: Document) -> Iterator[Record]:
    """The conversations of an export, or the session of a CLI's file."""
    yield from turns.named(_records(document))


def _records(document: Document) -> Iterator[Record]:
    cli = grok_cli.Session(document)
    for value in jsonstream.records(document, grok_cli.FIRST_KEYS, within=turns.WRAPPER):
        if isinstance(value, Problem):
            yield value
        elif isinstance(value.data, dict) and "type" in value.data and "responses" not in value.data:
            yield from cli.line(value)
        else:
            for found in turns.unwrapped(value, "responses"):
                if isinstance(found, Problem):
                    yield found
                else:
                    number, data = found
                    yield from _conversation(data, number)
    yield from cli.notes()


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    where = f"conversation {number}"
    about = as_dict(data.get("conversation"))
    title = as_text(about.get("title")) or None
    if title:
        where += f" ({title})"
    responses = data.get("responses")
    if not isinstance(responses, list):
        harmless = responses is None and is_whole(data)
        yield Problem(where, "has no messages (no list of responses); passed over", harmless=harmless)
        return
    created, notes = turns.moment(about.get("create_time"), where)
    yield from notes
    session = as_id(about.get("conversation_id")) or as_id(about.get("id")) or _made_id(about, responses)
    yield SessionRecord(session, title, created)
    found: dict[str, tuple[str, dict[str, Any]]] = {}
    for entry in turns.entries(responses, where, "response"):
        if isinstance(entry, Problem):
            yield entry
            continue
        n, place, wrapper = entry
        response = _response(wrapper)
        key = _id(response) or f"#{n}"
        if key in found:
            yield Problem(
                place, f"the id {key[:60]} is there twice; the second one gets another", harmless=True
            )
            key = f"#{n}"
        found[key] = (place, response)
    for placed in _ordered(found, as_id(about.get("leaf_response_id"))):
        place, response = found[placed.node]
        yield from _message(session, response, placed, place)


def _ordered(found: dict[str, tuple[str, dict[str, Any]]], leaf: str | None) -> list[Placed]:
    """The responses as they were read; in the order of the file where nothing links them."""
    links: dict[str, Link] = {}
    for key, (_, response) in found.items():
        sent, _ = turns.moment(response.get("create_time"), "")
        links[key] = Link(as_id(response.get("parent_response_id")), (), sent.timestamp() if sent else None)
    if not any(link.parent in links for link in links.values()):
        return [Placed(key, None, False) for key in links]
    return reading_order(links, leaf)


def _response(wrapper: Any) -> dict[str, Any]:
    """A response is usually wrapped once more."""
    given = as_dict(wrapper)
    inner = given.get("response")
    return inner if isinstance(inner, dict) else given


def _id(response: dict[str, Any]) -> str | None:
    return as_id(response.get("response_id")) or as_id(
        as_dict(response.get("_id")).get("$oid", response.get("_id"))
    )


def _message(session: str, response: dict[str, Any], placed: Placed, where: str) -> Iterator[Record]:
    own = None if placed.node.startswith("#") else placed.node
    parent = placed.parent if placed.parent and not placed.parent.startswith("#") else None
    side: dict[str, Any] = {"branch": True} if placed.branch else {}
    sent, notes = turns.moment(response.get("create_time"), where)
    yield from notes
    spoken = as_text(response.get("sender")).strip().lower()
    role: Role = "user" if spoken in ("human", "user") else "assistant" if spoken else "system"
    if not spoken:
        yield Problem(where, "nothing says who sent it; kept as system")
    message = response.get("message")
    if message is not None and not isinstance(message, str):
        yield Problem(where, f"the message is a {type(message).__name__}, not a text; left out")
    text = as_text(message)
    if role != "user":
        text = _CARD.sub("", text)

    def tool(kind: str, name: str, told: str, number: int) -> MessageRecord:
        tools = [{"kind": kind} | ({"name": name} if name else {})]
        identity = f"{own}-{kind}-{number}" if own else None
        return MessageRecord(
            session, "tool", told, identity, name or None, sent, own, {"tools": tools} | side, where
        )

    for number, trace in enumerate(_reasoning(response), 1):
        yield tool("reasoning", "", trace, number)
    if found := _searched(response):
        yield tool("result", "web_search", found, 1)
    attachments = [{"name": name} for name in _files(response)]
    text = with_attachments(text, attachments)
    if text.strip():
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        if model := as_text(response.get("model")):
            metadata["model"] = model
        yield MessageRecord(session, role, text, own, None, sent, parent, metadata | side, where)
    elif error := as_text(response.get("error")) or as_text(as_dict(response.get("error")).get("message")):
        yield MessageRecord(session, "system", error, own, None, sent, parent, side, where)
    else:
        yield Problem(where, "the message is empty; passed over", harmless=True)


def _reasoning(response: dict[str, Any]) -> list[str]:
    """What the assistant thought, and what each of its agents did; the same words once."""
    traces = [as_text(response.get("thinking_trace"))]
    traces += [
        as_text(as_dict(trace).get("thinking_trace")) or as_text(trace)
        for trace in as_list(response.get("agent_thinking_traces"))
    ]
    return list(dict.fromkeys(trace for trace in traces if trace.strip()))


def _searched(response: dict[str, Any]) -> str:
    lines = []
    for result in as_list(response.get("web_search_results")):
        given = as_dict(result)
        told = (as_text(given.get(key)) for key in ("title", "url", "preview"))
        lines.append("\n".join(line for line in told if line))
    return "\n\n".join(line for line in lines if line.strip())


def _files(response: dict[str, Any]) -> list[str]:
    names: list[str] = []
    for key in ("file_attachments", "image_attachments", "generated_image_urls"):
        for entry in as_list(response.get(key)):
            given = as_dict(entry)
            stated = (given.get(name) for name in ("file_name", "fileName", "name", "url", "id"))
            name = as_text(entry) or next((as_text(one) for one in stated if as_text(one)), "")
            names.append(name.partition("?")[0].rstrip("/").rpartition("/")[2])
    return list(dict.fromkeys(name for name in names if name))


def _made_id(about: dict[str, Any], responses: list[Any]) -> str:
    first = _response(responses[0]) if responses else {}
    born = about.get("create_time") or about.get("title")
    return turns.made_id("grok", born, _id(first), first.get("message"))
