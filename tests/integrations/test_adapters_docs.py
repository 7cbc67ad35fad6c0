"""The examples of docs/integrations.md run as they are printed."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

PAGE = (Path(__file__).parents[2] / "docs" / "integrations.md").read_text(encoding="utf-8")
EXAMPLES = dict(re.findall(r"^## (.+?)\n.*?^```python\n(.*?)^```$", PAGE, re.DOTALL | re.MULTILINE))
PRINTS = {
    "asyncio": "The otter is called Lutz. 1\nuser\n",
    "LangChain": "The otter is called Lutz.",
    "LangChain documents": "Hold the red button to restart. {'page': 1}",
    "LangGraph": "pet Ana's otter is called Lutz",
    "LangGraph checkpoints": "{'number': 2}",
    "LlamaIndex": "The otter is called Lutz.",
    "LlamaIndex chats": "The otter is called Lutz. user\n",
    "OpenAI Agents SDK": "[{'content': 'The otter is called Lutz.', 'role': 'user'}]",
}


QUICK = {"LangGraph", "LlamaIndex", "LangChain"}


@pytest.mark.parametrize(
    "title", [title if title in QUICK else pytest.param(title, marks=pytest.mark.slow) for title in PRINTS]
)
def test_an_example_runs_as_it_is_printed(title: str, capsys: pytest.CaptureFixture[str]) -> None:
    exec(compile(EXAMPLES[title], title, "exec"), {"__name__": "example"})
    assert PRINTS[title] in capsys.readouterr().out


def test_every_example_is_run() -> None:
    assert set(EXAMPLES) == set(PRINTS) and PAGE.count("```python") == len(PRINTS)
