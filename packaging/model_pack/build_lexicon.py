"""Makes ``models/appliance_models/packs/lexicon/pieces.npy`` from the shipped model: see ``lexicon.py`` there.

    PYTHONPATH=models python packaging/model_pack/build_lexicon.py

Each word piece is read by the model alone, between its two special tokens; the mean of the three token vectors
is its vector. The 64 strongest directions are kept (principal components over all pieces but the unused ones),
and rounded to bytes. The model computes on processors of one kind alike, so a rebuild gives the same bytes there.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np

import appliance_models
from appliance_models.lexicon import TABLE_FILE

DIRECTIONS = 64
UNUSED = 999
"""Pieces before this one stand for nothing."""


def main() -> None:
    model = appliance_models.load()
    vocabulary = model.tokenizer.get_vocab()
    begin, end = vocabulary["[CLS]"], vocabulary["[SEP]"]
    vectors = np.stack([model.token_vectors([begin, piece, end]).mean(axis=0) for piece in range(len(vocabulary))])
    centred = vectors - vectors.mean(axis=0)
    _, _, directions = np.linalg.svd(centred[UNUSED:], full_matrices=False)
    kept = centred @ directions[:DIRECTIONS].T
    kept /= np.linalg.norm(kept, axis=1, keepdims=True)
    TABLE_FILE.parent.mkdir(exist_ok=True)
    np.save(TABLE_FILE, np.round(kept / np.abs(kept).max() * 127).astype(np.int8))
    print(f"{Path(TABLE_FILE).name}: {kept.shape}, {TABLE_FILE.stat().st_size:,} bytes")


if __name__ == "__main__":
    main()
