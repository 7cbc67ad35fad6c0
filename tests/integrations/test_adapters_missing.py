"""An adapter without its library says which extra it needs, and the package never loads any of them by itself."""

from __future__ import annotations

import subprocess
import sys

import pytest

pytestmark = pytest.mark.slow

ADAPTERS = {
    "langchain": ("langchain_core", "langchain"),
    "langchain_documents": ("langchain_core", "langchain"),
    "langgraph": ("langgraph", "langgraph"),
    "langgraph_checkpoints": ("langgraph", "langgraph"),
    "llamaindex": ("llama_index", "llamaindex"),
    "llamaindex_chat": ("llama_index", "llamaindex"),
    "openai_agents": ("agents", "openai-agents"),
}


def run(program: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, timeout=120, check=False,
        stdin=subprocess.DEVNULL, env={"PYTHONPATH": ":".join(sys.path), "PATH": ""},
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


@pytest.mark.parametrize(("adapter", "library", "extra"), [(name, *of) for name, of in ADAPTERS.items()])
def test_a_missing_library_is_named_by_its_extra(adapter: str, library: str, extra: str) -> None:
    said = run(
        f"import sys\nsys.modules[{library!r}] = None\n"
        f"try:\n    import appliance.integrations.{adapter}\n"
        "except ImportError as error:\n    print(error)"
    )
    assert f'pip install ".[{extra}]" in a clone' in said


def test_the_package_loads_none_of_them() -> None:
    loaded = run(
        "import sys\nimport appliance, appliance.integrations, appliance.engine.engine\nprint(*sys.modules, sep='\\n')"
    ).splitlines()
    assert "appliance.engine.engine" in loaded
    assert not {library for library, _ in ADAPTERS.values()} & set(loaded)
