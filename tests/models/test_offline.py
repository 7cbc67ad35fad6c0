"""What must not happen: heavy libraries at import, and any use of the network."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

import appliance_models

MODELS = str(Path(appliance_models.__file__).parents[1])


def run(code: str, home: Path | None = None) -> str:
    """Runs `code` in a clean interpreter with the package on its path; what it prints."""
    lines = f"import sys; sys.path.insert(0, {MODELS!r})\n{code}"
    command = [sys.executable, "-W", "error", "-c", lines]
    # This process has loaded the package: what it sets in the environment must not hide that it sets it.
    unset = {
        name: value for name, value in os.environ.items() if name not in ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    }
    environment = unset | ({"HOME": str(home)} if home else {})
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
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
def test_a_query_works_with_the_network_out_of_reach_and_leaves_nothing(tmp_path: Path) -> None:
    code = (
        "import socket\n"
        "def refuse(*_, **__): raise SystemExit('network')\n"
        "socket.socket.connect = refuse; socket.getaddrinfo = refuse\n"
        "from appliance_models import encoding_for, load\n"
        "print(load().embed_query('hello').shape, load('fastembed:all-minilm-l6-v2-int8').embed_query('hello').shape,\n"
        "      encoding_for('gpt-4').count('hello'))"
    )
    assert run(code, tmp_path) == "(384,) (384,) 1"
    assert not [*tmp_path.rglob("*")], "onnxruntime would keep an id of the machine, and what it reports"


def test_every_public_name_is_there() -> None:
    for name in appliance_models.__all__:
        assert getattr(appliance_models, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        appliance_models.nothing  # noqa: B018
