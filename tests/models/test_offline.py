"""What must not happen: heavy libraries at import, and any use of the network."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import appliance_models

MODELS = str(Path(appliance_models.__file__).parents[1])


def run(code: str) -> str:
    """Runs `code` in a clean interpreter with the package on its path; what it prints."""
    lines = f"import sys; sys.path.insert(0, {MODELS!r})\n{code}"
    done = subprocess.run([sys.executable, "-W", "error", "-c", lines], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def test_importing_loads_nothing_heavy() -> None:
    heavy = ["numpy", "onnxruntime", "fastembed", "tokenizers", "tiktoken", "huggingface_hub", "requests"]
    code = (
        "import appliance_models\n"
        "from appliance_models import DEFAULT_MODEL, ModelError, Embedder\n"
        "from appliance_models import list_models, load, verify_pack, read_manifest\n"
        "from appliance_models import import_pack, encoding_for, load_reranker\n"
        "list_models()\n"
        f"print([name for name in {heavy!r} if name in sys.modules])"
    )
    assert run(code) == "[]"


@pytest.mark.slow
def test_a_query_works_with_the_network_out_of_reach() -> None:
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from appliance_models import encoding_for, load\n"
        "print(load().embed_query('hello').shape, load('fastembed:all-minilm-l6-v2-int8').embed_query('hello').shape,\n"
        "      encoding_for('gpt-4').count('hello'))"
    )
    assert run(code) == "(384,) (384,) 1"


def test_every_public_name_is_there() -> None:
    for name in appliance_models.__all__:
        assert getattr(appliance_models, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        appliance_models.nothing  # noqa: B018
