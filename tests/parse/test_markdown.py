"""Transcripts in Markdown and plain text: what is one, what is none, and who said what when."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from appliance.errors import InputError
from appliance.formats import markdown
from appliance.formats.base import DocumentHead
from tests.parse.transcripts import CHATS, DOCUMENTS

AIDER = """
# aider chat started at 2025-03-04 09:15:00

> /usr/bin/aider --model m  \n> Aider v0.80.0  \n> Added ferry.py to the chat.  \n
#### make the timetable sorted  \n#### by departure  \n
I will sort it.

#### Notes on sorting

> A quotation.

```python
# aider is not started here
#### nor is this a question  \nrows.sort()
```

> Tokens: 1.2k sent, 80 received.  \n> Applied edit to ferry.py  \n
#### /exit  \n
# aider chat started at 2025-03-04 10:00:00

> Aider v0.80.0  \n
#### thanks  \n
You are welcome.
"""


def said(got):
    return [(m.role, m.author, m.text) for m in got.messages]


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_is_known_and_read(read, name):
    text, messages = CHATS[name]
    for source in (text, text.replace("\n", "\r\n")):
        got = read(source, name="a.md")
        assert got.format == "markdown"
        assert [(r, a, t.replace("\r\n", "\n")) for r, a, t in said(got)] == messages
        assert got.problems == []
        assert len(got.sessions) == 1


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_stays_one(read, name):
    text = DOCUMENTS[name]
    assert markdown.matches(DocumentHead("a.md", text, False)) < 0.5
    # Some are another format's: a mail is one.
    if text.strip():
        with suppress(InputError):
            assert read(text, name="a.md").format != "markdown"


def test_there_are_enough_of_both():
    assert len(CHATS) > 30
    assert len(DOCUMENTS) > 50


def test_a_readme_is_none_even_where_it_looks_like_one():
    text = CHATS["headings"][0]
    assert markdown.matches(DocumentHead("x/a.md", text, False)) > 0.5
    assert markdown.matches(DocumentHead("x/README.md", text, False)) < 0.5


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("ANA: Where?\nBEN: Gone.\n", [("user", "ANA", "Where?"), ("user", "BEN", "Gone.")]),
        ("**Ana:** hi\n", [("user", "Ana", "hi")]),
        ("User: hi\nAssistant: hello\n", [("user", None, "hi"), ("assistant", None, "hello")]),
        (
            "[31/12/2024, 10:00:00] Ana: x\n[31/12/2024, 10:00:01] Ben: y\n",
            [("user", "Ana", "x"), ("user", "Ben", "y")],
        ),
        ("<ana> hi\n<ben> hey\n", [("user", "ana", "hi"), ("user", "ben", "hey")]),
        ("**Q:** Free?\n**A:** Yes.\n", [("user", "Q", "Free?"), ("user", "A", "Yes.")]),
        (DOCUMENTS["a screenplay"], [
            ("system", None, "INT. PIER"),
            ("user", "ANA", "Where is it?"),
            ("user", "BEN", "Gone."),
            ("user", "ANA", "I see!"),
            ("user", "BEN", "Yes."),
        ]),
    ],
)  # fmt: skip
def test_what_detection_is_unsure_of_is_read_when_told(read, text, messages):
    assert said(read(text, forced="markdown")) == messages


def test_a_text_without_turns(read):
    got = read("just\nwords\n", forced="markdown")
    assert (got.messages, got.problems, len(got.notes)) == ([], [], 1)


def test_times(read):
    got = read(CHATS["prompt and response"][0], name="a.md")
    assert [m.sent_at for m in got.messages[1:3]] == [
        datetime(2025, 10, 17, 22, 3, 13),
        datetime(2025, 10, 17, 22, 3, 20),
    ]
    assert got.sessions[0].external_id == "markdown:0f9a4c8e-1111-4222-8333-abcdefabcdef"
    assert got.sessions[0].title == "Ferries"
    got = read(CHATS["bold alone"][0], name="a.md")
    assert [m.sent_at for m in got.messages] == [
        datetime(2025, 11, 6, 12, 1, tzinfo=UTC),
        None,
        datetime(2025, 11, 6, 12, 5, tzinfo=UTC),
    ]
    got = read(CHATS["asked and response"][0], name="a.md")
    assert got.messages[0].sent_at == datetime(2025, 2, 3, 10, 11, 12)
    got = read(CHATS["bold with times"][0], name="a.md")
    assert [m.sent_at.hour for m in got.messages] == [21, 21, 21]
    got = read(CHATS["name and time in brackets"][0], name="a.md")
    assert got.messages[0].sent_at == datetime(2024, 3, 15, 18, 37, tzinfo=UTC)
    got = read('#### You:\n\n<time datetime="2025-01-02T03:04:05.000Z">3:04</time>\n\nWhy?\n\n#### ChatGPT:\n\nSo.\n')
    assert (got.messages[0].sent_at, got.texts) == (datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), ["Why?", "So."])


@pytest.mark.parametrize(
    ("above", "name", "expected"),
    [
        ("", "a.md", None),
        ("", "2024-03-15-ferries.md", datetime(2024, 3, 15)),
        ("# Ferries\n\n**Created:** 10/17/2025 22:03:13\n\n", "2024-03-15.md", datetime(2025, 10, 17, 22, 3, 13)),
        ("date: 2025-01-14T09:30:00Z\n\n", "a.md", datetime(2025, 1, 14, 9, 30, tzinfo=UTC)),
        ("# Ferries\n\nDate: March 15, 2024\n\n", "a.md", datetime(2024, 3, 15)),
        ("Created: soon\n\n", "a.md", None),
    ],
)
def test_the_time_of_a_conversation_without_times(read, above, name, expected):
    got = read(above + CHATS["bold labels"][0], name=name)
    assert got.sessions[0].created_at == expected
    assert [m.sent_at for m in got.messages] == [None] * len(got.messages)


def test_the_day_of_a_clock(read):
    text = CHATS["bold with dashes"][0].replace("09:17", "00:02")
    assert [m.sent_at for m in read(text, name="x/2024-02-28-notes.md").messages] == [
        datetime(2024, 2, 28, 9, 15),
        datetime(2024, 2, 28, 9, 16),
        datetime(2024, 2, 29, 0, 2),
    ]
    got = read(text, name="notes.md")
    assert [m.sent_at for m in got.messages] == [None] * 3
    assert len(got.notes) == 1
    got = read("## 2024-05-06\n" + text + "### Tuesday, May 7, 2024\n**Ben** 08:00 - up\n", name="2020-01-01.md")
    assert [m.sent_at.day for m in got.messages] == [6, 6, 7, 7]
    # On a clock of twelve hours, one o'clock follows noon.
    text = "**Ana** 11:50 - a\n**Ben** 12:10 - b\n**Ana** 1:05 - c\n"
    assert [m.sent_at.day for m in read(text, name="2024-02-28.md").messages] == [28, 28, 28]


def test_day_or_month_first(read):
    got = read("Ana, 2/3/2024 18:37: x\nBen, 2/3/2024 18:38: y\nAna, 14/3/2024 18:39: z\n", name="a.txt")
    assert [(m.sent_at.day, m.sent_at.month) for m in got.messages] == [(2, 3), (2, 3), (14, 3)]
    got = read("Ana, 2/3/2024 18:37: x\nBen, 3/4/2024 18:38: y\nAna, 4/5/2024 18:39: z\n", name="a.txt")
    assert [n.where for n in got.notes] == ["line 1"]


def test_a_conversation_keeps_its_id(read):
    text = CHATS["headings"][0]
    ids = {
        read(source, name=name).sessions[0].external_id
        for source, name in (
            (text, "a.md"),
            (text.replace("# Ferries", "# Another title"), "b/c.md"),
            (text + "\n## Assistant\n\nWelcome.\n", "a (1).md"),
            (text.replace("\n", "\r\n"), "a.md"),
        )
    }
    assert len(ids) == 1
    other = text.replace("At nine.", "At ten.")
    assert read(other, name="a.md").sessions[0].external_id not in ids


def test_aider(read):
    got = read(AIDER, name=".aider.chat.history.md")
    assert got.format == "markdown"
    assert [(s.title, s.created_at) for s in got.sessions] == [
        ("make the timetable sorted", datetime(2025, 3, 4, 9, 15)),
        ("thanks", datetime(2025, 3, 4, 10)),
    ]
    assert [(m.role, m.text) for m in got.messages] == [
        ("system", "/usr/bin/aider --model m\nAider v0.80.0\nAdded ferry.py to the chat."),
        ("user", "make the timetable sorted\nby departure"),
        (
            "assistant",
            "I will sort it.\n\n#### Notes on sorting\n\n> A quotation.\n\n```python\n"
            "# aider is not started here\n"
            "#### nor is this a question  \nrows.sort()\n```",
        ),
        ("system", "Tokens: 1.2k sent, 80 received.\nApplied edit to ferry.py"),
        ("user", "/exit"),
        ("system", "Aider v0.80.0"),
        ("user", "thanks"),
        ("assistant", "You are welcome."),
    ]
    assert got.messages[3].metadata == {"files": ["ferry.py"]}
    longer = read(AIDER + "\n#### more  \n\nSure.\n", name="history.md")
    assert [s.external_id for s in longer.sessions] == [s.external_id for s in got.sessions]
    assert longer.messages[-1].text == "Sure."


def test_aider_without_line_breaks(read):
    text = (
        "# aider chat started at 2026-05-18\n> Tokens: 1.2k sent\n#### add a guard\nHere:\n```go\n> quote\n```\nDone.\n"
    )
    got = read(text)
    assert [(m.role, m.text) for m in got.messages] == [
        ("system", "Tokens: 1.2k sent"),
        ("user", "add a guard"),
        ("assistant", "Here:\n```go\n> quote\n```\nDone."),
    ]


@pytest.mark.parametrize("name", [*CHATS, "aider"])
def test_cut_anywhere(read, name):
    data = (AIDER if name == "aider" else CHATS[name][0]).encode()
    for cut in range(0, len(data), 11):
        read(data[:cut] + b"\xff\x00", forced="markdown")


def test_bytes_and_encodings(read):
    text = CHATS["bold labels"][0].replace("Why?", "Größe?")
    assert read(text.encode("cp1252"), name="a.md").texts[0] == "Größe?"
    assert read(text.encode("utf-16"), name="a.md").texts[0] == "Größe?"
    got = read(text.encode() + b"\xff\xff", name="a.md")
    assert [p.where for p in got.problems] == ["line 10"]


def test_collected_samples(read, exports):
    base = exports / "plaintext" / "gbrain"
    expected = {
        "2024-03-15-imessage-001.md": (5, "morning", "you?", datetime(2024, 3, 15, 9, 0)),
        "2024-03-15-imessage-time-only-12h-001.md": (4, "morning", "good night", datetime(2024, 3, 15, 9, 4)),
        "2026-04-10-bold-time-dash-002.md": (3, "ASCII separator", "Unicode em dash", datetime(2026, 4, 10, 7, 5)),
        "2026-05-24-telegram-bracket-001.md": (4, "hello world", "good", datetime(2026, 5, 24, 18, 37)),
        "2026-05-28-bold-name-no-time-001.md": (
            4,
            "Okay, start on. And then weirdly like zoom doesn’t work.",
            "Okay, let me.",
            None,
        ),
        "2026-05-28-chatgpt-export-you-chatgpt-001.md": (
            4,
            "What is the capital of France?",
            "You are welcome! Let me know if you have any other questions.",
            None,
        ),
        "2026-08-01-markdown-heading-turn-basic.md": (3, "What is the deploy command?", "Thanks.", None),
    }
    for name, (count, first, last, begun) in expected.items():
        got = read(base / name)
        assert (got.format, len(got.messages)) == ("markdown", count)
        assert (got.texts[0], got.texts[-1]) == (first, last)
        assert got.messages[0].sent_at == begun
        assert got.problems == got.notes == []
    got = read(base / "2024-03-15-imessage-time-only-12h-001.md")
    assert got.messages[-1].sent_at == datetime(2024, 3, 16, 22, 7)
    got = read(base / "2026-05-28-chatgpt-export-you-chatgpt-001.md")
    assert got.roles == ["user", "assistant"] * 2
    assert got.texts[1].endswith("the Louvre Museum.")
    got = read(exports / "teams" / "gbrain" / "2024-03-15-teams-export-001.txt")
    assert (got.format, [m.author for m in got.messages]) == ("markdown", ["Alice Example", "Bob Example"] * 2)
    assert got.messages[-1].sent_at == datetime(2024, 3, 15, 18, 40)
    assert got.texts[-1] == "works for me"
    got = read(base / "2024-03-15-irc-classic-001.txt", forced="markdown")
    assert [m.author for m in got.messages] == ["alice", "bob"] * 2


def test_other_formats_samples_are_left_alone(exports):
    for path in sorted(exports.rglob("*")):
        if path.is_file() and not {"plaintext", "teams"} & set(path.parts):
            text = path.read_bytes()[:65536].decode("utf-8", "replace")
            assert markdown.matches(DocumentHead(path.as_posix(), text, False)) <= 0.5, path
