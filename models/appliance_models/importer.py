"""Imports a model folder, as model hubs publish them, as a pack with a manifest."""

from __future__ import annotations

import json
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any

from appliance_models.errors import ModelCorrupt, ModelError, ModelMissing
from appliance_models.manifest import (
    MANIFEST_FILE,
    MODEL_FILE,
    PAIR_POOLING,
    TOKENIZER_FILE,
    Manifest,
    describe_files,
    parse_manifest,
    read_manifest,
    render_manifest,
)

# Where the graph is in the common layouts, the most common first.
MODEL_PATHS = ("onnx/model.onnx", MODEL_FILE)
COPIED_FILES = (TOKENIZER_FILE, "tokenizer_config.json", "special_tokens_map.json", "config.json")
LEGAL_FILES = ("LICENSE", "LICENSE.txt", "LICENSE.md", "NOTICE")

CLASSIFIER_SUFFIX = "ForSequenceClassification"
DEFAULT_LABELS = 2
"""The default of the library that writes config.json, which leaves it out."""

# Models of these families number positions from the padding id + 1, so two rows of the table are unused.
POSITION_OFFSETS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}

PROBE_TEXT = "A short sentence to test the model."


def import_pack(folder: Path, destination: Path, name: str | None = None, model_file: str | None = None) -> Manifest:
    """Copy the model in `folder` to `destination/<name>` as a pack, completely or not at all.

    `folder` is a pack, or holds config.json, tokenizer.json, an ONNX graph (`model_file`, else onnx/model.onnx or
    model.onnx) and, if the model comes with it, 1_Pooling/config.json. The graph has token-level output; a sequence
    classifier has one logit and becomes a reranker. The copy is loaded and tested on a sentence before it is named,
    by default the folder's.

    Raises ModelMissing, ModelCorrupt, and ModelError if a pack of that name exists.
    """
    name = name or folder.resolve().name
    target = destination / name
    if target.exists():
        raise ModelError(f"{target} already exists. Remove it first, or import under another name.")
    destination.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=destination, prefix=".import-") as temporary:
        pack = Path(temporary, name)
        pack.mkdir()
        if (folder / MANIFEST_FILE).is_file():
            _copy_pack(folder, pack)
        else:
            _convert(folder, pack, name, model_file)
        manifest = read_manifest(pack)
        _check_runs(pack, manifest)
        _sync([path for path in pack.rglob("*") if path.is_file()])
        pack.rename(target)
        if os.name == "posix":  # Windows can't sync a folder
            _sync([destination])
    return manifest


def _copy_pack(folder: Path, pack: Path) -> None:
    manifest = read_manifest(folder)
    if manifest.name != pack.name:
        raise ModelError(f"{folder} is the pack {manifest.name}: it can't be imported under the name {pack.name}.")
    for name in (MANIFEST_FILE, *manifest.files):
        _copy(folder / name, pack / name)


def _convert(folder: Path, pack: Path, name: str, model_file: str | None) -> None:
    graph = _find_graph(folder, model_file)
    _copy(graph, pack / MODEL_FILE)
    # Weights above 2 GB are in files beside the graph, which refers to them by name.
    for data in sorted(graph.parent.glob(f"{graph.name}_data*")) + sorted(graph.parent.glob(f"{graph.name}.data*")):
        _copy(data, pack / data.name)
    config = _read_json(folder / "config.json", required=True)
    if not (folder / TOKENIZER_FILE).is_file():
        raise ModelMissing(f"{folder / TOKENIZER_FILE} is missing: {folder} can't be imported without it.")
    for file in (*COPIED_FILES, *LEGAL_FILES):
        if (folder / file).is_file():
            _copy(folder / file, pack / file)
    reranks = _is_reranker(config, folder)
    pooling = _read_json(folder / "1_Pooling" / "config.json")
    sentence = _read_json(folder / "sentence_bert_config.json")
    prompts = _read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    offset = POSITION_OFFSETS.get(str(config.get("model_type")), 0)
    positions = int(config.get("max_position_embeddings") or 0) - offset
    raw = {
        "name": name,
        "files": {file: {"sha256": entry.sha256, "bytes": entry.bytes} for file, entry in describe_files(pack).items()},
        "kind": "reranker" if reranks else "embedder",
        "dimension": 1 if reranks else config.get("hidden_size"),
        "max_tokens": min(sentence.get("max_seq_length") or positions, positions),
        "max_positions": positions,
        "pooling": PAIR_POOLING if reranks else _pooling(pooling, folder),
        # The stores expect unit length, because hits are compared by cosine; a reranker's score has no length.
        "normalise": not reranks,
        "query_prefix": prompts.get("query", ""),
        "passage_prefix": prompts.get("passage", prompts.get("document", "")),
        "licence": _licence(folder),
        "source": str(config.get("_name_or_path") or name),
    }
    manifest = parse_manifest(raw, folder / "config.json")
    (pack / MANIFEST_FILE).write_text(render_manifest(manifest), encoding="utf-8")


