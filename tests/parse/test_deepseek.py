"""DeepSeek: fragments, branches, searches, the older texts, damage."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from appliance.formats import chatgpt, deepseek
from appliance.formats.base import DocumentHead


def node(key: str, parent: str | None, children: list[str], *fragments: object, at: int = 0, **more: object) -> dict:
    message = None
    if fragments or more:
        message = {
            "files": [],
            "model": "deepseek-reasoner",
            "inserted_at": f"2025-05-01T16:00:0{at}.250000+08:00",
            "fragments": list(fragments),
        } | more
    return {"id": key, "parent": parent, "children": children, "message": message}


def said(kind: str, content: str | None, **more: object) -> dict:
    return {"type": kind, "content": content} | more


def conversation(*nodes: dict, **more: object) -> dict:
    return {
        "id": "c1",
        "title": "Yeast",
        "inserted_at": "2025-05-01T16:00:00.000000+08:00",
        "updated_at": "2025-05-01T17:00:00.000000+08:00",
        "mapping": {one["id"]: one for one in nodes},
    } | more


def test_fragments_tell_who_speaks(read):
    results = [{"url": "https://yeast.example", "title": "Yeast", "snippet": "It lives."}]
    data = [
        conversation(
            node("root", None, ["1"]),
            node("1", "root", ["2"], said("REQUEST", "Is it alive? "), files=[{"file_name": "jar.png"}]),
            node(
                "2", "1", ["3"],
                said("THINK", "Hm.", elapsed_secs=2),
                said("TOOL_SEARCH", None, queries=[{"query": "yeast"}], results=results),
                said("THINK", "Yes."), said("RESPONSE", "It is."), said("TIP", "Made by AI"), at=1,
            ),
            node("3", "2", [], said("REQUEST", "Thanks"), at=2),
        )
    ]  # fmt: skip
    got = read(json.dumps(data), "conversations.json")
    assert got.format == "deepseek"
    assert [(s.external_id, s.title, s.created_at) for s in got.sessions] == [
        ("c1", "Yeast", datetime(2025, 5, 1, 8, tzinfo=UTC))
    ]
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("1", "user", "Is it alive? ", None),
        ("2-reasoning-1", "tool", "Hm.", "2"),
        ("2-call-2", "tool", "yeast", "2"),
        ("2-result-3", "tool", "Yeast\nhttps://yeast.example\nIt lives.", "2"),
        ("2-reasoning-4", "tool", "Yes.", "2"),
        ("2", "assistant", "It is.", "1"),
        ("2-system", "system", "Made by AI", "1"),
        ("3", "user", "Thanks", "2"),
    ]
    assert got.messages[0].metadata == {"attachments": [{"name": "jar.png"}]}
    assert got.messages[3].metadata == {"tools": [{"kind": "result", "name": "web_search"}]}
    assert got.messages[5].metadata == {"model": "deepseek-reasoner"}
    assert got.messages[0].sent_at == datetime(2025, 5, 1, 8, 0, 0, 250_000, tzinfo=UTC)
    assert got.problems == got.notes == []


def test_several_first_questions_are_branches(read):
    data = conversation(
        node("root", None, ["1", "3"]),
        node("1", "root", ["2"], said("REQUEST", "old")),
        node("2", "1", [], said("RESPONSE", "to old"), at=1),
        node("3", "root", ["4"], said("REQUEST", "new"), at=2),
        node("4", "3", [], said("RESPONSE", "to new"), at=3),
    )
    assert [(m.text, bool(m.metadata.get("branch")), m.reply_to) for m in read(json.dumps(data)).messages] == [
        ("old", True, None),
        ("to old", True, "1"),
        ("new", False, None),
        ("to new", False, "3"),
    ]


def test_texts_of_older_exports_go_by_turns(read):
    def old(key: str, parent: str, text: str, **more: object) -> dict:
        one = node(key, parent, [], content=text, **more)
        del one["message"]["fragments"]
        return one

    data = [conversation(node("root", None, ["1"]), old("1", "root", "q"), old("2", "1", "a", reasoning_content="hm"))]
    got = read(json.dumps(data), "conversations.json")
    assert got.format == "deepseek"
    assert [(m.role, m.text) for m in got.messages] == [("user", "q"), ("tool", "hm"), ("assistant", "a")]


def test_question_and_answer_in_one_node_and_files_alone(read):
    data = conversation(
        node("1", None, ["2"], said("REQUEST", "q"), said("THINK", "t"), said("RESPONSE", "a")),
        node("2", "1", [], at=1, files=[{"file_name": "n.txt", "content": "words"}]),
        node("3", "2", [], said("RESPONSE", ""), at=2),
    )
    got = read(json.dumps(data))
    assert [(m.external_id, m.text, m.reply_to) for m in got.messages] == [
        ("1", "q", None),
        ("1-reasoning-1", "t", "1-answer"),
        ("1-answer", "a", "1"),
        ("2", "[attachment: n.txt]\nwords", "1-answer"),
    ]
    assert [n.message for n in got.notes] == ["the message is empty; skipped"]


def test_detection_against_chatgpt():
    def both(data: object) -> tuple[float, float]:
        head = DocumentHead("conversations.json", json.dumps(data), False)
        return deepseek.matches(head), chatgpt.matches(head)

    ours = conversation(node("root", None, ["1"]), node("1", "root", [], said("REQUEST", "q")))
    mine, theirs = both([ours])
    assert mine > 0.9 and theirs < 0.5
    message = {"author": {"role": "user"}, "content": {"content_type": "text", "parts": ["q"]}}
    other = {"title": "x", "create_time": 1.0, "mapping": {"1": {"id": "1", "message": message}}}
    mine, theirs = both([other])
    assert mine == 0 and theirs > 0.9


def test_wrong_types_cost_only_their_place(read):
    wrongs = (None, 5, "x", [5], {"a": 1}, [[1]], True, [{"type": 5, "content": 5}])
    good = node("1", "root", [], said("REQUEST", "good"))
    for wrong in wrongs:
        for key in ("files", "model", "inserted_at", "fragments", "content"):
            odd = node("2", "1", [], said("RESPONSE", "odd"), at=1)
            odd["message"][key] = wrong
            assert read(json.dumps(conversation(good, odd)), forced="deepseek").texts[0] == "good"
        for key in ("parent", "children", "message"):
            odd = node("2", "1", [], said("RESPONSE", "odd"), at=1) | {key: wrong}
            assert "good" in read(json.dumps(conversation(good, odd)), forced="deepseek").texts
        for key in ("id", "title", "inserted_at", "current_node"):
            assert read(json.dumps(conversation(good, **{key: wrong})), forced="deepseek").texts == ["good"]
        data = [conversation(good), conversation(mapping=wrong, id="c2"), wrong]
        data[1]["mapping"] = wrong
        assert read(json.dumps(data), forced="deepseek").texts[0] == "good"
    for key in ("type", "content", "queries", "results", "result"):
        for wrong in wrongs:
            odd = node("2", "1", [], said("TOOL_SEARCH", "odd") | {key: wrong}, at=1)
            assert read(json.dumps(conversation(good, odd))).texts[0] == "good"


@pytest.mark.slow
def test_cut_at_any_byte_and_circles(read):
    nodes = [
        node(str(n), str(n - 1) if n else None, [str(n + 1)], said("REQUEST", f"turn {n}"), at=n) for n in range(6)
    ]
    data = json.dumps([conversation(*nodes)]).encode()
    for cut in range(len(data)):
        got = read(data[:cut], forced="deepseek")
        assert got.texts == [f"turn {n}" for n in range(len(got.texts))]
        assert got.problems or cut < 2 or cut == len(data) - 1
    circle = [node("1", "2", ["2"], said("REQUEST", "a")), node("2", "1", ["1"], said("RESPONSE", "b"), at=1)]
    assert sorted(read(json.dumps(conversation(*circle))).texts) == ["a", "b"]
