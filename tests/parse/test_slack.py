"""Slack: channels of days, names from beside them, threads, events, bots."""

from __future__ import annotations

import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from appliance.formats import parser_of
from appliance.ingest.sources import UnreadSource, detect_documents
from appliance.types import InputProblem, MessageRecord, SessionRecord
from tests.parse.conftest import Reading, document_of, reading_of

USERS = [
    {"id": "U1", "name": "ana", "profile": {"display_name": "Ana", "real_name": "Ana Gil"}},
    {"id": "U2", "name": "ben", "profile": {"display_name": "", "real_name": "Ben Orr"}},
    {"id": "U3", "name": "cleo", "profile": {}},
]
CHANNELS = [{"id": "C1", "name": "garden", "created": 1700000000}, {"id": "C2", "name": "shed"}]
DMS = [{"id": "D1", "created": 1700000000, "members": ["U1", "U2"]}]
DAY = [
    {"type": "message", "subtype": "channel_join", "ts": "1700000001.000100", "user": "U2", "text": "<@U2> joined"},
    {
        "client_msg_id": "x",
        "type": "message",
        "user": "U1",
        "text": "Who waters on <!date^1700^{date}|Monday>? <@U2> &amp; <@U9|zoe>, see <#C2> &lt;3",
        "ts": "1700000002.000200",
        "thread_ts": "1700000002.000200",
        "reply_count": 1,
        "reactions": [{"name": "seedling", "users": ["U2", "U3"], "count": 2}],
        "blocks": [{"type": "rich_text", "elements": []}],
    },
    {
        "type": "message",
        "user": "U2",
        "text": "I do: <https://example.org/plan|the plan> <https://example.org>",
        "ts": "1700000003.000300",
        "thread_ts": "1700000002.000200",
        "edited": {"user": "U2", "ts": "1700000009.000000"},
        "files": [{"id": "F1", "name": "list.txt", "mode": "snippet", "preview": "hose\ncan"}, {"name": "bed.jpg"}],
    },
    {"type": "message", "user": "U3", "ts": "1700000004.000400", "files": [{"name": "rose.png"}]},
    {
        "type": "message",
        "subtype": "bot_message",
        "bot_id": "B1",
        "username": "Rain",
        "text": "",
        "ts": "1700000005.000500",
        "attachments": [
            {"fallback": "no", "title": "Forecast", "text": "Dry <@U1>", "fields": [{"title": "Wind", "value": "3"}]}
        ],
    },
    {
        "type": "message",
        "user": "U4",
        "text": "look",
        "ts": "1700000006.000600",
        "user_profile": {"display_name": "", "real_name": "Dora Guest", "name": "dora"},
        "attachments": [
            {"from_url": "https://example.org", "title": "A page", "text": "preview"},
            {"is_msg_unfurl": True, "from_url": "https://x", "author_name": "Ben Orr", "text": "the words shared"},
        ],
    },
    {
        "type": "message",
        "subtype": "tombstone",
        "user": "USLACKBOT",
        "text": "This message was deleted.",
        "ts": "1700000007.000700",
        "hidden": True,
    },
    {"type": "message", "subtype": "me_message", "user": "U1", "text": "digs", "ts": "1700000008.000800"},
    {
        "type": "message",
        "subtype": "file_comment",
        "text": "<@U3|cleo> commented on <@U1|ana>’s file: fine",
        "ts": "1700000009.000900",
    },
    {"type": "message", "user": "U1", "text": "", "ts": "1700000010.001000"},
]


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    root = tmp_path / "export"
    files = {
        "users.json": USERS,
        "channels.json": CHANNELS,
        "dms.json": DMS,
        "integration_logs.json": [{"user_id": "U1", "change_type": "added", "date": "1700000000"}],
        "garden/2023-11-14.json": DAY,
        "garden/2023-11-15.json": [
            {
                "type": "message",
                "user": "U1",
                "text": "Thanks",
                "ts": "1700090000.000100",
                "thread_ts": "1700000002.000200",
            }
        ],
        "D1/2023-11-14.json": [{"type": "message", "user": "U2", "text": "psst", "ts": "1700000002.000200"}],
    }
    for name, data in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(json.dumps(data))
    return root


def readings(path: Path) -> tuple[dict[str, Reading], list[UnreadSource]]:
    found = {}
    passed = []
    for item in detect_documents([path]):
        if isinstance(item, UnreadSource):
            passed.append(item)
        else:
            assert item.format == "slack"
            found["/".join(item.document.name.split("/")[-2:])] = reading_of(item.document)
    return found, passed


