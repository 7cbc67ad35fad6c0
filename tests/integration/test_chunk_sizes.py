"""The size of chunks follows the setting, for new messages and for all of them once they are split again."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import ConfigError
from appliance_models import HashEmbedder

TEXT = " ".join(f"word{number}" for number in range(1000))


def chunks_of_text(home: Path, **model: int) -> int:
    """The chunks of the text that a memory makes with the settings of its home; all of them are read to their end."""
    with Appliance.open(home, worker=False, embedder=HashEmbedder(**model)) as memory:
        before = memory.status()["counts"]["chunks"]
        memory.sessions.create(title="a page").add("user", TEXT)
        memory.embed_pending()
        report = memory.verify(deep=True)
        assert not report.problems
        return int(memory.status()["counts"]["chunks"]) - before


def configure(home: Path, tokens: int) -> None:
    home.mkdir(exist_ok=True)
    (home / "config.toml").write_text(f"[chunk]\ntokens = {tokens}\n", encoding="utf-8")


def test_chunks_are_as_long_as_the_setting_says(home: Path) -> None:
    assert chunks_of_text(home) == 5  # of 256 tokens, the length that the model was trained on
    configure(home, 100)
    assert chunks_of_text(home) == 13
    configure(home, 5000)
    assert chunks_of_text(home) == 3  # of 512, the longest that it reads
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.reindex(vectors=True)
        assert memory.status()["counts"]["chunks"] == 9
        assert not memory.verify(deep=True).problems


def test_a_model_for_long_texts_gets_chunks_of_four_hundred_tokens(home: Path) -> None:
    assert chunks_of_text(home, max_tokens=8192, max_positions=8192) == 3
    configure(home, 2000)
    assert chunks_of_text(home, max_tokens=8192, max_positions=8192) == 1


def test_a_chunk_of_a_few_tokens_is_refused(home: Path) -> None:
    configure(home, 5)
    with pytest.raises(ConfigError, match=r"chunk\.tokens must be 0 or at least 32, not 5"):
        Appliance.open(home, worker=False)
