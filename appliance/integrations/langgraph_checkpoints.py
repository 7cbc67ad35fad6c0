"""LangGraph: a checkpointer. Needs the extra ``langgraph``.

    graph = builder.compile(checkpointer=ApplianceCheckpointer(memory))
    graph.invoke({"text": "hello"}, {"configurable": {"thread_id": "zoo"}})

A checkpoint is a session of its own, so that it can be deleted alone: its first message holds the checkpoint, and the
others the writes of the tasks that follow it. One more session of each thread and checkpoint namespace names the latest
checkpoint. All are in one namespace of the memory, hidden from recall: a state is no memory.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections.abc import AsyncIterator, Collection, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, cast

from appliance.errors import NotFound, UsageError
from appliance.integrations import missing_extra_message, turns

try:
    from langgraph.checkpoint.base import (
        WRITES_IDX_MAP,
        BaseCheckpointSaver,
        ChannelVersions,
        Checkpoint,
        CheckpointMetadata,
        CheckpointTuple,
        PendingWrite,
        get_checkpoint_id,
        get_checkpoint_metadata,
    )
except ModuleNotFoundError as error:
    raise ImportError(missing_extra_message("langgraph")) from error

if TYPE_CHECKING:
    from langchain_core.runnables import RunnableConfig
    from langgraph.checkpoint.serde.base import SerializerProtocol

    from appliance.client import Appliance
    from appliance.resources import Session
    from appliance.types import Message, SessionInfo

PendingWrites = list[PendingWrite]

METADATA_KEY = "langgraph_checkpoints"
"""The metadata key of these sessions and messages. Also the default namespace of the checkpoints in the memory."""

NS_KEY, ID_KEY, LATEST_KEY = "checkpoint_ns", "checkpoint_id", "latest_checkpoint_id"
"""Further metadata keys of these sessions; METADATA_KEY has the name of the thread."""

STRATEGIES = ("keep_latest", "delete")

DELTA_COUNTERS = "counters_since_delta_snapshot"
"""The field of a checkpoint's metadata that names the ``DeltaChannel``s whose values stand in earlier checkpoints."""


