"""Models of a few operators, written byte by byte: a cross-encoder whose logit counts what question and passage share,
and an encoder that looks each token up in a small table.

An ONNX file is a Protocol Buffers message; the few field numbers used here are those of onnx.proto3. So the tests
need neither a real model, which is large, nor the library that writes such files.
"""

from __future__ import annotations

import json
import random
import shutil
import struct
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from appliance_models import DEFAULT_MODEL
from appliance_models.files import SHIPPED_PACKS

FLOAT, INT64 = 1, 7
INPUTS = ("input_ids", "attention_mask", "token_type_ids")
IR_VERSION, OPSET = 8, 13


def crossencoder_folder(
    folder: Path, *, labels: int = 1, logits: int = 1, inputs: Sequence[str] = INPUTS, unit: float = 1.0
) -> Path:
    """A model folder as on a hub: the shipped tokenizer around the tiny graph, and a config.json that says
    ``labels`` where the graph gives ``logits`` for each pair."""
    (folder / "onnx").mkdir(parents=True)
    (folder / "onnx" / "model.onnx").write_bytes(counting_graph(logits, inputs, unit))
    shutil.copyfile(SHIPPED_PACKS / DEFAULT_MODEL / "tokenizer.json", folder / "tokenizer.json")
    config = {
        "architectures": ["BertForSequenceClassification"],
        "hidden_size": 384,
        "id2label": {str(number): f"LABEL_{number}" for number in range(labels)},
        "max_position_embeddings": 64,
        "model_type": "bert",
    }
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


def counting_graph(logits: int = 1, inputs: Sequence[str] = INPUTS, unit: float = 1.0) -> bytes:
    """``logits[b, 0]`` is the number of pairs (i, j) with equal ids, i in the first text of row b and j in its
    second, told apart by ``token_type_ids``; ``unit`` is what one of the first text counts."""
    nodes = [
        _node("Unsqueeze", ("input_ids", "two"), "as_column"),
        _node("Unsqueeze", ("input_ids", "one"), "as_row"),
        _node("Equal", ("as_column", "as_row"), "same"),
        _node("Cast", ("same",), "equal", to=FLOAT),
        _node("Cast", ("token_type_ids",), "second", to=FLOAT),
        _node("Cast", ("attention_mask",), "read", to=FLOAT),
        _node("Sub", ("ones", "second"), "first"),
        _node("Mul", ("first", "read"), "first_read"),
        _node("Mul", ("second", "read"), "second_read"),
        _node("Unsqueeze", ("first_read", "one"), "left"),
        _node("Unsqueeze", ("second_read", "two"), "right"),
        _node("MatMul", ("left", "equal"), "met"),
        _node("MatMul", ("met", "right"), "counted"),
        _node("Reshape", ("counted", "flat"), "count"),
        _node("Concat", ("count",) * logits, "logits", axis=1),
    ]
    constants = [
        _tensor("one", INT64, [1], struct.pack("<q", 1)),
        _tensor("two", INT64, [1], struct.pack("<q", 2)),
        _tensor("flat", INT64, [2], struct.pack("<qq", -1, 1)),
        _tensor("ones", FLOAT, [1], struct.pack("<f", unit)),
    ]
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(2, b"counting"),
            *(_bytes(5, constant) for constant in constants),
            *(_bytes(11, _value(name, INT64, ["batch", "sequence"])) for name in inputs),
            _bytes(12, _value("logits", FLOAT, ["batch", logits])),
        ]
    )
    return _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, OPSET))


