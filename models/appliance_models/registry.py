"""Models by name: listing and loading them, and the protocol of an embedder."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from appliance_models.errors import ModelError, UnknownModel
from appliance_models.files import SHIPPED_PACKS, find_pack, pack_folders
from appliance_models.manifest import Manifest, read_manifest

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.spans import SpannedText

DEFAULT_MODEL = "minilm-l6-dialogue-int8"
FASTEMBED_PREFIX = "fastembed:"
_DIMENSIONS = re.compile(r"(?P<name>[^/@]+)/(?P<dimensions>[1-9]\d*)")
LATE_SUFFIX = "+late"
"""Ends the name of a model with late chunking; the number of dimensions comes after it: "bge-m3+late/256"."""
JINA_PREFIX = "jina:"
"""Begins the name of a model behind the Jina API, which ``load`` does not open: see ``jina.JinaEmbedder``."""


class Embedder(Protocol):
    """Turns texts into vectors. Thread-safe, and never uses the network, unless it is a ``RemoteEmbedder``.

    A text's vector depends on the text alone, not on other texts of the call or their order.
    """

    @property
    def name(self) -> str:
        """The name it was loaded by, for people."""

    @property
    def identity(self) -> str:
        """Changes whenever the same text would get another vector. Stored vectors are stamped with it."""

    @property
    def dimension(self) -> int:
        """Numbers in a vector."""

    @property
    def max_tokens(self) -> int:
        """The length to chunk texts to, in tokens, special tokens included: longer ones are read less well.

        Texts are read whole up to the model's positions, and refused beyond them. Packs also say these, as
        ``max_positions``; for a model that does not, they are no more than this.
        """

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Vectors of texts to be found, (len(texts), dimension), in the order given. Nothing is truncated.

        Raises:
            TextTooLong: a text has more tokens than the model has positions.
        """

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """The vector of a question of any length, (dimension,). A long one is the mean of its windows by tokens."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Tokens of each text as `embed_passages` reads it, special tokens and prefix included."""


class LateChunkingEmbedder(Embedder, Protocol):
    """An embedder that can read a text as a whole and give a vector for each part of it."""

    @property
    def late_chunking(self) -> bool:
        """Whether the chunks of a text that has several are to be embedded like this."""

    def embed_spans(self, texts: Sequence[SpannedText]) -> NDArray[np.float32]:
        """The vectors of all spans of all texts, in order, (spans, dimension). A text of any length is read to its end.

        Raises:
            ModelError: The model can't do it.
        """


@runtime_checkable
class UnloadableEmbedder(Protocol):
    """An embedder that can leave the memory, and loads itself again when it is needed."""

    def unload(self) -> None: ...


class RemoteEmbedder(Embedder, Protocol):
    """An embedder that asks an API over the network. Embedding raises ApiError, and may wait for long, except for a
    query."""

    @property
    def texts_a_call(self) -> int:
        """How many passages to embed in one call, so that requests are neither many nor large."""

    @property
    def texts_a_request(self) -> int:
        """How many of them one request has. A text of which several spans are embedded is a request of its own."""

    def retry(self) -> None:
        """Ask the API again at once, however recently it has failed."""

    def cancel(self) -> None:
        """End all requests at once, and refuse further ones."""

    def close(self) -> None:
        """Close all connections."""


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A pack. `manifest` is None when it can't be read; `problem` says why."""

    name: str
    folder: Path
    shipped: bool
    manifest: Manifest | None
    problem: str


def list_models(extra_folders: Sequence[Path] = ()) -> list[ModelInfo]:
    """Every pack, shipped ones first. Unreadable manifests are listed with their problem, not raised."""
    models = []
    for folder in pack_folders(extra_folders):
        shipped = folder.parent == SHIPPED_PACKS
        try:
            models.append(ModelInfo(folder.name, folder, shipped, read_manifest(folder), ""))
        except ModelError as error:
            models.append(ModelInfo(folder.name, folder, shipped, None, str(error)))
    return models


def split_name(name: str) -> tuple[str, int]:
    """The name of the model, and how many numbers of its vectors are kept: ("bge-m3/256") is ("bge-m3", 256), and 0
    means all."""
    match = _DIMENSIONS.fullmatch(name)
    return (match["name"], int(match["dimensions"])) if match else (name, 0)


