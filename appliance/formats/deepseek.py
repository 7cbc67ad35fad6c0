"""DeepSeek: ``conversations.json``, a list of conversations that are trees of fragments.

The tree is ChatGPT's, ``mapping``. A message has no author; the types of its fragments tell who speaks:
REQUEST is the person, RESPONSE the assistant, THINK its reasoning.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import field
from typing import Any

from appliance.formats import assistant_chats, json_fields, json_stream, unknown_text
from appliance.formats.base import Document, DocumentHead
from appliance.formats.json_fields import as_dict, as_id, as_list, as_text, first_text, json_type, with_attachments
from appliance.formats.message_tree import NodeLink, OrderedNode, reading_order
from appliance.formats.salvage import is_whole
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem, MessageRecord, Record, Role, SessionRecord

_FIRST_KEYS = (("id", "title"),)
_MESSAGE_TYPES: dict[str, Role] = {"REQUEST": "user", "RESPONSE": "assistant", "ANSWER": "assistant"}
_REASONING = frozenset({"THINK", "THINKING", "REASONING"})
_TOOLS = {"SEARCH": "web_search", "TOOL_SEARCH": "web_search", "READ_LINK": "open_page", "TOOL_OPEN": "open_page"}
_FRAGMENT_KEYS = frozenset({"type", "content", "elapsed_secs", "references"})
# What the page shows around an answer.
_NOTICES = frozenset({"TIP"})


def matches(head: DocumentHead) -> float:
    """How surely these are DeepSeek's trees: messages with ``fragments`` and ``inserted_at``."""
    best = 0.0
    for record in json_stream.preview(head.text):
        if not isinstance(record, dict):
            continue
        wrapped = record.get(assistant_chats.WRAPPER)
        for entry in wrapped if isinstance(wrapped, list) else [record]:
            best = max(best, _matches_record(as_dict(entry)))
    return best


def _matches_record(data: dict[str, Any]) -> float:
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
    records = assistant_chats.conversations(document, _FIRST_KEYS, "mapping", _conversation)
    return assistant_chats.with_made_ids(records)


def _conversation(data: dict[str, Any], number: int) -> Iterator[Record]:
    title = as_text(data.get("title")) or None
    where = json_fields.titled_place(number, title)
    mapping = data.get("mapping")
    if not isinstance(mapping, dict):
        harmless = mapping is None and is_whole(data)
        yield InputProblem(where, "has no messages (no mapping); skipped", harmless=harmless)
        return
    created, notes = assistant_chats.parse_time(data.get("inserted_at"), where)
    yield from notes
    start = data.get("inserted_at") or title
    session = as_id(data.get("id")) or assistant_chats.made_id("deepseek", start, next(iter(mapping), ""))
    yield SessionRecord(session, title, created)
    links = {key: _link(node) for key, node in mapping.items()}
    depth: dict[str, int] = {}
    # The latest message of a person or the assistant at or above each node.
    nearest: dict[str, str | None] = {}
    for placed in reading_order(links, as_id(data.get("current_node"))):
        place = f"{where}, node {placed.node}"
        reply_to = nearest.get(placed.parent) if placed.parent else None
        nearest[placed.node] = reply_to
        node = mapping[placed.node]
        message: Any = node.get("message") if isinstance(node, dict) else node
        if message is None and is_whole(node):
            continue
        depth[placed.node] = depth.get(placed.parent or "", 0) + 1
        if problem := json_fields.object_problem(message, place, "message"):
            yield problem
            continue
        for record in _message(session, message, depth[placed.node], placed, reply_to, place):
            if isinstance(record, MessageRecord) and record.role in ("user", "assistant"):
                nearest[placed.node] = record.external_id
            yield record


def _link(node: Any) -> NodeLink:
    fields = as_dict(node)
    sent, _ = assistant_chats.parse_time(as_dict(fields.get("message")).get("inserted_at"), "")
    children = [identity for child in as_list(fields.get("children")) if (identity := as_id(child))]
    return NodeLink(as_id(fields.get("parent")), children, sent.timestamp() if sent else None)


@dataclass(slots=True)
class _FragmentContent:
    """A message's texts by role; kind, tool name and text of its reasoning, calls and results; its problems."""

    texts: dict[Role, list[str]] = field(default_factory=dict)
    tools: list[tuple[str, str, str]] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)
    unknown: bool = False

    def text(self, value: Any) -> str:
        """A text; of a value in an unknown shape, every string."""
        text = value if isinstance(value, str) else unknown_text.text_of(value)
        self.unknown = self.unknown or (bool(text) and not isinstance(value, str))
        return text


