"""Makes the golden vectors of a pack: python tests/models/make_golden.py PACK FP32.onnx > tests/models/golden_PACK.json

FP32.onnx is the unquantised export that packaging/model_pack/build_minilm.py makes on its way.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import onnxruntime  # type: ignore[import-untyped, unused-ignore]

from appliance_models import OnnxEmbedder
from appliance_models.files import SHIPPED_PACKS
from appliance_models.wordpieces import encode_ids

LONG = (
    "We moved the release to Friday because the migration of the billing tables took longer than planned. "
    "Nobody was blamed; Priya wrote the notes, Tomás fixed the rollback script, and the customers in Lisbon "
    "were told before lunch. Next time the dry run happens on a copy of last month's data."
)
TEXTS = [
    "The spare key hangs behind the blue door in the cellar.",
    "Who booked the ferry to Naxos, and for which day?",
    "Die Werkstatt ruft an, sobald die Bremsen gewechselt sind.",
    "El jueves cenamos en casa de Lucía; trae el postre.",
    "明天下午三点在图书馆门口见。",
    "def area(radius):\n    return 3.14159 * radius ** 2",
    "ok 👍",
    LONG,
]
DIGITS = 6
SHOWN = 16


def main(pack: str, reference: Path) -> None:
    """Prints, for each text, the fp32 vector and the first numbers of the pack's own."""
    embedder = OnnxEmbedder(SHIPPED_PACKS / pack)
    session = onnxruntime.InferenceSession(str(reference), providers=["CPUExecutionProvider"])
    rows = []
    for text, ids in zip(TEXTS, encode_ids(embedder.tokenizer, TEXTS), strict=True):
        row = np.array([ids], dtype=np.int64)
        hidden = session.run(None, {"input_ids": row, "attention_mask": np.ones_like(row)})[0][0]
        mean = hidden.mean(axis=0)
        vector = embedder.embed_query(text)
        rows.append(
            {
                "text": text,
                "tokens": len(ids),
                "norm": round(float(np.linalg.norm(vector)), DIGITS),
                "first": [round(float(x), DIGITS) for x in vector[:SHOWN]],
                "fp32": [round(float(x), 4) for x in mean / np.linalg.norm(mean)],
            }
        )
    lines = ",\n".join(json.dumps(row, ensure_ascii=False) for row in rows)
    print(f'{{"identity": {json.dumps(embedder.identity)}, "texts": [\n{lines}\n]}}')


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
