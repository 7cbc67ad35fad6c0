"""The methods of the asynchronous client, made from those of ``Appliance``: same arguments, same words, awaited.

A memory's calls block, so they run on threads of the memory's own, and the event loop goes on meanwhile.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from itertools import islice
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from appliance.types import Stream
from appliance.verbs import Verb, wrong_arguments

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Client = TypeVar("Client")

MAX_THREADS = 8
"""Calls of one memory that run at once; more wait. Each thread has its own database connection and cache."""

STREAM_PAGE = 100
"""Items of a stream that are read at once, because each change of the thread takes about 0.1 ms."""

ANSWERING = frozenset({"should_continue"})
"""The parameters whose functions return something, so that they are called on the thread of the call."""


class Threads:
    """The threads on which the calls of a memory run."""

    def __init__(self) -> None:
        self._pool = ThreadPoolExecutor(MAX_THREADS, thread_name_prefix="appliance-async")

    async def run(self, call: Callable[[], R]) -> R:
        """Run ``call`` on a thread. Cancelling ends the waiting, not the call."""
        return await asyncio.get_running_loop().run_in_executor(self._pool, call)

    def close(self) -> None:
        """Let the threads end; a call that still runs is waited for by the interpreter's exit only."""
        self._pool.shutdown(wait=False)


class Asynchronous(Generic[Client]):
    """An object of the client, whose methods are awaited.

    Attributes:
        blocking: The object of ``Appliance`` behind it.
    """

    def __init__(self, blocking: Client, threads: Threads) -> None:
        self.blocking = blocking
        self._threads = threads

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.blocking!r})"


class _DerivedMethod:
    """A method that is made from one of the client, with its signature and documentation."""

    def __init__(self, method: Any) -> None:
        self._source = method._method if isinstance(method, Verb) else getattr(method, "__func__", method)
        self.__doc__ = self._source.__doc__
        self._signature = inspect.signature(self._source)

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def _call(self, client: Asynchronous[Any], args: tuple[Any, ...], named: dict[str, Any]) -> Callable[[], Any]:
        """The call of the client's method with these arguments.

        Raises:
            TypeError: They are not those of the method.
        """
        loop = asyncio.get_running_loop()
        itself = [client] if "self" in self._signature.parameters else []
        error = wrong_arguments(self._source.__qualname__, self._signature, (*itself, *args), named)
        if error is not None:
            raise error
        given = self._signature.bind(*itself, *args, **named)
        for name, value in given.arguments.items():
            if callable(value) and name not in ANSWERING:
                given.arguments[name] = _in_loop(loop, value)
        return partial(getattr(client.blocking, self._name), *given.args[len(itself) :], **given.kwargs)

    def _documented(self, method: Callable[..., Any]) -> Any:
        method.__name__ = self._name
        method.__doc__ = self.__doc__
        method.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [one for name, one in self._signature.parameters.items() if name != "self"],
            return_annotation=self._signature.return_annotation,
        )
        return method


class Awaited(_DerivedMethod, Generic[P, R]):
    """A method of the client, awaited. Functions among its arguments are called in the event loop."""

    @overload
    def __init__(self, method: Verb[P, R]) -> None: ...
    @overload
    def __init__(self, method: Callable[Concatenate[Any, P], R]) -> None: ...
    def __init__(self, method: Any) -> None:
        super().__init__(method)

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Asynchronous[Any], owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    def __get__(self, client: Asynchronous[Any] | None, owner: type) -> Any:
        if client is None:
            return self

        async def method(*args: Any, **named: Any) -> Any:
            return await client._threads.run(self._call(client, args, named))

        return self._documented(method)


class AwaitedStatic(Awaited[P, R]):
    """The same for a static method, which needs no open memory."""

    def __init__(self, method: Callable[P, R]) -> None:
        _DerivedMethod.__init__(self, method)


class AwaitedHandle(_DerivedMethod, Generic[P, S]):
    """The same for a method that returns an object with methods of its own, which is returned as ``kind``."""

    @overload
    def __init__(self, method: Verb[P, Any], kind: Callable[[Any, Threads], S]) -> None: ...
    @overload
    def __init__(self, method: Callable[Concatenate[Any, P], Any], kind: Callable[[Any, Threads], S]) -> None: ...
    def __init__(self, method: Any, kind: Callable[[Any, Threads], S]) -> None:
        super().__init__(method)
        self._kind = kind

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Asynchronous[Any], owner: type) -> Callable[P, Coroutine[Any, Any, S]]: ...
    def __get__(self, client: Asynchronous[Any] | None, owner: type) -> Any:
        if client is None:
            return self

        async def method(*args: Any, **named: Any) -> Any:
            return self._kind(await client._threads.run(self._call(client, args, named)), client._threads)

        return self._documented(method)


class Streamed(_DerivedMethod, Generic[P, T]):
    """A method of the client that returns a stream: it is read by ``async for``. Ending the loop ends the work."""

    def __init__(self, method: Verb[P, Stream[T]]) -> None:
        super().__init__(method)

    @overload
    def __get__(self, client: None, owner: type) -> Self: ...
    @overload
    def __get__(self, client: Asynchronous[Any], owner: type) -> Callable[P, AsyncGenerator[T, None]]: ...
    def __get__(self, client: Asynchronous[Any] | None, owner: type) -> Any:
        if client is None:
            return self

        async def method(*args: Any, **named: Any) -> AsyncGenerator[T, None]:
            stream: Stream[T] = await client._threads.run(self._call(client, args, named))
            try:
                while page := await client._threads.run(lambda: list(islice(stream, STREAM_PAGE))):
                    for item in page:
                        yield item
            finally:
                await client._threads.run(stream.close)

        return self._documented(method)


def _in_loop(loop: asyncio.AbstractEventLoop, function: Callable[..., object]) -> Callable[..., None]:
    """Return a function for another thread that has ``function`` called in the event loop."""

    def call(*args: object) -> None:
        if not loop.is_closed():
            loop.call_soon_threadsafe(function, *args)

    return call
