"""Makes the ``token_projection.npy`` of a model pack: see ``models/appliance_models/token_vectors.py``.

    PYTHONPATH=models python packaging/model_pack/build_token_projection.py PACK TEXTS.txt [--dimension 32]

TEXTS has one text a line, in the form in which passages are embedded (``Ana said, "..."``): a few thousand turns of
conversations. The strongest directions of their hidden states are kept (principal components). 32 rank as well as 64
or 128 (held-out recall@10 on LoCoMo 0.824, 0.824, 0.823). Run it again whenever the model changes.
"""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import numpy as np

from appliance_models.manifest import (
    MANIFEST_FILE,
    TOKEN_PROJECTION_FILE,
    describe_files,
    read_manifest,
    render_manifest,
)
from appliance_models.onnx import OnnxEmbedder
from appliance_models.wordpieces import encode_ids


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pack", type=Path)
    parser.add_argument("texts", type=Path)
    parser.add_argument("--dimension", type=int, default=32)
    options = parser.parse_args()
    model = OnnxEmbedder(options.pack)
    texts = options.texts.read_text(encoding="utf-8").splitlines()
    hidden = [model.token_vectors(ids[: model.max_tokens])[1:-1] for ids in encode_ids(model.tokenizer, texts)]
    states = np.concatenate(hidden).astype(np.float64)
    mean = states.mean(axis=0)
    _, directions = np.linalg.eigh(np.cov((states - mean).T))
    kept = directions[:, ::-1][:, : options.dimension]
    np.save(options.pack / TOKEN_PROJECTION_FILE, np.vstack([kept, mean @ kept]).astype(np.float32))
    manifest = replace(read_manifest(options.pack), files=describe_files(options.pack))
    (options.pack / MANIFEST_FILE).write_text(render_manifest(manifest), encoding="utf-8")
    print(f"{TOKEN_PROJECTION_FILE}: {len(states):,} tokens of {len(texts):,} texts, {kept.shape[1]} directions")


if __name__ == "__main__":
    main()