def test_a_workspace(workspace):
    found, passed = readings(workspace)
    assert {p.path.rpartition("/")[2] for p in passed} == {
        "users.json",
        "channels.json",
        "dms.json",
        "integration_logs.json",
    }
    assert {p.status for p in passed} == {"skipped"}
    got = found["garden/2023-11-14.json"]
    assert got.sessions == [SessionRecord("C1", "garden", datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC))]
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", "Ben Orr", "@Ben Orr joined"),
        ("user", "Ana", "Who waters on Monday? @Ben Orr & @zoe, see #shed <3"),
        (
            "user",
            "Ben Orr",
            "I do: the plan (https://example.org/plan) https://example.org\n\n[attachment: list.txt]\nhose\ncan",
        ),
        ("user", "cleo", "[attachment: rose.png]"),
        ("user", "Rain", "Forecast\nDry @Ana\nWind: 3"),
        ("user", "Dora Guest", "look\n\n[attachment: Ben Orr]\nthe words shared"),
        ("system", "USLACKBOT", "This message was deleted."),
        ("user", "Ana", "digs"),
        ("user", "cleo", "@cleo commented on @Ana’s file: fine"),
    ]
    _, question, answer, *_ = got.messages
    assert question.external_id == "1700000002.000200"
    assert question.sent_at == datetime(2023, 11, 14, 22, 13, 22, 200, tzinfo=UTC)
    assert question.reply_to is None
    assert question.metadata == {
        "reactions": [{"emoji": "seedling", "by": "Ben Orr"}, {"emoji": "seedling", "by": "cleo"}]
    }
    assert answer.reply_to == "1700000002.000200"
    assert answer.metadata == {
        "attachments": [{"name": "list.txt", "text": "hose\ncan"}, {"name": "bed.jpg"}],
        "edited": True,
    }
    assert got.messages[6].metadata == {"deleted": True}
    assert got.problems == []
    assert [n.message for n in got.notes] == ["skipped 1 record without text (message)"]


def test_the_days_of_a_channel_are_one_session_and_a_reply_finds_its_parent_of_another_day(workspace):
    found, _ = readings(workspace)
    assert found["garden/2023-11-15.json"].sessions == found["garden/2023-11-14.json"].sessions
    assert found["garden/2023-11-15.json"].messages[0].reply_to == "1700000002.000200"
    direct = found["D1/2023-11-14.json"]
    assert [(s.external_id, s.title) for s in direct.sessions] == [("D1", "Ana, Ben Orr")]


def test_a_zip_gives_the_same_as_its_folder_and_a_renamed_channel_stays_the_same(workspace, tmp_path):
    path = tmp_path / "export.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(workspace.rglob("*.json")):
            archive.write(file, f"Team export/{file.relative_to(workspace)}")
    folder, zipped = readings(workspace)[0], readings(path)[0]
    assert {n: (r.sessions, r.messages) for n, r in folder.items()} == {
        n: (r.sessions, r.messages) for n, r in zipped.items()
    }
    (workspace / "garden").rename(workspace / "allotment")
    (workspace / "channels.json").write_text(json.dumps([CHANNELS[0] | {"name": "allotment"}]))
    renamed = readings(workspace)[0]["allotment/2023-11-15.json"]
    assert [(s.external_id, s.title) for s in renamed.sessions] == [("C1", "allotment")]
    assert renamed.messages[0].external_id == folder["garden/2023-11-15.json"].messages[0].external_id


def test_a_day_alone_is_known_by_its_folder_or_its_first_message(read):
    got = read(json.dumps(DAY), name="garden/2023-11-14.json")
    assert [(s.external_id, s.title) for s in got.sessions] == [("slack:garden", "garden")]
    assert got.messages[1].author == "U1"
    alone = [read(json.dumps(DAY), name=name).sessions[0].external_id for name in ("a.json", "b.json")]
    assert alone[0] == alone[1]


def test_words_only_in_blocks(read):
    section = {
        "type": "rich_text_section",
        "elements": [
            {"type": "text", "text": "Hello "},
            {"type": "user", "user_id": "U7"},
            {"type": "emoji", "name": "wave"},
            {"type": "link", "url": "https://e.org", "text": "here"},
        ],
    }
    blocks = [
        {"type": "rich_text", "elements": [section]},
        {"type": "section", "text": {"type": "mrkdwn", "text": "a &amp; b"}},
    ]
    got = read(json.dumps([{"type": "message", "user": "U1", "ts": "1700000000.000100", "blocks": blocks}]))
    assert got.texts == ["Hello @U7:wave:here (https://e.org)\na & b"]