def _find_graph(folder: Path, model_file: str | None) -> Path:
    candidates = (model_file,) if model_file else MODEL_PATHS
    for candidate in candidates:
        if (folder / candidate).is_file():
            return folder / candidate
    others = sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*.onnx"))
    if len(others) == 1 and not model_file:
        return folder / others[0]
    raise ModelMissing(
        f"There is no ONNX graph in {folder}, looked for {', '.join(candidates)}. "
        + (f"Choose one of {', '.join(others)}." if others else "Export the model to ONNX first.")
    )


def _is_reranker(config: dict[str, Any], folder: Path) -> bool:
    """Whether config.json describes a cross-encoder. Raises ModelCorrupt for a classifier of another kind."""
    architectures = config.get("architectures")
    names = [str(name) for name in architectures] if isinstance(architectures, list) else []
    if not any(name.endswith(CLASSIFIER_SUFFIX) for name in names):
        return False
    labels_by_id = config.get("id2label")
    labels = len(labels_by_id) if isinstance(labels_by_id, dict) else config.get("num_labels", DEFAULT_LABELS)
    if labels != 1:
        raise ModelCorrupt(
            f"{folder / 'config.json'} describes a classifier ({', '.join(names)}) into {labels} labels: "
            "a reranker has one. Use a cross-encoder that was trained to rank."
        )
    return True


def _pooling(config: dict[str, Any], folder: Path) -> str:
    if config.get("pooling_mode_cls_token"):
        return "cls"
    # Models without a pooling file are plain encoders, for which the mean is the usual choice.
    if not config or config.get("pooling_mode_mean_tokens"):
        return "mean"
    raise ModelCorrupt(f"{folder / '1_Pooling' / 'config.json'} asks for a pooling other than mean or cls.")


def _licence(folder: Path) -> str:
    """The licence named in the model card's front matter, else "unknown"."""
    card = folder / "README.md"
    found = card.is_file() and re.search(r"^license:\s*(\S+)", card.read_text("utf-8", "replace"), re.MULTILINE)
    return found[1] if found else "unknown"


def _read_json(path: Path, *, required: bool = False) -> dict[str, Any]:
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        if required:
            raise ModelMissing(f"{path} is missing: its folder can't be imported without it.") from None
        return {}
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"{path} can't be read ({error}). Download the model again.") from error
    if not isinstance(value, dict):
        raise ModelCorrupt(f"{path} is not a JSON object. Download the model again.")
    return value


def _copy(source: Path, target: Path) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, target)
    except FileNotFoundError:
        raise ModelMissing(f"{source} is missing; the model is incomplete. Download it again.") from None


def _check_runs(pack: Path, manifest: Manifest) -> None:
    """Load the pack and embed a sentence. Raises ModelCorrupt if that fails or the numbers are not finite (which a
    reranker checks itself)."""
    import numpy as np

    from appliance_models.crossencoder import CrossEncoder
    from appliance_models.onnx import OnnxEmbedder

    if manifest.kind == "reranker":
        CrossEncoder(pack, threads=1).score(PROBE_TEXT, [PROBE_TEXT])
    elif not np.isfinite(OnnxEmbedder(pack, threads=1).embed_query(PROBE_TEXT)).all():
        raise ModelCorrupt(f"{manifest.name} gives numbers that are not finite. Download the model again.")


def _sync(paths: list[Path]) -> None:
    for path in paths:
        # Windows syncs only files that are open for writing; a folder opens only for reading.
        descriptor = os.open(path, os.O_RDONLY if path.is_dir() else os.O_RDWR)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)
