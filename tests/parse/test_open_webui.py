"""Open WebUI: the tree of messages, blocks within answers, rows, bare chats and the database."""

from __future__ import annotations

import html
import json
import sqlite3
from collections.abc import Callable
from contextlib import closing
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from appliance.formats import read_head
from appliance.formats.base import Document
from appliance.ingest.sources import UnreadSource, detect_documents
from appliance.types import InputProblem, MessageRecord


def turn(key: str, parent: str | None, text: str, role: str = "user", at: int = 0, **more: Any) -> dict:
    return {
        "id": key,
        "parentId": parent,
        "childrenIds": [],
        "role": role,
        "content": text,
        "timestamp": 1744577557 + at,
    } | more


def chat(messages: list[dict], current: str | None = None, **more: Any) -> dict:
    tree = {str(message["id"]): message for message in messages}
    return {
        "title": "Bread",
        "models": ["m-7b"],
        "params": {},
        "history": {"messages": tree, "currentId": current or messages[-1]["id"]},
        "messages": messages,
        "timestamp": 1744577557127,
    } | more


def row(key: str, inner: dict | str, **more: Any) -> dict:
    return {"id": key, "user_id": "u1", "title": "Bread", "chat": inner, "created_at": 1744577500} | more


ANSWER = (
    '<details type="reasoning" done="true" duration="3">\n<summary>Thought for 3 seconds</summary>\n'
    "> It is 60 % of flour.\n> > quoted </details> by a user\n</details>\nLet me look.\n"
    '<details type="tool_calls" done="true" id="c1" name="lookup" arguments="'
    + html.escape(json.dumps(json.dumps({"grain": 'rye "1150"', "grams": 500})))
    + '" result="'
    + html.escape(json.dumps("Rye takes < 75 %"))
    + '" files="" embeds="">\n<summary>Tool Executed</summary>\n</details>\n'
    "About 75 %.\n\n  indented"
)


def test_an_export_of_chats(read: Callable[..., Any]) -> None:
    first = [turn("q", None, "How much water?\n"), turn("a", "q", ANSWER, "assistant", 5, model="m-7b")]
    second = [turn("x", None, "Hello")]
    got = read(json.dumps([row("c1", chat(first)), row("c2", chat(second), title="New Chat")]))
    assert got.format == "open_webui"
    assert [(s.external_id, s.title) for s in got.sessions] == [("c1", "Bread"), ("c2", "New Chat")]
    assert got.sessions[0].created_at == datetime(2025, 4, 13, 20, 51, 40, tzinfo=UTC)
    assert [(m.external_id, m.role, m.text, m.reply_to) for m in got.messages] == [
        ("q", "user", "How much water?\n", None),
        ("a-reasoning-1", "tool", "It is 60 % of flour.\n> quoted </details> by a user", "a"),
        ("a", "assistant", "Let me look.\n\nAbout 75 %.\n\n  indented", "q"),
        ("a-call-3", "tool", 'lookup\ngrain: rye "1150"\ngrams: 500', "a"),
        ("a-result-4", "tool", "Rye takes < 75 %", "a"),
        ("x", "user", "Hello", None),
    ]
    assert got.messages[2].sent_at == datetime(2025, 4, 13, 20, 52, 42, tzinfo=UTC)
    assert got.messages[2].metadata == {"model": "m-7b"}
    assert got.messages[3].metadata == {"tools": [{"kind": "call", "name": "lookup"}]}
    assert got.problems == got.notes == []


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("<think>\nHm.\n</think>\n\nYes.", [("tool", "Hm."), ("assistant", "Yes.")]),
        (
            '<details type="reasoning" done="true" duration="1">\n<summary>Thought</summary>\n'
            "&gt; a &lt; b\n</details>\nYes.",
            [("tool", "a < b"), ("assistant", "Yes.")],
        ),
        (
            '<details type="tool_calls" done="true" id="c" name="f" arguments="&quot;{}&quot;">\n'
            "<summary>Tool Executed</summary>\n&quot;done&quot;\n</details>\nYes.",
            [("tool", "f"), ("tool", "done"), ("assistant", "Yes.")],
        ),
        (
            '<details type="code_interpreter" done="true" output="'
            + html.escape(json.dumps({"stdout": "4\n", "stderr": None}))
            + '">\n<summary>Analyzed</summary>\n```python\nprint(2+2)\n```\n</details>\nFour.',
            [("tool", "```python\nprint(2+2)\n```"), ("tool", "4\n"), ("assistant", "Four.")],
        ),
        ('<details type="reasoning">\nnot closed', [("assistant", '<details type="reasoning">\nnot closed')]),
        (
            "Use this:\n<details><summary>More</summary>x</details>\n",
            [("assistant", "Use this:\n<details><summary>More</summary>x</details>\n")],
        ),
    ],
)
def test_blocks_of_an_answer(read: Callable[..., Any], content: str, expected: list[tuple[str, str]]) -> None:
    got = read(json.dumps(chat([turn("a", None, content, "assistant")])))
    assert [(m.role, m.text) for m in got.messages] == expected


