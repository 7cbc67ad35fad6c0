"""The assistant of examples/assistant.py remembers across two runs, as two processes."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.llm_server import serving

SCRIPT = Path(__file__).parents[2] / "examples" / "assistant.py"

pytestmark = [pytest.mark.usefixtures("socket_enabled"), pytest.mark.slow]


def quoting(body: dict[str, Any]) -> str:
    """A model that says what it was given before the question."""
    return "I know: " + " | ".join(one["content"] for one in body["messages"][:-1]) + "."


def run(home: Path, said: str) -> str:
    ended = subprocess.run(
        [sys.executable, "-W", "error", str(SCRIPT)],
        input=f"{said}\n\n",
        env={
            **{name: value for name, value in os.environ.items() if not name.lower().endswith("_proxy")},
            "APPLIANCE_HOME": str(home),
            "PYTHONPATH": os.pathsep.join(path for path in sys.path if path),
        },
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


def test_the_assistant_remembers_in_its_second_run(home: Path) -> None:
    home.mkdir(mode=0o700)
    with serving(quoting) as tiny:
        (home / "config.toml").write_text(f'[llm]\nbase_url = "{tiny.base_url}"\nmodel = "tiny"\n')
        assert "otter" not in run(home, "My otter is called Lutz.")
        assert "My otter is called Lutz." in run(home, "What is my otter called?")


def test_it_is_short() -> None:
    lines = [line for line in SCRIPT.read_text(encoding="utf-8").splitlines() if line.strip()]
    assert len(lines) <= 22
