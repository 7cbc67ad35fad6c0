"""ShareGPT: turns with ``from`` and ``value``."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest


def conversation(key: Any, *turns: tuple[str, Any], **more: Any) -> dict:
    return {"id": key, "conversations": [{"from": who, "value": what} for who, what in turns]} | more


ONE = conversation("k1", ("human", "Any <b>soup</b>?\n"), ("gpt", "Leek."), title="Soup", model="m-2")
TWO = conversation("k2", ("system", "Be brief."), ("human", "Hi"), ("gpt", "Hi."), ("human", "Bye"))


@pytest.mark.parametrize("form", ["list", "lines", "items"])
def test_conversations(read: Callable[..., Any], form: str) -> None:
    data = json.dumps([ONE, TWO]) if form != "lines" else "\n".join(map(json.dumps, (ONE, TWO)))
    got = read(data.replace("conversations", "items") if form == "items" else data)
    assert got.format == "sharegpt"
    assert [(s.external_id, s.title, dict(s.metadata)) for s in got.sessions] == [
        ("k1", "Soup", {"model": "m-2"}),
        ("k2", None, {}),
    ]
    assert [(m.session, m.external_id, m.role, m.text) for m in got.messages] == [
        ("k1", "1", "user", "Any <b>soup</b>?\n"),
        ("k1", "2", "assistant", "Leek."),
        ("k2", "1", "system", "Be brief."),
        ("k2", "2", "user", "Hi"),
        ("k2", "3", "assistant", "Hi."),
        ("k2", "4", "user", "Bye"),
    ]
    assert got.messages[2].metadata == {"hidden": True}
    assert {m.sent_at for m in got.messages} == {None}
    assert got.problems == got.notes == []


DIV = '<div class="markdown prose w-full break-words dark:prose-invert dark">'
CODE = "<pre><div><span>python</span><button>Copy code</button></div><code>a &lt; 1\n  b</code></pre>"


def test_the_html_of_the_page_becomes_text(read: Callable[..., Any]) -> None:
    page = conversation(
        "p",
        ("human", "Sort <b>this</b> list?\n"),
        ("gpt", f"2 / 2{DIV}<p>Like&nbsp;so:</p>{CODE}<ol><li>One</li><li>Two</li></ol></div>"),
        ("human", '<div class="whitespace-pre-wrap">And &amp; now?</div>'),
        ("gpt", "<p>Done.</p>"),
    )
    talk = conversation("t", ("human", "<p>Why not this?</p>"), ("gpt", "Use <br>.\n"), ("gpt", "<p>x</p>"))
    got = read(json.dumps([page, talk]))
    assert got.texts == [
        "Sort <b>this</b> list?\n",
        "Like\xa0so:\n\npython\na < 1\n  b\n\n1. One\n2. Two",
        "And & now?",
        "Done.",
        "<p>Why not this?</p>",
        "Use <br>.\n",
        "<p>x</p>",
    ]
    assert got.problems == got.notes == []


def test_one_object_alone(read: Callable[..., Any]) -> None:
    got = read(json.dumps(ONE | {"system": "You cook."}))
    assert [(m.external_id, m.role) for m in got.messages] == [
        ("system", "system"), ("1", "user"), ("2", "assistant")
    ]  # fmt: skip


def test_tools(read: Callable[..., Any]) -> None:
    got = read(json.dumps(conversation("t", ("human", "2+2?"), ("function_call", "add 2 2"),
                                       ("observation", "4"), ("gpt", "Four."))))  # fmt: skip
    assert [(m.role, m.text, m.metadata.get("tools")) for m in got.messages] == [
        ("user", "2+2?", None),
        ("tool", "add 2 2", [{"kind": "call"}]),
        ("tool", "4", [{"kind": "result"}]),
        ("assistant", "Four.", None),
    ]


def test_a_conversation_without_a_real_id_is_known_by_its_opening(read: Callable[..., Any]) -> None:
    turns = (("human", "Hi"), ("gpt", "Hello"))
    before = read(json.dumps([conversation(0, *turns), conversation("1", ("human", "Other"))]))
    after = read(json.dumps([conversation(5, ("human", "Other")), conversation(6, *turns, ("human", "More"))]))
    ids = [s.external_id for s in before.sessions]
    assert [s.external_id for s in after.sessions] == ids[::-1]
    assert all(i.startswith("sharegpt-") for i in ids)


def test_the_same_id_twice_is_two_conversations(read: Callable[..., Any]) -> None:
    got = read(json.dumps([ONE, conversation("k1", ("human", "Bread?"))]))
    assert [s.external_id for s in got.sessions] == ["k1", "k1-2"]
    assert [n.message for n in got.notes] == ["the id k1 occurs twice; imported as two conversations"]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]]])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    good = conversation("good", ("human", "kept"))
    for key in ("from", "value"):
        broken = {"id": "b", "conversations": [{"from": "human", "value": "x"} | {key: wrong}]}
        assert read(json.dumps([broken, good]), forced="sharegpt").texts[-1] == "kept"
    for key in ("id", "conversations", "title", "system"):
        assert read(json.dumps([ONE | {key: wrong}, good]), forced="sharegpt").texts[-1] == "kept"
    assert read(json.dumps([wrong, good]), forced="sharegpt").texts == ["kept"]


def test_a_cut_off_file_keeps_every_whole_turn(read: Callable[..., Any]) -> None:
    data = json.dumps([conversation(f"c{n}", *[("human", f"words {i}") for i in range(5)]) for n in range(5)])
    most = 0
    for cut in range(0, len(data), 50):
        got = read(data[:cut], forced="sharegpt")
        assert set(got.texts) <= {f"words {i}" for i in range(5)}
        assert len(got.messages) >= most
        most = len(got.messages)
    assert most >= 23


def test_collected_sample(read: Callable[..., Any], exports: Path) -> None:
    got = read(exports / "sharegpt" / "FastChat__dummy_conversation.json")
    assert got.format == "sharegpt"
    assert [got.sessions[n].external_id for n in (0, -1)] == ["identity_0", "identity_499"]
    assert (len(got.sessions), len(got.messages)) == (500, 2000)
    assert (got.roles.count("user"), got.roles.count("assistant")) == (1000, 1000)
    assert got.texts[:3:2] == ["Who are you?", "Have a nice day!"]
    assert got.texts[-2] == "Are you created by Meta?"
    assert got.texts[-1].startswith("No, I'm a language model trained by")
    assert got.problems == got.notes == []
