"""What parsers say of authors besides their names: accounts, addresses, numbers, and whose export it is."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path
from typing import Any

import pytest

from appliance.formats import parser_of
from appliance.formats.base import Document, DocumentContext
from appliance.types import ContactRecord, MessageRecord, ParticipantRecord, Record

WHEN = "2025-03-03T10:00:00"
PAIR = (("Ana", "a@x.example"), ("Ben", "b@x.example"))


def document(name: str, data: bytes | str, others: dict[str, Any] | None = None) -> Document:
    """A document with others beside it, by their relative paths."""
    raw = data.encode() if isinstance(data, str) else data

    def find(path: str) -> Document | None:
        found = (others or {}).get(path)
        return None if found is None else document(path, json.dumps(found))

    return Document(name, len(raw), lambda: io.BytesIO(raw), context=DocumentContext(find))


def records(format: str, *arguments: Any) -> list[Record]:
    found = list(parser_of(format).parse(document(*arguments)))
    seen: set[tuple[str, str]] = set()
    for record in found:
        if isinstance(record, ParticipantRecord):
            assert (record.session, record.author) not in seen, "before the first message of the author"
        elif isinstance(record, MessageRecord):
            seen.add((record.session, record.author or ""))
    return found


def participants(found: list[Record]) -> list[ParticipantRecord]:
    return [record for record in found if isinstance(record, ParticipantRecord)]


def test_slack_has_ids_addresses_and_handles() -> None:
    users = [{"id": "U1", "team_id": "T9", "name": "hb", "profile": {
        "real_name": "Helga Brandt", "display_name": "Helga", "email": "h@b.example"}}]  # fmt: skip
    day = [{"type": "message", "user": "U1", "text": "Hi", "ts": "1741000000.000100"},
           {"type": "message", "user": "U1", "text": "Hi again", "ts": "1741000001.000100"},
           {"type": "message", "user": "U2", "text": "Hi", "ts": "1741000002.000100", "user_team": "T8",
            "user_profile": {"real_name": "Guest"}}]  # fmt: skip
    helga, guest = participants(
        records("slack", "x/general/2025-03-03.json", json.dumps(day), {"../users.json": users})
    )
    assert helga.author == "Helga" and guest.author == "Guest"
    assert helga.identities == (
        ("id", "T9/U1"), ("address", "h@b.example"), ("name", "Helga Brandt"), ("name", "Helga"), ("handle", "hb"),
    )  # fmt: skip
    assert guest.identities == (("id", "T8/U2"), ("name", "Guest"))


def test_two_users_of_one_name_are_two_accounts() -> None:
    users = [{"id": f"U{n}", "profile": {"display_name": "Ben"}} for n in (1, 2)]
    day = [{"type": "message", "user": f"U{n}", "text": "Hi", "ts": f"174100000{n}.000100"} for n in (1, 2)]
    found = list(parser_of("slack").parse(document("x/g/2025-03-03.json", json.dumps(day), {"../users.json": users})))
    assert [(one.author, one.identities[0]) for one in participants(found)] == [
        ("Ben", ("id", "U1")), ("Ben", ("id", "U2")),
    ]  # fmt: skip


def test_telegram_has_ids_contacts_and_the_owner() -> None:
    export = {
        "about": "Telegram",
        "personal_information": {"user_id": 7, "first_name": "Ana", "last_name": "", "phone_number": "00491511",
                                 "username": "@ana"},
        "contacts": {"list": [{"user_id": 8, "first_name": "Mum", "phone_number": "0049 170 1234567"}]},
        "chats": {"list": [{"name": "Mum", "type": "personal_chat", "id": 8, "messages": [
            {"id": 1, "type": "message", "date": WHEN, "from": "Mum", "from_id": "user8", "text": "Hi"},
            {"id": 2, "type": "message", "date": WHEN, "from": "Ana", "from_id": "user7", "text": "Ho"},
        ]}]},
    }  # fmt: skip
    found = records("telegram", "result.json", json.dumps(export))
    me, mum = (record for record in found if isinstance(record, ContactRecord))
    assert me.me and ("id", "user7") in me.identities and ("handle", "@ana") in me.identities
    assert mum.identities == (("id", "user8"), ("number", "+49 170 1234567"), ("name", "Mum"))
    assert [(one.author, one.identities, one.me) for one in participants(found)] == [
        ("Mum", (("id", "user8"),), False), ("Ana", (("id", "user7"),), True),
    ]  # fmt: skip


MAILBOX = """From a Mon Mar  3 10:00:00 2025
Delivered-To: ana@x.example
From: Helga Brandt <H@B.example>
To: ana@x.example
Subject: One
Date: Mon, 03 Mar 2025 10:00:00 +0000
Message-ID: <1@x>

Hello.

