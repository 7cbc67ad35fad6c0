"""Small exports of messengers, in the form of ``samples``: those of phones, of teams, and of Google."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

Said = Callable[[], str]


def sms(said: Said) -> str:
    messages = "".join(
        f'  <sms protocol="0" address="+4917012345678" date="{1714557600000 + n}" type="{1 + n % 2}" subject="null"'
        f' body="{said()}" contact_name="Ana" />\n'
        for n in range(4)
    )
    parts = (
        f'<parts><part seq="0" ct="text/plain" text="{said()}" /></parts><addrs><addr address="017099" type="137" />'
    )
    mms = f'  <mms date="1714557700000" msg_box="1" address="+4917012345678~017099">{parts}</addrs></mms>\n'
    return f"<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>\n<smses count=\"5\">\n{messages}{mms}</smses>\n"


def kakaotalk(said: Said) -> str:
    lines = [f"Jul 9, 2024, 8:3{n} PM, {('Ana', 'Ben')[n % 2]} : {said()}\n" for n in range(4)]
    head = "KakaoTalk Chats with Ferry\nDate Saved : Aug 3, 2024, 12:20 AM\n\n\n\nTuesday, July 9, 2024\n"
    return head + "".join(lines)


def line(said: Said) -> str:
    lines = [f"09:1{n}\t{('Ana', 'Ben')[n % 2]}\t{said()}\n" for n in range(4)]
    return f"[LINE] Chat history with Ana\nSaved on: 2024/05/01 10:00\n\n2024/05/01(Wed)\n{''.join(lines)}"


def skype(said: Said) -> dict[str, Any]:
    messages = [
        {
            "id": f"171455760000{n}", "displayName": ("Ben", None)[n % 2], "version": 1,
            "originalarrivaltime": f"2024-05-01T10:0{4 - n}:00.123Z", "messagetype": "RichText", "content": said(),
            "conversationid": "8:live:ben", "from": ("8:live:ben", "8:live:ana")[n % 2], "properties": None,
        }
        for n in range(4)
    ]  # fmt: skip
    conversation = {"id": "8:live:ben", "displayName": "Ben", "version": 1, "properties": {}, "threadProperties": None}
    return {
        "userId": "8:live:ana",
        "exportDate": "2024-05-02T10:00",
        "conversations": [conversation | {"MessageList": messages}],
    }


def hangouts(said: Said) -> dict[str, Any]:
    identity = {"conversation_id": {"id": "Ugx"}}
    people = [{"id": {"gaia_id": f"1{n}", "chat_id": f"1{n}"}, "fallback_name": ("Ana", "Ben")[n]} for n in range(2)]
    about = {
        "id": {"id": "Ugx"},
        "type": "STICKY_ONE_TO_ONE",
        "self_conversation_state": {"self_read_state": {"participant_id": {"gaia_id": "10"}}},
        "participant_data": people,
    }
    events = [
        identity | {
            "sender_id": {"gaia_id": f"1{n % 2}", "chat_id": f"1{n % 2}"}, "timestamp": f"171455760{n}000000",
            "chat_message": {"message_content": {"segment": [{"type": "TEXT", "text": said()}]}},
            "event_id": f"e{n}", "event_type": "REGULAR_CHAT_MESSAGE",
        }
        for n in range(4)
    ]  # fmt: skip
    return {"conversations": [{"conversation": identity | {"conversation": about}, "events": events}]}


def google_voice(said: Said) -> str:
    def tel(n: int) -> str:
        name = f'<span class="fn">{("Ana", "Me")[n]}</span>'
        return f'<cite class="sender vcard"><a class="tel" href="tel:+1732{n}">{name}</a></cite>'

    messages = "".join(
        f'<div class="message"><abbr class="dt" title="2023-09-01T19:29:2{n}.270-07:00">Sep 1</abbr>: {tel(n % 2)}: '
        f"<q>{said()}</q></div>\n"
        for n in range(4)
    )
    body = f'<div class="hChatLog hfeed">{messages}</div>'
    return f'<?xml version="1.0" ?>\n<html><head><title>Ana</title></head><body>{body}</body></html>'


def mattermost(said: Said) -> list[Any]:
    where = {"team": "boats", "channel": "ferry"}
    post = where | {"user": "ana", "message": said(), "create_at": 1714557600000, "reactions": None}
    reply = {"user": "ben", "message": said(), "create_at": 1714557610000}
    direct = {"channel_members": ["ana", "ben"], "user": "ben", "message": said(), "create_at": 1714557620000}
    return [
        {"type": "version", "version": 1},
        {"type": "channel", "channel": {"team": "boats", "name": "ferry", "display_name": "Ferry", "type": "O"}},
        {"type": "user", "user": {"username": "ana", "email": "ana@e.org", "first_name": "Ana", "last_name": "Lind"}},
        {"type": "post", "post": post | {"replies": [reply]}},
        {"type": "direct_post", "direct_post": direct},
    ]


def matrix(said: Said) -> dict[str, Any]:
    messages = [
        {
            "type": "m.room.message", "sender": f"@{('ana', 'ben')[n % 2]}:e.org",
            "content": {"body": said(), "msgtype": "m.text"}, "origin_server_ts": 1714557600000 + n,
            "event_id": f"$e{n}", "room_id": "!r:e.org", "unsigned": {"age": 5},
        }
        for n in range(4)
    ]  # fmt: skip
    head = {"room_name": "Ferry", "room_creator": "@ana:e.org", "topic": "", "export_date": "1/5/2024"}
    return head | {"exported_by": "@ana:e.org", "messages": messages}


def discord_text(said: Said) -> str:
    rule = "=" * 62
    messages = "".join(f"[1/{15 + n}/2024 10:3{n} AM] {('ana', 'ben')[n % 2]}\n{said()}\n\n" for n in range(4))
    return (
        f"{rule}\nGuild: Allotments\nChannel: Talk / roses\n{rule}\n\n{messages}{rule}\nExported 4 message(s)\n{rule}\n"
    )


def rocketchat(said: Said) -> list[Any]:
    return [
        {
            "_id": f"a{n}", "rid": "GENERAL", "msg": said(), "ts": f"2023-05-01T10:00:0{n}.000Z",
            "u": {"_id": f"u{n % 2}", "username": ("ana", "ben")[n % 2], "name": ("Ana", "Ben")[n % 2]},
            "_updatedAt": "2023-05-01T10:00:05.000Z",
        }
        for n in range(4)
    ]  # fmt: skip


def snapchat(said: Said) -> dict[str, Any]:
    messages = [
        {
            "From": ("ana_l", "me_b")[n % 2], "Media Type": "TEXT", "Created": f"2024-05-01 10:0{4 - n}:00 UTC",
            "Content": said(), "Conversation Title": None, "IsSender": bool(n % 2),
            "Created(microseconds)": 1714557600000 + (4 - n) * 60_000,
        }
        for n in range(4)
    ]  # fmt: skip
    return {"ana_l": messages}


def chat_table(said: Said) -> str:
    rows = [f'2024-05-01 10:0{n}:00,{("Ana", "Ben")[n % 2]},"{said()}"\n' for n in range(4)]
    return "timestamp,sender,message\n" + "".join(rows)


def texts(said: Said) -> Iterator[tuple[str, str, Any]]:
    """The format, the usual name, and the text or the decoded JSON of each."""
    yield "sms", "sms-20240501.xml", sms(said)
    yield "kakaotalk", "KakaoTalkChats.txt", kakaotalk(said)
    yield "line", "[LINE] Ana.txt", line(said)
    yield "google_voice", "Takeout/Voice/Calls/Ana - Text - 2023-09-02T02_29_20Z.html", google_voice(said)
    yield "discord", "Allotments - roses [55000000000000000].txt", discord_text(said)
    yield "chat_table", "ferry.csv", chat_table(said)
    yield "snapchat", "snapchat/json/chat_history.json", snapchat(said)
    yield "rocketchat", "rocketchat/GENERAL.json", {"messages": rocketchat(said)}
    yield "skype", "skype/messages.json", skype(said)
    yield "hangouts", "Takeout/Hangouts/Hangouts.json", hangouts(said)
    yield "matrix", "matrix - Ferry/export.json", matrix(said)
    yield "mattermost", "mattermost/import.jsonl", mattermost(said)
