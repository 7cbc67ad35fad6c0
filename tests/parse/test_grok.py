"""Grok: the account's export (branches, times, cards, reasoning) and the CLI's sessions."""

from __future__ import annotations

import json
import tracemalloc
from datetime import UTC, datetime
from pathlib import Path

from appliance.formats.base import Document
from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import MessageRecord, SessionRecord


def said(key: str, sender: str, message: object, parent: str | None = None, at: int = 0, **more: object) -> dict:
    time = {"$date": {"$numberLong": str(1_750_000_000_000 + at * 1000)}}
    return {
        "response": {
            "_id": key, "sender": sender, "message": message, "parent_response_id": parent,
            "create_time": time,
        } | more,
        "share_link": None,
    }  # fmt: skip


def conversation(*responses: object, key: str = "c1", **more: object) -> dict:
    about = {"id": key, "title": "Ponds", "create_time": "2025-06-15T15:06:40Z", "modify_time": None} | more
    return {"conversation": about, "responses": list(responses)}


def export(*conversations: object) -> str:
    return json.dumps({"conversations": conversations, "projects": [{"name": "x"}], "media_posts": [{"a": 1}]})


def test_an_export(read):
    card = 'Deep.<grok:render card_id="1" card_type="x"><argument name="n">3</argument></grok:render> Yes.'
    searched = [{"title": "Ponds", "url": "https://ponds.example", "preview": "About ponds"}, {"title": ""}]
    got = read(
        export(
            conversation(
                said("a", "human", "How deep? <grok:render/>", file_attachments=["f-1", "f-1"]),
                said(
                    "b", "ASSISTANT", card, "a", 1, model="grok-4", thinking_trace="Hm.", web_search_results=searched,
                    agent_thinking_traces=[{"thinking_trace": "Hm."}, {"thinking_trace": "So."}],
                ),
                said("c", "grok-3", "", "b", 2, generated_image_urls=["users/1/generated/2/image.jpg"]),
            )
        ),
        "prod-grok-backend.json",
    )  # fmt: skip
    assert got.format == "grok"
    assert [(s.external_id, s.title, s.created_at) for s in got.sessions] == [
        ("c1", "Ponds", datetime(2025, 6, 15, 15, 6, 40, tzinfo=UTC))
    ]
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("a", "user", "How deep? <grok:render/>", None),
        ("b-reasoning-1", "tool", "Hm.", "b"),
        ("b-reasoning-2", "tool", "So.", "b"),
        ("b-result-1", "tool", "Ponds\nhttps://ponds.example\nAbout ponds", "b"),
        ("b", "assistant", "Deep. Yes.", "a"),
        ("c", "assistant", "[attachment: image.jpg]", "b"),
    ]
    assert got.messages[0].metadata == {"attachments": [{"name": "f-1"}]}
    assert got.messages[3].metadata == {"tools": [{"kind": "result", "name": "web_search"}]}
    assert got.messages[4].metadata == {"model": "grok-4"}
    assert got.messages[4].sent_at == datetime(2025, 6, 15, 15, 6, 41, tzinfo=UTC)
    assert got.problems == got.notes == []


def test_answers_made_again_are_branches(read):
    responses = [
        said("q", "human", "q"),
        said("new", "assistant", "new", "q", 2),
        said("old", "assistant", "old", "q", 1),
        said("next", "human", "next", "new", 3),
    ]
    got = read(export(conversation(*responses)))
    assert [(m.text, dict(m.metadata)) for m in got.messages] == [
        ("q", {}),
        ("old", {"branch": True}),
        ("new", {}),
        ("next", {}),
    ]
    got = read(export(conversation(*responses, leaf_response_id="old")))
    assert [m.text for m in got.messages if not m.metadata] == ["q", "old"]


def test_other_wrappings(read):
    flat = {"response_id": "m", "sender": "human", "message": "flat", "create_time": "2025-06-15T15:06:40.5Z"}
    one = {"conversation": {"conversation_id": "x", "title": ""}, "responses": [flat]}
    for data in (one, [one], {"conversations": [one]}, {"user": {"a": 1}, "conversations": [one]}):
        got = read(json.dumps(data))
        assert (got.format, got.texts, got.sessions[0].external_id) == ("grok", ["flat"], "x")


