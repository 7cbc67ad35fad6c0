"""The files beside an ONNX graph that hold its weights, as the graph itself names them.

A graph above 2 GB keeps its tensors in other files, whose names are free. An ONNX file is a Protocol Buffers message,
of which only a few fields are read here; their numbers are those of onnx.proto3. Large fields are skipped unread.
"""

from __future__ import annotations

import mmap
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from appliance_models.errors import ModelCorrupt

# Fields of ModelProto, GraphProto, NodeProto, AttributeProto, TensorProto and StringStringEntryProto.
MODEL_GRAPH, GRAPH_NODE, GRAPH_INITIALIZER, NODE_ATTRIBUTE, ATTRIBUTE_TENSOR, ATTRIBUTE_GRAPH = 7, 1, 5, 5, 5, 6
TENSOR_EXTERNAL_DATA, ENTRY_KEY, ENTRY_VALUE = 13, 1, 2

VARINT, FIXED64, BYTES, FIXED32 = 0, 1, 2, 5


def external_data_files(graph: Path) -> list[str]:
    """The names of the files that a graph's tensors are in, relative to its folder; none for a graph that holds its
    weights itself.

    Raises:
        ModelCorrupt: the file is no ONNX graph, or it names a file outside of its folder.
    """
    if not graph.stat().st_size:
        raise ModelCorrupt(f"{graph} is empty. Download the model again.")
    names: set[str] = set()
    with graph.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        try:
            for tensor in _tensors(data, 0, len(data)):
                names |= set(_locations(data, *tensor))
        except (IndexError, ValueError) as error:
            raise ModelCorrupt(f"{graph} is not an ONNX graph ({error}). Download the model again.") from error
    for name in names:
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in path.parts[0]:
            raise ModelCorrupt(f"{graph} has weights in {name!r}, outside of its folder. Use another export.")
    return sorted(names)


def _tensors(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int]]:
    """The places of all tensors of a model."""
    for field, first, last in _fields(data, start, end):
        if field == MODEL_GRAPH:
            yield from _graph_tensors(data, first, last)


def _graph_tensors(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int]]:
    for field, first, last in _fields(data, start, end):
        if field == GRAPH_INITIALIZER:
            yield first, last
        elif field == GRAPH_NODE:
            for node_field, *attribute in _fields(data, first, last):
                if node_field == NODE_ATTRIBUTE:
                    yield from _attribute_tensors(data, *attribute)


def _attribute_tensors(data: mmap.mmap, start: int, end: int) -> Iterator[tuple[int, int]]:
    for field, first, last in _fields(data, start, end):
        if field == ATTRIBUTE_TENSOR:
            yield first, last
        elif field == ATTRIBUTE_GRAPH:
            yield from _graph_tensors(data, first, last)


def _locations(data: mmap.mmap, start: int, end: int) -> Iterator[str]:
    for field, first, last in _fields(data, start, end):
        if field == TENSOR_EXTERNAL_DATA:
            entry = {number: data[begin:stop] for number, begin, stop in _fields(data, first, last)}
            if entry.get(ENTRY_KEY) == b"location":
                yield entry.get(ENTRY_VALUE, b"").decode()


def _fields(data: mmap.mmap, position: int, end: int) -> Iterator[tuple[int, int, int]]:
    """The number and the place of each field of a message that has bytes; numbers are skipped."""
    while position < end:
        tag, position = _varint(data, position)
        kind = tag & 7
        if kind == VARINT:
            _, position = _varint(data, position)
        elif kind == FIXED64:
            position += 8
        elif kind == FIXED32:
            position += 4
        elif kind == BYTES:
            length, position = _varint(data, position)
            if position + length > end:
                raise ValueError(f"a field of {length} bytes ends after its message")
            yield tag >> 3, position, position + length
            position += length
        else:
            raise ValueError(f"a field of kind {kind}")


def _varint(data: mmap.mmap, position: int) -> tuple[int, int]:
    number = shift = 0
    while True:
        byte = data[position]
        number |= (byte & 127) << shift
        position, shift = position + 1, shift + 7
        if byte < 128:
            return number, position
        if shift > 63:
            raise ValueError("a number of more than 64 bits")
