"""LangGraph: a BaseStore. Needs the extra ``langgraph``.

    store = ApplianceStore(memory)
    store.put(("users", "ana"), "food", {"text": "Ana likes noodles"})
    store.search(("users",), query="what does Ana eat?")

A LangGraph namespace is a session, and an item is a message in it: a search reads the message's text, and its metadata
has the value. An item with a time to live has a session of its own, which expires. All these sessions are in one
namespace of the memory, apart from conversations; tags of the sessions say which namespaces they are in.
"""

from __future__ import annotations

import asyncio
import hashlib
import math
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from appliance.errors import NotFound, UsageError
from appliance.integrations import missing_extra_message, turns

try:
    from langgraph.store.base import (
        BaseStore,
        GetOp,
        Item,
        ListNamespacesOp,
        MatchCondition,
        Op,
        PutOp,
        Result,
        SearchItem,
        SearchOp,
        TTLConfig,
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("langgraph")) from error

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.resources import Session
    from appliance.types import Message, SessionInfo

METADATA_KEY = "langgraph"
"""The metadata key of a session's LangGraph namespace and of a message's item. Also the default namespace of the items
in the memory."""

MAX_SESSION_SEARCHES = 8
"""Up to so many namespaces are searched one by one, so that none crowds out the others; more are searched together."""

SEARCH_LIMIT = 1000
"""The limit of a search: more than it ever ranks."""

NamespacePath = tuple[str, ...]


