"""A message's chunks cover every character of it, at exact offsets, and none is too long for the model."""

from __future__ import annotations

import itertools
from collections.abc import Sequence

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from appliance.ingest.chunk import Chunker, chunk_tokens
from appliance.store.chunks import ChunkableMessage
from appliance.store.passages import passage
from appliance_models import HashEmbedder
from tests.examples import examples

WINDOW = 40
CHUNKER = Chunker(HashEmbedder().count_tokens, WINDOW, 0.15)

pieces = st.one_of(
    st.text(max_size=80),
    st.sampled_from(["# Heading\n", "```python\nx = 1\n```\n", "\n\n", "A sentence. ", "- item\n", "\r\n", "x" * 300]),
    st.sampled_from(["漢字かな交じり文。", "한국어 문장 ", "สวัสดีครับ", "👩‍👩‍👧 ", "e\u0301", "\u2028", "\x00", "\t"]),
)
texts = st.lists(pieces, max_size=30).map("".join)


@settings(max_examples=examples(300), deadline=None)
@example(
    text="0:0:000000000000:\x1b0:{00:0\x1b0\r0\x1b0\x08000:0000{{0",
    author="0:{0\x1b0:0\x1b0:0\x1b0\U00018cd60\U00018cd6",
    overlap=0.5,
)
@given(text=texts, author=st.one_of(st.none(), st.text(min_size=1, max_size=30)), overlap=st.floats(0, 0.5))
def test_chunks_cover_every_character(text: str, author: str | None, overlap: float) -> None:
    chunker = Chunker(HashEmbedder().count_tokens, WINDOW, overlap)
    (spans,) = chunker.split([ChunkableMessage(1, author, text, True, 0)])
    covered = 0
    for span in spans:
        assert 0 <= span.start <= covered < span.end <= len(text), "a gap, or a chunk that adds nothing"
        covered = span.end
    assert covered == len(text)


@pytest.mark.parametrize(
    ("configured", "trained", "positions", "tokens"),
    [(0, 256, 512, 256), (0, 512, 512, 400), (0, 8192, 8192, 400), (0, 128, 128, 128), (100, 256, 512, 100),
     (512, 256, 512, 512), (2000, 256, 512, 512), (2000, 8192, 8192, 2000)],
)  # fmt: skip
def test_the_size_of_a_chunk_follows_the_model_unless_it_is_set(
    configured: int, trained: int, positions: int, tokens: int
) -> None:
    assert chunk_tokens(configured, trained, positions) == tokens


@settings(max_examples=examples(200), deadline=None)
@given(text=texts, author=st.one_of(st.none(), st.sampled_from(["Ana", "Dr. Ruth van der Berg"])))
def test_no_chunk_is_longer_than_the_window(text: str, author: str | None) -> None:
    count = HashEmbedder().count_tokens
    (spans,) = CHUNKER.split([ChunkableMessage(1, author, text, True, 0)])
    for span in spans:
        piece = text[span.start : span.end]
        (tokens,) = count([passage(author, piece)])
        assert tokens <= WINDOW or len(piece) == 1


def test_long_prose_overlaps_and_ends_at_joints() -> None:
    text = "\n\n".join(f"Paragraph {i} is about one thing. It says so in a second sentence." for i in range(60))
    (spans,) = CHUNKER.split([ChunkableMessage(1, None, text, True, 0)])
    assert len(spans) > 10
    repeated = [before.end - after.start for before, after in itertools.pairwise(spans)]
    assert all(r >= 0 for r in repeated)
    ends = [text[: span.end] for span in spans[:-1]]
    at_paragraphs = sum(end.endswith("\n\n") for end in ends)
    assert at_paragraphs > len(ends) / 2


@pytest.mark.parametrize("text", ["x" * 5000, "漢" * 5000, "a" * 4999 + "é", "\n" * 3000, "=" * 3000])
def test_text_without_joints_is_cut_all_the_same(text: str) -> None:
    (spans,) = CHUNKER.split([ChunkableMessage(1, None, text, True, 0)])
    assert len(spans) > 1
    assert spans[0].start == 0 and spans[-1].end == len(text)
    assert all(after.start <= before.end for before, after in itertools.pairwise(spans))


@pytest.mark.parametrize(
    "script",
    [
        "漢字かな交じりの文章は長く続く。",
        "这是一个很长的中文句子，没有空格。",
        "ข้อความภาษาไทยไม่มีช่องว่าง",
        "긴 한국어 문장입니다. ",
    ],
)
@pytest.mark.parametrize("window", [128, 256, 400])
def test_scripts_without_spaces_overlap_too(script: str, window: int) -> None:
    def count(texts: Sequence[str]) -> list[int]:
        return [2 + sum(character.isalpha() for character in text) for text in texts]

    text = "".join(f"{script}{'' if n % 7 else chr(10)}" for n in range(400))
    (spans,) = Chunker(count, window, 0.15).split([ChunkableMessage(1, "Ana", text, True, 0)])
    repeated = [before.end - after.start for before, after in itertools.pairwise(spans)]
    assert len(spans) > 10 and sum(r > 0 for r in repeated) > 0.9 * len(repeated)
    assert max(repeated) <= 0.15 * window * 2
    assert all(count([passage("Ana", text[span.start : span.end])])[0] <= window for span in spans)