class ApplianceCheckpointer(BaseCheckpointSaver[int]):
    """The checkpoints of LangGraph threads, stored in the memory: a graph goes on where it was interrupted, also in
    another process. Safe to use from several threads; one LangGraph thread is written by one run at a time.

    What is deleted or pruned is removed from the memory. Texts in a state are stored as LangGraph serializes them: no
    search finds them, and ``forget`` does not look there. Delete the thread to erase them.
    """

    def __init__(
        self,
        memory: Appliance,
        *,
        user_id: str | None = None,
        namespace: str = METADATA_KEY,
        serde: SerializerProtocol | None = None,
    ) -> None:
        """``user_id`` defaults to the configured user. Checkpoints of other users and namespaces are not visible.

        Raises:
            UsageError: The namespace is empty; conversations have the empty one.
        """
        super().__init__(serde=serde)
        if not namespace:
            raise UsageError(
                "The namespace of checkpoints must not be empty.", hint=f'Name one, such as "{METADATA_KEY}".'
            )
        self._memory = memory
        self._namespace = namespace
        self._user = memory.settings.user if user_id is None else user_id
        self._lock = threading.Lock()

    def get_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """The checkpoint that ``config`` names, or the latest of its thread; None if there is none."""
        thread, ns = _thread(config), _checkpoint_ns(config)
        id = get_checkpoint_id(config) or self._latest(thread, ns)
        return None if id is None else self._read(thread, ns, id)

    def list(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> Iterator[CheckpointTuple]:
        """The checkpoints of a thread (of all threads without ``config``), the newest first.

        Args:
            config: The thread, and if it has them, the only checkpoint namespace and checkpoint.
            filter: Only checkpoints whose metadata has these values.
            before: Only checkpoints older than this one.
            limit: The most checkpoints.
        """
        ns = config["configurable"].get("checkpoint_ns") if config else None
        only = get_checkpoint_id(config) if config else None
        end = get_checkpoint_id(before) if before else None
        infos = self._checkpoints(None if config is None else _thread(config), ns)
        for info in sorted(infos, key=_id, reverse=True):
            if limit is not None and limit <= 0:
                return
            if (only is not None and _id(info) != only) or (end is not None and _id(info) >= end):
                continue
            found = self._read_session(info)
            if found is None or any(found.metadata.get(name) != value for name, value in (filter or {}).items()):
                continue
            yield found
            limit = None if limit is None else limit - 1

    def put(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """Store a checkpoint after the one that ``config`` names. It is on the disk when this returns."""
        thread, ns, id = _thread(config), _checkpoint_ns(config), checkpoint["id"]
        values = checkpoint["channel_values"].items()
        current = {name: value for name, value in values if name in checkpoint["channel_versions"]}
        form = {
            "parent": get_checkpoint_id(config),
            "checkpoint": self._dumps({**checkpoint, "channel_values": current}),
            "metadata": self._dumps(get_checkpoint_metadata(config, metadata)),
        }
        self._add(self._session(thread, ns, id), form, external_id="checkpoint")
        with self._lock:
            latest = self._latest(thread, ns)
            if latest is None or id > latest:
                self._set_latest(thread, ns, id)
        return _config(thread, ns, id)

    def put_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """Store what a task wrote after the checkpoint that ``config`` names. What a task has written stays: the same
        write again changes nothing, except for errors, interrupts and the like."""
        session = self._session(_thread(config), _checkpoint_ns(config), config["configurable"]["checkpoint_id"])
        form = {
            "task": task_id,
            "path": task_path,
            "writes": [
                [WRITES_IDX_MAP.get(channel, place), channel, self._dumps(value)]
                for place, (channel, value) in enumerate(writes)
            ],
        }
        self._add(session, form)

    def delete_thread(self, thread_id: str) -> None:
        """Remove all checkpoints and writes of a thread."""
        self._delete(self._sessions(**{METADATA_KEY: str(thread_id)}))

    def delete_for_runs(self, run_ids: Sequence[str]) -> None:
        """Remove the checkpoints that these runs made, with their writes.

        A channel of the kind ``DeltaChannel`` whose values depend on them is lost, as LangGraph says.
        """
        wanted = set(run_ids)
        if not wanted:
            return
        removed = [
            info
            for info in self._checkpoints(None, None)
            if (found := self._read_session(info)) is not None and found.metadata.get("run_id") in wanted
        ]
        self._delete(removed)
        for thread, ns in {(_thread_of(info), _ns(info)) for info in removed}:
            self._correct_latest(thread, ns)

    def copy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """Copy all checkpoints and writes of a thread into another one."""
        source, target = str(source_thread_id), str(target_thread_id)
        infos = self._checkpoints(source, None)
        for info in infos:
            copy = self._session(target, _ns(info), _id(info))
            for turn in self._memory.sessions.messages(info.id):
                self._add(copy, _form(turn), external_id=turn.external_id)
        for ns in {_ns(info) for info in infos}:
            self._correct_latest(target, ns)

    def prune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """Remove the checkpoints of threads: all ("delete"), or all that the latest of each checkpoint namespace does
        not need ("keep_latest"). An older one is needed while a ``DeltaChannel`` of the latest reads from it.

        Raises:
            UsageError: There is no such strategy.
        """
        if strategy not in STRATEGIES:
            raise UsageError(f"There is no strategy {strategy!r}.", hint=f"Use one of {', '.join(STRATEGIES)}.")
        for thread in dict.fromkeys(map(str, thread_ids)):
            if strategy == "delete":
                self.delete_thread(thread)
                continue
            infos = self._checkpoints(thread, None)
            needed = {ns: self._needed(thread, ns) for ns in {_ns(info) for info in infos}}
            self._delete([info for info in infos if _id(info) not in needed[_ns(info)]])

    async def aget_tuple(self, config: RunnableConfig) -> CheckpointTuple | None:
        """``get_tuple`` on another thread."""
        return await asyncio.to_thread(self.get_tuple, config)

    async def alist(
        self,
        config: RunnableConfig | None,
        *,
        filter: dict[str, Any] | None = None,
        before: RunnableConfig | None = None,
        limit: int | None = None,
    ) -> AsyncIterator[CheckpointTuple]:
        """``list`` on another thread, checkpoint by checkpoint."""
        found = self.list(config, filter=filter, before=before, limit=limit)
        while (one := await asyncio.to_thread(next, found, None)) is not None:
            yield one

    async def aput(
        self,
        config: RunnableConfig,
        checkpoint: Checkpoint,
        metadata: CheckpointMetadata,
        new_versions: ChannelVersions,
    ) -> RunnableConfig:
        """``put`` on another thread."""
        return await asyncio.to_thread(self.put, config, checkpoint, metadata, new_versions)

    async def aput_writes(
        self, config: RunnableConfig, writes: Sequence[tuple[str, Any]], task_id: str, task_path: str = ""
    ) -> None:
        """``put_writes`` on another thread."""
        await asyncio.to_thread(self.put_writes, config, writes, task_id, task_path)

    async def adelete_thread(self, thread_id: str) -> None:
        """``delete_thread`` on another thread."""
        await asyncio.to_thread(self.delete_thread, thread_id)

    async def adelete_for_runs(self, run_ids: Sequence[str]) -> None:
        """``delete_for_runs`` on another thread."""
        await asyncio.to_thread(self.delete_for_runs, run_ids)

    async def acopy_thread(self, source_thread_id: str, target_thread_id: str) -> None:
        """``copy_thread`` on another thread."""
        await asyncio.to_thread(self.copy_thread, source_thread_id, target_thread_id)

    async def aprune(self, thread_ids: Sequence[str], *, strategy: str = "keep_latest") -> None:
        """``prune`` on another thread."""
        await asyncio.to_thread(lambda: self.prune(thread_ids, strategy=strategy))

    def _read(self, thread: str, ns: str, id: str) -> CheckpointTuple | None:
        try:
            info = self._memory.sessions.info(_name(thread, ns, id), user_id=self._user, namespace=self._namespace)
        except NotFound:
            return None
        return self._read_session(info)

    def _read_session(self, info: SessionInfo) -> CheckpointTuple | None:
        """The checkpoint of a session; None where only its writes, or nothing any more, is stored."""
        try:
            forms = [_form(turn) for turn in self._memory.sessions.messages(info.id)]
        except NotFound:  # deleted since it was listed
            return None
        form = next((form for form in forms if "checkpoint" in form), None)
        if form is None:
            return None
        thread, ns = _thread_of(info), _ns(info)
        return CheckpointTuple(
            config=_config(thread, ns, _id(info)),
            checkpoint=self._loads(form["checkpoint"]),
            metadata=self._loads(form["metadata"]),
            parent_config=_config(thread, ns, form["parent"]) if form["parent"] else None,
            pending_writes=self._writes(form for form in forms if "writes" in form),
        )

    def _writes(self, forms: Iterator[dict[str, Any]]) -> PendingWrites:
        writes: dict[tuple[str, int], tuple[tuple[str, str, int], PendingWrite]] = {}
        for form in forms:
            for place, channel, value in form["writes"]:
                key = (form["task"], place)
                if place < 0 or key not in writes:
                    order = (form["path"], form["task"], place)
                    writes[key] = order, (form["task"], channel, self._loads(value))
        return [write for _, write in sorted(writes.values(), key=lambda one: one[0])]

    def _needed(self, thread: str, ns: str) -> Collection[str]:
        """The latest checkpoint, and its ancestors up to those that have the values of its delta channels."""
        latest = self.get_tuple(_config(thread, ns, None))
        if latest is None:
            return ()
        needed = {latest.checkpoint["id"]}
        counters = cast("Mapping[str, Any]", latest.metadata.get(DELTA_COUNTERS) or {})
        missing = counters.keys() - latest.checkpoint["channel_values"].keys()
        parent = latest.parent_config
        while missing and parent is not None and (ancestor := self.get_tuple(parent)) is not None:
            needed.add(ancestor.checkpoint["id"])
            missing -= ancestor.checkpoint["channel_values"].keys()
            parent = ancestor.parent_config
        return needed

    def _latest(self, thread: str, ns: str) -> str | None:
        try:
            info = self._memory.sessions.info(_name(thread, ns), user_id=self._user, namespace=self._namespace)
        except NotFound:
            return None
        latest = info.metadata.get(LATEST_KEY)
        return latest if isinstance(latest, str) else None

    def _set_latest(self, thread: str, ns: str, id: str | None) -> None:
        self._create(_name(thread, ns), thread, {METADATA_KEY: thread, NS_KEY: ns, LATEST_KEY: id})

    def _correct_latest(self, thread: str, ns: str) -> None:
        with self._lock:
            ids = (_id(info) for info in self._checkpoints(thread, ns))
            self._set_latest(thread, ns, max(ids, default=None))

    def _session(self, thread: str, ns: str, id: str) -> Session:
        return self._create(_name(thread, ns, id), f"{thread} / {id}", {METADATA_KEY: thread, NS_KEY: ns, ID_KEY: id})

    def _create(self, name: str, title: str, metadata: dict[str, Any]) -> Session:
        return self._memory.sessions.create(
            external_id=name, title=title, user_id=self._user, namespace=self._namespace, metadata=metadata, ttl=0
        )

    def _sessions(self, **metadata: str) -> Sequence[SessionInfo]:
        infos = self._memory.sessions.list(user_id=self._user, namespace=self._namespace, metadata=metadata)
        return [info for info in infos if METADATA_KEY in info.metadata]

    def _checkpoints(self, thread: str | None, ns: str | None) -> Sequence[SessionInfo]:
        """The sessions of the checkpoints of a thread and namespace, or of all."""
        wanted = {METADATA_KEY: thread, NS_KEY: ns}
        infos = self._sessions(**{name: value for name, value in wanted.items() if value is not None})
        return [info for info in infos if ID_KEY in info.metadata]

    def _delete(self, infos: Sequence[SessionInfo]) -> None:
        for info in infos:
            self._memory.sessions.get(info.id).delete()

    def _add(self, session: Session, form: dict[str, Any], external_id: str | None = None) -> None:
        session.add(
            "tool", turns.PLACEHOLDER_TEXT, external_id=external_id, metadata={METADATA_KEY: form, "hidden": True}
        )

    def _dumps(self, value: Any) -> Sequence[str]:
        kind, data = self.serde.dumps_typed(value)
        return [kind, base64.b64encode(data).decode("ascii")]

    def _loads(self, stored: Sequence[str]) -> Any:
        kind, data = stored
        return self.serde.loads_typed((kind, base64.b64decode(data)))


def _thread(config: RunnableConfig) -> str:
    return str(config["configurable"]["thread_id"])


def _checkpoint_ns(config: RunnableConfig) -> str:
    return str(config["configurable"].get("checkpoint_ns", ""))


def _config(thread: str, ns: str, id: str | None) -> RunnableConfig:
    place = {"thread_id": thread, "checkpoint_ns": ns}
    return {"configurable": place if id is None else {**place, "checkpoint_id": id}}


def _name(thread: str, ns: str, id: str = "") -> str:
    """The external id of a session. Names of threads may have any length, so a digest of them identifies it."""
    digest = hashlib.blake2b("\x1f".join((thread, ns, id)).encode(), digest_size=16).hexdigest()
    return f"{METADATA_KEY}:{digest}"


def _thread_of(info: SessionInfo) -> str:
    return str(info.metadata[METADATA_KEY])


def _ns(info: SessionInfo) -> str:
    return str(info.metadata[NS_KEY])


def _id(info: SessionInfo) -> str:
    return str(info.metadata[ID_KEY])


def _form(turn: Message) -> dict[str, Any]:
    return cast("dict[str, Any]", turn.metadata[METADATA_KEY])