def test_a_person_who_writes_a_block_said_it(read: Callable[..., Any]) -> None:
    text = '<details type="reasoning">\nwhat is this?</details>'
    assert read(json.dumps(chat([turn("q", None, text)]))).texts == [text]


def test_many_blocks_take_no_time(read: Callable[..., Any]) -> None:
    text = '<details type="reasoning">\n' * 40_000 + "\n" * 40_000 + "<summary>" * 40_000
    for tail in ("", "</details>", "<think>" * 10_000):
        assert len(read(json.dumps(chat([turn("a", None, text + tail, "assistant")]))).messages) == 1


def test_side_branches_and_the_path_that_was_last_seen(read: Callable[..., Any]) -> None:
    messages = [
        turn("q", None, "Name?", childrenIds=["a1", "a2"]),
        turn("a1", "q", "Ida", "assistant", 1),
        turn("a2", "q", "Ada", "assistant", 9),
        turn("q2", "a1", "Ida it is", at=5),
    ]
    got = read(json.dumps(chat(messages, "q2")))
    assert [(m.text, m.metadata.get("branch", False)) for m in got.messages] == [
        ("Name?", False),
        ("Ada", True),
        ("Ida", False),
        ("Ida it is", False),
    ]


def test_the_list_is_read_where_there_is_no_tree(read: Callable[..., Any]) -> None:
    listed = [{"role": "user", "content": "One"}, {"id": "b", "role": "assistant", "content": "Two"}]
    got = read(json.dumps([row("c", {"messages": listed}, created_at=None)]))
    assert [(m.external_id, m.text, m.reply_to) for m in got.messages] == [("1", "One", None), ("b", "Two", "1")]
    assert got.messages[0].sent_at is None


def test_what_else_a_chat_holds(read: Callable[..., Any]) -> None:
    file = {"type": "file", "name": "list.txt", "file": {"filename": "list.txt", "data": {"content": "Eggs"}}}
    messages = [
        turn("q", None, "Look", files=[file, {"type": "image", "url": "data:image/png;base64,AAAA"}]),
        turn("a", "q", "Eggs!", "assistant", originalContent="Egg"),
        turn("b", "a", "", "assistant", error={"content": "model not found"}),
        turn("c", "b", "", "assistant", output=[
            {"type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm"}]},
            {"type": "message", "content": [{"type": "output_text", "text": "Later"}]},
            {"type": "function_call", "name": "f", "arguments": '{"x": 1}', "call_id": "1"},
            {"type": "function_call_output", "call_id": "1", "output": [{"type": "input_text", "text": "y"}]},
        ]),
        turn("d", "c", [{"type": "text", "text": "Parts"}]),  # type: ignore[arg-type]
    ]  # fmt: skip
    got = read(json.dumps(row("c1", chat(messages, params={"system": "Be kind"}))))
    assert [(m.external_id, m.role, m.text) for m in got.messages] == [
        ("system", "system", "Be kind"),
        ("q", "user", "Look\n\n[attachment: list.txt]\nEggs"),
        ("a", "assistant", "Eggs!"),
        ("b", "system", "model not found"),
        ("c-reasoning-1", "tool", "Hm"),
        ("c", "assistant", "Later"),
        ("c-call-3", "tool", "f\nx: 1"),
        ("c-result-4", "tool", "y"),
        ("d", "user", "Parts"),
    ]
    assert got.messages[0].metadata == {"hidden": True}
    assert got.messages[1].metadata["attachments"] == [{"name": "list.txt", "text": "Eggs"}, {"name": "image"}]
    assert got.messages[2].metadata["edited"] is True
    assert got.problems == got.notes == []


