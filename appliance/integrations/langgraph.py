"""LangGraph: a BaseStore. Needs the extra ``langgraph``.

    store = ApplianceStore(memory)
    store.put(("users", "ana"), "food", {"text": "Ana likes noodles"})
    store.search(("users",), query="what does Ana eat?")

A namespace is a session, an item a message in it: its text is what a search reads, its metadata the value. All of
them lie in one namespace of the memory, apart from conversations.
"""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, cast

from appliance.errors import UsageError
from appliance.integrations import needs, turns

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
        get_text_at_path,
        validate_op_namespace,
    )
except ModuleNotFoundError as error:
    raise ImportError(needs("langgraph")) from error

if TYPE_CHECKING:
    from appliance.memory.session import Session
    from appliance.server.client import Appliance
    from appliance.types import Message, SessionInfo

KEPT = "langgraph"
"""The place in metadata where a session has its namespace, and a message its item. It is also the namespace of the
memory that the items lie in, unless another is given."""

ASKED_APART = 8
"""So many namespaces are searched one by one, so that none is crowded out by others; more of them together."""

POOL = 1000
"""The hits that are asked for: more than a search ever ranks."""

Path = tuple[str, ...]


class ApplianceStore(BaseStore):
    """Items of a LangGraph program, kept in the memory and found by meaning.

    A put of a key that is there updates it. A deleted item is found no more; its words stay, as an edit's earlier
    form does, until they are forgotten. There is no time to live.
    """

    __slots__ = ("_memory", "_namespace", "_user")

    def __init__(self, memory: Appliance, *, user_id: str | None = None, namespace: str = KEPT) -> None:
        """``user_id`` is the configured user unless given; items of other users and namespaces are never seen.

        Raises:
            UsageError: the namespace is empty: that one is of conversations.
        """
        if not namespace:
            raise UsageError("items need a namespace of their own", hint=f'give one, such as "{KEPT}"')
        self._memory = memory
        self._namespace = namespace
        self._user = memory.settings.user if user_id is None else user_id

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Carry out operations. Reads see what was there before; of several puts of a key the last one counts.

        Raises:
            InvalidNamespaceError: a label is empty or holds a period.
            UsageError: a value holds what JSON can't say; nothing was stored then.
        """
        done, puts, results = list(ops), dict[tuple[Path, str], PutOp](), list[Result]()
        for op in done:
            validate_op_namespace(op)
            if isinstance(op, PutOp) and op.value is not None:
                turns.as_kept(dict(op.value), f"the value of {op.key!r}")
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
                    raise UsageError(f"no operation of a store: {type(op).__name__}")
        for put in puts.values():
            self._put(put)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """The same, in a thread: the memory's calls block."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        turn = self._turn(op.namespace, op.key)
        return None if turn is None else Item(**_fields(turn))

    def _put(self, op: PutOp) -> None:
        old = self._turn(op.namespace, op.key)
        if op.value is None:
            if old is not None:
                turns.withdraw(self._session(op.namespace), old)
            return
        now = datetime.now(UTC).isoformat()
        form = {
            "namespace": list(op.namespace),
            "key": op.key,
            "value": dict(op.value),
            "created_at": now if old is None else _form(old)["created_at"],
            "updated_at": now,
        }
        text = _text(op)
        unseen = {"hidden": True} if op.index is False or not text.strip() else {}
        self._session(op.namespace).add(
            "assistant",
            text if text.strip() else turns.WORDLESS,
            external_id=f"{KEPT}:{op.key}",
            metadata={KEPT: form, **unseen},
        )

    def _search(self, op: SearchOp) -> list[SearchItem]:
        found = {
            turn.id: turn
            for session in self._sessions(op.namespace_prefix)
            for turn in self._turns(session)
            if _passes(_form(turn)["value"], op.filter)
        }
        scores = self._scores(op, {turn.session_id for turn in found.values()}) if op.query else {}
        best = sorted((id for id in found if id in scores), key=lambda id: -scores[id])
        ids = [*best, *(id for id in found if id not in scores)]
        return [
            SearchItem(**_fields(found[id]), score=scores.get(id))
            for id in ids[op.offset : op.offset + op.limit]
        ]

    def _scores(self, op: SearchOp, sessions: set[str]) -> dict[str, float]:
        """The score of each message that a search finds, by its id; copies have that of the one that is shown."""
        scores: dict[str, float] = {}
        for session in sorted(sessions) if len(sessions) <= ASKED_APART else [None]:
            hits = self._memory.search(
                op.query or "", limit=POOL, user_id=self._user, namespace=self._namespace, session_id=session
            )
            for hit in hits:
                for id in (hit.message_id, *hit.why.get("folded", ())):
                    scores[id] = max(hit.score, scores.get(id, hit.score))
        return scores

    def _namespaces(self, op: ListNamespacesOp) -> list[Path]:
        paths = {
            _path(info)[: op.max_depth]
            for info in self._sessions(())
            if all(_matches(one, _path(info)) for one in op.match_conditions or ()) and self._turns(info)
        }
        return sorted(paths)[op.offset : op.offset + op.limit]

    def _sessions(self, prefix: Path, *, exactly: bool = False) -> list[SessionInfo]:
        """The sessions of all namespaces that begin with ``prefix``, the first begun first."""
        only = {KEPT: list(prefix)} if exactly else None
        listed = self._memory.sessions.list(
            user_id=self._user, namespace=self._namespace, metadata=only, sort="created", reverse=True
        )
        return [info for info in listed if KEPT in info.metadata and _path(info)[: len(prefix)] == prefix]

    def _session(self, path: Path) -> Session:
        # Labels may be of any length: the digest of them is what names the session.
        name = hashlib.blake2b("\x1f".join(path).encode(), digest_size=16).hexdigest()
        return self._memory.sessions.create(
            external_id=f"{KEPT}:{name}",
            title=" / ".join(path),
            user_id=self._user,
            namespace=self._namespace,
            metadata={KEPT: list(path)},
        )

    def _turn(self, path: Path, key: str) -> Message | None:
        for info in self._sessions(path, exactly=True):
            for turn in self._turns(info):
                if _key(turn) == key:
                    return turn
        return None

    def _turns(self, info: SessionInfo) -> list[Message]:
        kept = self._memory.sessions.messages(info.id)
        return [turn for turn in kept if KEPT in turn.metadata and not turn.metadata.get("deleted")]


