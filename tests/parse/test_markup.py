"""HTML as the text that a person saw."""

from __future__ import annotations

import time

import pytest

from appliance.formats.markup import text_of


@pytest.mark.parametrize(
    ("html", "text"),
    [
        ("plain words", "plain words"),
        ("<p>One</p><p>Two</p>", "One\n\nTwo"),
        ("a<br>b<br/>c", "a\nb\nc"),
        ("<div>a</div><div>b</div>", "a\nb"),
        ("Caf&eacute; &amp; &lt;b&gt; &#128512;", "Café & <b> 😀"),
        ("1 < 2 and 3 > 2", "1 < 2 and 3 > 2"),
        ("<ul><li>one</li><li>two<ul><li>deep</li></ul></li></ul>after", "- one\n- two\n  - deep\n\nafter"),
        ("<ol><li>one</li><li>two</li></ol>", "1. one\n2. two"),
        ("<pre>a\n  b</pre>", "a\n  b"),
        ("<table><tr><td>a</td><td>b</td></tr><tr><td>c</td><td>d</td></tr></table>", "a\tb\nc\td"),
        ("x<script>alert('no')</script><style>p{}</style>y", "xy"),
        ("<p>some\n   spaced\twords </p>", "some spaced words"),
        ("<b>bold</b> and <i>more</i>", "bold and more"),
        ("", ""),
        ("a&nbsp;b", "a\u00a0b"),
    ],
)
def test_what_is_seen(html: str, text: str) -> None:
    assert text_of(html) == text


@pytest.mark.parametrize(
    "unit",
    ["<!--", "<!-- >", "<a href='", "<a b ", "<a", '<a b="', "</a ", "<![CDATA[", "<![x", "<!", "<?", "</", "&#",
     "<script>", "<title>", "<ul><li>", "<div>", "<", "a<b "],
)  # fmt: skip
def test_time_grows_with_the_length_and_no_faster(unit: str) -> None:
    """A hostile newsletter must not hold up an ingest: the library alone needs minutes for some of these."""
    began = time.process_time()
    text_of(unit * (300_000 // len(unit)))
    text_of(unit * (300_000 // len(unit)) + ">")
    assert time.process_time() - began < 10


def test_broken_markup_loses_no_words() -> None:
    assert text_of("<p>one<div>two</p>three</div></ul></pre>four").split() == ["one", "two", "three", "four"]
    assert text_of("unfinished <a href='x").startswith("unfinished")


def test_unknown_marked_sections_do_not_raise() -> None:
    assert text_of("one <![foo[ bar ]]> two <![ x]> three") == "one two three"
    assert text_of("<![foo[") in ("", "<![foo[")