def _read(message: dict[str, Any], depth: int) -> _FragmentContent:
    content = _FragmentContent()
    fragments = message.get("fragments")
    if fragments is None:
        # Older exports have a text, and only the alternation of turns tells whose it is.
        if reasoning := as_text(message.get("reasoning_content")):
            content.tools.append(("reasoning", "", reasoning))
        value = message.get("content")
        if value in (None, "", [], {}):
            value = [message[key] for key in unknown_text.TEXT_KEYS if key in message and key != "content"]
        content.texts["user" if depth % 2 else "assistant"] = [content.text(value)]
        return content
    if isinstance(fragments, dict):
        fragments = [fragments]
    if not isinstance(fragments, list):
        content.problems.append(f"fragments is {json_type(fragments)}, not a list; left out")
    for fragment in as_list(fragments):
        if not isinstance(fragment, dict):
            content.problems.append(f"a fragment is {json_type(fragment)}, not an object; left out")
            continue
        kind = as_text(fragment.get("type")).upper()
        text = content.text(fragment.get("content"))
        if not text and (kind in _MESSAGE_TYPES or kind in _REASONING):
            text = content.text({key: value for key, value in fragment.items() if key not in _FRAGMENT_KEYS})
        if not kind and text:
            content.texts.setdefault("user" if depth % 2 else "assistant", []).append(text)
            content.unknown = True
        elif kind in _MESSAGE_TYPES:
            content.texts.setdefault(_MESSAGE_TYPES[kind], []).append(text)
        elif kind in _REASONING:
            content.tools.append(("reasoning", "", text))
        elif kind in _NOTICES:
            content.texts.setdefault("system", []).append(text)
        else:
            name = _TOOLS.get(kind, kind.lower())
            queries = [as_text(as_dict(query).get("query")) for query in as_list(fragment.get("queries"))]
            content.tools.append(("call", name, "\n".join(query for query in queries if query)))
            pages = [_page_text(page) for page in (*as_list(fragment.get("results")), fragment.get("result"))]
            content.tools.append(("result", name, "\n\n".join(page for page in pages if page) or text))
    return content


def _page_text(result: Any) -> str:
    lines = (as_text(as_dict(result).get(key)) for key in ("title", "url", "snippet"))
    return "\n".join(line for line in lines if line)


def _message(
    session: str, message: dict[str, Any], depth: int, placed: OrderedNode, reply_to: str | None, where: str
) -> Iterator[Record]:
    """The person's text, then the reasoning and tools of the answer, then the answer."""
    node = placed.node
    branch_metadata = {"branch": True} if placed.is_off_path else {}
    content = _read(message, depth)
    for problem in content.problems:
        yield InputProblem(where, problem)
    if content.unknown:
        yield unknown_text.kept(where)
    sent, notes = assistant_chats.parse_time(message.get("inserted_at"), where)
    yield from notes
    attachments = _attachments(message)
    if attachments and not content.texts.keys() & {"user", "assistant"}:
        content.texts["user"] = []
    texts: dict[Role, str] = {}
    for role, parts in content.texts.items():
        text = "\n\n".join(part for part in parts if part.strip()) if len(parts) > 1 else "".join(parts)
        text = with_attachments(text, attachments) if role == "user" else text
        if text.strip():
            texts[role] = text
    answers = [(role, text) for role, text in texts.items() if role != "user"]
    tools = [tool for tool in content.tools if tool[2].strip()]
    if "user" in texts:
        metadata: dict[str, Any] = {"attachments": attachments} if attachments else {}
        yield MessageRecord(
            session, "user", texts["user"], node, None, sent, reply_to, metadata | branch_metadata, where
        )
        reply_to = node
    answer = (f"{node}-answer" if "user" in texts else node) if answers else reply_to
    for number, (kind, name, text) in enumerate(tools, 1):
        metadata = json_fields.tool_metadata(kind, name) | branch_metadata
        own = f"{node}-{kind}-{number}"
        yield MessageRecord(session, "tool", text, own, name or None, sent, answer, metadata, where)
    for number, (role, text) in enumerate(answers):
        metadata = {"model": model} if role == "assistant" and (model := as_text(message.get("model"))) else {}
        identity = answer if number == 0 else f"{node}-{role}"
        yield MessageRecord(session, role, text, identity, None, sent, reply_to, metadata | branch_metadata, where)
    if not (texts or tools or content.problems):
        yield InputProblem(where, "the message is empty; skipped", harmless=True)


def _attachments(message: dict[str, Any]) -> list[dict[str, str]]:
    attachments: list[dict[str, str]] = []
    for entry in as_list(message.get("files")):
        fields = as_dict(entry)
        name = as_text(entry) or first_text(fields, "file_name", "name", "fileName", "id", "file_id")
        text = first_text(fields, "content", "extracted_content")
        if name or text:
            attachments.append({"name": name or "file"} | ({"text": text} if text else {}))
    return attachments
