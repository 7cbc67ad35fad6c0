"""The programs that put conversations into an object: a backup of a front end, a thread, a character's histories.

Each is known by keys of its own; its reader yields its conversations.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from typing import Any

from appliance.formats import agent_records, json_fields
from appliance.formats.agent_records import AgentContentPart
from appliance.formats.chat_app_turns import AppConversation, AppTurn, Fields, ReadTurns, text_parts, turn_of_content
from appliance.formats.json_fields import as_dict, as_list, as_text, decode_object, first_id, first_text
from appliance.types import InputProblem, Role

ReadFile = Callable[[Fields], Iterator[AppConversation]]

_TIMES = ("createdAt", "created_at", "created", "timestamp", "date", "time", "updatedAt")
_OPENING = "<|BEGIN-VISIBLE-CHAT|>"


def reader_of(record: Fields) -> ReadFile | None:
    """The reader of an object that holds conversations; None if it is none of a known program."""
    return next((read for is_it, read in _READERS if is_it(record)), None)


def _turns(messages: Iterable[Any], where: str, read: ReadTurns) -> list[AppTurn | InputProblem]:
    """The turns of a list of messages, each with its place, and the problems of those that are no messages."""
    turns: list[AppTurn | InputProblem] = []
    for entry in json_fields.entries(messages, where, "message"):
        if isinstance(entry, InputProblem):
            turns.append(entry)
        else:
            turns += [replace(turn, where=entry[1]) for turn in read(entry[2])]
    return turns


def _plain(message: Fields) -> Iterator[AppTurn]:
    """A message with a role, and its words under one of the usual keys."""
    content = next((message[key] for key in ("contentParts", "content", "text") if message.get(key)), None)
    reasoning = text_parts(first_text(message, "reasoningContent", "reasoning_content"), "reasoning")
    for turn in turn_of_content(
        agent_records.role_of(first_text(message, "role", "from", "author")), content, time=_time(message),
        identity=first_id(message, "id", "uuid"), model=first_text(message, "model", "originLLM"),
        reply_to=first_id(message, "parentId"),
    ):  # fmt: skip
        yield replace(turn, parts=reasoning + turn.parts)


def _time(fields: Fields) -> Any:
    value = next((fields[key] for key in _TIMES if fields.get(key)), None)
    return as_dict(value).get("$date", value)


def _conversation(data: Fields, messages: Any, read: ReadTurns = _plain, **more: Any) -> AppConversation:
    title = more.pop("title", None) or first_text(data, "title", "name", "topic", "chatTitle", "userTitle", "autoTitle")
    identity = more.pop("identity", None) or first_id(data, "id", "chatID", "_id")
    where = f"conversation {title or identity or ''}".rstrip()
    return AppConversation(
        identity, title or None, more.pop("time", None) or _time(data), _turns(as_list(messages), where, read)
    )


def _objects(values: Any) -> Iterator[Fields]:
    return (value for value in as_list(values) if isinstance(value, dict))


# --- front ends ---------------------------------------------------------------------------------------


def _nextchat(data: Fields) -> Iterator[AppConversation]:
    for session in _objects(as_dict(data.get("chat-next-web-store")).get("sessions")):
        # The time of the last message is no time of the conversation.
        yield _conversation(session, session.get("messages"))


def _chatbox(data: Fields) -> Iterator[AppConversation]:
    sessions = [as_dict(value) for key, value in data.items() if key.startswith("session:")]
    for session in [*sessions, *_objects(data.get("chat-sessions"))]:
        forks = [
            message
            for fork in as_dict(session.get("messageForksHash")).values()
            for one in _objects(as_dict(fork).get("lists"))
            for message in as_list(one.get("messages"))
        ]
        conversation = _conversation(session, session.get("messages"))
        branches = [
            replace(turn, is_branch=True) if isinstance(turn, AppTurn) else turn
            for turn in _turns(forks, "fork", _plain)
        ]
        yield replace(conversation, turns=[*conversation.turns, *branches])
        for thread in _objects(session.get("threads")):
            yield _conversation(thread, thread.get("messages"))


def _lobechat(data: Fields) -> Iterator[AppConversation]:
    state = as_dict(data.get("state")) or as_dict(data.get("data"))
    titles = {first_id(topic, "id"): as_text(topic.get("title")) for topic in _objects(state.get("topics"))}
    names = {
        first_id(one, "id"): first_text(as_dict(one.get("meta")), "title") or as_text(one.get("title"))
        for one in _objects(state.get("sessions"))
    }
    groups: dict[str | None, list[Any]] = defaultdict(list)
    for message in as_list(state.get("messages")):
        groups[first_id(as_dict(message), "topicId", "topic_id", "threadId", "sessionId", "session_id")].append(message)
    for identity, messages in groups.items():
        yield _conversation({"id": identity}, messages, title=titles.get(identity) or names.get(identity))


def _typingmind(data: Fields) -> Iterator[AppConversation]:
    for chat in _objects(as_dict(data.get("data")).get("chats")):
        yield _conversation(chat, chat.get("messages"))


def _big_agi(data: Fields) -> Iterator[AppConversation]:
    conversations = data.get("conversations")
    for one in _objects(conversations) if isinstance(conversations, list) else [data]:
        yield _conversation(one, one.get("messages"), _big_agi_turn)


def _big_agi_turn(message: Fields) -> Iterator[AppTurn]:
    if not isinstance(message.get("fragments"), list):
        yield from _plain(message)
        return
    parts: list[AgentContentPart] = []
    files: list[str] = []
    for fragment in map(as_dict, message["fragments"]):
        part = as_dict(fragment.get("part"))
        kind = as_text(part.get("pt"))
        if kind == "text" or (kind == "error" and part.get("error")):
            parts += text_parts(first_text(part, "text", "error"))
        elif kind == "ma":
            parts += text_parts(part.get("aText"), "reasoning")
        elif kind == "tool_invocation":
            call = as_dict(part.get("invocation"))
            name = as_text(call.get("name")) or as_text(call.get("type"))
            parts += text_parts(agent_records.call_text(name, call.get("args", call.get("code"))), "call")
        elif kind == "tool_response":
            parts += text_parts(agent_records.result_text(as_dict(part.get("response")).get("result")), "result")
        elif kind == "doc":
            files.append(first_text(part, "l1Title") or first_text(fragment, "title") or "file")
            parts += text_parts(as_text(as_dict(part.get("data")).get("text")))
        elif kind in ("image_ref", "reference"):
            files.append(first_text(fragment, "title") or first_text(part, "altText") or "image")
    role = agent_records.role_of(as_text(message.get("role")))
    yield AppTurn(role or "system", tuple(parts), _time(message), first_id(message, "id"), attachments=tuple(files))


def _cherry(data: Fields) -> Iterator[AppConversation]:
    tables = as_dict(data.get("indexedDB"))
    blocks = {first_id(block, "id"): block for block in _objects(tables.get("message_blocks"))}

    def read(message: Fields) -> Iterator[AppTurn]:
        own = [blocks.get(as_text(identity)) or {} for identity in as_list(message.get("blocks"))]
        parts = [part for block in own for part in _cherry_parts(block)]
        parts += text_parts(message.get("content")) if not parts else ()
        role = agent_records.role_of(as_text(message.get("role")))
        model = first_text(message, "modelId") or first_text(as_dict(message.get("model")), "id")
        yield AppTurn(role or "system", tuple(parts), _time(message), first_id(message, "id"), model=model)

    stored = as_dict(decode_object(as_dict(data.get("localStorage")).get("persist:cherry-studio")))
    assistants = as_dict(decode_object(stored.get("assistants"))).get("assistants")
    names = {
        first_id(topic, "id"): as_text(topic.get("name"))
        for one in _objects(assistants)
        for topic in _objects(one.get("topics"))
    }
    for topic in _objects(tables.get("topics")):
        yield _conversation(topic, topic.get("messages"), read, title=names.get(first_id(topic, "id")))


def _cherry_parts(block: Fields) -> tuple[AgentContentPart, ...]:
    kind, content = as_text(block.get("type")), block.get("content")
    if kind == "tool":
        name = first_text(block, "toolName", "toolId")
        call = AgentContentPart("call", agent_records.call_text(name, block.get("arguments")), name)
        return (call, *text_parts(agent_records.result_text(content), "result"))
    return text_parts(content, "reasoning" if kind == "thinking" else "text")


def _chatgpt_exporter(data: Fields) -> Iterator[AppConversation]:
    """ChatGPT Exporter and its like: a browser's extension that names the sides after the prompt and the response."""
    head = as_dict(data.get("metadata"))
    link = as_text(head.get("link")).rstrip("/").rpartition("/")[2]
    dates = as_dict(head.get("dates"))
    yield _conversation(
        head, data.get("messages"), _chatgpt_exporter_turn, identity=link or None, time=dates.get("created")
    )


