"""The asynchronous client: the verbs of the client, each awaited, while the event loop goes on."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncIterator
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance, AsyncAppliance, AsyncSession, Hits, NotFound, UsageError
from appliance import async_client as a
from appliance.resources import Session
from appliance.types import Event
from appliance_models import HashEmbedder
from tests.unit.test_unit_secrets import GITHUB

PARTS = (
    "sessions facts people summaries pins overview watching archive attachments index erasure backups secrets events"
)
OTHERWISE = {"attach", "of"}
"""What a program that awaits does not need: ``AsyncAppliance(memory)`` takes any memory."""


def opened(home: Path) -> a.Opening:
    return AsyncAppliance.open(home, worker=False, embedder=HashEmbedder())


def public(kind: type) -> set[str]:
    return {name for name in dir(kind) if not name.startswith("_")}


def test_it_has_every_verb_of_the_client_with_its_arguments(memory: Appliance) -> None:
    """A new verb is one line in async_client: ``verb = Awaited(Appliance.verb)``."""
    awaited = AsyncAppliance(memory)
    pairs: list[tuple[Any, Any]] = [(memory, awaited), (memory.sessions.create(), None)]
    pairs[1] = (pairs[1][0], AsyncSession(pairs[1][0], awaited._threads))
    pairs += [(getattr(memory, part), getattr(awaited, part)) for part in PARTS.split()]
    for blocking, asynchronous in pairs:
        missing = public(type(blocking)) - public(type(asynchronous)) - OTHERWISE
        assert missing <= ({"close"} if blocking is memory.events else set()), type(asynchronous).__name__

    async def compare() -> None:
        for blocking, asynchronous in pairs:
            for name, member in vars(type(asynchronous)).items():
                if isinstance(member, a.Awaited | a.AwaitedHandle | a.Streamed):
                    method = getattr(asynchronous, name)
                    assert inspect.signature(method).parameters == inspect.signature(getattr(blocking, name)).parameters
                    assert method.__doc__ == getattr(blocking, name).__doc__

    asyncio.run(compare())


def test_a_conversation_is_stored_and_found(home: Path) -> None:
    async def talk() -> None:
        async with opened(home) as memory:
            session = await memory.sessions.create(title="Garden", user_id="ana")
            message = await session.add("user", "My deadline is March 15th")
            assert isinstance(session, AsyncSession) and (await session.title()) == "Garden"
            assert (await session.info()).user_id == "ana" and await session.auto_recall()
            hits: Hits = await memory.search("deadline", user_id="ana")
            assert [hit.message_id for hit in hits] == [message.id]
            assert "March 15th" in (await session.context("when is my deadline?")).text
            branch = await session.branch(title="Other")
            assert [one.text for one in await branch.messages()] == ["My deadline is March 15th"]
            assert (await memory.sessions.get(session.id)).id == session.id
            assert (await memory.status())["counts"]["messages"] == 1
            with pytest.raises(NotFound):
                await memory.message("m99")
            with pytest.raises(UsageError):
                await session.add("nobody", "text")  # type: ignore[arg-type]
            with pytest.raises(TypeError, match=r"^Appliance\.search\(\) takes no 'limt'\. Did you mean limit\?"):
                await memory.search("deadline", limt=3)  # type: ignore[call-arg]

    asyncio.run(talk())


def test_calls_run_beside_each_other_and_the_loop_goes_on(memory: Appliance) -> None:
    meeting = threading.Barrier(3, timeout=10)

    def meet(*args: object, **named: object) -> str:
        meeting.wait()
        return "met"

    async def run() -> None:
        threads = a.Threads()
        try:
            others = [asyncio.ensure_future(threads.run(meet)) for _ in range(2)]
            await asyncio.to_thread(meeting.wait)  # the loop waits for nothing itself
            assert await asyncio.gather(*others) == ["met", "met"]
        finally:
            threads.close()

    asyncio.run(run())


@pytest.mark.slow
def test_functions_are_called_in_the_event_loop(home: Path, tmp_path: Path) -> None:
    lines = '{"session_id": "s", "role": "user", "content": "The otter is called Lutz"}\n'
    (tmp_path / "chat.jsonl").write_text(lines, encoding="utf-8")
    here, called = threading.get_ident(), list[tuple[int, object]]()

    async def run() -> None:
        async with opened(home) as memory:
            report = await memory.ingest(
                tmp_path / "chat.jsonl", on_file=lambda path, count: called.append((threading.get_ident(), path))
            )
            assert report.complete
            asked = list[int]()
            await memory.run_pending_jobs(lambda: bool(asked.append(threading.get_ident())))
            assert asked and here not in asked  # what answers is called where the question is asked

    asyncio.run(run())
    assert called and {thread for thread, _ in called} == {here}


def test_a_stream_is_read_item_by_item_and_ended_early(home: Path) -> None:
    async def run() -> None:
        async with opened(home) as memory:
            session = await memory.sessions.create()
            for number in range(5):
                await session.add("user", f"line {number}")
            assert [line["content"] async for line in memory.export()] == [f"line {n}" for n in range(5)]
            async with aclosing(memory.export()) as lines:
                async for line in lines:
                    assert line["content"] == "line 0"
                    break
            assert len(await session.messages()) == 5

    asyncio.run(run())


def test_events_are_heard_in_the_loop(home: Path) -> None:
    async def next_event(events: AsyncIterator[Event]) -> Event:
        return await anext(events)

    async def run() -> None:
        async with opened(home) as memory:
            stream = aiter(memory.events)
            waiting = asyncio.ensure_future(next_event(stream))
            await asyncio.sleep(0)
            session = await memory.sessions.create()
            while not waiting.done():
                await session.add("user", "hello")
            assert (await waiting).kind
            await stream.aclose()  # type: ignore[attr-defined]

    asyncio.run(run())


@pytest.mark.slow
def test_a_watcher_reads_once_and_ends_when_it_is_cancelled(home: Path, tmp_path: Path) -> None:
    folder = tmp_path / "exports"
    folder.mkdir()
    line = '{"session_id": "s", "role": "user", "content": "The otter is called Lutz"}\n'
    (folder / "chat.jsonl").write_text(line, encoding="utf-8")

    async def run() -> None:
        async with opened(home) as memory:
            read = list[object]()
            watcher = await memory.watcher([folder], on_read=read.append)
            await watcher.run(once=True)
            assert len(read) == 1 and folder in watcher.folders
            running = asyncio.ensure_future((await memory.watcher([folder])).run())
            await asyncio.sleep(0)
            running.cancel()
            with pytest.raises(asyncio.CancelledError):
                await running

    asyncio.run(run())


def test_an_open_memory_can_be_wrapped_and_masked(memory: Appliance) -> None:
    async def run() -> None:
        awaited = AsyncAppliance(memory)
        await (await awaited.sessions.create()).add("user", f"my key is {GITHUB}")
        (hit,) = await awaited.masked().search("key")
        assert GITHUB not in hit.text
        assert awaited.home == memory.home and not awaited.is_attached and awaited.owner == memory.owner
        assert isinstance((await awaited.sessions.create()).blocking, Session)
        async with awaited.interactive_use():
            pass

    asyncio.run(run())
    assert memory.overview.counts()["messages"] == 1


def test_a_cancelled_opening_leaves_the_home_free(home: Path) -> None:
    async def run() -> None:
        opening = asyncio.ensure_future(opened(home).__aenter__())
        await asyncio.sleep(0)
        opening.cancel()
        with pytest.raises(asyncio.CancelledError):
            await opening
        memory = await opened(home)
        assert not memory.is_attached
        await memory.close()

    asyncio.run(run())
