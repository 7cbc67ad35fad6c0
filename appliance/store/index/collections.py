"""A memory's collections on a Qdrant server: how they are named, created, recognised, handed over and dropped.

A collection's metadata says whose it is:

    home        the id of the home, which its name has too
    generation  what made its vectors
    schema      how its points are written
    token       who may write to it: renewed whenever a home opens it, and known only to this home's database. A copy of
                the home has the same id, and the token of the time at which it was copied: it is refused, or refused is
                the original from then on. So two copies never write to one collection
    shard_keys  how many shards it is divided into by user; absent if it is not
    complete    whether its payload indexes have been made
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from appliance.errors import IndexUnavailable
from appliance.lazy_dataclasses import dataclass
from appliance.store.index import sparse
from appliance.store.index.nodes import ServerNodes
from appliance.store.index.protocol import SCHEMA_VERSION
from appliance.store.index.server import CollectionLayout

if TYPE_CHECKING:
    from qdrant_client import QdrantClient, models

CLAIM_HINT = (
    "'appliance index claim' takes it over for this copy, which the other one is refused from then on;"
    " 'appliance index claim --new' gives this copy a collection of its own."
)

_DEFAULT_SEGMENTS_KB = 10_000


@dataclass(frozen=True, slots=True)
class CollectionIdentity:
    """What a collection must be: its name, the home that owns it, what made its vectors, and their dimension."""

    name: str
    home: str
    generation: str
    dimension: int


@dataclass(frozen=True, slots=True)
class CollectionState:
    """What the server says of a collection: its metadata, the dimension of its vectors (None if it has no dense ones),
    and about how many points it has."""

    metadata: dict[str, Any]
    dimension: int | None
    points: int


def collection_name(prefix: str, home: str, generation: int) -> str:
    return f"{prefix}-{home}-g{generation}"


def state(nodes: ServerNodes, name: str) -> CollectionState | None:
    """Return the state of a collection; None if there is none."""

    def read(client: QdrantClient) -> CollectionState | None:
        if not client.collection_exists(name):
            return None
        info = client.get_collection(name)
        vectors = info.config.params.vectors
        dense = vectors.get("dense") if isinstance(vectors, dict) else None
        dimension = None if dense is None else dense.size
        return CollectionState(dict(info.config.metadata or {}), dimension, info.points_count or 0)

    return nodes.call("be opened", read)


def require_owner(found: CollectionState, name: str, home: str, tokens: tuple[str, ...]) -> None:
    """Check that a collection belongs to this copy of a home, which knows these tokens.

    Raises:
        IndexUnavailable: It belongs to another home, or another copy has opened it since.
    """
    if found.metadata.get("home") != home:
        raise IndexUnavailable(
            f"The collection {name} on the server belongs to another memory.",
            hint="Set index.prefix to another name, or delete the collection on the server.",
        )
    if found.metadata.get("token") not in tokens:
        raise IndexUnavailable(
            f"Another copy of this memory uses the collection {name} on the server.", hint=CLAIM_HINT
        )


def is_owner(found: CollectionState, home: str, tokens: tuple[str, ...]) -> bool:
    return found.metadata.get("home") == home and found.metadata.get("token") in tokens


def fits(found: CollectionState, identity: CollectionIdentity) -> bool:
    """Whether a collection has vectors of this generation, written as this program does."""
    wanted = {"generation": identity.generation, "schema": SCHEMA_VERSION}
    return found.dimension == identity.dimension and wanted.items() <= found.metadata.items()


def renew_token(nodes: ServerNodes, name: str, token: str) -> None:
    nodes.call("be opened", lambda client: client.update_collection(name, metadata={"token": token}))


def drop(nodes: ServerNodes, name: str) -> None:
    """Delete a collection; a missing one is no error."""

    def delete(client: QdrantClient) -> None:
        if client.collection_exists(name):
            client.delete_collection(name)

    nodes.call("be deleted", delete)


# --- creating --------------------------------------------------------------------------------------


def create(nodes: ServerNodes, identity: CollectionIdentity, token: str, layout: CollectionLayout) -> None:
    """Create a collection, owned by ``token``."""
    metadata = {
        "home": identity.home,
        "generation": identity.generation,
        "schema": SCHEMA_VERSION,
        "token": token,
        **({"shard_keys": layout.shards} if layout.by_user else {}),
    }
    nodes.call("be created", lambda client: _create(client, identity, metadata, layout))
    complete(nodes, identity.name, layout.shards if layout.by_user else 0)


def complete(nodes: ServerNodes, name: str, shard_keys: int) -> None:
    """Make the shards and the payload indexes of a collection; those that exist are kept."""

    def finish(client: QdrantClient) -> None:
        if shard_keys:
            present = {str(shard.key) for shard in client.list_shard_keys(name).shard_keys or ()}
            for key in map(shard_key, range(shard_keys)):
                if key not in present:
                    client.create_shard_key(name, key)
        for field, schema in _payload_indexes().items():
            client.create_payload_index(name, field, field_schema=schema, wait=True)
        client.update_collection(name, metadata={"complete": True})

    nodes.call("be created", finish)


def shard_key(number: int) -> str:
    return f"users-{number}"


def _create(
    client: QdrantClient, identity: CollectionIdentity, metadata: dict[str, Any], layout: CollectionLayout
) -> None:
    from qdrant_client import models

    if client.collection_exists(identity.name):  # an attempt whose answer was lost
        return
    client.create_collection(
        identity.name,
        vectors_config={
            "dense": models.VectorParams(
                size=identity.dimension,
                distance=models.Distance.COSINE,
                datatype=models.Datatype.FLOAT16,
                on_disk=layout.on_disk,
                hnsw_config=_graph(layout),
                quantization_config=_quantization(layout),
            )
        },
        sparse_vectors_config={
            leg: models.SparseVectorParams(
                modifier=models.Modifier.IDF, index=models.SparseIndexParams(on_disk=layout.on_disk)
            )
            for leg in sparse.LEGS
        },
        # Per shard key there is one shard, so that the number of both is that of the settings.
        shard_number=1 if layout.by_user else layout.shards,
        sharding_method=models.ShardingMethod.CUSTOM if layout.by_user else None,
        replication_factor=layout.replicas,
        write_consistency_factor=layout.write_consistency,
        optimizers_config=models.OptimizersConfigDiff(indexing_threshold=_indexing_kilobytes(identity, layout)),
        on_disk_payload=True,
        metadata=metadata,
    )


def _graph(layout: CollectionLayout) -> models.HnswConfigDiff:
    from qdrant_client import models

    # m=0: no graph, as in the embedded index; filtered searches stay exact.
    return models.HnswConfigDiff(m=16, ef_construct=100) if layout.graph_from else models.HnswConfigDiff(m=0)


def _indexing_kilobytes(identity: CollectionIdentity, layout: CollectionLayout) -> int:
    """The size of a segment's vectors from which on it gets its graph and its quantised codes."""
    if not layout.graph_from:
        return _DEFAULT_SEGMENTS_KB
    return max(1, layout.graph_from * identity.dimension * 2 // 1024)  # 2-byte floats


def _quantization(layout: CollectionLayout) -> models.QuantizationConfig | None:
    from qdrant_client import models

    in_memory = layout.on_disk or None
    match layout.quantization:
        case "turbo":
            turbo = models.TurboQuantQuantizationConfig(bits=models.TurboQuantBitSize.BITS4, always_ram=in_memory)
            return models.TurboQuantization(turbo=turbo)
        case "scalar":
            scalar = models.ScalarQuantizationConfig(type=models.ScalarType.INT8, always_ram=in_memory)
            return models.ScalarQuantization(scalar=scalar)
        case "binary":
            return models.BinaryQuantization(binary=models.BinaryQuantizationConfig(always_ram=in_memory))
        case "none":
            return None


def _payload_indexes() -> dict[str, models.KeywordIndexParams | models.IntegerIndexParams]:
    from qdrant_client import models

    keyword, integer = models.KeywordIndexParams, models.IntegerIndexParams
    return {
        **{
            name: keyword(type=models.KeywordIndexType.KEYWORD, is_tenant=name == "scope" or None)
            for name in ("scope", "talk", "agent_id", "role", "level", "source", "author")
        },
        "session": integer(type=models.IntegerIndexType.INTEGER, lookup=True, range=False),
        "at": integer(type=models.IntegerIndexType.INTEGER, lookup=False, range=True),
    }