def _path(info: SessionInfo) -> Path:
    return tuple(info.metadata[KEPT])


def _form(turn: Message) -> dict[str, Any]:
    return cast("dict[str, Any]", turn.metadata[KEPT])


def _key(turn: Message) -> str:
    return str(_form(turn)["key"])


def _fields(turn: Message) -> dict[str, Any]:
    form = _form(turn)
    times = {name: datetime.fromisoformat(form[name]) for name in ("created_at", "updated_at")}
    return {"namespace": tuple(form["namespace"]), "key": form["key"], "value": form["value"], **times}


def _text(op: PutOp) -> str:
    """What a search reads of an item: the fields that ``index`` names, else all of it."""
    value = dict(op.value or {})
    if isinstance(op.index, list):
        return "\n".join(text for path in op.index for text in get_text_at_path(value, path))
    return "\n".join(_said(value))


def _said(value: object, name: str = "") -> Iterator[str]:
    """The words of a value, field by field; of numbers and the like with the field's name, which says what they are."""
    match value:
        case str():
            yield value
        case Mapping():
            for key, each in value.items():
                yield from _said(each, str(key))
        case list():
            for each in value:
                yield from _said(each, name)
        case None:
            return
        case _:
            yield f"{name}: {value}"


def _passes(value: Mapping[str, Any], wanted: Mapping[str, Any] | None) -> bool:
    return all(_equals(value.get(name), one) for name, one in (wanted or {}).items())


def _equals(value: object, wanted: object) -> bool:
    """As LangGraph's own stores compare: parts of a mapping, whole lists, and operators ("$gt" and the like)."""
    if isinstance(wanted, Mapping):
        if any(str(name).startswith("$") for name in wanted):
            return all(_compares(value, str(name), than) for name, than in wanted.items())
        return isinstance(value, Mapping) and _passes(value, wanted)
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(_equals(one, other) for one, other in zip(value, wanted, strict=True))
        )
    return value == wanted


def _compares(value: Any, operator: str, than: Any) -> bool:
    match operator:
        case "$eq":
            return bool(value == than)
        case "$ne":
            return bool(value != than)
        case "$gt" | "$gte" | "$lt" | "$lte":
            try:
                one, other = float(value), float(than)
            except (TypeError, ValueError):
                return False  # what is no number is neither more nor less
            return {"$gt": one > other, "$gte": one >= other, "$lt": one < other, "$lte": one <= other}[
                operator
            ]
        case _:
            raise UsageError(f"no operator {operator!r}", hint="$eq, $ne, $gt, $gte, $lt or $lte")


def _matches(condition: MatchCondition, path: Path) -> bool:
    wanted = condition.path
    if len(path) < len(wanted):
        return False
    part = path[: len(wanted)] if condition.match_type == "prefix" else path[len(path) - len(wanted) :]
    return all(label in ("*", one) for one, label in zip(part, wanted, strict=True))
