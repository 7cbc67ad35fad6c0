"""Whatever the kind of a text, the line with a word that was asked for stands in what it is shortened to."""

from __future__ import annotations

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from appliance.context.budget import shorten
from appliance.context.content import content_units
from appliance.store import lexical
from tests.examples import examples
from tests.unit.test_unit_layers import COUNT

SLACK = 12
"""Tokens for the marks of what is left out."""


def _trace(line: str, at: int) -> str:
    frames = "".join(
        f'  File "/srv/pier/stage_{n}.py", line {n}, in stage_{n}\n    load(ship, {n})\n' for n in range(60)
    )
    return (
        f"It stopped while loading the ships.\n{line}\nTraceback (most recent call last):\n{frames}KeyError: 'mast'\n"
    )


def _among(lines: list[str], line: str, at: int) -> str:
    return "\n".join([*lines[:at], line, *lines[at:]]) + "\n"


CODE = [part for n in range(60) for part in (f"def step_{n}(ship):", f"    check(ship, {n})", f"    return {n}.5", "")]
KINDS = {
    "prose": lambda word, at: (
        f"The keeper of {word} counted 5929 ships.",
        " ".join(["The sea was calm and the ships went by.", "Nothing else happened that day."] * at)
        + f" The keeper of {word} counted 5929 ships. "
        + "And the ships went on. " * 60,
    ),
    "list": lambda word, at: (
        f"- {word}: 5929 ships",
        "Berths:\n" + _among([f"- berth {n}: {n} ships" for n in range(120)], f"- {word}: 5929 ships", at),
    ),
    "markdown table": lambda word, at: (
        f"| {word} | 5929 |",
        "| berth | ships |\n|---|---|\n"
        + _among([f"| berth{n} | {n} |" for n in range(200)], f"| {word} | 5929 |", at),
    ),
    "csv": lambda word, at: (
        f"{word},5929,x",
        "berth,ships,note\n" + _among([f"berth{n},{n},x" for n in range(200)], f"{word},5929,x", at),
    ),
    "code": lambda word, at: (
        f"    return {word} + 5929",
        "```python\n" + _among(CODE, f"def moor():\n    return {word} + 5929", at * 4) + "```\n",
    ),
    "bare code": lambda word, at: (f"def {word}(ship):", _among(CODE, f"def {word}(ship):\n    return 5929", at * 4)),
    "log": lambda word, at: (
        f"2026-03-01 10:00:00 INFO {word} moves 5929 ships",
        _among(
            [
                f"2026-03-01 10:{n // 60:02}:{n % 60:02} {'ERROR' if n % 2 else 'INFO'} crane {n} moves its ships"
                for n in range(200)
            ],
            f"2026-03-01 10:00:00 INFO {word} moves 5929 ships",
            at,
        ),
    ),
    "quoted mail": lambda word, at: (
        f"> {word} has 5929 ships.",
        "I read about the ships. " * 20
        + "\n\nOn 3 March 2026 Ben wrote:\n"
        + _among([f"> Berth {n} has ships." for n in range(90)], f"> {word} has 5929 ships.", at),
    ),
    "trace": lambda word, at: (f"The host was {word}.", _trace(f"The host was {word}.", at)),
    "japanese": lambda word, at: (
        f"{word}の灯台は赤い。",
        "船は港を出た。" * (at + 20) + f"{word}の灯台は赤い。" + "海は静かだった。" * 60,
    ),
}


@pytest.mark.parametrize("kind", KINDS)
@example(word="横浜", at=6, extra=0)  # fits exactly; the sum of its lines' tokens is one too many
@settings(max_examples=examples(12), deadline=None)
@given(
    word=st.sampled_from(("City150", "helper_77", "zanzibar", "Ålesund", "横浜")),
    at=st.integers(0, 55),
    extra=st.integers(0, 300),
)
def test_the_line_with_the_word_is_kept(kind: str, word: str, at: int, extra: int) -> None:
    line, text = KINDS[kind](word, at)
    query = lexical.query_words(f"how many ships does {word} return or have on its berth")
    short = shorten(text, query, max(COUNT(line) + SLACK, 24) + extra, COUNT)
    assert short is not None and line in short.text
    assert short.tokens <= max(COUNT(line) + SLACK, 24) + extra


@pytest.mark.parametrize(
    ("kind", "frame"),
    [
        ("markdown table", "| berth | ships |\n|---|---|\n"),
        ("csv", "berth,ships,note\n"),
        ("code", "def moor():\n"),
        ("bare code", "def City150(ship):\n    return 5929\n"),
        ("quoted mail", "On 3 March 2026 Ben wrote:\n"),
    ],
)
def test_the_line_with_the_word_stands_in_its_frame(kind: str, frame: str) -> None:
    line, text = KINDS[kind]("City150", 30)
    short = shorten(text, lexical.query_words("what does City150 return, and how many ships has it"), 60, COUNT)
    assert short is not None and line.strip() in short.text and frame in short.text


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("so then we went on " * 80 + "and Zanzibar was the code word 5929 " + "and we went on again " * 80, "5929"),
        (
            "<table>" + "".join(f"<tr><td>City{n}</td><td>{n * 11}</td></tr>" for n in range(200)),
            "City150</td><td>1650<",
        ),
        ("[" + "".join(f'{{"name":"City{n}","area":{n * 11}}},' for n in range(200)) + "]", '"City150","area":1650}'),
        ("".join(f"- name: City{n}\n  visitors: {n * 11}\n  area: {n}\n" for n in range(200)), "visitors: 1650"),
    ],
    ids=["speech", "html", "json", "yaml"],
)
def test_what_has_no_sentences_is_parted_between_words_and_values(text: str, kept: str) -> None:
    short = shorten(text, ["city150", "zanzibar"], 150, COUNT)
    assert short is not None and kept in short.text
    assert "".join(unit.text for unit in content_units(text)) == text
    for part in short.text.split("[…]"):
        assert part.strip() in text