def encoder_folder(folder: Path, graph: str = "onnx/model.onnx", **options: Any) -> Path:
    """A model folder as on a hub: the shipped tokenizer around the tiny encoder; see ``encoder_graph``."""
    path = folder / graph
    path.parent.mkdir(parents=True, exist_ok=True)
    content, weights = encoder_graph(**options)
    path.write_bytes(content)
    for name, data in weights.items():
        (path.parent / name).write_bytes(data)
    shutil.copyfile(SHIPPED_PACKS / DEFAULT_MODEL / "tokenizer.json", folder / "tokenizer.json")
    config = {"hidden_size": ENCODER_DIMENSION, "max_position_embeddings": 64, "model_type": "bert"}
    (folder / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return folder


ENCODER_DIMENSION = 8
ENCODER_ROWS = 97


def encoder_graph(
    *, outputs: Sequence[str] = ("last_hidden_state",), inputs: Sequence[str] = INPUTS, weights: str = "", seed: int = 0
) -> tuple[bytes, dict[str, bytes]]:
    """A graph that gives each token the row of its id, modulo 97, of a random table; ``sentence_embedding`` among the
    ``outputs`` is the mean of them, and any other name token-level. ``weights`` names a file for the table.

    Returns:
        The graph, and the files beside it.
    """
    table = random.Random(seed)
    raw = struct.pack(
        f"<{ENCODER_ROWS * ENCODER_DIMENSION}f", *(table.gauss(0, 1) for _ in range(ENCODER_ROWS * ENCODER_DIMENSION))
    )
    axes = _bytes(5, _bytes(1, b"axes") + _number(8, 1) + _number(20, 7))
    nodes = [_node("Mod", ("input_ids", "rows"), "row"), _node("Gather", ("table", "row"), "looked_up")]
    values = []
    for name in outputs:
        if name == "sentence_embedding":
            nodes.append(_node("ReduceMean", ("looked_up",), name, keepdims=0) + axes)
            values.append(_value(name, FLOAT, ["batch", ENCODER_DIMENSION]))
        else:
            nodes.append(_node("Identity", ("looked_up",), name))
            values.append(_value(name, FLOAT, ["batch", "sequence", ENCODER_DIMENSION]))
    shape = [ENCODER_ROWS, ENCODER_DIMENSION]
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(2, b"looking up"),
            _bytes(5, _tensor("rows", INT64, [1], struct.pack("<q", ENCODER_ROWS))),
            _bytes(
                5, _external_tensor("table", FLOAT, shape, weights) if weights else _tensor("table", FLOAT, shape, raw)
            ),
            *(_bytes(11, _value(name, INT64, ["batch", "sequence"])) for name in inputs),
            *(_bytes(12, value) for value in values),
        ]
    )
    model = _number(1, IR_VERSION) + _bytes(7, graph) + _bytes(8, _bytes(1, b"") + _number(2, OPSET))
    return model, {weights: raw} if weights else {}


def _external_tensor(name: str, kind: int, shape: Sequence[int], location: str) -> bytes:
    entry = _bytes(1, b"location") + _bytes(2, location.encode())
    sizes = b"".join(_number(1, size) for size in shape)
    return sizes + _number(2, kind) + _bytes(8, name.encode()) + _bytes(13, entry) + _number(14, 1)


def trunk_folder(folder: Path) -> Path:
    """A reranker of the shipped model's size, for what it costs: the mean of all that the shipped model gives is its
    logit, which says nothing. Two serialized messages, one after the other, are one with the fields of both."""
    crossencoder_folder(folder)
    axes = _bytes(5, _bytes(1, b"axes") + _number(8, 1) + _number(8, 2) + _number(20, 7))
    nodes = [
        _node("ReduceMean", ("last_hidden_state",), "mean", keepdims=0) + axes,
        _node("Reshape", ("mean", "pairs"), "logits"),
    ]
    graph = b"".join(
        [
            *(_bytes(1, node) for node in nodes),
            _bytes(5, _tensor("pairs", INT64, [2], struct.pack("<qq", -1, 1))),
            _bytes(12, _value("logits", FLOAT, ["batch", 1])),
        ]
    )
    shipped = (SHIPPED_PACKS / DEFAULT_MODEL / "model.onnx").read_bytes()
    (folder / "onnx" / "model.onnx").write_bytes(shipped + _bytes(7, graph))
    config = json.loads((folder / "config.json").read_text(encoding="utf-8"))
    (folder / "config.json").write_text(json.dumps(config | {"max_position_embeddings": 512}), encoding="utf-8")
    return folder


def _varint(number: int) -> bytes:
    out = b""
    while number > 127:
        out += bytes([number & 127 | 128])
        number >>= 7
    return out + bytes([number])


def _number(field: int, value: int) -> bytes:
    return _varint(field << 3) + _varint(value)


def _bytes(field: int, value: bytes) -> bytes:
    return _varint(field << 3 | 2) + _varint(len(value)) + value


def _node(operator: str, inputs: Sequence[str], output: str, **numbers: int) -> bytes:
    attributes = [_bytes(1, name.encode()) + _number(3, value) + _number(20, 2) for name, value in numbers.items()]
    return b"".join(
        [
            *(_bytes(1, name.encode()) for name in inputs),
            _bytes(2, output.encode()),
            _bytes(3, output.encode()),
            _bytes(4, operator.encode()),
            *(_bytes(5, attribute) for attribute in attributes),
        ]
    )


def _tensor(name: str, kind: int, shape: Sequence[int], raw: bytes) -> bytes:
    return b"".join(_number(1, size) for size in shape) + _number(2, kind) + _bytes(8, name.encode()) + _bytes(9, raw)


def _value(name: str, kind: int, shape: Sequence[str | int]) -> bytes:
    sizes = [_number(1, size) if isinstance(size, int) else _bytes(2, size.encode()) for size in shape]
    tensor = _number(1, kind) + _bytes(2, b"".join(_bytes(1, size) for size in sizes))
    return _bytes(1, name.encode()) + _bytes(2, _bytes(1, tensor))
