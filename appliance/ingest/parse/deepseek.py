"""DeepSeek: ``conversations.json``, a list of conversations that are trees of fragments.

The tree is ChatGPT's, ``mapping``; a message has no author but fragments, whose types tell who speaks:
REQUEST is the person, RESPONSE the assistant, THINK its reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from appliance.ingest.parse import jsonstream, turns
from appliance.ingest.parse.base import Document, Head
from appliance.ingest.parse.fields import as_dict, as_id, as_list, as_text, with_attachments
from appliance.ingest.parse.salvage import is_whole
from appliance.ingest.parse.tree import Link, reading_order
from appliance.types import MessageRecord, Problem, Record, Role, SessionRecord

_FIRST_KEYS = (("id", "title"),)
_SPOKEN: dict[str, Role] = {"REQUEST": "user", "RESPONSE": "assistant", "ANSWER": "assistant"}
_REASONING = frozenset({"THINK", "THINKING", "REASONING"})
_TOOLS = {
    "SEARCH": "web_search",
    "TOOL_SEARCH": "web_search",
    "READ_LINK": "open_page",
    "TOOL_OPEN": "open_page",
}
# What the page shows around an answer.
_NOTICES = frozenset({"TIP"})


def matches(head: Head) -> float:
    """How surely these are DeepSeek's trees: messages with ``fragments`` and ``inserted_at``."""
    best = 0.0
    for record in jsonstream.preview(head.text):
        if not isinstance(record, dict):
            continue
        wrapped = record.get(turns.WRAPPER)
        for entry in wrapped if isinstance(wrapped, list) else [record]:
            best = max(best, _sure(as_dict(entry)))
    return best


def _sure(data: dict[str, Any]) -> float:
    mapping = data.get("mapping")
    if not isinstance(mapping, dict):
        return 0.0
    messages = [as_dict(as_dict(node).get("message")) for node in mapping.values()]
    if any(isinstance(message.get("fragments"), list) for message in messages):
        return 0.97
    if "inserted_at" in data and "create_time" not in data:
        # Older exports have texts in place of fragments; the tree alone would be ChatGPT's.
        return 1.0 if any(messages) else 0.9
    return 0.0


def parse(document: Document) -> Iterator[Record]:
    """The conversations of the file, one at a time."""
    yield from turns.named(_records(document))


def _records(document: Document) -> Iterator[Record]:
    for found in turns.conversations(document, _FIRST_KEYS, "mapping"):
        if isinstance(found, Problem):
            yield found
        else:
            number, data = found
            yield from _conversation(data, number)


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    where = f"conversation {number}"
    title = as_text(data.get("title")) or None
    if title:
        where += f" ({title})"
    mapping = data.get("mapping")
    if not isinstance(mapping, dict):
        harmless = mapping is None and is_whole(data)
        yield Problem(where, "has no messages (no mapping); passed over", harmless=harmless)
        return
    created, notes = turns.moment(data.get("inserted_at"), where)
    yield from notes
    born = data.get("inserted_at") or title
    session = as_id(data.get("id")) or turns.made_id("deepseek", born, next(iter(mapping), ""))
    yield SessionRecord(session, title, created)
    links = {key: _link(node) for key, node in mapping.items()}
    depth: dict[str, int] = {}
    answered: dict[str, str | None] = {}
    for placed in reading_order(links, as_id(data.get("current_node"))):
        place = f"{where}, node {placed.node}"
        above = answered.get(placed.parent) if placed.parent else None
        answered[placed.node] = above
        node = mapping[placed.node]
        message = node.get("message") if isinstance(node, dict) else node
        if message is None and is_whole(node):
            continue
        depth[placed.node] = depth.get(placed.parent or "", 0) + 1
        if not isinstance(message, dict):
            yield Problem(place, f"not a message but a {type(message).__name__}; passed over")
        elif not is_whole(message):
            yield Problem(place, "the message is damaged or cut off; passed over")
        else:
            side = {"branch": True} if placed.branch else {}
            said = _read(message, depth[placed.node])
            for record in _message(session, message, said, placed.node, above, side, place):
                if isinstance(record, MessageRecord) and record.role in ("user", "assistant"):
                    answered[placed.node] = record.external_id
                yield record


def _link(node: Any) -> Link:
    given = as_dict(node)
    sent, _ = turns.moment(as_dict(given.get("message")).get("inserted_at"), "")
    children = [child for one in as_list(given.get("children")) if (child := as_id(one))]
    return Link(as_id(given.get("parent")), children, sent.timestamp() if sent else None)


