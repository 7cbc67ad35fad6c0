"""Skype, Hangouts, Google Voice, Mattermost and Matrix: what their samples in the fuzz tests do not show."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from itertools import count

import pytest

from appliance.errors import InputError
from tests.fuzz import messenger_samples


def said():
    numbers = count(1)
    return lambda: f"text {next(numbers)}"


def test_skype_is_read_from_the_oldest_message_with_files_notices_and_edits(read):
    export = messenger_samples.skype(said())
    messages = export["conversations"][0]["MessageList"]
    messages[0] |= {"content": 'see <a href="https://e.org">it</a> &amp; <ss type="smile">:)</ss>\r\nnow'}
    picture = '<URIObject uri="x">To view, go to: <a>x</a><OriginalName v="boat.png"/></URIObject>'
    messages[1] |= {"messagetype": "RichText/UriObject", "content": picture}
    messages[2] |= {"messagetype": "ThreadActivity/AddMember", "content": "<addmember><target>8:c</target></addmember>"}
    messages[3] |= {"properties": {"edittime": "1"}}
    got = read(json.dumps(export), name="messages.json")
    assert (got.format, got.sessions[0].external_id, got.sessions[0].title) == ("skype", "8:live:ben", "Ben")
    assert [(m.role, m.author) for m in got.messages] == [
        ("user", "live:ana"), ("system", "Ben"), ("user", "live:ana"), ("user", "Ben"),
    ]  # fmt: skip
    assert got.messages[0].metadata == {"edited": True}
    assert got.messages[2].metadata == {"attachments": [{"name": "boat.png"}]}
    assert got.texts[3] == "see it & :)\nnow"
    assert got.messages[3].sent_at == datetime(2024, 5, 1, 10, 4, 0, 123000, UTC)
    assert any(p.me and p.author == "live:ana" for p in got.participants)


def test_hangouts_of_both_generations(read):
    new = messenger_samples.hangouts(said())
    row = new["conversations"][0]
    row["events"].reverse()
    row["events"][0]["chat_message"]["message_content"] = {
        "attachment": [{"embed_item": {"plus_photo": {"url": "https://x/boat.jpg?y"}}}]
    }
    old = {"conversation_state": [{
        "conversation_id": {"id": "Ugx"},
        "conversation_state": {"conversation": row["conversation"]["conversation"], "event": row["events"]},
    }]}  # fmt: skip
    for export in (new, old):
        got = read(json.dumps(export), name="Hangouts.json")
        assert (got.format, got.sessions[0].external_id, got.sessions[0].title) == ("hangouts", "Ugx", "Ben")
        assert [m.author for m in got.messages] == ["Ana", "Ben", "Ana", "Ben"]
        assert got.messages[0].sent_at == datetime(2024, 5, 1, 10, 0, tzinfo=UTC)
        assert got.texts[3] == "[attachment: boat.jpg]"
        assert any(p.me and p.author == "Ana" for p in got.participants)


def test_pages_of_google_voice(read):
    name = "Takeout/Voice/Calls/Ana - Text - 2023-09-02T02_29_20Z.html"
    got = read(messenger_samples.google_voice(said()), name=name)
    assert (got.format, got.sessions[0].title) == ("google_voice", "Ana")
    assert [(m.author, m.text) for m in got.messages][:2] == [("Ana", "text 1"), ("Me", "text 2")]
    assert got.messages[0].sent_at == datetime(2023, 9, 2, 2, 29, 20, 270000, UTC)


def test_voicemails_and_other_calls_of_google_voice(read):
    call = (
        '<?xml version="1.0" ?><html><head><title>Ana</title></head><body><div class="haudio"><span>Call</span>'
        '<div class="contributor vcard"><a class="tel" href="tel:+17320"><span class="fn">Ana</span></a></div>'
        '<abbr class="published" title="2014-05-16T19:54:27.000-07:00">May 16</abbr>{}</div></body></html>'
    )
    heard = '<span class="description"><span class="full-text">It&#39;s me.</span><span class="word">It</span></span>'
    got = read(call.format(heard), name="Ana - Voicemail - 2014-05-17T02_54_27Z.html")
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [
        ("Ana", "It's me.", datetime(2014, 5, 17, 2, 54, 27, tzinfo=UTC))
    ]
    got = read(call.format(""), name="Ana - Missed - 2014-05-17T02_54_27Z.html")
    assert (got.format, got.messages) == ("google_voice", [])


def test_replies_and_direct_posts_of_mattermost(read):
    lines = "\n".join(json.dumps(one) for one in messenger_samples.mattermost(said()))
    got = read(lines, name="export.jsonl")
    assert (got.format, [s.title for s in got.sessions]) == ("mattermost", ["Ferry", "Ana Lind, ben"])
    assert [(m.author, m.text) for m in got.messages] == [("Ana Lind", "text 1"), ("ben", "text 2"), ("ben", "text 3")]
    assert got.messages[1].reply_to == got.messages[0].external_id


def test_edits_reactions_replies_and_names_of_matrix(read):
    export = messenger_samples.matrix(said())
    messages = export["messages"]
    stamp = {"origin_server_ts": 1714557700000, "room_id": "!r:e.org", "sender": "@ben:e.org"}
    relation = {"rel_type": "m.replace", "event_id": "$e0"}
    messages.insert(0, stamp | {"type": "m.room.member", "event_id": "$m", "state_key": "@ana:e.org",
                                "content": {"membership": "join", "displayname": "Ana"}})  # fmt: skip
    messages[3]["content"] |= {"body": "> <@ana:e.org> text 1\n\nyes",
                               "m.relates_to": {"m.in_reply_to": {"event_id": "$e0"}}}  # fmt: skip
    messages.append(stamp | {"type": "m.room.message", "event_id": "$x", "content": {
        "body": "* better", "m.new_content": {"body": "better"}, "m.relates_to": relation}})  # fmt: skip
    messages.append(stamp | {"type": "m.reaction", "event_id": "$y", "content": {
        "m.relates_to": {"rel_type": "m.annotation", "event_id": "$e0", "key": "🌱"}}})  # fmt: skip
    got = read(json.dumps(export), name="export.json")
    assert (got.format, got.sessions[0].external_id, got.sessions[0].title) == ("matrix", "!r:e.org", "Ferry")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", "@ben:e.org", "join: Ana"), ("user", "Ana", "better"), ("user", "@ben:e.org", "text 2"),
        ("user", "Ana", "yes"), ("user", "@ben:e.org", "text 4"),
    ]  # fmt: skip
    assert got.messages[1].metadata == {"reactions": [{"emoji": "🌱", "by": "@ben:e.org"}], "edited": True}
    assert got.messages[3].reply_to == "$e0"


def test_tables_of_messages(read):
    imazing = (
        "Chat Session,Message Date,Delivered Date,Read Date,Edited Date,Service,Type,Sender ID,Sender Name,Status,"
        "Replying to,Subject,Text,Attachment,Attachment type\n"
        'Ana,2024-03-05 09:30:01,,,,iMessage,Incoming,+4917,Ana Lind,Read,,,"so, yes",,\n'
        "Ana,2024-03-05 09:31:01,,,,iMessage,Outgoing,,,Read,,,ok,boat.png,Image\n"
        "Ben,2024-03-05 09:32:01,,,,SMS,Incoming,+4918,,Read,,,hi,,\n"
    )
    got = read(imazing, name="Messages - Ana.csv")
    assert (got.format, [s.title for s in got.sessions]) == ("chat_table", ["Ana", "Ben"])
    assert [(m.author, m.text) for m in got.messages] == [("Ana Lind", "so, yes"), ("Me", "ok"), ("+4918", "hi")]
    assert got.messages[0].sent_at == datetime(2024, 3, 5, 9, 30, 1)
    assert got.messages[1].metadata == {"attachments": [{"name": "boat.png"}]}
    got = read("date,from,text\n13/05/2024 9:30,Ana,a\n02/06/2024 9:31,Ben,b\n", name="x.csv")
    assert [m.sent_at for m in got.messages] == [datetime(2024, 5, 13, 9, 30), datetime(2024, 6, 2, 9, 31)]


def test_other_tables_are_no_chats(read):
    for text in ("date,name,amount\n2024-05-01,Ana,5\n", "id,name,text\n1,Ana,hi\n", "date,user,message\nx,Ana,hi\n"):
        with pytest.raises(InputError, match="not recognised"):
            read(text, name="x.csv")


def test_both_generations_of_snapchat(read):
    got = read(json.dumps(messenger_samples.snapchat(said())), name="chat_history.json")
    assert [(m.author, m.text) for m in got.messages] == [
        ("Me", "text 4"), ("ana_l", "text 3"), ("Me", "text 2"), ("ana_l", "text 1"),
    ]  # fmt: skip
    row = {"Media Type": "TEXT", "Created": "2020-05-01 10:00:00 UTC"}
    old = {
        "Received Saved Chat History": [row | {"From": "ana_l", "Text": "hi"}],
        "Sent Saved Chat History": [row | {"To": "ana_l", "Text": "ho"}],
    }
    got = read(json.dumps(old), name="chat_history.json")
    assert [(m.author, m.text) for m in got.messages] == [("ana_l", "hi"), ("Me", "ho")]
    assert [s.title for s in got.sessions] == ["ana_l"]


def test_a_room_of_rocket_chat(read):
    rows = messenger_samples.rocketchat(said())
    rows[1] |= {"ts": {"$date": 1682935260000}, "tmid": "a0", "reactions": {":+1:": {"usernames": ["ana"]}}}
    rows[2] |= {"t": "uj", "msg": "ana"}
    got = read(json.dumps(rows), name="room.json")
    assert (got.format, got.sessions[0].external_id) == ("rocketchat", "GENERAL")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Ana", "text 1"), ("user", "Ben", "text 2"), ("system", "Ana", "ana"), ("user", "Ben", "text 4"),
    ]  # fmt: skip
    assert got.messages[1].sent_at == datetime(2023, 5, 1, 10, 1, tzinfo=UTC)
    assert (got.messages[1].reply_to, got.messages[1].metadata) == (
        "a0",
        {"reactions": [{"emoji": ":+1:", "by": "ana"}]},
    )
