"""The chats of Copilot in VS Code as a journal: a first line with the whole state, then a line for each change.

A change names the path of what it changes. It sets a value, appends to a list (after cutting it to a length), or
removes a key.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from appliance.formats.agent_logs import LogEntry
from appliance.formats.json_fields import as_list
from appliance.types import InputProblem

_STATE, _SET, _APPEND, _REMOVE = range(4)


def is_state(record: dict[str, Any]) -> bool:
    """Whether this is the first line of a journal."""
    return record.get("kind") == _STATE and isinstance(record.get("v"), dict) and "requests" in record["v"]


def final_states(items: Iterator[LogEntry | InputProblem]) -> Iterator[LogEntry | InputProblem]:
    """The state of each journal after its last change; a change that fits nothing becomes a problem."""
    state: LogEntry | None = None
    for item in items:
        if isinstance(item, InputProblem):
            yield item
        elif is_state(item.data):
            if state is not None:
                yield state
            state = LogEntry(item.data["v"], item.where)
        elif state is None or not _apply(state.data, item.data):
            yield InputProblem(item.where, "a change of the chat that fits nothing in it; left out")
    if state is not None:
        yield state


def _apply(state: dict[str, Any], change: dict[str, Any]) -> bool:
    """Carry out a change in place. False if its path leads nowhere."""
    kind, path = change.get("kind"), as_list(change.get("k"))
    if kind not in (_SET, _APPEND, _REMOVE) or not path:
        return False
    *way, last = path
    holder: Any = state
    for step in way:
        holder = _member(holder, step)
    if kind == _APPEND:
        held = _member(holder, last)
        if held is None and isinstance(holder, dict) and isinstance(last, str):
            held = holder[last] = []
        if not isinstance(held, list):
            return False
        if isinstance(length := change.get("i"), int) and 0 <= length <= len(held):
            del held[length:]
        held.extend(as_list(change.get("v")))
        return True
    if isinstance(holder, dict) and isinstance(last, str):
        if kind == _REMOVE:
            holder.pop(last, None)
        else:
            holder[last] = change.get("v")
        return True
    if isinstance(holder, list) and isinstance(last, int) and 0 <= last <= len(holder):
        if kind == _REMOVE:
            del holder[last : last + 1]
        else:
            holder[last : last + 1] = [change.get("v")]
        return True
    return False


def _member(holder: Any, step: Any) -> Any:
    if isinstance(holder, dict) and isinstance(step, str):
        return holder.get(step)
    if isinstance(holder, list) and isinstance(step, int) and 0 <= step < len(holder):
        return holder[step]
    return None