def test_ids_twice_missing_links_and_errors(read):
    responses = [
        said("a", "human", "one"),
        said("a", "human", "two", at=1),
        said("b", "assistant", None, "gone", 2, error="overloaded"),
        said("c", "", "who?", "b", 3),
        said("d", "human", "", "c", 4),
    ]
    del responses[1]["response"]["create_time"]
    got = read(export(conversation(*responses)))
    assert sorted((m.text, m.role, m.external_id) for m in got.messages if m.text != "two") == [
        ("one", "user", "a"),
        ("overloaded", "system", "b"),
        ("who?", "system", "c"),
    ]
    assert all(m.external_id for m in got.messages)
    assert {p.message for p in got.problems} == {"the sender is missing; imported as system"}
    assert {n.message for n in got.notes} == {
        "the id a occurs twice; the second message gets another",
        "the message is empty; skipped",
    }


def test_wrong_types_cost_only_their_place(read):
    wrongs = (None, 5, "x", [5], {"a": 1}, [[1]], True, {"$date": []}, {"$date": {"$numberLong": "x"}})
    keys = (
        "_id sender message parent_response_id create_time thinking_trace agent_thinking_traces error model"
        " web_search_results file_attachments image_attachments generated_image_urls"
    )
    for wrong in wrongs:
        for key in keys.split():
            odd = said("b", "assistant", "odd", "a", 1)
            odd["response"][key] = wrong
            got = read(export(conversation(said("a", "human", "good"), odd, 4, {"response": 5})))
            assert "good" in got.texts
            assert any("not a response but a number" in p.message for p in got.problems)
        for key in ("id", "title", "create_time", "leaf_response_id"):
            assert read(export(conversation(said("a", "human", "good"), **{key: wrong}))).texts == ["good"]
        good = conversation(said("a", "human", "good"))
        assert read(export({"conversation": wrong, "responses": wrong}, wrong, good)).texts[-1] == "good"


def test_circles_and_cuts(read):
    circle = [said("a", "human", "a", "b"), said("b", "assistant", "b", "a", 1), said("c", "human", "c", "c", 2)]
    assert sorted(read(export(conversation(*circle))).texts) == ["a", "b", "c"]
    data = export(*(conversation(said(f"m{n}", "human", f"m{n}"), key=f"c{n}") for n in range(4))).encode()
    for cut in range(0, len(data), 3):
        got = read(data[:cut], forced="grok")
        assert got.texts == [f"m{n}" for n in range(len(got.texts))]


def test_an_export_is_read_one_conversation_at_a_time():
    import io

    words = "water " * 500
    data = export(*(conversation(said("m", "human", words), key=f"c{n}") for n in range(3000))).encode()
    document = Document("x", len(data), lambda: io.BytesIO(data))
    from appliance.formats import grok

    tracemalloc.start()
    count = sum(isinstance(r, MessageRecord) for r in grok.parse(document))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert count == 3000 and len(data) > 9_000_000 and peak < 5_000_000


LINES = [
    {"type": "system", "content": "You are Grok."},
    {"type": "user", "content": "<user_info>\nOS: linux\n</user_info>", "synthetic_reason": "context"},
    {"type": "user", "content": [{"type": "text", "text": "<system-reminder>be nice</system-reminder>\n<user_query>\nFix it\n</user_query>"}], "prompt_index": 0},  # noqa: E501
    {"type": "reasoning", "content": None, "summary": [{"type": "summary_text", "text": "Look first."}]},
    {"type": "assistant", "content": "On it.", "tool_calls": [{"id": "t1", "name": "edit", "arguments": '{"file_path": "/a.py", "n": 1}'}], "model_id": "grok-4.5"},  # noqa: E501
    {"type": "tool_result", "tool_call_id": "t1", "content": "done\n"},
    {"type": "turn_metrics", "content": "x"},
    {"type": "user", "content": "Thanks"},
]  # fmt: skip


