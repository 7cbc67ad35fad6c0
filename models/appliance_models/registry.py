"""Models by name: what there is, and loading one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from appliance_models.errors import ModelError
from appliance_models.files import SHIPPED_PACKS, find_pack, pack_folders
from appliance_models.manifest import Manifest, read_manifest

if TYPE_CHECKING:
    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.embedder import Embedder

DEFAULT_MODEL = "all-minilm-l6-v2-int8"
FASTEMBED_PREFIX = "fastembed:"


@dataclass(frozen=True, slots=True)
class ModelInfo:
    """A pack that was found. `manifest` is None when it can't be read, and `problem` says why."""

    name: str
    folder: Path
    shipped: bool
    manifest: Manifest | None
    problem: str


def list_models(extra_folders: Sequence[Path] = ()) -> list[ModelInfo]:
    """Every pack, shipped ones first. Broken manifests are listed with their problem, not raised."""
    found = []
    for folder in pack_folders(extra_folders):
        shipped = folder.parent == SHIPPED_PACKS
        try:
            found.append(ModelInfo(folder.name, folder, shipped, read_manifest(folder), ""))
        except ModelError as error:
            found.append(ModelInfo(folder.name, folder, shipped, None, str(error)))
    return found


def load(
    name: str = DEFAULT_MODEL, extra_folders: Sequence[Path] = (), threads: int | None = None
) -> Embedder:
    """The embedder called `name`, from the shipped packs or those in `extra_folders`.

    `fastembed:PACK` runs a pack by fastembed; `fastembed:MODEL@FOLDER` a model that fastembed knows by that name,
    from the files in FOLDER. `threads`: processor threads to use, physical cores by default.
    Raises UnknownModel, ModelMissing, ModelCorrupt, and ModelError for a reranker.
    """
    if name.startswith(FASTEMBED_PREFIX):
        from appliance_models.fastembed import from_known, from_pack

        model, at, folder = name.removeprefix(FASTEMBED_PREFIX).partition("@")
        if at:
            return from_known(model, Path(folder), threads)
        return from_pack(_pack(model, extra_folders, "embedder"), threads)
    from appliance_models.onnx import OnnxEmbedder

    return OnnxEmbedder(_pack(name, extra_folders, "embedder"), threads)


def load_reranker(name: str, extra_folders: Sequence[Path] = (), threads: int | None = None) -> CrossEncoder:
    """The reranker called `name`, loaded and ready; `threads` as in `load`.

    Raises UnknownModel, ModelMissing, ModelCorrupt, and ModelError for an embedder.
    """
    from appliance_models.crossencoder import CrossEncoder

    return CrossEncoder(_pack(name, extra_folders, "reranker"), threads)


def _pack(name: str, extra_folders: Sequence[Path], kind: str) -> Path:
    folder, manifest = find_pack(name, extra_folders)
    if manifest.kind == kind:
        return folder
    if kind == "embedder":
        raise ModelError(
            f"{name} ({folder}) is a reranker: it scores passages for a question and makes no vectors. "
            f'Name it in the settings as rerank.model = "{name}", and use an embedder here'
        )
    raise ModelError(
        f"{name} ({folder}) is an embedder: it makes vectors and can't score passages for a question. "
        "Import a cross-encoder with `appliance models import DIR`, and name that one"
    )