From b Mon Mar  3 10:01:00 2025
From: ana@x.example (Ana)
To: h@b.example
Subject: Two
Date: Mon, 03 Mar 2025 10:01:00 +0000
Message-ID: <2@x>
{label}
Hello.
"""


@pytest.mark.parametrize("label", ["", "X-Gmail-Labels: Inbox,Sent\n"])
def test_mail_has_addresses_and_whose_mailbox_it_is(label: str) -> None:
    helga, ana = participants(records("mail", "all.mbox", MAILBOX.replace("{label}", label)))
    assert (helga.author, helga.identities, helga.me) == ("Helga Brandt", (("address", "h@b.example"),), False)
    assert (ana.author, ana.identities, ana.me) == ("Ana", (("address", "ana@x.example"),), True)


def test_a_folder_of_sent_mail_is_by_its_owner() -> None:
    text = MAILBOX[MAILBOX.index("From b") :].replace("{label}", "")
    (ana,) = participants(records("mail", "profile/Mail/Sent", text))
    assert ana.me


def test_whatsapp_tells_who_is_not_saved_and_who_exported() -> None:
    chat = "[03/03/2025, 10:00:00] Ben: Hi\n[03/03/2025, 10:01:00] Ana: Ho\n"
    (me,) = participants(records("whatsapp", "WhatsApp Chat - Ben.txt", chat))
    assert (me.author, me.identities, me.me) == ("Ana", (("name", "Ana"),), True)
    group = chat + "[03/03/2025, 10:02:00] ~ Ben: Who?\n[03/03/2025, 10:03:00] ~\u202fZoe: Hi\n"
    found = list(parser_of("whatsapp").parse(document("WhatsApp Chat - Club.txt", group)))
    assert {(one.author, one.identities[0]) for one in participants(found)} == {
        ("Ben", ("name", "Ben")), ("Ben", ("handle", "~Ben")), ("Zoe", ("handle", "~Zoe")),
    }  # fmt: skip


def test_discord_has_ids_and_user_names() -> None:
    message = {"id": "1", "type": "Default", "timestamp": "2025-03-03T10:00:00+00:00", "content": "Hi",
               "author": {"id": "42", "name": "hb", "discriminator": "0000", "nickname": "Helga"}}  # fmt: skip
    export = {"guild": {"id": "1", "name": "G"}, "channel": {"id": "2", "name": "c"}, "messages": [message]}
    (helga,) = participants(records("discord", "c.json", json.dumps(export)))
    assert helga.identities == (("id", "42"), ("handle", "hb"), ("name", "Helga"))


def test_google_chat_has_addresses_and_the_user() -> None:
    messages = [{"creator": {"name": name, "email": email}, "created_date": "Monday, March 3, 2025 at 9:15:30 AM UTC",
                 "text": "Hi", "topic_id": name} for name, email in PAIR]  # fmt: skip
    user = {"../../Users/*/user_info.json": {"user": {"name": "Ana", "email": "a@x.example"}}}
    found = records("google_chat", "Groups/DM 1/messages.json", json.dumps({"messages": messages}), user)
    assert [(one.author, one.me) for one in participants(found)] == [("Ana", True), ("Ben", False)]


def test_teams_has_ids() -> None:
    message = {"id": "1", "messageType": "message", "createdDateTime": "2025-03-03T10:00:00Z", "chatId": "c",
               "from": {"user": {"id": "guid-1", "displayName": "Ana"}}, "body": {"content": "Hi"}}  # fmt: skip
    (ana,) = participants(records("teams", "chat.json", json.dumps([message])))
    assert ana.identities == (("id", "guid-1"),)


def test_signal_calls_the_person_me() -> None:
    lines = [{"date": WHEN, "sender": sender, "body": "Hi", "quote": "", "sticker": "", "reactions": [],
              "attachments": []} for sender in ("Ben", "Me")]  # fmt: skip
    (me,) = participants(records("signal", "Ben/data.json", "\n".join(map(json.dumps, lines))))
    assert me.me and me.author == "Me"


def test_meta_has_the_owner_in_a_profile() -> None:
    thread = {"participants": [], "title": "Ben", "thread_path": "inbox/ben_1", "messages": [
        {"sender_name": name, "timestamp_ms": 1741000000000, "content": "Hi"} for name in ("Ben", "Ana Silva")
    ]}  # fmt: skip
    profile = {
        "../../../profile_information/profile_information.json": {"profile_v2": {"name": {"full_name": "Ana Silva"}}}
    }
    (ana,) = participants(records("meta", "messages/inbox/ben_1/message_1.json", json.dumps(thread), profile))
    assert ana.me and ana.author == "Ana Silva"


def test_a_zip_with_an_address_book_is_read(tmp_path: Path) -> None:
    from appliance.ingest.sources import DetectedDocument, detect_documents

    with zipfile.ZipFile(tmp_path / "takeout.zip", "w") as archive:
        archive.writestr("Takeout/Contacts/All/All.vcf", "BEGIN:VCARD\nFN:Ana\nEMAIL:a@x.example\nEND:VCARD\n")
    (found,) = detect_documents([tmp_path / "takeout.zip"])
    assert isinstance(found, DetectedDocument) and found.format == "contacts"
