"""Which of several ONNX graphs of one model suits the processor."""

from __future__ import annotations

import os
import platform
import re
from pathlib import Path

from appliance_models.errors import ModelMissing

UNSUITABLE = 9

# Graphs whose names say for which processor their integers are, as sentence-transformers and Optimum write them.
# Without VNNI, x86 adds products of unsigned activations and signed weights (qint8) in 16 bits, which overflow;
# unsigned weights (quint8) are exact there (onnxruntime's page on quantisation).
_RANKS: tuple[tuple[re.Pattern[str], int, int, int], ...] = (
    # name, rank with VNNI, rank on other x86, rank on ARM; the lowest is chosen
    (re.compile(r"qint8_avx512_vnni"), 0, 7, 8),
    (re.compile(r"qint8_avx512"), 1, 7, 8),
    (re.compile(r"qint8_arm64"), 8, 8, 0),
    (re.compile(r"quint8_avx2"), 2, 0, 7),
    # Half precision and four bits are for graphics processors: here, each operator would first convert its weights.
    (re.compile(r"fp16|float16|(?<![a-z0-9])o4|q4|bnb4|int4"), UNSUITABLE, UNSUITABLE, UNSUITABLE),
    (re.compile(r"quantized|int8"), 3, 3, 3),
    (re.compile(r"optimized"), 4, 4, 4),
    (re.compile(r"(?<![a-z0-9])o[123](?![a-z0-9])"), 6, 6, 6),
)
PLAIN_RANK = 5


def choose_graph(folder: Path, given: str = "") -> tuple[Path, list[str]]:
    """The graph of the model in ``folder`` that suits this processor best, integers preferred, and the names of the
    others; ``given`` names one.

    Raises:
        ModelMissing: there is none.
    """
    # Unlike Path.rglob, os.walk bears folders that can't be read or that vanish meanwhile.
    found = (Path(root, name) for root, _, names in os.walk(folder) for name in names if name.endswith(".onnx"))
    graphs = sorted(path.relative_to(folder).as_posix() for path in found)
    if given:
        if not (folder / given).is_file():
            names = f"There are {', '.join(graphs)}." if graphs else "There is none in this folder."
            raise ModelMissing(f"{folder / given} is missing. {names}")
        chosen = given
    elif graphs:
        features = processor_features()
        # Of equals the one in a folder "onnx", then the shortest name.
        chosen = min(graphs, key=lambda name: (rank(name, features), not name.startswith("onnx/"), len(name), name))
    else:
        raise ModelMissing(
            f"There is no ONNX graph in {folder} (onnx/model.onnx, model.onnx or another *.onnx). Export the model to"
            " ONNX first, for instance with 'optimum-cli export onnx'."
        )
    return folder / chosen, [name for name in graphs if name != chosen]


def rank(name: str, features: frozenset[str]) -> int:
    """How well a graph suits a processor with these features, by its file name; less is better."""
    stem = Path(name).stem.lower()
    for pattern, with_vnni, other_x86, arm in _RANKS:
        if pattern.search(stem):
            return arm if "arm" in features else with_vnni if features & {"avx512_vnni", "avx_vnni"} else other_x86
    return PLAIN_RANK


def processor_features() -> frozenset[str]:
    """What is known of the processor: "arm", or the flags of an x86 as Linux names them; nothing on other systems."""
    if platform.machine().lower() in ("arm64", "aarch64"):
        return frozenset({"arm"})
    try:
        text = Path("/proc/cpuinfo").read_text("utf-8", "replace")
    except OSError:
        return frozenset()
    found = re.search(r"^flags\s*:(.*)$", text, re.MULTILINE)
    return frozenset(found[1].split()) if found else frozenset()