def test_a_bare_chat_keeps_its_id_under_a_new_title_and_when_it_goes_on(read: Callable[..., Any]) -> None:
    one = [turn("q", None, "Hi")]
    before = read(json.dumps(chat(one, id="")))
    after = read(json.dumps(chat([*one, turn("a", "q", "Yes?", "assistant")], id="", title="Other")), "b.json")
    assert before.sessions[0].external_id == after.sessions[0].external_id
    assert read(json.dumps(chat(one, id="k"))).sessions[0].external_id == "k"


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]], 1e400])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    message = turn("m", None, "x", "assistant", files=[], error=None, output=[], model="m")
    good = row("good", chat([turn("k", None, "kept")]))
    for key in message:
        rows = [row("c", chat([message | {key: wrong}], "m")), good]
        assert read(json.dumps(rows), forced="open_webui").texts[-1] == "kept"
    for key in ("history", "messages", "models", "params", "timestamp", "title"):
        rows = [row("c", chat([message]) | {key: wrong}), good]
        assert read(json.dumps(rows), forced="open_webui").texts[-1] == "kept"
    for key in row("c", {}):
        rows = [row("c", chat([message])) | {key: wrong}, good]
        assert read(json.dumps(rows), forced="open_webui").texts[-1] == "kept"
    assert read(json.dumps([wrong, good]), forced="open_webui").texts == ["kept"]


def test_a_cut_off_export_keeps_every_whole_message(read: Callable[..., Any]) -> None:
    messages = [turn(f"m{n}", f"m{n - 1}" if n else None, f"words {n}") for n in range(4)]
    data = json.dumps([row(f"c{n}", chat(messages)) for n in range(3)]).encode()
    most = 0
    for cut in range(0, len(data), 50):
        got = read(data[:cut], forced="open_webui")
        assert set(got.texts) <= {f"words {n}" for n in range(4)}
        assert len(got.messages) >= most - 1
        most = max(most, len(got.messages))
    assert most >= 11


# --- the database -----------------------------------------------------------------------------------


def database(path: Path, rows: list[dict], tables: tuple[str, ...] = ("auth", "user")) -> Path:
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(
            "CREATE TABLE chat (id TEXT PRIMARY KEY, user_id TEXT, title TEXT, chat JSON, created_at INTEGER)"
        )
        for table in tables:
            connection.execute(f"CREATE TABLE {table} (id TEXT)")
        for entry in rows:
            inner = entry["chat"] if isinstance(entry["chat"], str | None) else json.dumps(entry["chat"])
            connection.execute(
                "INSERT INTO chat VALUES (?, ?, ?, ?, ?)",
                (entry["id"], entry["user_id"], entry["title"], inner, entry["created_at"]),
            )
    return path


def records(path: Path) -> tuple[str | None, list[MessageRecord], list[InputProblem]]:
    (found,) = detect_documents([path])
    assert not isinstance(found, UnreadSource)
    read = list(found.parser.parse(found.document))
    return (
        found.format,
        [r for r in read if isinstance(r, MessageRecord)],
        [r for r in read if isinstance(r, InputProblem)],
    )