def _chatgpt_exporter_turn(message: Fields) -> Iterator[AppTurn]:
    roles: dict[str, Role] = {"prompt": "user", "response": "assistant"}
    word = as_text(message.get("role")).lower()
    yield AppTurn(roles.get(word, "system"), text_parts(message.get("say")), message.get("time"))


def _perplexity(data: Fields) -> Iterator[AppConversation]:
    entries = as_list(data.get("entries"))
    first = next(_objects(entries), {})
    title = first_text(first, "thread_title")
    identity = first_id(first, "thread_url_slug", "context_uuid", "backend_uuid")
    yield _conversation(data, entries, _perplexity_turns, title=title, identity=identity)


def _perplexity_turns(entry: Fields) -> Iterator[AppTurn]:
    time = next((entry[key] for key in ("entry_created_datetime", "updated_datetime") if entry.get(key)), None)
    time = f"{time}Z" if isinstance(time, str) and time[-1:].isdigit() and "+" not in time else time
    identity = first_id(entry, "backend_uuid", "uuid")
    shared: dict[str, Any] = {"time": time}
    yield AppTurn(
        "user", text_parts(entry.get("query_str")), identity=f"{identity}-query" if identity else None, **shared
    )
    blocks = [as_dict(block.get("markdown_block")) for block in _objects(entry.get("blocks"))]
    answers = [as_text(block.get("answer")) or "".join(map(as_text, as_list(block.get("chunks")))) for block in blocks]
    answer = next(filter(None, answers), "")
    if not answer:
        steps = entry.get("text")
        decoded = agent_records.decode_nested_json(steps) if isinstance(steps, str) else steps
        final = next((as_dict(s.get("content")) for s in _objects(decoded) if s.get("step_type") == "FINAL"), {})
        answer = as_text(as_dict(decode_object(final.get("answer"))).get("answer")) or as_text(final.get("answer"))
        answer = (
            answer or as_text(as_dict(decoded).get("answer")) or (as_text(steps) if isinstance(decoded, str) else "")
        )
    yield AppTurn(
        "assistant", text_parts(answer), identity=identity, model=as_text(entry.get("display_model")), **shared
    )


