"""The fastembed runtime: packs with a manifest, and models that fastembed knows, from local files."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing, TextTooLong, UnknownModel
from appliance_models.files import check_pack
from appliance_models.manifest import IDENTITY_DIGITS, MODEL_FILE, TOKENIZER_FILE, read_manifest, sha256_of
from appliance_models.onnx import mean_by_tokens, unit_vector
from appliance_models.wordpieces import encode_ids, replace_surrogates, token_windows

if TYPE_CHECKING:
    from fastembed import TextEmbedding
    from numpy.typing import NDArray
    from tokenizers import Tokenizer

# fastembed reads the tokenizer's limits and padding token from this file and refuses a folder without it.
TOKENIZER_CONFIG_FILE = "tokenizer_config.json"


@dataclass(frozen=True, slots=True)
class _KnownModel:
    name: str
    identity: str
    dimension: int
    max_tokens: int
    max_positions: int
    query_prefix: str
    passage_prefix: str


class FastembedEmbedder:
    """A fastembed model on local files. Made by `from_pack` and `from_known`; see `Embedder`."""

    def __init__(self, model: TextEmbedding, tokenizer: Tokenizer, known_model: _KnownModel) -> None:
        """`tokenizer` neither cuts nor pads: it detects texts that fastembed would cut."""
        self._model = model
        self._tokenizer = tokenizer
        self._known_model = known_model
        self.name = known_model.name
        self.identity = known_model.identity
        self.dimension = known_model.dimension
        self.max_tokens = known_model.max_tokens
        self.max_positions = known_model.max_positions

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """(n, dimension) float32. Raises TextTooLong."""
        prefix = self._known_model.passage_prefix
        whole = [prefix + replace_surrogates(text) for text in texts]
        for index, ids in enumerate(encode_ids(self._tokenizer, whole)):
            if len(ids) > self._known_model.max_positions:
                raise TextTooLong(index, len(ids), self._known_model.max_positions, self.name)
        return self._stack(self._model.passage_embed(whole, batch_size=1), len(whole))

    def embed_query(self, text: str) -> NDArray[np.float32]:
        """(dimension,) float32, for a text of any length."""
        prefix = self._known_model.query_prefix
        limit = self.max_tokens - (len(encode_ids(self._tokenizer, [prefix])[0]) if prefix else 0)
        windows = [prefix + replace_surrogates(window) for window in token_windows(self._tokenizer, text, limit)]
        vectors = self._stack(self._model.query_embed(windows, batch_size=1), len(windows))
        if len(windows) == 1:
            return np.asarray(vectors[0])
        return unit_vector(mean_by_tokens(vectors, encode_ids(self._tokenizer, windows)))

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Exact counts, special tokens and passage prefix included."""
        prefix = self._known_model.passage_prefix
        return [len(ids) for ids in encode_ids(self._tokenizer, [prefix + text for text in texts])]

    def _stack(self, vectors: Any, count: int) -> NDArray[np.float32]:
        # Batches have one text: in a quantised model a text's vector depends on the others of its batch.
        rows = np.empty((count, self.dimension), dtype=np.float32)
        for row, vector in enumerate(vectors):
            rows[row] = vector
        return rows


def from_pack(folder: Path, threads: int | None = None) -> FastembedEmbedder:
    """The pack in `folder`, run by fastembed. Raises ModelMissing or ModelCorrupt."""
    fastembed = _import_fastembed()
    from fastembed.common.model_description import ModelSource, PoolingType

    manifest = read_manifest(folder)
    check_pack(folder, manifest)
    if manifest.pooling not in ("mean", "cls"):
        raise ModelError(
            f"fastembed can't run {manifest.name}, which pools by {manifest.pooling!r}. Use it without 'fastembed:'."
        )
    registered = {model["model"] for model in fastembed.TextEmbedding.list_supported_models()}
    if manifest.identity not in registered:
        fastembed.TextEmbedding.add_custom_model(
            model=manifest.identity,
            pooling=PoolingType(manifest.pooling.upper()),
            normalization=manifest.normalise,
            # fastembed requires a source but does not use it: the files are given by path.
            sources=ModelSource(hf=manifest.name),
            dim=manifest.dimension,
            model_file=MODEL_FILE,
        )
    tokenizer, limit = _load_tokenizer(folder)
    description = _KnownModel(
        name=manifest.name,
        identity=manifest.identity,
        dimension=manifest.dimension,
        max_tokens=min(manifest.max_tokens, limit),
        max_positions=min(manifest.max_positions, limit),
        query_prefix=manifest.query_prefix,
        passage_prefix=manifest.passage_prefix,
    )
    return FastembedEmbedder(_open_model(manifest.identity, folder, threads), tokenizer, description)