def test_the_same_message_twice_is_one_and_two_under_one_id_are_two(read):
    one = {"type": "message", "user": "U1", "text": "one", "ts": "1700000000.000100"}
    got = read(json.dumps([one, one, one | {"text": "other"}]))
    assert [(m.external_id, m.text) for m in got.messages] == [("1700000000.000100", "one"), (None, "other")]
    assert len(got.notes) == 2 and got.problems == []


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [3], {}, {"a": 1}, True, 1e400])
@pytest.mark.parametrize("key", sorted({key for message in DAY for key in message}))
def test_wrong_types_cost_only_their_place(key, wrong):
    last = {"type": "message", "user": "U1", "text": "last", "ts": "1700000099.000100"}
    data = json.dumps([message | {key: wrong} for message in DAY] + [last]).encode()
    records = list(parser_of("slack").parse(document_of(data)))
    assert [r.text for r in records if isinstance(r, MessageRecord)][-1] == "last"


def test_records_that_are_no_messages(read):
    good = {"type": "message", "user": "U1", "text": "kept", "ts": "1700000000.000100"}
    got = read(json.dumps([good, 3, "x", ["y"], {}, {"type": "event"}, good | {"ts": "soon"}]), forced="slack")
    assert [(m.text, m.sent_at is None) for m in got.messages] == [("kept", False), ("kept", True)]
    assert got.problems[-1].message == "the ts 'soon' is no time; imported without a time"


def test_cut_anywhere_every_whole_message_is_kept():
    data = json.dumps(DAY).encode()
    whole = [r.text for r in parser_of("slack").parse(document_of(data)) if isinstance(r, MessageRecord)]
    for cut in range(0, len(data), 50):
        records = list(parser_of("slack").parse(document_of(data[:cut])))
        texts = [r.text for r in records if isinstance(r, MessageRecord)]
        # What a name is may be lost with the profile that says it, never words.
        assert texts == whole[: len(texts)]
        assert len(texts) >= data[:cut].count(b'"ts": "17000000') - 3
        assert cut == 0 or any(isinstance(r, InputProblem) and not r.harmless for r in records)


def test_newest_first_is_kept_as_it_is(read):
    day = [{"type": "message", "user": "U1", "text": str(n), "ts": f"170000000{n}.000100"} for n in range(9, 0, -1)]
    got = read(json.dumps(day))
    assert sorted(got.messages, key=lambda m: m.sent_at)[0].text == "1" and len(got.messages) == 9


def test_other_lists_are_no_channel(read):
    for data in (USERS, CHANNELS, DMS, [{"type": "message", "id": "m", "content": "x"}]):
        with pytest.raises(Exception, match="not recognised"):
            read(json.dumps(data))


def test_collected_samples(exports):
    found, passed = readings(exports / "slack" / "langchain-community" / "slack_export.zip")
    assert {p.path.rpartition("/")[2] for p in passed} == {"channels.json", "integration_logs.json", "users.json"}
    assert {
        name: ([(s.external_id, s.title) for s in got.sessions], [(m.role, m.author, m.text) for m in got.messages])
        for name, got in found.items()
    } == {
        "example-channel/2023-04-13.json": (
            [("C0535BV3C6P", "example-channel")],
            [
                ("system", "Example User", "@Example User has joined the channel"),
                ("user", "Example User", "Example message"),
            ],
        ),
        "general/2023-04-13.json": (
            [("C05019B47SB", "general")],
            [("user", "Example User", "Hello, world!"), ("user", "Example User", "Example in general")],
        ),
        "random/2023-04-13.json": ([("C050FR57M8S", "random")], [("user", "Example User", "Example random message")]),
    }
    assert all(got.problems == got.notes == [] for got in found.values())


def test_a_channel_of_slackdump_is_one_object_with_its_threads(read):
    first = {"type": "message", "user": "U1", "text": "who has the key?", "ts": "1736478630.905399",
             "thread_ts": "1736478630.905399", "user_profile": {"display_name": "Ana"}}  # fmt: skip
    reply = {"type": "message", "user": "U2", "text": "I", "ts": "1736554746.482349", "thread_ts": first["ts"]}
    last = {"type": "message", "user": "U1", "text": "thanks", "ts": "1736554750.000100"}
    channel = {"channel_id": "C01", "name": "boats", "messages": [first | {"slackdump_thread_replies": [reply]}, last]}
    got = read(json.dumps(channel), name="C01.json")
    assert (got.format, got.sessions[0].external_id, got.sessions[0].title) == ("slack", "C01", "boats")
    assert [(m.author, m.text) for m in got.messages] == [("Ana", "who has the key?"), ("U2", "I"), ("Ana", "thanks")]
    assert got.messages[1].reply_to == first["ts"]


def test_a_single_message_is_read(read):
    got = read(json.dumps({"type": "message", "text": "up", "ts": "1736478630.905399", "bot_id": "B1"}), name="m.json")
    assert (got.format, got.texts) == ("slack", ["up"])
