"""Discord channels, as DiscordChatExporter writes them."""

from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest

from appliance.formats import parser_of, read_head
from appliance.types import InputProblem, MessageRecord, SessionRecord
from tests.parse.conftest import document_of


def message(number: int, **more: object) -> dict:
    return {
        "id": f"90000000000000000{number}",
        "type": "Default",
        "timestamp": f"2024-05-01T12:00:0{number}.5+02:00",
        "timestampEdited": None,
        "callEndedTimestamp": None,
        "isPinned": False,
        "content": f"message {number}",
        "author": {"id": "71", "name": "ana", "discriminator": "0000", "nickname": "Ana", "isBot": False},
        "attachments": [],
        "embeds": [],
        "stickers": [],
        "reactions": [],
        "mentions": [],
    } | more


BOT = {"id": "79", "name": "Rain", "nickname": None, "isBot": True}
EMBED = {
    "title": "Forecast",
    "description": "Dry",
    "fields": [{"name": "Wind", "value": "3"}],
    "footer": {"text": "met"},
}
MESSAGES = [
    message(1, type="GuildMemberJoin", content="Joined the server."),
    message(2, content="hi <@72> and <@!72>", mentions=[{"id": "72", "name": "ben", "nickname": "Ben"}]),
    message(3, type="Reply", author={"id": "72", "name": "ben"}, timestampEdited="2024-05-01T12:01:00+02:00",
            reference={"messageId": "900000000000000002", "channelId": "55", "guildId": "5"},
            reactions=[{"emoji": {"id": None, "name": "🌱"}, "count": 3, "users": [{"id": "71", "nickname": "Ana"}]}]),
    message(4, content="", attachments=[{"id": "1", "url": "https://c/x/rose.png", "fileName": "rose.png"}],
            stickers=[{"name": "Wave"}]),
    message(5, content="", author=BOT, embeds=[EMBED]),
    message(6, content="now:", author=BOT, embeds=[EMBED]),
    message(7, content="see https://e.org", embeds=[{"title": "A page", "description": "preview"}]),
    message(8, content="", reference={"messageId": "1", "channelId": "56"}, forwardedMessage={"content": "from there"}),
    message(9, content=""),
]  # fmt: skip
CHANNEL = {
    "guild": {"id": "5", "name": "Allotments", "iconUrl": "x"},
    "channel": {"id": "55", "type": "GuildTextChat", "categoryId": "54", "category": "Talk", "name": "roses"},
    "dateRange": {"after": None, "before": None},
    "exportedAt": "2024-06-01T00:00:00+00:00",
    "messages": MESSAGES,
    "messageCount": 3,
}


def test_a_channel(read):
    got = read(json.dumps(CHANNEL, indent=2))
    assert got.format == "discord"
    assert got.sessions == [SessionRecord("55", "roses", None, {"guild": "Allotments"})]
    shown = "Forecast\nDry\nWind: 3\nmet"
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", "Ana", "Joined the server."),
        ("user", "Ana", "hi @Ben and @Ben"),
        ("user", "ben", "message 3"),
        ("user", "Ana", "[attachment: rose.png]\n\n[attachment: Wave]"),
        ("user", "Rain", shown),
        ("user", "Rain", f"now:\n\n[attachment: embed]\n{shown}"),
        ("user", "Ana", "see https://e.org"),
        ("user", "Ana", "from there"),
    ]
    reply = got.messages[2]
    assert reply.sent_at == datetime(2024, 5, 1, 10, 0, 3, 500_000, tzinfo=UTC)
    assert (reply.external_id, reply.reply_to) == ("900000000000000003", "900000000000000002")
    assert reply.metadata == {"reactions": [{"emoji": "🌱", "by": "Ana"}, {"emoji": "🌱", "count": 2}], "edited": True}
    assert (got.messages[7].reply_to, got.messages[7].metadata) == (None, {"forwarded": True})
    assert got.problems == []
    assert [n.message for n in got.notes] == ["skipped 1 message without text (type Default)"]