def test_the_database_says_what_the_export_says(tmp_path: Path, read: Callable[..., Any]) -> None:
    rows = [
        row("c1", chat([turn("q", None, "How?"), turn("a", "q", ANSWER, "assistant")])),
        row("c2", chat([turn("x", None, "Zoë")])),
    ]
    copy = row("s1", rows[0]["chat"], user_id="shared-c1")
    name, messages, problems = records(database(tmp_path / "webui.db", [*rows, copy]))
    assert name == "open_webui"
    exported = read(json.dumps(rows)).messages
    assert [(m.session, m.external_id, m.text) for m in messages] == [
        (m.session, m.external_id, m.text) for m in exported
    ]
    assert [(p.message, p.harmless) for p in problems] == [("skipped 1 shared copy of a chat", True)]
    assert [path.name for path in tmp_path.iterdir()] == ["webui.db"]


def test_a_broken_row_costs_only_itself(tmp_path: Path) -> None:
    good = row("c2", chat([turn("x", None, "kept")]))
    cut = json.dumps(chat([turn("q", None, "whole"), turn("r", "q", "cut off here")]))
    cut = cut[: cut.index("off here")]
    bad = [row("c1", cut), row("c0", "nonsense"), row("c3", None, user_id="u2")]  # type: ignore[arg-type]
    _, messages, problems = records(database(tmp_path / "x", [*bad, good]))
    assert [m.text for m in messages] == ["whole", "kept"]
    assert any("2 people" in p.message for p in problems)
    assert {p.where.split()[1] for p in problems if not p.harmless} == {"1", "2", "3"}


def test_other_columns_and_types(tmp_path: Path) -> None:
    path = tmp_path / "webui.db"
    inner = json.dumps(chat([turn("q", None, "kept")]))
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE chat (id, chat)")
        connection.execute("CREATE TABLE config (id)")
        rows = [(7, inner.encode()), (None, inner), ("c", 5), ("d", b"\xff\x00"), ("e", "null")]
        connection.executemany("INSERT INTO chat VALUES (?, ?)", rows)
    _, messages, problems = records(path)
    assert [(m.session, m.text) for m in messages] == [("7", "kept"), (messages[1].session, "kept")]
    assert {p.where for p in problems} == {"chat 3", "chat 4", "chat 5"}


def test_a_damaged_database(tmp_path: Path) -> None:
    rows = [row(f"c{n}", chat([turn("x", None, "words " * 900)])) for n in range(60)]
    data = bytearray(database(tmp_path / "webui.db", rows).read_bytes())
    data[len(data) // 2 :] = bytes(len(data) - len(data) // 2)
    (tmp_path / "webui.db").write_bytes(data)
    _, messages, problems = records(tmp_path / "webui.db")
    assert len(messages) > 5
    assert any(not p.harmless for p in problems)


@pytest.mark.parametrize(
    ("tables", "expected"),
    [(("auth", "user", "message"), True), ((), True), (("message", "handle"), False), (("jid",), False)],
)
def test_which_databases_are_taken(tmp_path: Path, tables: tuple[str, ...], expected: bool) -> None:
    from appliance.formats.open_webui import matches

    path = database(tmp_path / "some.db", [], tables)
    head = read_head(Document("some.db", path.stat().st_size, lambda: path.open("rb"), path=path))
    assert (matches(head) >= 0.5) is expected


def test_collected_sample(read: Callable[..., Any], exports: Path) -> None:
    got = read(exports / "open_webui" / "openwebui-importer__webui-json.json")
    assert got.format == "open_webui"
    assert [s.title for s in got.sessions] == ["🧠 Goldwater Rule Ethics"]
    assert got.roles == ["user", "assistant"]
    assert got.texts[0].startswith("what was the ruling in the US called where you can''t diagnose")
    assert got.texts[1].endswith("prevent the misuse of psychiatry in political contexts.")
    assert got.messages[0].sent_at == datetime(2025, 4, 13, 20, 52, 37, tzinfo=UTC)
    assert got.problems == got.notes == []