def test_a_cli_session(read, tmp_path: Path):
    folder = tmp_path / "sessions" / "home" / "0197aaaa-0000-7000-8000-000000000001"
    folder.mkdir(parents=True)
    (folder / "chat_history.jsonl").write_text("\n".join(map(json.dumps, LINES)))
    (folder / "summary.json").write_text(
        json.dumps(
            {
                "info": {"id": "0197aaaa", "cwd": "/home/ana"},
                "generated_title": "Fixing",
                "created_at": "2026-01-01T00:00:10Z",
            }
        )
    )
    (found,) = [item for item in detect_documents([tmp_path]) if isinstance(item, DetectedDocument)]
    assert found.format == "grok"
    records = list(found.parser.parse(found.document))
    assert records[0] == SessionRecord(
        "0197aaaa", "Fixing", datetime(2026, 1, 1, 0, 0, 10, tzinfo=UTC), {"cwd": "/home/ana"}
    )
    assert [(r.role, r.text, dict(r.metadata)) for r in records if isinstance(r, MessageRecord)] == [
        ("system", "You are Grok.", {"hidden": True}),
        ("system", "<user_info>\nOS: linux\n</user_info>", {"hidden": True}),
        ("system", "<system-reminder>be nice</system-reminder>\n", {"hidden": True}),
        ("user", "Fix it", {}),
        ("tool", "Look first.", {"tools": [{"kind": "reasoning"}]}),
        ("assistant", "On it.", {"model": "grok-4.5"}),
        ("tool", "edit\nfile_path: /a.py\nn: 1", {"tools": [{"kind": "call", "name": "edit"}], "files": ["/a.py"]}),
        ("tool", "done\n", {"tools": [{"kind": "result", "name": "edit"}]}),
        ("user", "Thanks", {}),
    ]  # fmt: skip
    assert records[-1].message == "skipped 1 line without a turn (type turn_metrics)"

    (folder / "summary.json").unlink()
    alone = next(iter(found.parser.parse(found.document)))
    assert alone.external_id == "0197aaaa-0000-7000-8000-000000000001"


def test_a_cli_session_without_a_summary_is_known_by_its_first_words(read):
    text = "\n".join(map(json.dumps, LINES))
    one = read(text, "chat_history.jsonl")
    other = read(text.replace("Fix it", "Break it"), "chat_history.jsonl")
    again = read(text + '\n{"type": "user", "content": "More"}\n{"type": "us', "elsewhere.jsonl")
    assert one.sessions[0].external_id == again.sessions[0].external_id != other.sessions[0].external_id
    assert len(again.messages) == len(one.messages) + 1 and again.problems


def test_wrong_types_in_cli_lines(read):
    for wrong in (None, 5, [5], {"a": 1}, [[1]], True, "x"):
        for line in LINES:
            for key in line:
                got = read(json.dumps(line | {key: wrong}) + "\n" + json.dumps(LINES[-1]), forced="grok")
                assert got.texts[-1:] == ["Thanks"]


def test_collected_samples(read, exports):
    got = read(exports / "grok" / "openwebui-importer__grok_example.json")
    assert got.format == "grok"
    assert [s.title for s in got.sessions] == ["Photosynthesis Simplified: Process and Importance"]
    assert got.roles == ["user", "assistant"] * 5
    assert got.texts[0] == "Can you explain how photosynthesis works in simple terms?"
    assert [len(text) for text in got.texts[1::2]] == [1168, 778, 1028, 841, 960]
    assert got.messages[8].text == "What about forests?" and not any(m.metadata for m in got.messages)
    assert got.messages[0].sent_at == datetime(2025, 6, 21, 19, 28, 21, 194_663, tzinfo=UTC)
    assert got.problems == got.notes == []

    found = list(detect_documents([exports / "grok" / "grok_cli_subagent"]))
    (cli,) = [item for item in found if isinstance(item, DetectedDocument)]
    records = list(cli.parser.parse(cli.document))
    assert records[0].external_id == "019f6851-7ec4-7ef0-97d3-03f3eee38756"
    assert [(r.role, r.text[:30]) for r in records[1:]] == [
        ("system", "You are Grok 4.5 released by x"),
        ("user", "Count the Python files under t"),
        ("assistant", "I'll count them."),
        ("tool", "run_terminal_cmd\ncommand: find"),
        ("tool", "       1\n"),
        ("assistant", "There is 1 Python file under t"),
    ]
    assert all(r.metadata["sidechain"] for r in records[1:])