def split_late(name: str) -> tuple[str, bool]:
    """A name without its dimensions, as the name of the model and whether it is with late chunking."""
    return name.removesuffix(LATE_SUFFIX), name.endswith(LATE_SUFFIX)


def pack_name(name: str) -> str:
    """The pack of a model: its name without late chunking and the number of dimensions, in which it may end, and
    without who runs it: "bge-m3" of "fastembed:bge-m3+late/256"."""
    return split_late(split_name(name)[0])[0].removeprefix(FASTEMBED_PREFIX)


def load(name: str = DEFAULT_MODEL, extra_folders: Sequence[Path] = (), threads: int | None = None) -> Embedder:
    """The embedder called `name`, from the shipped packs or those in `extra_folders`.

    Args:
        name: a pack; `fastembed:PACK` for a pack run by fastembed; `fastembed:MODEL@FOLDER` for a model that fastembed
            knows by that name, from the files in FOLDER; `PACK/256` for the first 256 numbers of a pack's vectors;
            `PACK+late` for late chunking.
        threads: processor threads, by default one for each physical core.

    Raises:
        ModelError: UnknownModel, ModelMissing or ModelCorrupt, the model is a reranker, or has fewer numbers.
    """
    if name.startswith(JINA_PREFIX):
        raise UnknownModel(f"{name} is asked over the network, within a memory only. Name a model on this machine.")
    from appliance_models.matryoshka import ShortenedEmbedder

    base, dimensions = split_name(name)
    if dimensions:
        return ShortenedEmbedder(load(base, extra_folders, threads), dimensions)
    base, is_late = split_late(name)
    if is_late and split_name(base)[1]:
        model, count = split_name(base)
        raise UnknownModel(f"There is no model {name!r}. The dimensions come last: {model}{LATE_SUFFIX}/{count}.")
    _refuse_odd_dimensions(base, extra_folders)
    if name.startswith(FASTEMBED_PREFIX):
        if is_late:
            raise ModelError(f"{base} can't do late chunking: fastembed gives no token vectors. Import the model.")
        from appliance_models.fastembed import from_known, from_pack

        model, at, folder = name.removeprefix(FASTEMBED_PREFIX).partition("@")
        if at:
            return from_known(model, Path(folder), threads)
        return from_pack(_pack(model, extra_folders, "embedder"), threads)
    from appliance_models.onnx import OnnxEmbedder

    return OnnxEmbedder(_pack(base, extra_folders, "embedder"), threads, late_chunking=is_late)


def no_such_dimensions(name: str, base: str, fewest: int, most: int) -> str:
    """What is said of a name that asks for dimensions which its model ``base`` does not have."""
    return (
        f"There is no {name}: {base} has {most:,} dimensions, of which {fewest:,} to {most:,} can be kept. Use {base}"
        f" for all of them, or {base}/{most // 2} for the first {most // 2:,}; the setting model.dimensions adds such a"
        " number too."
    )


def _refuse_odd_dimensions(name: str, extra_folders: Sequence[Path]) -> None:
    """Raise ModelError for a name that has something else than a number of dimensions behind that of a pack."""
    base, slash, _ = name.partition("/")
    if not slash or "@" in base:
        return
    pack = base.removeprefix(FASTEMBED_PREFIX)
    manifest = next((info.manifest for info in list_models(extra_folders) if info.name == pack), None)
    if manifest is not None and manifest.kind == "embedder":
        raise ModelError(no_such_dimensions(name, base, 1, manifest.dimension))


def load_reranker(name: str, extra_folders: Sequence[Path] = (), threads: int | None = None) -> CrossEncoder:
    """The reranker called `name`, loaded and ready, with arguments and errors as in `load`."""
    from appliance_models.crossencoder import CrossEncoder

    return CrossEncoder(_pack(name, extra_folders, "reranker"), threads)


def _pack(name: str, extra_folders: Sequence[Path], kind: str) -> Path:
    folder, manifest = find_pack(name, extra_folders)
    if manifest.kind == kind:
        return folder
    if kind == "embedder":
        raise ModelError(
            f"{name} ({folder}) is a reranker: it scores passages for a question and makes no vectors. "
            f'Set rerank.model = "{name}" in the settings, and use an embedder here.'
        )
    raise ModelError(
        f"{name} ({folder}) is an embedder: it makes vectors and can't score passages for a question. "
        "Import a cross-encoder with `appliance models import DIR`, and use that."
    )
