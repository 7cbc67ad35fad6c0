"""How a Qdrant server or cluster is reached, and how a collection is laid out there: values that the engine makes of
the settings."""

from __future__ import annotations

from dataclasses import field
from typing import Literal
from urllib.parse import urlsplit

from appliance.lazy_dataclasses import dataclass

Quantization = Literal["turbo", "scalar", "binary", "none"]


@dataclass(frozen=True, slots=True)
class CollectionLayout:
    """How a new collection is laid out; an existing one stays as it was created.

    Attributes:
        shards: Into how many shards the points are divided.
        by_user: Whether all points of a user lie in one shard, so that a search asks only this one.
        replicas: How many nodes have a copy of each shard.
        write_consistency: How many of them must have acknowledged an update.
        on_disk: Whether full vectors stay on disk; the quantised ones are in memory then.
        quantization: The codes that a search compares first: 4 bits a dimension (turbo), 8 (scalar), 1 (binary).
        graph_from: The number of points of a segment from which on it gets an HNSW graph; 0 for never.
    """

    shards: int = 1
    by_user: bool = False
    replicas: int = 1
    write_consistency: int = 1
    on_disk: bool = True
    quantization: Quantization = "turbo"
    graph_from: int = 0


@dataclass(frozen=True, slots=True)
class ServerOptions:
    """A server or cluster and its collections.

    Attributes:
        urls: The nodes, in the order in which they are tried.
        api_key: Sent with each request unless it is empty; never shown.
        ca_file: Certificates to trust instead of the system's; empty for those.
        timeout: Seconds that a response may take; an update may take ``MIN_WRITE_SECONDS``.
        prefix: What the names of the collections begin with.
        layout: How new collections are laid out.
    """

    urls: tuple[str, ...]
    api_key: str = field(default="", repr=False)
    ca_file: str = ""
    timeout: float = 10.0
    prefix: str = "appliance"
    layout: CollectionLayout = CollectionLayout()

    @property
    def server(self) -> str:
        """The server as the settings name it: its nodes with commas between them."""
        return ",".join(self.urls)

    @property
    def is_key_exposed(self) -> bool:
        """Whether the key would cross a network in the clear."""
        return bool(self.api_key) and any(not url.startswith("https://") and not _is_loopback(url) for url in self.urls)


def _is_loopback(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return host in ("localhost", "::1") or host.startswith("127.")
