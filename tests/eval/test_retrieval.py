"""The floor under retrieval, through the public API; skipped where the research data is not at hand."""

from __future__ import annotations

import pytest

from tests.eval import datasets
from tests.eval.datasets import Question
from tests.eval.measures import measure, measure_sessions
from tests.eval.runner import SETS, run

needs_data = pytest.mark.skipif(not datasets.FOLDER.is_dir(), reason="no evaluation data beside the project")


@needs_data
def test_locomo_floor() -> None:
    """Below the held-out figure by the noise of one set: 0.783 is what unseen conversations gave."""
    result = run(SETS["locomo"]())
    assert result["questions"] == 760
    assert result["recall@10"] >= 0.76
    assert result["session any@5"] >= 0.85


@needs_data
@pytest.mark.campaign
def test_beam_floor() -> None:
    assert run(SETS["beam"]())["recall@10"] >= 0.62


def test_measures() -> None:
    evidence = frozenset({"a", "b"})
    row = measure(["x", "a", "y", "z", "w", "b"], evidence)
    assert row == {"recall@1": 0, "recall@5": 0.5, "recall@10": 1, "recall@20": 1, "mrr": 0.5}
    sessions = measure_sessions(["s1", "s1", "s2"], frozenset({"s2", "s9"}))
    assert sessions == {"session any@5": 1.0, "session all@5": 0.0}
    assert Question("?", evidence, "1").evidence == evidence
