"""OpenCode's storage: a tree of files for sessions, messages and parts, joined by their ids.

A session's file brings its messages and their parts along; those files are not read a second time. One whose session or
message is missing is read by itself.

    session/<project>/<session>.json  message/<session>/<message>.json  part/<message>/<part>.json
    session/info/<session>.json  session/message/<session>/<message>.json  session/part/<session>/<message>/<part>.json
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC
from typing import Any, Literal

from appliance.formats import agent_logs
from appliance.formats.agent_logs import LogEntry
from appliance.formats.agent_shapes import time_of
from appliance.formats.base import Document
from appliance.formats.json_fields import as_dict, as_text, first_text
from appliance.formats.timestamps import read_time
from appliance.types import InputProblem

_DATES = frozenset({"time", "createdAt", "created_at"})
Kind = Literal["session", "message", "part"]

# Where the files of another kind lie, seen from one: in the present layout and in the earlier one.
_SESSIONS = {"message": ("../../session/*/*.json", "../../info/*.json")}
_MESSAGES = {
    "session": ("../../message/{id}/*.json", "../message/{id}/*.json"),
    "part": ("../../message/*/*.json", "../../../message/*/*.json"),
}
_PARTS = {
    "session": ("../../part/{message}/*.json", "../part/{id}/{message}/*.json"),
    "message": ("../../part/{message}/*.json", "../../part/{id}/{message}/*.json"),
}


def kind_of(data: dict[str, Any], name: str) -> Kind | None:
    """What a file holds, by its keys and the name of its folder."""
    folders = name.replace("\\", "/").split("/")[:-1]
    time = as_dict(data.get("time"))
    if "id" not in data or "info" in data:
        return None
    if "role" in data:
        # The folders tell what older and other programs' files leave out.
        is_placed = folders[-2:-1] == ["message"] and bool(_DATES & data.keys())
        is_placed = is_placed or ("sessionID" in data and "created" in time)
        is_message = is_placed and not {"content", "parts", "text"} & data.keys()
        return "message" if is_message else None
    if "type" in data:
        in_parts = "part" in folders[-3:]
        return "part" if ("messageID" in data and in_parts) or ("sessionID" in data and in_parts) or in_parts else None
    if (
        folders[-2:-1] == ["session"]
        and {"projectID", "projectId", "directory"} & data.keys()
        and "messages" not in data
    ):
        return "session"
    if "created" in time and {"projectID", "directory", "title"} & data.keys() and "messages" not in data:
        return "session" if "session" in folders[-2:] or {"projectID", "version"} <= data.keys() else None
    return None


def assembled(document: Document, data: dict[str, Any], kind: Kind) -> Iterator[LogEntry | InputProblem]:
    """The session, or the message that has none, with what belongs to it; a note for a file that is read with it."""
    identity = as_text(data.get("id"))
    if kind == "session":
        messages: list[tuple[float, str, dict[str, Any]]] = []
        problems: list[InputProblem] = []
        for message in _objects(document, _MESSAGES["session"], problems, id=identity):
            when = read_time(time_of(message), UTC)
            order = when.timestamp() if when else 0.0
            parts = _parts(document, "session", identity, message, problems)
            messages.append((order, as_text(message.get("id")), {"info": message, "parts": parts}))
        messages.sort(key=lambda one: one[:2])
        yield from problems
        yield LogEntry(data | {"messages": [message for *_, message in messages]}, "")
    elif kind == "message":
        session = first_text(data, "sessionID", "sessionId") or document.name.replace("\\", "/").split("/")[-2]
        if session in _known_ids(document, _SESSIONS["message"]):
            yield _read_with("session")
            return
        problems = []
        parts = _parts(document, "message", session, data, problems)
        yield from problems
        yield LogEntry({"id": session, "messages": [{"info": data, "parts": parts}]}, "")
    else:
        folder = document.name.replace("\\", "/").split("/")[-2]
        if (as_text(data.get("messageID")) or folder) in _known_ids(document, _MESSAGES["part"]):
            yield _read_with("message")
            return
        yield InputProblem("", "the message that this is a part of is missing; imported as system")
        message = {"id": f"{folder}-{identity}", "role": "system"}
        yield LogEntry({"id": data.get("sessionID") or folder, "messages": [{"info": message, "parts": [data]}]}, "")


def _read_with(other: str) -> InputProblem:
    return InputProblem("", agent_logs.READ_WITH + other, harmless=True)


def _parts(
    document: Document, kind: str, session: str, message: dict[str, Any], problems: list[InputProblem]
) -> list[dict[str, Any]]:
    return list(_objects(document, _PARTS[kind], problems, id=session, message=as_text(message.get("id"))))


def _objects(
    document: Document, patterns: tuple[str, ...], problems: list[InputProblem], **ids: str
) -> Iterator[dict[str, Any]]:
    """The objects of the files at the first pattern that has any, in the order of their names."""
    if not all(ids.values()) or any("/" in one or "*" in one for one in ids.values()):
        return
    for pattern in patterns:
        files = document.context.find_all(pattern.format(**ids))
        for file in files:
            for item in agent_logs.entries(file):
                if isinstance(item, LogEntry):
                    yield item.data
                else:
                    # Such a file is no log that is still being written.
                    problems.append(
                        InputProblem(file.name.rpartition("/")[2], f"damaged, and left out: {item.message}")
                    )
        if files:
            return


def _known_ids(document: Document, patterns: tuple[str, ...]) -> frozenset[str]:
    """The ids in the files at these patterns, which are read once for a folder or zip."""
    base = document.name.replace("\\", "/").rsplit("/", 3)[0]

    def read() -> frozenset[str]:
        found = _objects(document, patterns, [])
        return frozenset(as_text(one.get("id")) for one in found)

    return document.context.get_or_create(("opencode", base, patterns), read)
