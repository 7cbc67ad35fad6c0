"""A Qdrant server on loopback: the part of its REST API that the program uses, over qdrant-client's in-memory mode.

Real sockets, several nodes for one store, an API key, TLS, a log of requests, and faults on demand. What the in-memory
mode can't do (payload indexes, shard keys) is accepted and noted in the log.
"""

from __future__ import annotations

import http.server
import json
import re
import socketserver
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:  # it takes a second to load, of which each process of a test run would have one
    from qdrant_client import QdrantClient

Fault = Callable[["LoggedRequest"], "int | None"]
"""Asked about each request: a status that is answered in its place, or None."""


@dataclass(frozen=True)
class LoggedRequest:
    """A request that has arrived at a node, by its number: ``what`` is "PUT /collections/{}/points", say."""

    node: int
    what: str
    path: str
    body: Any
    key: str | None


@dataclass
class Node:
    """One node's switches: ``is_away`` closes each connection without an answer, ``delay`` seconds pass before each."""

    url: str
    is_away: bool = False
    delay: float = 0.0
    fault: Fault = lambda request: None


@dataclass
class QdrantServer:
    """A running server, its nodes and what it was asked."""

    nodes: list[Node]
    store: QdrantClient
    api_key: str = ""
    log: list[LoggedRequest] = field(default_factory=list)
    lock: threading.RLock = field(default_factory=threading.RLock)
    shard_keys: dict[str, list[str]] = field(default_factory=dict)

    @property
    def url(self) -> str:
        return ",".join(node.url for node in self.nodes)

    def collections(self) -> list[str]:
        with self.lock:
            return sorted(one.name for one in self.store.get_collections().collections)

    def ids(self, collection: str) -> set[int]:
        with self.lock:
            records, _ = self.store.scroll(collection, limit=1_000_000, with_payload=False)
        return {int(record.id) for record in records}

    def metadata(self, collection: str) -> dict[str, Any]:
        with self.lock:
            return dict(self.store.get_collection(collection).config.metadata or {})

    def asked(self, what: str) -> list[LoggedRequest]:
        return [request for request in self.log if request.what == what]

    def stop(self) -> None:
        for node in self.nodes:
            node.is_away = True

    def start(self) -> None:
        for node in self.nodes:
            node.is_away = False


