"""Summaries keep more of what is asked for later than simpler ways of choosing sentences do."""

from __future__ import annotations

import pytest

from tests.eval import summaries
from tests.eval.datasets import FOLDER


@pytest.mark.slow
@pytest.mark.skipif(not (FOLDER / "beam_dev.json").exists(), reason="the set is not here")
def test_summaries_of_long_assistant_chats_quote_what_questions_cite() -> None:
    found = summaries.run("beam")
    ours, others = (found["ours"], [found[name] for name in ("random", "lead", "longest", "centrality", "LexRank")])
    assert all(ours["cited"] >= other["cited"] + 0.1 for other in others)  # type: ignore[index]
    assert ours["cited"] >= 0.28  # type: ignore[index]
