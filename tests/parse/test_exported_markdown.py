"""The Markdown that ``export`` writes: texts that imitate it stay texts, for a reader and for an import."""

from __future__ import annotations

from itertools import chain
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from markdown_it import MarkdownIt

from appliance.formats import exported_markdown
from appliance.types import InputProblem, MessageRecord, Record, Role, Scope, SessionRecord
from tests.examples import examples

WHEN = "2026-02-18T08:20:00+00:00"

HOSTILE = (
    "# Another conversation",
    "Another conversation\n===",
    f"**Boss** · {WHEN}\n\nPay them.",
    "**assistant**",
    f"> **Kelpie** (tool) · {WHEN}\n>\n> paid",
    "_native, 3 messages_",
    "```\nnever closed",
    "~~~~python\nclosed by fewer\n~~~",
    "```python\n# a comment, no heading\n**x**\n```\n# A heading",
    "```\nab\n````   ",
    "   ```\n# in\n```",
    "<!-- never closed",
    "<details>\n<summary>more</summary>",
    "<script>\n\nhidden",
    "<https://example.org> is no tag",
    "\\# with a backslash\n\\\\**two**\n\\```",
    "---\ntitle: x\n---",
    "> a quotation\n> # with a heading",
    "> ```\n> **x** (tool)\n> ```",
    "returns\r\nat the ends\r\n```\r\n# in\r\n```\r\n# out\r",
    "\n\nblank lines around\n\n",
    "    # indented code\n\n   # not indented enough",
    exported_markdown.MARKER,
    '<!-- {"source": "native", "session_id": "another"} -->',
    '**assistant** <!-- {"message_id": "m2"} -->',
)

CONVERSATION = exported_markdown.ConversationId("whatsapp", "chat --> <b>", "A title", ("ana", ""))

Said = tuple[Role, str | None, str, str, bool]


def written(said: list[Said]) -> str:
    body = (
        exported_markdown.message(role, author, when, text, is_aside=a, id=f"m-->{number}")
        for number, (role, author, when, text, a) in enumerate(said)
    )
    heading = exported_markdown.heading("A title", "native, 1 message", CONVERSATION)
    return "".join((exported_markdown.MARKER, "\n\n", heading, *body))


def read(text: str) -> list[Record]:
    return list(exported_markdown.parse(enumerate(text.removesuffix("\n").split("\n"), 1)))


def said_in(records: list[Record]) -> list[tuple[Any, ...]]:
    return [(r.role, r.author, r.text) for r in records if isinstance(r, MessageRecord)]


@pytest.mark.parametrize("aside", [False, True])
def test_what_imitates_the_export_is_read_back_as_text(aside: bool) -> None:
    said: list[Said] = [("tool" if aside else "user", "Ann", WHEN, text, aside) for text in HOSTILE]
    records = read(written(said))
    assert said_in(records) == [(role, author, text) for role, author, _, text, _ in said]
    assert [type(record) for record in records] == [SessionRecord] + [MessageRecord] * len(said)
    assert isinstance(records[0], SessionRecord) and records[0].is_rendition
    assert (records[0].format, records[0].external_id, records[0].scope) == (
        "whatsapp", "chat --> <b>", Scope("ana", ""),
    )  # fmt: skip
    ids = [record.external_id for record in records if isinstance(record, MessageRecord)]
    assert ids == [f"m-->{number}" for number in range(len(said))]


@pytest.mark.parametrize("text", HOSTILE)
def test_what_imitates_the_export_is_seen_to_be_text(text: str) -> None:
    shown = MarkdownIt().parse(written([("user", "Ann", WHEN, text, False), ("user", "Ben", WHEN, "The end.", False)]))
    headings = [token for token in shown if token.type == "heading_open" and token.tag == "h1" and token.level == 0]
    assert len(headings) == 1
    assert [token.content.strip() for token in shown if token.type == "html_block"][:1] == [exported_markdown.MARKER]
    assert sum(token.type == "html_block" for token in shown) == 2
    inline = [token for token in shown if token.type == "inline" and token.level == 1]
    openers = [token for token in inline if token.content.startswith("**")]
    assert [token.content.partition(" <!--")[0] for token in openers] == [f"**Ann** · {WHEN}", f"**Ben** · {WHEN}"]
    assert inline[-1].content == "The end."


lines = st.one_of(
    st.sampled_from([line for text in HOSTILE for line in text.split("\n")]),
    st.text(alphabet="`~#=*>\\ <a·()_-", max_size=8),
    st.text(alphabet=st.characters(blacklist_categories=["Cs", "Cc"]), max_size=12),
)
texts = st.lists(lines, max_size=7).map("\n".join)


@settings(max_examples=examples(100), deadline=None)
@given(
    said=st.lists(
        st.tuples(
            st.sampled_from(["user", "assistant", "system", "tool"]),
            st.sampled_from([None, "Ann", "A** (tool) · x", "user", "tool", "**", "Zoë · 2"]),
            st.sampled_from(["", WHEN, "2026-02-18", WHEN + exported_markdown.CONVERSATION_TIME]),
            texts,
            st.booleans(),
        ),
        max_size=5,
    )
)
def test_any_text_is_read_back(said: list[Said]) -> None:
    records = read(written(said))
    assert said_in(records) == [(role, None if author == role else author, text) for role, author, _, text, _ in said]


def test_a_file_whose_line_ends_were_changed_is_read_as_it_was() -> None:
    said: list[Said] = [("tool", None, WHEN, "one\n\n# two", True), ("user", "Ann", "", "```\nthree\n```", False)]
    records = read(written(said).replace("\n", "\r\n"))
    assert said_in(records) == [("tool", None, "one\n\n# two"), ("user", "Ann", "```\nthree\n```")]


def test_without_an_id_nothing_is_imported() -> None:
    said: list[Said] = [("user", "Ann", WHEN, "one", False), ("user", "Ben", WHEN, "two", False)]
    lines = written(said).split("\n")
    bare = [line.partition(" <!--")[0] if line.startswith("**Ann") else line for line in lines]
    records = read("\n".join(bare))
    assert said_in(records) == [("user", "Ben", "two")]
    assert [record.where for record in records if isinstance(record, InputProblem)] == ["line 9"]
    records = read("\n".join(line for line in lines if "session_id" not in line))
    assert [type(record) for record in records] == [InputProblem]


def test_several_conversations_without_ids_and_with_the_same_words_stay_several() -> None:
    once = "# A\n\n_native, 1 message_\n\n**user**\n\nHello\n\n"
    records = read(exported_markdown.MARKER_WITHOUT_IDS + "\n\n" + once + once)
    sessions = [record.external_id for record in records if isinstance(record, SessionRecord)]
    assert len(sessions) == len(set(sessions)) == 2
    assert list(chain(said_in(records))) == [("user", None, "Hello")] * 2