@contextmanager
def serving(
    *, nodes: int = 1, api_key: str = "", certificate: tuple[Path, Path] | None = None
) -> Iterator[QdrantServer]:
    """Serve until the block ends. ``certificate`` is a certificate and its key, for TLS."""
    from qdrant_client import QdrantClient

    store = QdrantClient(":memory:", force_disable_check_same_thread=True)
    server = QdrantServer([], store, api_key)
    servers: list[_Listener] = []
    for number in range(nodes):
        listener = _Listener(server, number)
        scheme = "http"
        if certificate is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*certificate)
            listener.socket = context.wrap_socket(listener.socket, server_side=True)
            scheme = "https"
        server.nodes.append(Node(f"{scheme}://127.0.0.1:{listener.server_address[1]}"))
        servers.append(listener)
    threads = [threading.Thread(target=one.serve_forever, kwargs={"poll_interval": 0.02}) for one in servers]
    for thread in threads:
        thread.start()
    try:
        yield server
    finally:
        for one in servers:
            one.shutdown()
            one.server_close()
        for thread in threads:
            thread.join()
        store.close()


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 64

    def __init__(self, server: QdrantServer, number: int) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.qdrant, self.number = server, number

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that closes its connection, or refuses the certificate, is nothing to report."""


class _Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: _Listener

    def log_message(self, format: str, *args: Any) -> None:
        """The server has a log of its own."""

    def do_GET(self) -> None:
        self._answer()

    do_PUT = do_POST = do_PATCH = do_DELETE = do_GET

    def _answer(self) -> None:
        qdrant, node = self.server.qdrant, self.server.qdrant.nodes[self.server.number]
        raw = self.rfile.read(int(self.headers.get("content-length", 0)))
        if node.is_away:
            self.close_connection = True
            return
        path = self.path.partition("?")[0]
        what = re.sub(r"^/collections/[^/]+", "/collections/{}", path)
        key = self.headers.get("api-key")
        request = LoggedRequest(self.server.number, f"{self.command} {what}", path, json.loads(raw or b"null"), key)
        qdrant.log.append(request)
        if node.delay:
            time.sleep(node.delay)
        if (status := node.fault(request)) is not None:
            self._send(status, {"status": {"error": "out of order"}})
        elif qdrant.api_key and key != qdrant.api_key:
            self._send(401 if key is None else 403, {"status": {"error": "Invalid API key"}})
        else:
            with qdrant.lock:
                self._send(*_respond(qdrant, request, raw))

    def _send(self, status: int, body: Any) -> None:
        data = json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


def _respond(qdrant: QdrantServer, request: LoggedRequest, raw: bytes) -> tuple[int, Any]:
    parts = request.path.split("/")
    name = parts[2] if len(parts) > 2 else ""
    if name and request.what != "PUT /collections/{}" and not qdrant.store.collection_exists(name):
        if request.what == "GET /collections/{}/exists":
            return 200, {"result": {"exists": False}, "status": "ok", "time": 0.0}
        return 404, {"status": {"error": f"Not found: Collection `{name}` doesn't exist!"}}
    action = _ACTIONS.get(request.what)
    if action is None:
        return 404, {"status": {"error": f"no such route: {request.what}"}}
    try:
        result = action(qdrant, name, raw)
    except ValueError as error:  # pydantic's errors are such, too
        return 400, {"status": {"error": str(error)}}
    return 200, {"result": result, "status": "ok", "time": 0.0}


_DONE = {"operation_id": 1, "status": "completed"}


def _models() -> Any:
    from qdrant_client import models

    return models


def _create(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    if qdrant.store.collection_exists(name):
        raise ValueError(f"Collection `{name}` already exists!")
    asked = _models().CreateCollection.model_validate_json(raw)
    qdrant.store.create_collection(
        name, vectors_config=asked.vectors, sparse_vectors_config=asked.sparse_vectors, metadata=asked.metadata
    )
    if asked.sharding_method == _models().ShardingMethod.CUSTOM:
        qdrant.shard_keys[name] = []
    return True


def _update(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    return qdrant.store.update_collection(name, metadata=_models().UpdateCollection.model_validate_json(raw).metadata)


def _drop(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    qdrant.shard_keys.pop(name, None)
    return qdrant.store.delete_collection(name)


def _upsert(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    asked = _models().PointsList.model_validate_json(raw)
    if name in qdrant.shard_keys and asked.shard_key not in qdrant.shard_keys[name]:
        raise ValueError(f"Wrong input: Shard key {asked.shard_key} not found")
    qdrant.store.upsert(name, asked.points)
    return _DONE


def _delete(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    qdrant.store.delete(name, _models().PointIdsList.model_validate_json(raw))
    return _DONE


def _retrieve(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    asked = _models().PointRequest.model_validate_json(raw)
    found = qdrant.store.retrieve(name, asked.ids, with_payload=asked.with_payload, with_vectors=asked.with_vector)
    return [one.model_dump(mode="json") for one in found]


def _scroll(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    asked = _models().ScrollRequest.model_validate_json(raw)
    records, offset = qdrant.store.scroll(
        name, scroll_filter=asked.filter, limit=asked.limit or 10, offset=asked.offset, with_payload=False
    )
    return {"points": [one.model_dump(mode="json") for one in records], "next_page_offset": offset}


def _count(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    asked = _models().CountRequest.model_validate_json(raw)
    return {"count": qdrant.store.count(name, asked.filter, exact=True).count}


def _query(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    asked = _models().QueryRequestBatch.model_validate_json(raw).searches
    for one in asked:
        if one.params is not None:  # the others say how an index is searched, and the in-memory mode has none
            one.params = _models().SearchParams(idf=one.params.idf) if one.params.idf else None
    return [found.model_dump(mode="json") for found in qdrant.store.query_batch_points(name, asked)]


def _create_shard_key(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    qdrant.shard_keys[name].append(str(_models().CreateShardingKey.model_validate_json(raw).shard_key))
    return True


def _list(qdrant: QdrantServer, name: str, raw: bytes) -> Any:
    return {"collections": [{"name": one} for one in qdrant.collections()]}


_ACTIONS: dict[str, Callable[[QdrantServer, str, bytes], Any]] = {
    "GET /collections": _list,
    "GET /collections/{}": lambda qdrant, name, raw: qdrant.store.get_collection(name).model_dump(mode="json"),
    "GET /collections/{}/exists": lambda qdrant, name, raw: {"exists": True},
    "PUT /collections/{}": _create,
    "PATCH /collections/{}": _update,
    "DELETE /collections/{}": _drop,
    "PUT /collections/{}/index": lambda qdrant, name, raw: _DONE,
    "GET /collections/{}/shards": lambda qdrant, name, raw: {
        "shard_keys": [{"key": key} for key in qdrant.shard_keys.get(name, ())]
    },
    "PUT /collections/{}/shards": _create_shard_key,
    "PUT /collections/{}/points": _upsert,
    "POST /collections/{}/points": _retrieve,
    "POST /collections/{}/points/delete": _delete,
    "POST /collections/{}/points/scroll": _scroll,
    "POST /collections/{}/points/count": _count,
    "POST /collections/{}/points/query/batch": _query,
}