# --- characters and local models ----------------------------------------------------------------------


def _webui_pairs(data: Fields) -> Iterator[AppConversation]:
    """text-generation-webui: pairs of a prompt and a reply; where the character opens, the first prompt is a mark."""
    pairs = [pair for pair in as_list(data.get("internal")) if isinstance(pair, list) and len(pair) == 2]
    facts = as_dict(data.get("metadata"))
    turns: list[AppTurn | InputProblem] = []
    for number, pair in enumerate(pairs):
        for role, text in zip(("user", "assistant"), pair, strict=True):
            if text != _OPENING:
                time = as_dict(facts.get(f"{role}_{number}")).get("timestamp")
                turns.append(AppTurn(role, text_parts(text), time, where=f"pair {number + 1}"))  # type: ignore[arg-type]
    yield AppConversation(turns=turns)


def _character_histories(data: Fields) -> Iterator[AppConversation]:
    name = first_text(as_dict(data.get("info")), "name")
    for history in _objects(as_dict(data.get("histories")).get("histories")):
        identity = first_id(history, "external_id")
        yield _conversation(history, history.get("msgs"), _character_message, identity=identity, title=name)


def _character_message(message: Fields) -> Iterator[AppTurn]:
    source = as_dict(message.get("src"))
    role: Role = "user" if source.get("is_human") else "assistant"
    author = as_text(source.get("name")) or None
    yield AppTurn(role, text_parts(message.get("text")), _time(message), first_id(message, "id", "uuid"), author)


