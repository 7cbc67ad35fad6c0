"""What the program says and does is what the golden files have; README.md says what to do where it is not."""

from __future__ import annotations

import re

import pytest

from tests.eval import datasets
from tests.golden.comparison import difference
from tests.golden.make import FILES, LONG, NEED_DATA, TOPICS
from tests.golden.surroundings import NOW, fixed, normalised, run

needs_data = pytest.mark.skipif(not datasets.FOLDER.is_dir(), reason="no evaluation data beside the project")


def marked(topic: str) -> object:
    marks = [needs_data] if topic in NEED_DATA else []
    marks += [pytest.mark.slow] if topic in NEED_DATA else []
    marks += [pytest.mark.campaign, pytest.mark.timeout(7200)] if topic in LONG else []
    return pytest.param(topic, marks=marks)


@pytest.mark.parametrize("topic", map(marked, TOPICS))
def test_nothing_has_changed(topic: str) -> None:
    found = TOPICS[topic]()
    differences = [difference(name, _kept(name), text) for name, text in found.items()]
    if changed := "\n\n".join(filter(None, differences)):
        pytest.fail(
            f"{changed}\n\nIf that is meant: python -m tests.golden.make {topic}, and the commit says why.",
            pytrace=False,
        )


def _kept(name: str) -> str:
    path = FILES / name
    return path.read_text(encoding="utf-8") if path.exists() else "{}\n"


def test_no_file_is_left_over() -> None:
    """A file that no topic makes is compared with nothing."""
    known = ("demo_", "help.", "openapi.", "mcp.", "schema.", "python.", "locomo_", "fit.")
    assert [path.name for path in FILES.iterdir() if not path.name.startswith(known)] == []


def test_nothing_of_this_machine_is_in_them() -> None:
    for path in FILES.iterdir():
        text = path.read_text(encoding="utf-8")
        for where in (str(FILES.parents[2]), "/golden-", " at 0x"):
            assert where not in text, path.name


@needs_data
def test_no_text_of_the_research_data_is_in_them() -> None:
    kept = "\n".join(FILES.joinpath(name).read_text(encoding="utf-8") for name in of_research_data())
    for conversation in datasets.locomo():
        said = [record["content"] for record in conversation.records]
        for text in (*said, *(question.text for question in conversation.questions)):
            for piece in re.split(r"[.!?,\n\"]+", text):
                assert len(piece.strip()) < 12 or piece.strip() not in kept, piece


def of_research_data() -> list[str]:
    found = [path.name for path in FILES.iterdir() if path.name.startswith(("locomo_", "fit."))]
    assert found
    return found


def test_a_difference_is_shown_with_its_place() -> None:
    kept = '{\n "hits": [\n  {\n   "id": "m1",\n   "score": 0.5\n  }\n ]\n}\n'
    assert difference("x.json", kept, kept.replace("0.5", "0.5001")) == ""
    assert '-   "score": 0.5\n+   "score": 0.51' in difference("x.json", kept, kept.replace("0.5", "0.51"))
    fitted = '{\n "weights": {\n  "dense": 1.42\n }\n}\n'
    assert difference("x.json", fitted, fitted.replace("1.42", "1.43")) == ""
    assert difference("x.json", fitted, fitted.replace("1.42", "1.5"))
    assert '-   "id": "m1",\n+   "id": "m2",' in difference("x.json", kept, kept.replace("m1", "m2"))
    assert "-a\n+b" in difference("x.txt", "a\n", "b\n")
    assert difference("x.json", '{\n "n": 1\n}\n', '{\n "n": 2\n}\n')


def test_the_surroundings_are_the_same_everywhere() -> None:
    with fixed(hashed=True) as home:
        out, _ = run("add", "The bicycle lock opens with 4471", "--json")
        assert NOW.isoformat() in out
        assert normalised({"where": str(home), "took_ms": 3, "score": -0.00001}) == {
            "where": "<home>", "took_ms": "<took_ms>", "score": 0.0,
        }  # fmt: skip
