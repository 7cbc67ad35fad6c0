"""AI Studio: chunks, reasoning, code, files, ids that survive a new name, damage."""

from __future__ import annotations

import base64
import json
from datetime import UTC, datetime

FILE = "My Drive/Google AI Studio/Bread for beginners"


def chunk(role: str, text: str = "", **more: object) -> dict:
    return {"role": role} | ({"text": text} if text else {}) | more


def prompt(*chunks: object, **more: object) -> dict:
    return (
        {"runSettings": {"model": "models/gemini-2.5-pro"}, "systemInstruction": {}}
        | more
        | {"chunkedPrompt": {"chunks": list(chunks), "pendingInputs": [{"text": "draft", "role": "user"}]}}
    )


def test_turns_reasoning_code_and_instruction(read):
    data = prompt(
        chunk("user", "How much salt? "),
        chunk("model", "Two percent.", isThought=True, parts=[{"text": "Two percent.", "thought": True}]),
        chunk("model", executableCode={"language": "PYTHON", "code": "print(500*.02)"}),
        chunk("model", codeExecutionResult={"outcome": "OUTCOME_OK", "output": "10.0\n"}),
        chunk("model", "Ten grams.", parts=[{"text": "Ten "}, {"text": "grams."}], finishReason="STOP"),
        chunk("model", errorMessage="Quota exceeded"),
        systemInstruction={"parts": [{"text": "Be brief."}]},
    )
    got = read(json.dumps(data), FILE)
    assert got.format == "aistudio"
    assert [(s.title, dict(s.metadata)) for s in got.sessions] == [
        ("Bread for beginners", {"model": "models/gemini-2.5-pro"})
    ]
    assert [(m.role, m.text, dict(m.metadata)) for m in got.messages] == [
        ("system", "Be brief.", {"hidden": True}),
        ("user", "How much salt? ", {}),
        ("tool", "Two percent.", {"tools": [{"kind": "reasoning"}]}),
        ("tool", "print(500*.02)", {"tools": [{"kind": "call", "name": "code_execution"}]}),
        ("tool", "10.0\n", {"tools": [{"kind": "result", "name": "code_execution"}]}),
        ("assistant", "Ten grams.", {}),
        ("system", "Quota exceeded", {}),
    ]
    assert len({m.external_id for m in got.messages} - {None}) == 7 and got.messages[1].sent_at is None
    assert got.problems == got.notes == []


def test_thoughts_and_calls_among_the_parts(read):
    parts = [
        {"text": "Hm.", "thought": True},
        {"functionCall": {"name": "weather", "args": {"city": "Gent"}}},
        {"text": "It rains"},
        {"text": " today."},
    ]
    got = read(json.dumps(prompt(chunk("user", "Rain?"), chunk("model", parts=parts, id="m1"))))
    assert [(m.role, m.text, m.external_id) for m in got.messages[1:]] == [
        ("tool", "Hm.", "m1-thought"),
        ("assistant", "It rains today.", "m1"),
        ("tool", "weather\ncity: Gent", "m1-call-1"),
    ]


def test_files(read):
    text = base64.b64encode("Größe 42".encode()).decode()
    data = prompt(
        chunk("user", driveDocument={"id": "1AbC"}),
        chunk("user", inlineFile={"mimeType": "text/plain", "data": text}),
        chunk("user", "see", driveImage={"id": "1", "name": "cat.png"}, youtubeVideo={"id": "xyz"}),
        chunk("user", inlineData={"mimeType": "text/csv", "data": "%%%"}),
    )
    got = read(json.dumps(data))
    assert got.texts == ["[attachment: 1AbC]", "[attachment: text/plain]\nGröße 42", "see", "[attachment: text/csv]"]
    assert got.messages[2].metadata["attachments"] == [{"name": "cat.png"}, {"name": "youtube.com/watch?v=xyz"}]


