"""The embedding layer: vectors of texts and exact token counts, computed locally.

Importing it loads neither numpy nor a runtime: each name imports its module when it is first used.

    from appliance_models import load
    embedder = load()                        # the shipped all-MiniLM-L6-v2, int8
    embedder.embed_passages(["one", "two"])  # (2, 384) float32
"""

from __future__ import annotations

from importlib import import_module
from os import environ as _environ
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.encodings import TokenCounter, encoding_for
    from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing, TextTooLong, UnknownModel
    from appliance_models.fake import HashEmbedder
    from appliance_models.files import PackFileReport, find_fault, verify_pack
    from appliance_models.importer import ImportOptions, ImportReport, import_pack
    from appliance_models.lexicon import Lexicon, load_lexicon
    from appliance_models.manifest import Manifest, read_manifest
    from appliance_models.matryoshka import ShortenedEmbedder
    from appliance_models.onnx import OnnxEmbedder
    from appliance_models.registry import (
        DEFAULT_MODEL,
        Embedder,
        ModelInfo,
        list_models,
        load,
        load_reranker,
        pack_name,
        split_late,
        split_name,
    )
    from appliance_models.spans import SpannedText
    from appliance_models.token_vectors import EmbeddedQuery, TokenEmbedder

# onnxruntime sends what it runs, with an id of the machine that it keeps in ~/.cache, to its maker ten seconds after it
# was loaded, unless this is set before. Its own disable_telemetry_events() comes too late.
_environ["ORT_DISABLE_TELEMETRY"] = "1"

_NAMES_BY_MODULE = {
    "crossencoder": ("CrossEncoder",),
    "encodings": ("TokenCounter", "encoding_for"),
    "errors": ("ModelCorrupt", "ModelError", "ModelMissing", "TextTooLong", "UnknownModel"),
    "fake": ("HashEmbedder",),
    "files": ("PackFileReport", "find_fault", "verify_pack"),
    "importer": ("ImportOptions", "ImportReport", "import_pack"),
    "lexicon": ("Lexicon", "load_lexicon"),
    "manifest": ("Manifest", "read_manifest"),
    "matryoshka": ("ShortenedEmbedder",),
    "onnx": ("OnnxEmbedder",),
    "registry": (
        "DEFAULT_MODEL",
        "Embedder",
        "ModelInfo",
        "list_models",
        "load",
        "load_reranker",
        "pack_name",
        "split_late",
        "split_name",
    ),
    "spans": ("SpannedText",),
    "token_vectors": ("EmbeddedQuery", "TokenEmbedder"),
}
_MODULE_BY_NAME = {name: module for module, names in _NAMES_BY_MODULE.items() for name in names}

__all__ = [
    "DEFAULT_MODEL", "CrossEncoder", "EmbeddedQuery", "Embedder", "HashEmbedder", "ImportOptions", "ImportReport",
    "Lexicon", "Manifest", "ModelCorrupt", "ModelError", "ModelInfo", "ModelMissing", "OnnxEmbedder", "PackFileReport",
    "ShortenedEmbedder", "SpannedText", "TextTooLong", "TokenCounter", "TokenEmbedder", "UnknownModel",
    "encoding_for", "find_fault", "import_pack", "list_models", "load", "load_lexicon", "load_reranker", "pack_name",
    "read_manifest", "split_late", "split_name", "verify_pack",
]  # fmt: skip


def __getattr__(name: str) -> object:
    if name not in _MODULE_BY_NAME:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_MODULE_BY_NAME[name]}"), name)
