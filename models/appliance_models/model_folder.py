"""Model folders as others lay them out, and what their files say: a hub's repository, an export of
sentence-transformers, and both kinds of fastembed's cache."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from appliance_models.errors import ModelCorrupt, ModelMissing
from appliance_models.manifest import MANIFEST_FILE, TOKENIZER_FILE

HUB_PREFIX = "models--"
FASTEMBED_PREFIX = "fast-"

CLASSIFIER_SUFFIX = "ForSequenceClassification"
DEFAULT_LABELS = 2
"""The default of the library that writes config.json, which leaves it out."""

# Models of these families number positions from the padding id + 1, so two rows of the table are unused.
POSITION_OFFSETS = {"roberta": 2, "xlm-roberta": 2, "camembert": 2, "mpnet": 2}

POSITION_FIELDS = ("max_position_embeddings", "n_positions", "max_seq_len", "max_sequence_length")

UNLIMITED = 1_000_000
"""A tokenizer that knows no limit says 10 to the power of 30."""

_POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_lasttoken": "last",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_sqrt_len_tokens": "mean_sqrt_len",
    "pooling_mode_weightedmean_tokens": "weightedmean",
}


@dataclass(frozen=True, slots=True)
class ModelFolder:
    """A folder with a model: where its files are, the name it is imported under, and the model's own name on a hub, if
    the folder tells."""

    path: Path
    name: str
    source: str


def find_model(folder: Path) -> ModelFolder:
    """The model in a folder, or in a cache that holds just one.

    Raises:
        ModelMissing: there is none, or there are several.
    """
    folder = folder.resolve()
    if folder.parent.name == "snapshots" and folder.parent.parent.name.startswith(HUB_PREFIX):
        return _of_hub_cache(folder.parent.parent, folder)
    if folder.name.startswith(HUB_PREFIX):
        return _of_hub_cache(folder, _snapshot(folder))
    if any(folder.glob("*.onnx")) or any(
        (folder / file).is_file() for file in (MANIFEST_FILE, "config.json", TOKENIZER_FILE)
    ):
        return ModelFolder(folder, folder.name.removeprefix(FASTEMBED_PREFIX), "")
    caches = sorted(path for prefix in (HUB_PREFIX, FASTEMBED_PREFIX) for path in folder.glob(f"{prefix}*/"))
    if len(caches) == 1:
        return find_model(caches[0])
    if caches:
        names = ", ".join(path.name for path in caches)
        raise ModelMissing(f"{folder} is a cache of {len(caches)} models. Import one of its folders: {names}.")
    return ModelFolder(folder, folder.name, "")


def _snapshot(folder: Path) -> Path:
    """The current snapshot of a repository in the hub's cache."""
    snapshots = [path for path in (folder / "snapshots").glob("*/") if any(path.iterdir())]
    reference = folder / "refs" / "main"
    if reference.is_file():
        current = folder / "snapshots" / reference.read_text("utf-8").strip()
        if current in snapshots:
            return current
    if not snapshots:
        raise ModelMissing(f"{folder / 'snapshots'} has no files: the download did not end. Download the model again.")
    return max(snapshots, key=lambda path: path.stat().st_mtime)


def _of_hub_cache(folder: Path, snapshot: Path) -> ModelFolder:
    source = folder.name.removeprefix(HUB_PREFIX).replace("--", "/")
    return ModelFolder(snapshot, source.rpartition("/")[2], source)


@dataclass(frozen=True, slots=True)
class FolderFacts:
    """What the files of a model folder say; None or empty where they say nothing."""

    is_reranker: bool
    hidden_size: int | None
    max_tokens: int | None
    max_positions: int | None
    pooling: str
    query_prefix: str
    passage_prefix: str
    has_dense_layer: bool
    licence: str
    source: str


