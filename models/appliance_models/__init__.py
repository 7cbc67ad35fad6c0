"""The embedding layer: texts to vectors, and exact token counts, on this machine alone.

Importing it loads neither numpy nor a runtime: each name brings its own module when it is first used.

    from appliance_models import load
    embedder = load()                        # the shipped all-MiniLM-L6-v2, int8
    embedder.embed_passages(["one", "two"])  # (2, 384) float32
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.embedder import Embedder
    from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing, TextTooLong, UnknownModel
    from appliance_models.fake import HashEmbedder
    from appliance_models.files import FileReport, verify_pack
    from appliance_models.importer import import_pack
    from appliance_models.lexicon import Lexicon, load_lexicon
    from appliance_models.manifest import Manifest, read_manifest
    from appliance_models.onnx import OnnxEmbedder
    from appliance_models.registry import DEFAULT_MODEL, ModelInfo, list_models, load, load_reranker
    from appliance_models.tokens import TokenCounter, encoding_for

_HOMES = {
    "CrossEncoder": "crossencoder",
    "Embedder": "embedder",
    "ModelError": "errors",
    "ModelMissing": "errors",
    "ModelCorrupt": "errors",
    "UnknownModel": "errors",
    "TextTooLong": "errors",
    "HashEmbedder": "fake",
    "FileReport": "files",
    "verify_pack": "files",
    "import_pack": "importer",
    "Lexicon": "lexicon",
    "load_lexicon": "lexicon",
    "Manifest": "manifest",
    "read_manifest": "manifest",
    "OnnxEmbedder": "onnx",
    "DEFAULT_MODEL": "registry",
    "ModelInfo": "registry",
    "list_models": "registry",
    "load": "registry",
    "load_reranker": "registry",
    "TokenCounter": "tokens",
    "encoding_for": "tokens",
}

__all__ = [
    "DEFAULT_MODEL",
    "CrossEncoder",
    "Embedder",
    "FileReport",
    "HashEmbedder",
    "Lexicon",
    "Manifest",
    "ModelCorrupt",
    "ModelError",
    "ModelInfo",
    "ModelMissing",
    "OnnxEmbedder",
    "TextTooLong",
    "TokenCounter",
    "UnknownModel",
    "encoding_for",
    "import_pack",
    "list_models",
    "load",
    "load_lexicon",
    "load_reranker",
    "read_manifest",
    "verify_pack",
]


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
