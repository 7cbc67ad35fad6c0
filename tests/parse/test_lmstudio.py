"""LM Studio: versions, steps, tools, reasoning, damage."""

from __future__ import annotations

import json
from datetime import UTC, datetime


def text(words: str, **more: object) -> dict:
    return {"type": "text", "text": words} | more


def asked(*content: object, **more: object) -> dict:
    return {
        "versions": [{"type": "singleStep", "role": "user", "content": list(content)} | more],
        "currentlySelected": 0,
    }


def answered(*versions: list, chosen: int = 0) -> dict:
    made = [
        {"type": "multiStep", "role": "assistant", "senderInfo": {"senderName": "qwen"}, "steps": steps}
        for steps in versions
    ]
    return {"versions": made, "currentlySelected": chosen}


def block(*content: object, at: int = 0, **more: object) -> dict:
    return {"type": "contentBlock", "stepIdentifier": f"17500000{at:05d}-0.5", "content": list(content)} | more


def chat(*messages: object, **more: object) -> dict:
    return {
        "name": "Local bread", "pinned": False, "createdAt": 1750000000000, "tokenCount": 9,
        "messages": list(messages),
    } | more  # fmt: skip


def test_steps_and_versions(read):
    call = {"type": "toolCallRequest", "callId": 7, "name": "weigh", "parameters": {"what": "salt"}}
    result = {"type": "toolCallResult", "callId": 7, "content": '[{"type":"text","text":"10 g"}]'}
    data = chat(
        asked(text("How much "), text("salt?"), {"type": "file", "fileIdentifier": "17-1.png", "fileType": "image"}),
        answered(
            [block(text("Some."), at=1000)],
            [
                block(text("Two percent."), style={"type": "thinking"}, at=2000),
                block(call, at=3000),
                {"type": "toolStatus", "callId": 7},
                block(result, at=4000),
                block(
                    text("Ten"),
                    text(" grams."),
                    text("<end>", isStructural=True),
                    at=5000,
                    genInfo={"identifier": "qwen3"},
                ),
                {"type": "debugInfoBlock", "debugInfo": "x"},
            ],
            chosen=1,
        ),
        systemPrompt="Be brief.",
        lastUsedModel={"identifier": "qwen3"},
    )
    got = read(json.dumps(data), "conversations/1750000000000.conversation.json")
    assert got.format == "lmstudio"
    assert [(s.external_id, s.title, s.created_at, dict(s.metadata)) for s in got.sessions] == [
        ("lmstudio-1750000000000", "Local bread", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC), {"model": "qwen3"})
    ]
    assert [(m.role, m.text, dict(m.metadata)) for m in got.messages] == [
        ("system", "Be brief.", {"hidden": True}),
        ("user", "How much salt?", {"attachments": [{"name": "17-1.png"}]}),
        ("assistant", "Some.", {"model": "qwen", "branch": True}),
        ("tool", "Two percent.", {"tools": [{"kind": "reasoning"}]}),
        ("tool", "weigh\nwhat: salt", {"tools": [{"kind": "call", "name": "weigh"}]}),
        ("tool", "10 g", {"tools": [{"kind": "result", "name": "weigh"}]}),
        ("assistant", "Ten grams.", {"model": "qwen3"}),
    ]
    answer = got.messages[-1]
    assert answer.external_id == "1750000002000-0.5" and got.messages[3].reply_to == answer.external_id
    assert answer.sent_at == datetime(2025, 6, 15, 15, 6, 42, tzinfo=UTC) and got.messages[1].sent_at is None
    assert got.problems == []
    assert [n.message for n in got.notes] == [
        "skipped 1 debugInfoBlock block without text",
        "skipped 1 toolStatus block without text",
    ]


def test_thoughts_in_tags_and_answers_in_one_step(read):
    one = {"versions": [{"type": "singleStep", "role": "assistant", "content": [text("<think>Hm.</think>\n\nHello.")]}]}
    got = read(json.dumps(chat(asked(text("Hi")), one)))
    assert [(m.role, m.text) for m in got.messages] == [("user", "Hi"), ("tool", "Hm."), ("assistant", "Hello.")]


def test_the_same_chat_later_and_renamed(read):
    begun = [asked(text("Hi")), answered([block(text("Hello."), at=1)])]
    one = read(json.dumps(chat(*begun)), "1750000000000.conversation.json")
    two = read(json.dumps(chat(*begun, asked(text("Hi")), name="Other")), "copy.json")
    assert [s.external_id for s in one.sessions] == [s.external_id for s in two.sessions]
    assert [m.external_id for m in two.messages][:2] == [m.external_id for m in one.messages]
    assert len({m.external_id for m in two.messages}) == 3


def test_the_same_step_id_twice_and_odd_selections(read):
    data = chat(answered([block(text("a"))], [block(text("b"))], chosen=9), answered([block(text("c"))], chosen=-1))
    got = read(json.dumps(data))
    assert [(m.text, "branch" in m.metadata) for m in got.messages] == [("a", True), ("b", False), ("c", False)]
    assert len({m.external_id for m in got.messages}) == 3
    assert all("occurs twice" in n.message for n in got.notes) and len(got.notes) == 2


def test_wrong_types_cost_only_their_place(read):
    wrongs = (None, 5, "x", [5], {"a": 1}, [[1]], True, [{"type": 5, "text": 5}], -1, 10**30)
    good = asked(text("good"))
    for wrong in wrongs:
        for key in ("name", "createdAt", "systemPrompt", "lastUsedModel", "perChatPredictionConfig"):
            assert "good" in read(json.dumps(chat(good) | {key: wrong}), forced="lmstudio").texts
        read(json.dumps(chat(good) | {"messages": wrong}), forced="lmstudio")
        for key in ("versions", "currentlySelected"):
            assert read(json.dumps(chat(good, asked(text("odd")) | {key: wrong}))).texts[0] == "good"
        for key in ("role", "content", "steps", "senderInfo", "type"):
            assert read(json.dumps(chat(good, asked(text("odd"), **{key: wrong})))).texts[0] == "good"
        for key in ("type", "stepIdentifier", "content", "style", "genInfo"):
            odd = answered([block(text("odd")) | {key: wrong}])
            assert read(json.dumps(chat(good, odd, 4))).texts[0] == "good"
        for key in ("type", "callId", "name", "parameters", "content", "text", "fileIdentifier"):
            for kind in ("toolCallRequest", "toolCallResult", "file", "text"):
                odd = answered([block({"type": kind} | {key: wrong})])
                assert read(json.dumps(chat(good, odd))).texts[0] == "good"


def test_an_empty_chat(read):
    got = read(json.dumps(chat()), "1750000000000.conversation.json")
    assert (got.format, got.messages, got.problems) == ("lmstudio", [], [])


def test_cut_at_any_byte(read):
    data = json.dumps(chat(*(asked(text(f"turn {n}")) for n in range(8)))).encode()
    for cut in range(len(data)):
        got = read(data[:cut], forced="lmstudio")
        assert got.texts == [f"turn {n}" for n in range(len(got.texts))]
        assert got.problems or cut == 0