def read_facts(model: ModelFolder) -> FolderFacts:
    """Raises ModelCorrupt for files that can't be read, and for a classifier that is no reranker."""
    folder = model.path
    config = read_json(folder / "config.json")
    sentence = read_json(folder / "sentence_bert_config.json")
    tokenizer = read_json(folder / "tokenizer_config.json")
    prompts = read_json(folder / "config_sentence_transformers.json").get("prompts") or {}
    modules = _read_modules(folder / "modules.json")
    pooling = next((path for kind, path in modules if kind == "Pooling"), "1_Pooling")
    longest = _number(tokenizer, "model_max_length")
    longest = longest if longest is not None and longest < UNLIMITED else None
    offset = POSITION_OFFSETS.get(str(config.get("model_type")), 0)
    positions = next((number - offset for field in POSITION_FIELDS if (number := _number(config, field))), longest)
    max_tokens = _number(sentence, "max_seq_length") or longest or positions
    return FolderFacts(
        is_reranker=_is_reranker(config, folder),
        hidden_size=next(
            (size for field in ("hidden_size", "n_embd", "dim", "d_model") if (size := _number(config, field))), None
        ),
        max_tokens=max_tokens if positions is None or max_tokens is None else min(max_tokens, positions),
        max_positions=positions,
        pooling=_pooling(read_json(folder / pooling / "config.json")),
        query_prefix=str(prompts.get("query") or ""),
        passage_prefix=str(prompts.get("passage") or prompts.get("document") or ""),
        has_dense_layer=any(kind == "Dense" for kind, _ in modules),
        licence=_licence(folder),
        source=model.source or str(config.get("_name_or_path") or ""),
    )


def _read_modules(path: Path) -> list[tuple[str, str]]:
    """The kind and the folder of each module of a sentence-transformers model."""
    if not path.is_file():
        return []
    try:
        modules = json.loads(path.read_text("utf-8"))
        return [(str(module["type"]).rpartition(".")[2], str(module["path"])) for module in modules]
    except (OSError, ValueError, TypeError, KeyError) as error:
        raise ModelCorrupt(f"{path} can't be read ({error!r}). Download the model again.") from error


def _pooling(config: Mapping[str, Any]) -> str:
    """The pooling that a pooling module names; several of them joined by "+", and "" for none."""
    if isinstance(config.get("pooling_mode"), str):
        mode = str(config["pooling_mode"])
        return "last" if mode == "lasttoken" else mode
    return "+".join(pooling for field, pooling in _POOLINGS.items() if config.get(field))


def _is_reranker(config: Mapping[str, Any], folder: Path) -> bool:
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


def _licence(folder: Path) -> str:
    """The licence named in the model card's front matter, else "unknown"."""
    card = folder / "README.md"
    found = card.is_file() and re.search(r"^license:\s*(\S+)", card.read_text("utf-8", "replace"), re.MULTILINE)
    return found[1] if found else "unknown"


def _number(config: Mapping[str, Any], field: str) -> int | None:
    value = config.get(field)
    return int(value) if isinstance(value, int | float) and not isinstance(value, bool) and value > 0 else None


def read_json(path: Path) -> dict[str, Any]:
    """The JSON object in a file; an empty one if there is no such file. Raises ModelCorrupt."""
    try:
        value = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise ModelCorrupt(f"{path} can't be read ({error}). Download the model again.") from error
    if not isinstance(value, dict):
        raise ModelCorrupt(f"{path} is not a JSON object. Download the model again.")
    return value


def require_files(folder: Path, names: Sequence[str]) -> None:
    """Raises ModelMissing for the first file that a folder lacks, and says where to get it."""
    for name in names:
        if not (folder / name).is_file():
            advice = (
                "Save it with the model's own tokenizer in transformers (AutoTokenizer.from_pretrained(...)"
                ".save_pretrained(...)); a vocab.txt or sentencepiece model alone is not enough."
                if name == TOKENIZER_FILE
                else "Copy it from where the model came from."
            )
            if places := sorted(path.parent for path in folder.glob(f"*/{name}")):
                advice = f"There is one in {places[0]}: import that folder."
            raise ModelMissing(f"{folder / name} is missing: the model can't be imported without it. {advice}")
