"""ChatGPT: the tree and its branches, what is talk and what is not, and broken trees."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any


def node(key: str, parent: str | None, text: str, *, role: str = "user", time: Any = None, **more: Any) -> dict:
    message = {
        "id": key,
        "author": {"role": role},
        "create_time": time,
        "content": {"content_type": "text", "parts": [text]},
    }
    return {"id": key, "parent": parent, "children": [], "message": message} | more


def conversation(*nodes: dict, current: str | None = None, **more: Any) -> dict:
    for one in nodes:
        for other in nodes:
            if other["parent"] == one["id"] and other["id"] not in one["children"]:
                one["children"].append(other["id"])
    return {"id": "c", "title": "T", "mapping": {n["id"]: n for n in nodes}, "current_node": current} | more


def test_everything_in_a_tree(read, fixtures):
    got = read(fixtures / "chatgpt.json")
    assert got.format == "chatgpt"
    assert [(s.external_id, s.title) for s in got.sessions] == [("conv-1", "Tree with everything"), ("conv-3", None)]
    first = [m for m in got.messages if m.session == "conv-1"]
    assert [(m.external_id, m.role) for m in first] == [
        ("ctx", "system"),
        ("q1", "user"),
        ("old", "assistant"),
        ("think", "tool"),
        ("call", "tool"),
        ("result", "tool"),
        ("a1", "assistant"),
    ]
    context, question, old, think, call, result, answer = first
    assert context.metadata == {"hidden": True}
    assert context.text == "Lives in Gent.\nBe brief."
    assert question.text == "What is on the picture?\nspoken words\n\n[attachment: notes.txt]\nbuy milk"
    assert question.metadata["attachments"] == [{"name": "cat.png"}, {"name": "notes.txt", "text": "buy milk"}]
    assert old.metadata == {"branch": True, "model": "gpt-4o"}
    assert think.text == "Looking\nIt has whiskers."
    assert think.metadata == {"tools": [{"kind": "reasoning"}]}
    assert call.metadata == {"tools": [{"kind": "call", "name": "python"}]}
    assert (result.author, result.metadata) == ("python", {"tools": [{"kind": "result", "name": "python"}]})
    assert answer.text == "A cat.【4†source】"
    assert answer.sent_at == datetime(2025, 10, 9, 8, 53, 26, 250000, tzinfo=UTC)
    assert [m.reply_to for m in first] == [None, "ctx", "q1", "q1", "think", "call", "result"]
    assert got.problems == []
    assert any("conversation 2 (Nothing in it)" in note.where for note in got.notes)
    assert any("not a time" in note.message for note in got.notes)


def test_a_single_conversation_and_one_a_line(read, fixtures):
    conversations = json.loads((fixtures / "chatgpt.json").read_text())
    whole = read(fixtures / "chatgpt.json")
    one = read(json.dumps(conversations[0]))
    assert one.texts == [m.text for m in whole.messages if m.session == "conv-1"]
    lines = read("\n".join(json.dumps(c) for c in conversations))
    assert (lines.texts, lines.sessions) == (whole.texts, whole.sessions)
    glued = read("".join(json.dumps(c, indent=1) for c in conversations))
    assert glued.texts == whole.texts
    wrapped = read(json.dumps({"conversations": conversations}), forced="chatgpt")
    assert wrapped.texts == whole.texts


def test_an_edited_prompt_is_a_branch_with_all_below_it(read):
    data = conversation(
        node("q", None, "first"),
        node("a-old", "q", "old answer", role="assistant"),
        node("q2-old", "a-old", "old second"),
        node("a", "q", "answer", role="assistant"),
        node("q2", "a", "second"),
        current="q2",
    )
    got = read(json.dumps([data]))
    assert got.texts == ["first", "old answer", "old second", "answer", "second"]
    assert [bool(m.metadata.get("branch")) for m in got.messages] == [False, True, True, False, False]


def test_without_a_current_node_the_last_leaf_by_time_counts(read):
    data = conversation(
        node("q", None, "q", time=1),
        node("late", "q", "late", role="assistant", time=9),
        node("early", "q", "early", role="assistant", time=5),
    )
    for current in (None, "not there"):
        got = read(json.dumps([data | {"current_node": current}]))
        assert [m.text for m in got.messages if not m.metadata.get("branch")] == ["q", "late"]


def test_nodes_without_any_links_are_all_kept_in_order_of_time(read):
    mapping = {f"n{i}": {"message": node("", None, f"text {i}", time=100 - i)["message"]} for i in range(5)}
    got = read(json.dumps([{"id": "c", "title": "T", "mapping": mapping}]))
    assert got.texts == [f"text {i}" for i in (4, 3, 2, 1, 0)]
    assert not any(m.metadata.get("branch") for m in got.messages)


def test_circles_end(read):
    data = conversation(node("a", "c", "a"), node("b", "a", "b"), node("c", "b", "c"), node("d", "d", "d"))
    got = read(json.dumps([data | {"current_node": "c"}]))
    assert sorted(got.texts) == ["a", "b", "c", "d"]


def test_a_long_conversation_needs_no_stack(read):
    nodes = [node("n0", None, "text 0")]
    for i in range(1, 20_000):
        nodes.append(node(f"n{i}", f"n{i - 1}", f"text {i}"))
        nodes[-2]["children"] = [f"n{i}"]
    data = {"id": "c", "title": "T", "mapping": {n["id"]: n for n in nodes}, "current_node": "n19999"}
    got = read(json.dumps([data]))
    assert got.texts == [f"text {i}" for i in range(20_000)]
    assert not any(m.metadata for m in got.messages)


def test_the_same_id_twice_in_one_conversation(read):
    data = conversation(node("a", None, "one"), node("b", "a", "two"), node("c", "b", "three"))
    data["mapping"]["b"]["message"]["id"] = "a"
    got = read(json.dumps([data]))
    assert [m.external_id for m in got.messages] == ["a", "b", "c"]
    assert [m.reply_to for m in got.messages] == [None, "a", "b"]


def test_wrong_types_cost_only_their_place(read):
    good = conversation(node("a", None, "kept"), title="Good")
    bad_node = conversation(node("a", None, "also kept"), id="c2", title="Half")
    bad_node["mapping"] |= {"n1": 5, "n2": {"message": "text", "parent": "a"}, "n3": {"message": {"content": 7}}}
    bad = {"id": "c3", "title": "Bad", "mapping": [1, 2]}
    got = read(json.dumps([good, 17, bad, None, "x", bad_node, [1], conversation(node("z", None, "last"), id="c4")]))
    assert got.texts == ["kept", "also kept", "last"]
    places = [p.where for p in got.problems]
    assert any("(Bad)" in place for place in places)
    assert any(place.endswith("(Half), node n1") for place in places)
    assert any(place.endswith("(Half), node n2") for place in places)
    assert any(place.endswith("(Half), node n3") for place in places)
    assert len(got.problems) == 7


def test_hidden_and_odd_roles(read):
    data = conversation(
        node("a", None, "hidden words"),
        node("b", "a", "from the future", role="oracle"),
        node("c", "b", "x", role="system"),
    )
    data["mapping"]["a"]["message"]["metadata"] = {"is_visually_hidden_from_conversation": True}
    got = read(json.dumps([data]))
    assert got.roles == ["system", "system", "system"]
    assert all(m.metadata == {"hidden": True} for m in got.messages)
    assert [p.message for p in got.problems] == ["unknown role 'oracle'; imported as system"]


def test_a_conversation_without_an_id_gets_a_lasting_one(read):
    data = conversation(node("a", None, "x"), create_time=5, title="Old name")
    del data["id"]
    before = read(json.dumps([data])).sessions[0].external_id
    data["title"] = "New name"
    data["mapping"]["b"] = node("b", "a", "y")
    assert read(json.dumps([data])).sessions[0].external_id == before
    data["create_time"] = 6
    assert read(json.dumps([data])).sessions[0].external_id != before


def test_collected_samples(read, exports):
    base = exports / "chatgpt"
    got = read(base / "LibreChat__modern" / "conversations.json")
    assert [s.title for s in got.sessions] == ["Deploying the staging cluster", "Weeknight pasta"]
    assert got.roles == ["system", "user", "assistant", "user", "assistant", "user", "assistant"]
    assert got.messages[0].metadata == {"hidden": True}
    assert got.messages[0].sent_at is None
    assert got.problems == []
    assert len(got.notes) == 1

    got = read(base / "ai-chat-md-export" / "conversations.json")
    assert (len(got.sessions), len(got.messages)) == (2, 8)
    assert got.roles == ["user", "assistant"] * 4
    assert not any(m.metadata for m in got.messages)

    got = read(base / "chatgpt2graph" / "conversations.json")
    assert len(got.sessions) == 1
    assert {role: got.roles.count(role) for role in set(got.roles)} == {"user": 8, "assistant": 12, "tool": 22}
    assert not any(m.metadata.get("branch") or m.metadata.get("hidden") for m in got.messages)
    assert {m.author for m in got.messages if m.metadata.get("tools", [{}])[0].get("kind") == "result"} == {"python"}

    got = read(base / "gbrain" / "conversations.json")
    assert [m.external_id for m in got.messages if m.metadata.get("branch")] == ["n2a"]
    assert [m.text for m in got.messages if m.session == "cgpt-conv-0002"] == [
        "Where did we land on pricing?",
        "Pricing lands at 49.",
    ]
    assert [(m.role, m.metadata["hidden"]) for m in got.messages if m.session == "cgpt-conv-0003"] == [("system", True)]

    got = read(base / "hstry" / "conversations.json")
    assert got.texts == ["Hello ChatGPT!", "Hello! How can I help you today?"]
    assert got.messages[1].metadata == {"model": "gpt-4"}
    assert got.messages[1].reply_to == "msg-1"


def test_children_may_stand_before_their_parents(read):
    data = conversation(
        node("c", "b", "three"), node("b", "a", "two"), node("x", "a", "aside"), node("a", None, "one"), current="c"
    )
    got = read(json.dumps([data]))
    assert got.texts == ["one", "aside", "two", "three"]
    assert [m.reply_to for m in got.messages] == [None, "a", "a", "b"]


def test_times_that_no_clock_shows(read):
    stamps = [10**400, -1e300, "0001-01-01T00:00:00", "9999-12-31T23:59:59-14:00", [], {}, True, "1e5"]
    nodes = [node(f"n{n}", f"n{n - 1}" if n else None, "x", time=stamp) for n, stamp in enumerate(stamps)]
    got = read(json.dumps([conversation(*nodes)]))
    assert len(got.messages) == len(stamps)
    assert [m.sent_at is None for m in got.messages] == [True, True, False, True, True, True, True, False]