@dataclass(slots=True)
class _Said:
    """A message's words by who says them, and what was thought and looked up for them."""

    words: dict[Role, list[str]] = field(default_factory=dict)
    tools: list[tuple[str, str, str]] = field(default_factory=list)
    odd: list[str] = field(default_factory=list)


def _read(message: dict[str, Any], depth: int) -> _Said:
    said = _Said()
    fragments = message.get("fragments")
    if fragments is None:
        # Older exports: a text, and who says it only by turns.
        if thought := as_text(message.get("reasoning_content")):
            said.tools.append(("reasoning", "", thought))
        role: Role = "user" if depth % 2 else "assistant"
        said.words[role] = [as_text(message.get("content"))]
        return said
    if not isinstance(fragments, list):
        said.odd.append(f"fragments is a {type(fragments).__name__}, not a list; left out")
    for fragment in as_list(fragments):
        if not isinstance(fragment, dict):
            said.odd.append(f"a fragment is a {type(fragment).__name__}, not an object; left out")
            continue
        kind = as_text(fragment.get("type")).upper()
        content = as_text(fragment.get("content"))
        if kind in _SPOKEN:
            said.words.setdefault(_SPOKEN[kind], []).append(content)
        elif kind in _REASONING:
            said.tools.append(("reasoning", "", content))
        elif kind in _NOTICES:
            said.words.setdefault("system", []).append(content)
        else:
            name = _TOOLS.get(kind, kind.lower())
            queries = [as_text(as_dict(query).get("query")) for query in as_list(fragment.get("queries"))]
            said.tools.append(("call", name, "\n".join(query for query in queries if query)))
            found = [*as_list(fragment.get("results")), fragment.get("result")]
            said.tools.append(
                ("result", name, "\n\n".join(_page(one) for one in found if _page(one)) or content)
            )
    return said


def _page(result: Any) -> str:
    told = (as_text(as_dict(result).get(key)) for key in ("title", "url", "snippet"))
    return "\n".join(line for line in told if line)


def _message(
    session: str,
    message: dict[str, Any],
    said: _Said,
    node: str,
    above: str | None,
    side: dict[str, Any],
    where: str,
) -> Iterator[Record]:
    for odd in said.odd:
        yield Problem(where, odd)
    sent, notes = turns.moment(message.get("inserted_at"), where)
    yield from notes
    attachments = _attachments(message)
    if attachments and not said.words.keys() & {"user", "assistant"}:
        said.words["user"] = []
    spoken: list[tuple[Role, str]] = []
    for role, parts in said.words.items():
        text = "\n\n".join(part for part in parts if part.strip()) if len(parts) > 1 else "".join(parts)
        text = with_attachments(text, attachments) if role == "user" else text
        if text.strip():
            spoken.append((role, text))
    asked = [text for role, text in spoken if role == "user"]
    others = [(role, text) for role, text in spoken if role != "user"]
    tools = [tool for tool in said.tools if tool[2].strip()]
    model = as_text(message.get("model"))
    if asked:
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        yield MessageRecord(session, "user", asked[0], node, None, sent, above, metadata | side, where)
        above = node
    answer = (f"{node}-answer" if asked else node) if others else above
    for number, (kind, name, told) in enumerate(tools, 1):
        tool = {"kind": kind} | ({"name": name} if name else {})
        own = f"{node}-{kind}-{number}"
        yield MessageRecord(
            session, "tool", told, own, name or None, sent, answer, {"tools": [tool]} | side, where
        )
    for number, (role, text) in enumerate(others):
        metadata = {"model": model} if model and role == "assistant" else {}
        identity = answer if number == 0 else f"{node}-{role}"
        yield MessageRecord(session, role, text, identity, None, sent, above, metadata | side, where)
    if not (spoken or tools or said.odd):
        yield Problem(where, "the message is empty; passed over", harmless=True)


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    found: list[dict[str, str]] = []
    for entry in as_list(message.get("files")):
        given = as_dict(entry)
        stated = (as_text(given.get(key)) for key in ("file_name", "name", "fileName", "id", "file_id"))
        name = as_text(entry) or next((one for one in stated if one), "")
        text = as_text(given.get("content")) or as_text(given.get("extracted_content"))
        if name or text:
            found.append({"name": name or "file"} | ({"text": text} if text else {}))
    return found
