"""Discord besides JSON: text files, tables and pages of DiscordChatExporter, and Discord's data package."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from appliance.ingest.sources import DetectedDocument, detect_documents
from appliance.types import MessageRecord, SessionRecord

RULE = "=" * 62
TEXT = f"""{RULE}
Guild: Allotments
Channel: Talk / roses
Topic: all about roses
{RULE}

[7/12/2025 3:50 AM] ana
who has
the spade?

[7/13/2025 3:51 AM] ben#1234 (pinned)
here it is

{{Attachments}}
https://cdn.e.org/1/spade.png?ex=1

{{Reactions}}
👍 (2) 🌱

[7/13/2025 4:00 AM] Rain

{{Embed}}
Forecast
Dry

{RULE}
Exported 3 message(s)
{RULE}
"""


def test_a_text_file(read):
    got = read(TEXT, name="Allotments - roses [55000000000000000].txt")
    assert (got.format, got.sessions[0].external_id, got.sessions[0].title) == ("discord", "55000000000000000", "roses")
    assert got.sessions[0].metadata == {"guild": "Allotments"}
    assert [(m.author, m.text) for m in got.messages] == [
        ("ana", "who has\nthe spade?"), ("ben#1234", "here it is"), ("Rain", "Forecast\nDry"),
    ]  # fmt: skip
    assert got.messages[0].sent_at == datetime(2025, 7, 12, 3, 50)
    assert got.messages[1].metadata == {
        "attachments": [{"name": "spade.png"}],
        "reactions": [{"emoji": "👍", "count": 2}, {"emoji": "🌱", "count": 1}],
    }
    assert got.problems == []


@pytest.mark.parametrize(
    ("first", "second", "when"),
    [
        ("15-Jan-24 10:30 AM", "15-Jan-24 10:31 PM", datetime(2024, 1, 15, 10, 30)),
        ("15.01.2024 10:30", "15.01.2024 22:31", datetime(2024, 1, 15, 10, 30)),
        ("2024-01-15 10:30", "2024-01-15 22:31", datetime(2024, 1, 15, 10, 30)),
        ("01/15/2024 10:30 AM", "01/15/2024 10:31 PM", datetime(2024, 1, 15, 10, 30)),
    ],
)
def test_times_of_text_files(read, first, second, when):
    text = f"{RULE}\nGuild: A\nChannel: b\n{RULE}\n\n[{first}] ana\nhi\n\n[{second}] ben\nho\n"
    got = read(text)
    assert [m.text for m in got.messages] == ["hi", "ho"]
    assert got.messages[0].sent_at == when


def test_a_table(read):
    text = (
        'AuthorID,Author,Date,Content,Attachments,Reactions\n"71","ana#0","2024-01-15T10:30:00.5+02:00",'
        '"so, ""he"" said\nthis","https://e.org/a.png,https://e.org/b.png","👍 (3),🌱 (1)"\n'
        '"72","ben","15-Jan-24 01:33 PM","ok","",""\n'
    )
    got = read(text, name="roses [55000000000000000].csv")
    assert got.format == "discord"
    assert [(m.author, m.text) for m in got.messages] == [("ana#0", 'so, "he" said\nthis'), ("ben", "ok")]
    assert got.messages[0].sent_at == datetime(2024, 1, 15, 8, 30, 0, 500000, UTC)
    assert got.messages[0].metadata["attachments"] == [{"name": "a.png"}, {"name": "b.png"}]
    assert got.messages[0].metadata["reactions"] == [{"emoji": "👍", "count": 3}, {"emoji": "🌱", "count": 1}]
    assert got.messages[1].sent_at == datetime(2024, 1, 15, 13, 33)


def page_message(number: int, head: str, body: str) -> str:
    return (
        f'<div id="chatlog__message-container-{number}" class="chatlog__message-container" data-message-id="{number}">'
        f'<div class="chatlog__message"><div class="chatlog__message-primary">{head}{body}</div></div></div>'
    )


def test_a_page(read):
    header = (
        '<div class="chatlog__header"><span class="chatlog__author" title="ana" data-user-id="71">Ana</span>'
        '<span class="chatlog__timestamp" title="Monday, January 15, 2024 10:30 AM"><a>1/15/2024 10:30 AM</a></span>'
        "</div>"
    )
    short = '<div class="chatlog__short-timestamp" title="Monday, January 15, 2024 10:31 AM">10:31 AM</div>'
    text = '<div class="chatlog__content"><span class="chatlog__markdown-preserve">{}</span>{}</div>'
    edited = '<span class="chatlog__edited-timestamp" title="x">(edited)</span>'
    notice = (
        '<span class="chatlog__system-notification-author" data-user-id="72">Ben</span>'
        '<span class="chatlog__system-notification-content"><span>joined the server.</span></span>'
        '<span class="chatlog__system-notification-timestamp" title="Monday, January 15, 2024 10:40 AM"><a>x</a></span>'
    )
    file = '<div class="chatlog__attachment"><a href="roses_Files/a.png"><img src="roses_Files/a.png"></a></div>'
    groups = [
        page_message(1, header, text.format("hi &amp; <strong>welcome</strong><br>to all", "")) +
        page_message(2, short, text.format("again", edited) + file),
        page_message(3, "", notice),
    ]  # fmt: skip
    page = (
        '<!DOCTYPE html><html lang="en"><head><title>A - roses</title></head><body><div class="preamble">'
        '<div class="preamble__entry">A</div><div class="preamble__entry">Talk / roses</div></div><div class="chatlog">'
        + "".join(f'<div class="chatlog__message-group">{group}</div>' for group in groups)
        + "</div></body></html>"
    )
    got = read(page, name="A - Talk - roses [55000000000000000].html")
    assert (got.format, got.sessions[0].title, got.sessions[0].metadata) == ("discord", "roses", {"guild": "A"})
    assert [(m.role, m.author, m.text, m.external_id) for m in got.messages] == [
        ("user", "Ana", "hi & welcome\nto all", "1"),
        ("user", "Ana", "again", "2"),
        ("system", "Ben", "joined the server.", "3"),
    ]
    assert [m.sent_at for m in got.messages] == [datetime(2024, 1, 15, 10, minute) for minute in (30, 31, 40)]
    assert got.messages[1].metadata == {"attachments": [{"name": "a.png"}], "edited": True}


def test_an_old_page_has_one_header_for_several_messages(read):
    group = (
        '<div class="chatlog__message-group"><div class="chatlog__messages">'
        '<span class="chatlog__author-name" title="ana#1" data-user-id="71">Ana</span>'
        '<span class="chatlog__timestamp">15-Jan-24 10:30 AM</span>'
        '<div class="chatlog__message" data-message-id="1"><div class="chatlog__content">one</div></div>'
        '<div class="chatlog__message" data-message-id="2"><div class="chatlog__content">two</div></div></div></div>'
    )
    got = read(f"<!DOCTYPE html><html><body>{group}</body></html>", name="old.html")
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [
        ("Ana", "one", datetime(2024, 1, 15, 10, 30)), ("Ana", "two", datetime(2024, 1, 15, 10, 30)),
    ]  # fmt: skip


@pytest.mark.parametrize("kind", ["json", "csv"])
def test_the_data_package(tmp_path, kind):
    folder = tmp_path / "messages" / "c55000000000000000"
    folder.mkdir(parents=True)
    (folder / "channel.json").write_text(json.dumps({"id": "55", "type": 0, "name": "roses", "guild": {"name": "A"}}))
    rows = [{"ID": 9001, "Timestamp": "2023-01-15 10:30:00", "Contents": "hello, all", "Attachments": ""}]
    table = 'ID,Timestamp,Contents,Attachments\n9001,2023-01-15 10:30:00.123000+00:00,"hello, all",\n'
    (folder / f"messages.{kind}").write_text(json.dumps(rows) if kind == "json" else table)
    found = [d for d in detect_documents([tmp_path], me="Ana") if isinstance(d, DetectedDocument)]
    assert [d.format for d in found] == ["discord"]
    records = list(found[0].parser.parse(found[0].document))
    session = next(r for r in records if isinstance(r, SessionRecord))
    message = next(r for r in records if isinstance(r, MessageRecord))
    assert (session.external_id, session.title, session.metadata) == ("55000000000000000", "roses", {"guild": "A"})
    assert (message.author, message.text, message.external_id) == ("Ana", "hello, all", "9001")
    assert message.sent_at.replace(tzinfo=None, microsecond=0) == datetime(2023, 1, 15, 10, 30)