def test_a_direct_conversation_and_a_poll(read):
    poll = {"question": {"text": "When?"}, "answers": [{"id": 1, "text": "Now"}, {"id": 2, "text": "Later"}]}
    data = CHANNEL | {
        "guild": {"id": "0", "name": "Direct Messages"},
        "channel": {"id": "8", "type": "DirectTextChat", "name": "Ben"},
        "messages": [message(1, content="", poll=poll)],
    }
    got = read(json.dumps(data))
    assert got.sessions == [SessionRecord("8", "Ben")]
    assert got.texts == ["When?\n- Now\n- Later"]


def test_a_renamed_channel_stays_the_same(read):
    later = CHANNEL | {"channel": {"id": "55", "name": "thorns"}, "guild": {"name": "Other"}}
    one, two = read(json.dumps(CHANNEL)), read(json.dumps(later))
    assert one.sessions[0].external_id == two.sessions[0].external_id
    assert [m.external_id for m in one.messages] == [m.external_id for m in two.messages]


def test_ids_that_are_there_twice(read):
    data = CHANNEL | {"messages": [message(1), message(2), message(1), message(2, content="other"), message(3)]}
    got = read(json.dumps(data))
    assert [m.text for m in got.messages] == ["message 1", "message 2", "other", "message 3"]
    assert got.messages[2].external_id is None


def test_newest_first_and_without_times(read):
    data = CHANNEL | {"messages": [message(3), message(2, timestamp=None), message(1, timestamp="soon")]}
    got = read(json.dumps(data))
    assert [m.sent_at is None for m in got.messages] == [False, True, True]
    assert [n.message for n in got.notes] == ["the time 'soon' can't be read; left open"]


@pytest.mark.parametrize("wrong", [None, 5, "x", [], [3], {}, {"a": 1}, True, 1e400])
@pytest.mark.parametrize("key", sorted({key for each in MESSAGES for key in each}))
def test_wrong_types_cost_only_their_place(key, wrong):
    messages = [each | {key: wrong} for each in MESSAGES] + [message(0, id="1", content="last")]
    data = json.dumps(CHANNEL | {"messages": messages}).encode()
    records = list(parser_of("discord").parse(document_of(data)))
    assert [r.text for r in records if isinstance(r, MessageRecord)][-1] == "last"


@pytest.mark.parametrize("wrong", [None, 5, "x", [3], {"a": 1}])
def test_wrong_types_around_the_messages(read, wrong):
    for key, count in (("messages", 0), ("guild", 8), ("channel", 8)):
        assert len(read(json.dumps(CHANNEL | {key: wrong}), forced="discord").messages) == count


def test_cut_anywhere_every_whole_message_is_kept():
    data = json.dumps(CHANNEL).encode()
    whole = [r.external_id for r in parser_of("discord").parse(document_of(data)) if isinstance(r, MessageRecord)]
    for cut in range(0, len(data), 50):
        records = list(parser_of("discord").parse(document_of(data[:cut])))
        ids = [r.external_id for r in records if isinstance(r, MessageRecord)]
        assert ids == whole[: len(ids)]
        assert cut == 0 or any(isinstance(r, InputProblem) and not r.harmless for r in records)


def test_other_objects_with_messages_are_no_channel(read):
    for data in (
        {"messages": [{"id": "1", "role": "user", "content": "x"}]},
        {"channel": "x", "messages": [{"id": "1", "author": {"name": "x"}, "text": "x"}]},
    ):
        assert parser_of("discord").matches(read_head(document_of(json.dumps(data).encode()))) == 0


def test_collected_samples(read, exports):
    got = read(exports / "discord" / "chatpack-cli__discord_export.json")
    assert got.sessions == [SessionRecord("987654321", "general", None, {"guild": "Test Server"})]
    assert [m.author for m in got.messages] == ["Alice", "Bob", "Alice", "Alice", "Bob", "Alice", "Bob"]
    assert got.roles == ["user"] * 7
    assert got.texts[0] == "Hello! How are you?" and got.texts[-1] == "And this one is from March"
    assert [m.external_id for m in got.messages] == [f"100{n}" for n in range(1, 8)]
    assert [m.reply_to for m in got.messages] == [None] * 4 + ["1004", None, None]
    assert got.messages[6].metadata == {"edited": True}
    assert got.messages[0].sent_at == datetime(2024, 1, 15, 10, 30, tzinfo=UTC)
    assert got.problems == got.notes == []