def from_known(model: str, folder: Path, threads: int | None = None) -> FastembedEmbedder:
    """A model that fastembed knows by name. Its files are in `folder`, laid out as on its model hub.

    Raises UnknownModel, ModelMissing or ModelCorrupt.
    """
    fastembed = _import_fastembed()
    known = {item["model"].lower(): item for item in fastembed.TextEmbedding.list_supported_models()}
    if model.lower() not in known:
        raise UnknownModel(
            f"fastembed has no model {model!r}. Import its folder instead with 'appliance models import DIR'."
        )
    entry = known[model.lower()]
    files = sorted({entry["model_file"], TOKENIZER_FILE, *entry["additional_files"]})
    for name in files:
        if not (folder / name).is_file():
            raise ModelMissing(f"Model {model}: {name} is missing, looked for at {folder / name}. Copy it there.")
    digest = hashlib.sha256("\0".join(f"{name}:{sha256_of(folder / name)}" for name in files).encode())
    tokenizer, limit = _load_tokenizer(folder)
    description = _KnownModel(
        name=entry["model"],
        identity=f"{entry['model']}@{digest.hexdigest()[:IDENTITY_DIGITS]}",
        dimension=entry["dim"],
        max_tokens=limit,
        max_positions=limit,
        # fastembed's query_embed and passage_embed add the prefixes of such a model.
        query_prefix="",
        passage_prefix="",
    )
    return FastembedEmbedder(_open_model(model, folder, threads), tokenizer, description)


def _import_fastembed() -> Any:
    # huggingface_hub reads it on import. A second safeguard: specific_model_path already prevents downloads.
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    try:
        import fastembed
    except ModuleNotFoundError as error:
        raise ModelMissing(
            "The library fastembed, which runs this model, is not installed. Run pip install '.[fastembed]' in a clone "
            "of the repository, or import the model's folder with 'appliance models import DIR' and use it without "
            "'fastembed:'."
        ) from error
    return fastembed


def _load_tokenizer(folder: Path) -> tuple[Tokenizer, int]:
    """fastembed's tokenizer for `folder` without truncation and padding, and the limit at which it would truncate."""
    from fastembed.common.preprocessor_utils import load_tokenizer

    if not (folder / TOKENIZER_CONFIG_FILE).is_file():
        raise ModelMissing(
            f"{TOKENIZER_CONFIG_FILE} is missing, looked for at {folder / TOKENIZER_CONFIG_FILE}: fastembed needs it. "
            "Copy it there from where the model came from."
        )
    try:
        tokenizer, _ = load_tokenizer(model_dir=folder)
    except Exception as error:  # the tokenizers library raises bare Exception
        raise ModelCorrupt(f"{folder} has no tokenizer that fastembed can read ({error}).") from error
    truncation = tokenizer.truncation
    limit = int(truncation["max_length"]) if truncation else 0
    tokenizer.no_truncation()
    tokenizer.no_padding()
    return tokenizer, limit


def _open_model(model: str, folder: Path, threads: int | None) -> TextEmbedding:
    try:
        embedding: TextEmbedding = _import_fastembed().TextEmbedding(
            model,
            # By default fastembed creates a cache folder in the system's temporary folder.
            cache_dir=str(folder),
            threads=threads,
            specific_model_path=str(folder),
            local_files_only=True,
        )
        return embedding
    except Exception as error:  # onnxruntime's own exceptions share no public base
        raise ModelCorrupt(f"fastembed can't run the model in {folder} ({error}). Import it again.") from error