class ApplianceStore(BaseStore):
    """Items of a LangGraph program, stored in the memory and found by meaning.

    A put of an existing key updates it. A deleted item is no longer found; its text stays, like the earlier revision of
    an edited message, until it is erased. An item with a time to live is removed when it has expired or is deleted.
    """

    __slots__ = ("_memory", "_namespace", "_user", "ttl_config")

    supports_ttl = True

    def __init__(
        self,
        memory: Appliance,
        *,
        user_id: str | None = None,
        namespace: str = METADATA_KEY,
        ttl: TTLConfig | None = None,
    ) -> None:
        """``user_id`` defaults to the configured user. Items of other users and namespaces are not visible. ``ttl`` has
        the time to live of items that set none, and whether a read begins it anew. The memory sweeps by itself, and
        never returns what has expired.

        Raises:
            UsageError: The namespace is empty; conversations have the empty one.
        """
        if not namespace:
            raise UsageError("The namespace of an item must not be empty.", hint=f'Name one, such as "{METADATA_KEY}".')
        self._memory = memory
        self._namespace = namespace
        self._user = memory.settings.user if user_id is None else user_id
        self.ttl_config = ttl

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations. Reads see the state before all puts; of several puts of a key the last one counts.

        Raises:
            InvalidNamespaceError: A label is empty or contains a period.
            UsageError: A value contains what JSON can't represent, or a time to live is below 0; nothing was stored.
        """
        done, puts, results = list(ops), dict[tuple[NamespacePath, str], PutOp](), list[Result]()
        for op in done:
            validate_op_namespace(op)
            if isinstance(op, PutOp) and op.value is not None:
                turns.check_json_value(dict(op.value), f"The value of {op.key!r}")
                _seconds(op.ttl)
        for op in done:
            match op:
                case GetOp():
                    results.append(self._get(op))
                case SearchOp():
                    results.append(self._search(op))
                case ListNamespacesOp():
                    results.append(self._namespaces(op))
                case PutOp():
                    puts[op.namespace, op.key] = op
                    results.append(None)
                case _:
                    raise UsageError(f"A store has no operation {type(op).__name__}.")
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same on another thread, because the memory's calls block."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        turn = self._latest(op.namespace, op.key)
        if turn is None:
            return None
        if op.refresh_ttl:
            self._refresh([turn])
        return Item(**_fields(turn))

    def _put(self, op: PutOp) -> None:
        stored = self._stored(op.namespace, op.key)
        if op.value is None:
            self._remove(op.namespace, stored)
            return
        now = datetime.now(UTC).isoformat()
        ttl = _seconds(op.ttl)
        form = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": dict(op.value),
            "created_at": _stored_form(stored[-1])["created_at"] if stored else now,
            "updated_at": now,
            **({"ttl": ttl} if ttl else {}),
        }
        text = _text(op)
        hidden_field = {"hidden": True} if op.index is False or not text.strip() else {}
        session = self._session(op.namespace, op.key if ttl else None, ttl)
        session.add(
            "assistant",
            text if text.strip() else turns.PLACEHOLDER_TEXT,
            external_id=f"{METADATA_KEY}:{op.key}",
            metadata={METADATA_KEY: form, **hidden_field},
        )
        self._remove(op.namespace, [turn for turn in stored if turn.session_id != session.id])

    def _remove(self, path: NamespacePath, stored: Iterable[Message]) -> None:
        for turn in stored:
            if "ttl" in _stored_form(turn):
                self._memory.sessions.get(turn.session_id).delete()
            else:
                turns.withdraw(self._session(path), turn)

    def _refresh(self, found: Iterable[Message]) -> None:
        """Begin the time to live of items anew."""
        for turn in found:
            if ttl := _stored_form(turn).get("ttl"):
                try:
                    self._memory.sessions.get(turn.session_id).set_ttl(ttl)
                except NotFound:  # it has expired since it was read
                    continue

    def _search(self, op: SearchOp) -> list[SearchItem]:
        sessions = self._sessions(op.namespace_prefix)
        latest: dict[tuple[NamespacePath, str], Message] = {}
        for turn in (turn for session in sessions for turn in self._turns(session)):
            place = (tuple(_stored_form(turn)["namespace"]), _key(turn))
            if place not in latest or _updated(latest[place]) < _updated(turn):
                latest[place] = turn
        matching = {
            turn.id: turn for turn in latest.values() if _matches_filter(_stored_form(turn)["value"], op.filter)
        }
        within = [session for session in sessions if session.id in {turn.session_id for turn in matching.values()}]
        scores = self._scores(op, within) if op.query else {}
        best = sorted((id for id in matching if id in scores), key=lambda id: -scores[id])
        ids = [*best, *(id for id in matching if id not in scores)][op.offset : op.offset + op.limit]
        if op.refresh_ttl:
            self._refresh(matching[id] for id in ids)
        return [SearchItem(**_fields(matching[id]), score=scores.get(id)) for id in ids]

    def _scores(self, op: SearchOp, sessions: list[SessionInfo]) -> dict[str, float]:
        """The score of each message that a search finds, by id; folded variants get the score of their hit."""
        scores: dict[str, float] = {}
        tags = None
        if len(sessions) > MAX_SESSION_SEARCHES and op.namespace_prefix:
            tags = [_tag(op.namespace_prefix)]
            for info in sessions:  # those of earlier versions have no tags
                if tags[0] not in info.tags:
                    self._memory.sessions.get(info.id).tag(_tags(_namespace_path(info)))
        for session in [info.id for info in sessions] if len(sessions) <= MAX_SESSION_SEARCHES else [None]:
            hits = self._memory.search(
                op.query or "", limit=SEARCH_LIMIT, user_id=self._user, namespace=self._namespace, session_id=session,
                tags=tags, profile="items", min_score=0,
            )  # fmt: skip
            for hit in hits:
                for id in (hit.message_id, *hit.why.get("variants", ())):
                    scores[id] = max(hit.score, scores.get(id, hit.score))
        return scores

    def _namespaces(self, op: ListNamespacesOp) -> list[NamespacePath]:
        paths = {
            _namespace_path(info)[: op.max_depth]
            for info in self._sessions(())
            if all(_matches(condition, _namespace_path(info)) for condition in op.match_conditions or ())
            and self._turns(info)
        }
        return sorted(paths)[op.offset : op.offset + op.limit]

    def _sessions(self, prefix: NamespacePath, *, exactly: bool = False) -> list[SessionInfo]:
        """The sessions of all namespaces that begin with ``prefix``, oldest first."""
        metadata_filter = {METADATA_KEY: list(prefix)} if exactly else None
        infos = self._memory.sessions.list(
            user_id=self._user, namespace=self._namespace, metadata=metadata_filter, sort="created", reverse=True
        )
        return [
            info for info in infos if METADATA_KEY in info.metadata and _namespace_path(info)[: len(prefix)] == prefix
        ]

    def _session(self, path: NamespacePath, key: str | None = None, ttl: int = 0) -> Session:
        """The session of a namespace, or of an item with a time to live of ``ttl`` seconds."""
        # Labels may have any length, so a digest of them identifies the session.
        name = _digest(path if key is None else (*path, "", key))
        session = self._memory.sessions.create(
            external_id=f"{METADATA_KEY}:{name}",
            title=" / ".join(path if key is None else (*path, key)),
            user_id=self._user,
            namespace=self._namespace,
            metadata={METADATA_KEY: list(path)},
            ttl=ttl,
            options={"independent": True},
        )
        if key is not None:
            session.tag(_tags(path))
        return session

    def _latest(self, path: NamespacePath, key: str) -> Message | None:
        stored = self._stored(path, key)
        return stored[-1] if stored else None

    def _stored(self, path: NamespacePath, key: str) -> list[Message]:
        """The item of a key, the latest last: there are two if the program ended while its time to live changed."""
        sessions = self._sessions(path, exactly=True)
        return sorted((turn for info in sessions for turn in self._turns(info) if _key(turn) == key), key=_updated)

    def _turns(self, info: SessionInfo) -> list[Message]:
        try:
            messages = self._memory.sessions.messages(info.id)
        except NotFound:  # it has expired since it was listed
            return []
        return [turn for turn in messages if METADATA_KEY in turn.metadata and not turn.metadata.get("deleted")]


def _digest(labels: Iterable[str]) -> str:
    return hashlib.blake2b("\x1f".join(labels).encode(), digest_size=16).hexdigest()


def _tag(prefix: NamespacePath) -> str:
    """The tag of the sessions whose namespaces begin with ``prefix``."""
    return f"{METADATA_KEY}:{_digest(prefix)}"


def _tags(path: NamespacePath) -> list[str]:
    return [_tag(path[:length]) for length in range(1, len(path) + 1)]


def _seconds(minutes: float | None) -> int:
    """A time to live in whole seconds, at least one; 0 for ever.

    Raises:
        UsageError: It is below 0 or not finite.
    """
    if minutes is None:
        return 0
    if not 0 <= minutes < math.inf:
        raise UsageError(f"A time to live can't be {minutes} minutes.", hint="Use a number of minutes, or None.")
    return max(1, math.ceil(minutes * 60))


def _updated(turn: Message) -> str:
    return str(_stored_form(turn)["updated_at"])


def _namespace_path(info: SessionInfo) -> NamespacePath:
    return tuple(info.metadata[METADATA_KEY])


def _stored_form(turn: Message) -> dict[str, Any]:
    return cast("dict[str, Any]", turn.metadata[METADATA_KEY])


def _key(turn: Message) -> str:
    return str(_stored_form(turn)["key"])


def _fields(turn: Message) -> dict[str, Any]:
    form = _stored_form(turn)
    times = {name: datetime.fromisoformat(form[name]) for name in ("created_at", "updated_at")}
    return {"namespace": tuple(form["namespace"]), "key": form["key"], "value": form["value"], **times}


def _text(op: PutOp) -> str:
    """The searchable text of an item: the fields that ``index`` names, else all fields."""
    value = dict(op.value or {})
    if isinstance(op.index, list):
        return "\n".join(text for path in op.index for text in get_text_at_path(value, path))
    return "\n".join(_text_values(value))


def _text_values(value: object, name: str = "") -> Iterator[str]:
    """The texts of a value, field by field; numbers and the like with the name of their field."""
    match value:
        case str():
            yield value
        case Mapping():
            for key, item in value.items():
                yield from _text_values(item, str(key))
        case list():
            for item in value:
                yield from _text_values(item, name)
        case None:
            return
        case _:
            yield f"{name}: {value}"


def _matches_filter(value: Mapping[str, Any], filters: Mapping[str, Any] | None) -> bool:
    return all(_equals(value.get(name), expected) for name, expected in (filters or {}).items())


def _equals(value: object, expected: object) -> bool:
    """Compare like LangGraph's own stores: parts of a mapping, whole lists, and operators such as "$gt"."""
    if isinstance(expected, Mapping):
        if any(str(name).startswith("$") for name in expected):
            return all(_compares(value, str(name), operand) for name, operand in expected.items())
        return isinstance(value, Mapping) and _matches_filter(value, expected)
    if isinstance(expected, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(expected)
            and all(_equals(left, right) for left, right in zip(value, expected, strict=True))
        )
    return value == expected


def _compares(value: Any, operator: str, operand: Any) -> bool:
    match operator:
        case "$eq":
            return bool(value == operand)
        case "$ne":
            return bool(value != operand)
        case "$gt" | "$gte" | "$lt" | "$lte":
            try:
                left, right = float(value), float(operand)
            except (TypeError, ValueError):
                return False  # only numbers are ordered
            return {"$gt": left > right, "$gte": left >= right, "$lt": left < right, "$lte": left <= right}[operator]
        case _:
            raise UsageError(f"There is no operator {operator!r}.", hint="Use one of $eq, $ne, $gt, $gte, $lt, $lte.")


def _matches(condition: MatchCondition, path: NamespacePath) -> bool:
    pattern = condition.path
    if len(path) < len(pattern):
        return False
    part = path[: len(pattern)] if condition.match_type == "prefix" else path[len(path) - len(pattern) :]
    return all(label in ("*", name) for name, label in zip(part, pattern, strict=True))
