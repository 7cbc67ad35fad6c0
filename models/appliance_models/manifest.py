"""The manifest of a model pack, and the identity of its vectors."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from appliance_models.errors import ModelCorrupt, ModelMissing

MANIFEST_FILE = "manifest.json"
MODEL_FILE = "model.onnx"
TOKENIZER_FILE = "tokenizer.json"
OUTPUT_POOLING = "output"
"""The pooling of a graph that gives one vector a text by itself."""
POOLINGS = ("mean", "cls", "last", OUTPUT_POOLING)
KINDS = ("embedder", "reranker")
PAIR_POOLING = "pair"
"""The pooling of a reranker, which reads question and passage together and gives a single number."""

COPIED_FILES = (TOKENIZER_FILE, "tokenizer_config.json", "special_tokens_map.json", "config.json")
LEGAL_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE")
TOKEN_PROJECTION_FILE = "token_projection.npy"

# Long enough to tell any two models apart, short enough for a file name.
IDENTITY_DIGITS = 12


@dataclass(frozen=True, slots=True)
class PackFile:
    """One file of a pack: SHA-256 as lower-case hex, size in bytes."""

    sha256: str
    bytes: int


@dataclass(frozen=True, slots=True)
class Manifest:
    """The description of a model pack.

    `max_tokens` is the length the model was trained on, to which texts are chunked; `max_positions` is the longest text
    it can read. Both count special tokens. The prefixes are put before each text. `output` names the graph's output
    that is read; empty for the usual names of token-level output. A `kind` of "reranker" scores pairs of question and
    passage: its dimension is 1, its pooling "pair".
    """

    name: str
    files: Mapping[str, PackFile]
    dimension: int
    max_tokens: int
    max_positions: int
    pooling: str
    normalise: bool
    query_prefix: str
    passage_prefix: str
    licence: str
    source: str
    kind: str = "embedder"
    output: str = ""

    @property
    def identity(self) -> str:
        """`name@hash` over everything that alters vectors: weights, tokenizer, pooling, normalisation, prefixes."""
        parts = [self.pooling, str(self.normalise), self.query_prefix, self.passage_prefix]
        parts += [f"output:{self.output}"] if self.output else []
        parts += [f"{name}:{file.sha256}" for name, file in sorted(self.files.items()) if _alters_vectors(name)]
        digest = hashlib.sha256("\0".join(parts).encode()).hexdigest()
        return f"{self.name}@{digest[:IDENTITY_DIGITS]}"


_FIELDS: dict[str, type] = {
    "name": str, "files": dict, "dimension": int, "max_tokens": int, "max_positions": int, "pooling": str,
    "normalise": bool, "query_prefix": str, "passage_prefix": str, "licence": str, "source": str, "kind": str,
    "output": str,
}  # fmt: skip
_OPTIONAL_FIELDS = ("kind", "output")


def _alters_vectors(name: str) -> bool:
    # A graph above 2 GB has its weights in other files, whose names are free.
    return name == TOKENIZER_FILE or name not in (*COPIED_FILES, *LEGAL_FILES, TOKEN_PROJECTION_FILE)


def read_manifest(folder: Path) -> Manifest:
    """The manifest of the pack in `folder`. Raises ModelMissing or ModelCorrupt."""
    path = folder / MANIFEST_FILE
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise ModelMissing(
            f"{path} is missing: {folder} is not a model pack. Import one with `appliance models import DIR`, "
            "or reinstall if this is a shipped pack."
        ) from None
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"{path} can't be read ({error}). Restore it, or import the model again.") from error
    return parse_manifest(raw, path)


def parse_manifest(raw: object, path: Path) -> Manifest:
    """A checked manifest from decoded JSON. `path` names it in messages. Raises ModelCorrupt."""

    def fail(what: str) -> ModelCorrupt:
        return ModelCorrupt(f"{path}: {what}. Restore the file, or import the model again.")

    if not isinstance(raw, dict):
        raise fail("it is not a JSON object")

    def read_field(key: str, kind: type) -> Any:
        value = raw.get(key)
        # bool is a kind of int in Python, but not a size.
        if not isinstance(value, kind) or (kind is int and isinstance(value, bool)):
            raise fail(f"{key!r} should be {kind.__name__}, found {value!r}")
        return value

    fields = {key: read_field(key, kind) for key, kind in _FIELDS.items() if key not in _OPTIONAL_FIELDS or key in raw}
    fields["files"] = {name: _parse_file(name, value, fail) for name, value in fields["files"].items()}
    manifest = Manifest(**fields)
    if manifest.kind not in KINDS:
        raise fail(f"'kind' should be one of {', '.join(KINDS)}, found {manifest.kind!r}")
    if not manifest.name or "/" in manifest.name or "\\" in manifest.name:
        raise fail(f"'name' should be a plain folder name, found {manifest.name!r}")
    poolings = POOLINGS if manifest.kind == "embedder" else (PAIR_POOLING,)
    if manifest.pooling not in poolings:
        raise fail(f"'pooling' should be one of {', '.join(poolings)}, found {manifest.pooling!r}")
    if manifest.kind == "reranker" and manifest.dimension != 1:
        raise fail(f"'dimension' of a reranker should be 1, found {manifest.dimension}")
    if manifest.dimension < 1:
        raise fail(f"'dimension' should be positive, found {manifest.dimension}")
    if not 2 < manifest.max_tokens <= manifest.max_positions:
        raise fail(
            f"'max_tokens' ({manifest.max_tokens}) should be more than 2 and not above "
            f"'max_positions' ({manifest.max_positions})"
        )
    for needed in (MODEL_FILE, TOKENIZER_FILE):
        if needed not in manifest.files:
            raise fail(f"'files' does not list {needed}")
    return manifest


def _parse_file(name: str, value: object, fail: Any) -> PackFile:
    if Path(name).is_absolute() or ".." in Path(name).parts:
        raise fail(f"'files' names {name!r}, outside of the pack")
    if not isinstance(value, dict):
        raise fail(f"'files' entry {name!r} should be an object")
    digest, size = value.get("sha256"), value.get("bytes")
    if not isinstance(digest, str) or len(digest) != 64 or set(digest) - set("0123456789abcdef"):
        raise fail(f"'files' entry {name!r} has no SHA-256 of 64 lower-case hex digits")
    if not isinstance(size, int) or isinstance(size, bool) or size < 0:
        raise fail(f"'files' entry {name!r} has no size in bytes")
    return PackFile(digest, size)


def render_manifest(manifest: Manifest) -> str:
    """The text of manifest.json."""
    return json.dumps(asdict(manifest), indent=2, ensure_ascii=False) + "\n"


def describe_files(folder: Path) -> dict[str, PackFile]:
    """Checksum and size of every file under `folder` except the manifest, by relative path with `/`."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {
        path.relative_to(folder).as_posix(): PackFile(sha256_of(path), path.stat().st_size)
        for path in paths
        if path.name != MANIFEST_FILE
    }


def sha256_of(path: Path) -> str:
    """SHA-256 of a file, lower-case hex, read in bounded memory."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