def test_the_session_stays_the_same_when_it_goes_on_or_is_renamed(read):
    begun = [chunk("user", "Hi"), chunk("model", "Thinking", isThought=True), chunk("model", "Hello Ana.")]
    one = read(json.dumps(prompt(*begun)), "a/Hi")
    two = read(json.dumps(prompt(*begun, chunk("user", "More"), systemInstruction={"text": "x"})), "b/Hello.json")
    other = read(json.dumps(prompt(chunk("user", "Hi"), chunk("model", "Hello there."))), "a/Hi")
    branch = read(json.dumps(prompt(*begun, chunk("user", "Else", branchParent={"promptId": "prompts/1"}))), "a/Hi")
    names = [got.sessions[0].external_id for got in (one, two, other, branch)]
    assert names[0] == names[1] and len(set(names)) == 3
    assert [m.external_id for m in two.messages][1:4] == [m.external_id for m in one.messages]
    assert two.sessions[0].title == "Hello"


def test_wrong_types_cost_only_their_place(read):
    wrongs = (None, 5, "x", [5], {"a": 1}, [[1]], True, [{"text": 5, "thought": 7}])
    for key in ("chunkedPrompt", "runSettings", "systemInstruction", "title", "createTime", "id"):
        for wrong in wrongs:
            read(json.dumps(prompt(chunk("user", "good")) | {key: wrong}), forced="aistudio")
    keys = (
        "role text parts isThought executableCode codeExecutionResult driveDocument inlineFile createTime id"
        " errorMessage branchParent functionCall functionResponse youtubeVideo"
    )
    for key in keys.split():
        for wrong in wrongs:
            data = prompt(chunk("user", "good"), chunk("model", "odd") | {key: wrong}, 3, None)
            got = read(json.dumps(data))
            assert got.texts[0] == "good"
            assert any("not a chunk but a number" in p.message for p in got.problems)
    got = read(json.dumps({"runSettings": {}, "systemInstruction": {}, "structuredPrompt": {}}))
    assert (got.messages, got.problems) == ([], [])
    assert "structuredPrompt" in got.notes[0].message


def test_the_same_id_twice(read):
    got = read(json.dumps(prompt(chunk("user", "one", id="a"), chunk("user", "two", id="a"))))
    assert got.messages[0].external_id == "a" and got.texts == ["one", "two"]


def test_cut_at_any_byte(read):
    data = json.dumps(prompt(*(chunk("user", f"turn {n}", id=f"i{n}") for n in range(8)))).encode()
    for cut in range(len(data)):
        got = read(data[:cut], forced="aistudio")
        assert got.texts == [f"turn {n}" for n in range(len(got.texts))]
        assert cut == 0 or got.problems


def test_collected_samples(read, exports):
    base = exports / "gemini_aistudio"
    got = read(base / "polylogue__code_execution_prompt.json")
    assert got.format == "aistudio"
    assert [(s.external_id, s.title) for s in got.sessions] == [("gem-code-exec", "Code interpreter run")]
    assert [(m.role, m.text) for m in got.messages] == [
        ("user", "Compute 2+2 in python."),
        ("tool", "I should use code execution."),
        ("tool", "print(2+2)"),
        ("tool", "4\n"),
        ("assistant", "The answer is 4."),
    ]
    assert got.messages[-1].sent_at == datetime(2025, 2, 2, 9, 0, 45, tzinfo=UTC)

    got = read(base / "polylogue__multi_turn_prompt.json")
    assert got.sessions[0].title == "Drive doc summary"
    assert got.roles == ["user", "tool", "assistant", "user", "assistant"]
    assert got.messages[0].metadata == {"attachments": [{"name": "report.pdf"}]}
    assert (got.texts[0], got.texts[-1]) == ("Summarize this doc.", "Main risk is supply chain volatility.")

    got = read(base / "polylogue__text_only_prompt.json")
    assert got.texts[1:] == ["The capital of France is Paris.", "And of Germany?", "Berlin."]

    got = read(base / "polylogue__text_only_session.json")
    assert [m.external_id for m in got.messages] == ["chunk-user-1", "chunk-model-1"]
    assert got.problems == got.notes == []
