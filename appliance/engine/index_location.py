"""Where the index of an open home is: in the home, or on a Qdrant server, whose nodes are known by their failures for
as long as the home is open."""

from __future__ import annotations

import threading
from contextlib import suppress

from appliance.errors import ConfigError, DiskFull, HomeError, IndexUnavailable, OutOfMemory, StoreCorrupt
from appliance.runtime.workers import Job, ShouldContinue
from appliance.settings import IndexSettings
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.server import CollectionLayout, ServerOptions

UNAVAILABLE = (StoreCorrupt, HomeError, DiskFull, OutOfMemory, IndexUnavailable)
"""Why the vectors and the index may not open: a search then uses full text alone."""

EXPOSED_KEY_WARNING = (
    "The key of the Qdrant server crosses the network in the clear: use an https:// URL, or a tunnel to a loopback"
    " address."
)


def server_options(index: IndexSettings, urls: tuple[str, ...] | None = None) -> ServerOptions:
    """The settings as the store takes them; ``urls`` are other nodes than those of the settings.

    Raises:
        ConfigError: They contradict each other.
    """
    if index.write_consistency > index.replicas:
        raise ConfigError(
            f"index.write_consistency ({index.write_consistency}) must not exceed index.replicas ({index.replicas})."
        )
    return ServerOptions(
        urls=index.urls if urls is None else urls,
        api_key=index.api_key,
        ca_file=index.ca_file,
        timeout=index.timeout,
        prefix=index.prefix,
        layout=CollectionLayout(
            shards=index.shards,
            by_user=index.shard_by == "user",
            replicas=index.replicas,
            write_consistency=index.write_consistency,
            on_disk=index.on_disk,
            quantization=index.quantization,
            graph_from=index.graph_from,
        ),
    )


class IndexLocation:
    """The server that has the index, if any. Safe to use from several threads."""

    def __init__(self, settings: IndexSettings) -> None:
        self.settings = settings
        self._lock = threading.Lock()
        self._nodes: dict[str, ServerNodes] = {}

    @property
    def server(self) -> str:
        """The server by its URLs; empty if the index is in the home."""
        return ",".join(self.settings.urls)

    def nodes(self) -> ServerNodes | None:
        """The nodes of the server; None if the index is in the home."""
        return self.nodes_of(self.server) if self.settings.urls else None

    def nodes_of(self, server: str) -> ServerNodes:
        """The nodes of any server by its URLs, such as one that still has a collection of this home. The key is that of
        the settings."""
        with self._lock:
            if server not in self._nodes:
                self._nodes[server] = ServerNodes(server_options(self.settings, tuple(server.split(","))))
            return self._nodes[server]

    def change(self, settings: IndexSettings) -> None:
        """Take other settings, after the index has been moved."""
        self.close()
        self.settings = settings

    def close(self) -> None:
        with self._lock:
            nodes, self._nodes = list(self._nodes.values()), {}
        for node in nodes:
            node.close()


def unless_index_is_away(job: Job) -> Job:
    """A job of the background that waits for its next turn while the server is away, so that the others go on."""

    def run(should_continue: ShouldContinue) -> int:
        with suppress(IndexUnavailable):
            return job(should_continue)
        return 0

    return run
