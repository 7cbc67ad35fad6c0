"""Streams that are carried from one owner to the next, and requests that are no requests."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator, Sequence

import pytest

from appliance.errors import DaemonGone
from appliance.transports.carried_stream import CarriedStream
from appliance.transports.rpc_connection import MAX_HEAD_LINES, RpcConnection


class Owner(Iterator[str]):
    """A stream of items; the owner leaves after so many of them."""

    def __init__(self, items: Sequence[str], leaves_after: int | None = None) -> None:
        self._items = iter(items if leaves_after is None else items[:leaves_after])
        self._leaves = leaves_after is not None

    def __next__(self) -> str:
        try:
            return next(self._items)
        except StopIteration:
            if self._leaves:
                raise DaemonGone("The process that owned this memory ended before it answered.") from None
            raise

    def close(self) -> None:
        self._items, self._leaves = iter(()), False


def test_an_owner_that_leaves_while_items_are_skipped_is_followed_too() -> None:
    owners = iter([Owner("abcd", leaves_after=3), Owner("abcd", leaves_after=1), Owner("abcd")])
    assert list(CarriedStream(lambda: next(owners), repeats=True)) == ["a", "b", "c", "d"]


def test_a_stream_with_another_beginning_is_not_continued() -> None:
    owners = iter([Owner("abcd", leaves_after=2), Owner("axcd")])
    stream = CarriedStream(lambda: next(owners), repeats=True)
    assert (next(stream), next(stream)) == ("a", "b")
    with pytest.raises(DaemonGone):
        next(stream)


@pytest.mark.parametrize(
    "sent",
    [
        b"POST /local/requests/x HTTP/1.1\r\nContent-Length: many\r\n\r\n",
        b"POST /local/requests/x HTTP/1.1\r\nContent-Length: -1\r\n\r\n",
        b"GET /local/hello HTTP/1.1\r\n" + b"X: y\r\n" * (MAX_HEAD_LINES + 1) + b"\r\n",
    ],
    ids=["words", "negative", "endless head"],
)
def test_what_is_no_request_ends_the_connection_without_an_answer(sent: bytes) -> None:
    ours, theirs = socket.socketpair()
    connection = RpcConnection(theirs, None, threading.Condition(), print)  # type: ignore[arg-type]
    ours.sendall(sent)
    connection.serve()
    connection.close()
    assert ours.recv(1) == b""
    ours.close()