def _character_turns(data: Fields) -> Iterator[AppConversation]:
    turns = list(_objects(data.get("turns")))
    key = as_dict(turns[0].get("turn_key")) if turns else {}
    author = next((as_dict(t.get("author")) for t in turns if not as_dict(t.get("author")).get("is_human")), {})
    identity = first_id(key, "chat_id")
    yield _conversation(data, data.get("turns"), _character_turn, identity=identity, title=as_text(author.get("name")))


def _character_turn(turn: Fields) -> Iterator[AppTurn]:
    author = as_dict(turn.get("author"))
    role: Role = "user" if author.get("is_human") else "assistant"
    chosen = turn.get("primary_candidate_id")
    for candidate in _objects(turn.get("candidates")):
        identity = first_id(candidate, "candidate_id")
        text = text_parts(candidate.get("raw_content"))
        is_branch = bool(chosen) and identity != chosen
        time = turn.get("create_time") or candidate.get("create_time")
        yield AppTurn(role, text, time, identity, as_text(author.get("name")) or None, is_branch=is_branch)


def _zed_context(data: Fields) -> Iterator[AppConversation]:
    """Zed's earlier conversations: one text, and where in its bytes each message begins."""
    text = as_text(data.get("text")).encode()
    marks = [(mark.get("start"), as_dict(mark.get("metadata"))) for mark in _objects(data.get("messages"))]
    starts = [start if isinstance(start, int) else 0 for start, _ in marks]
    turns: list[AppTurn | InputProblem] = []
    for (_, head), start, end in zip(marks, starts, [*starts[1:], len(text)], strict=True):
        role = agent_records.role_of(as_text(head.get("role"))) or "system"
        words = text[start:end].decode("utf-8", "replace").strip("\n")
        turns.append(AppTurn(role, text_parts(words), where=f"byte {start}"))
    yield AppConversation(first_id(data, "id"), as_text(data.get("summary")) or None, None, turns)


_READERS: tuple[tuple[Callable[[Fields], bool], ReadFile], ...] = (
    (lambda d: "chat-next-web-store" in d, _nextchat),
    (lambda d: "chat-sessions" in d or any(key.startswith("session:") for key in d), _chatbox),
    (lambda d: "__exported_items" in d, _chatbox),
    (lambda d: bool({"exportType", "schemaHash"} & d.keys()) and bool({"state", "data"} & d.keys()), _lobechat),
    (lambda d: isinstance(as_dict(d.get("data")).get("chats"), list), _typingmind),
    (lambda d: "systemPurposeId" in d or _has_purpose(d), _big_agi),
    (lambda d: {"localStorage", "indexedDB"} <= d.keys() or {"localStorage", "version", "time"} <= d.keys(), _cherry),
    (lambda d: any("say" in m for m in _objects(d.get("messages"))) and "metadata" in d, _chatgpt_exporter),
    (lambda d: any("query_str" in entry for entry in _objects(d.get("entries"))), _perplexity),
    (lambda d: isinstance(d.get("internal"), list) and isinstance(d.get("visible"), list), _webui_pairs),
    (lambda d: isinstance(as_dict(d.get("histories")).get("histories"), list), _character_histories),
    (lambda d: any("candidates" in turn for turn in _objects(d.get("turns"))), _character_turns),
    (lambda d: d.get("zed") == "context" and "text" in d, _zed_context),
)


def _has_purpose(data: Fields) -> bool:
    return any("systemPurposeId" in one for one in _objects(data.get("conversations")))
