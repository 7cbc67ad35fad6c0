"""Microsoft Teams: messages as Graph gives them, in its spellings, newest first."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest


def person(name: str | None, key: str = "u1") -> dict:
    return {"user": {"id": key, "displayName": name, "userIdentityType": "aadUser"}, "application": None}


def said(key: str, who: str | None, html: str, at: int = 0, **more: Any) -> dict:
    return {
        "id": key,
        "replyToId": None,
        "messageType": "message",
        "createdDateTime": f"2025-03-03T09:15:{at:02}.31Z",
        "lastEditedDateTime": None,
        "deletedDateTime": None,
        "subject": None,
        "chatId": "19:soup@thread.v2",
        "from": person(who) if who else None,
        "body": {"contentType": "html", "content": html},
        "channelIdentity": None,
        "attachments": [],
        "reactions": [],
        "eventDetail": None,
    } | more


LUNCH = [
    said("1", "Ida Holm", "<p>Lunch at <b>one</b>&nbsp;&amp; coffee?</p><ul><li>soup</li></ul>", 1),
    said("2", "Rui Paz", '<p><at id="0">Ida Holm</at> yes <emoji id="yes" alt="🎉" title="Yes"></emoji></p>', 2,
         lastEditedDateTime="2025-03-03T09:16:00Z", reactions=[
            {"reactionType": "like", "user": person("Ida Holm")}, {"reactionType": "🥣", "user": person(None, "u9")}]),
    said("3", None, "<systemEventMessage/>", 3, messageType="systemEventMessage", eventDetail={
        "@odata.type": "#microsoft.graph.membersAddedEventMessageDetail", "initiator": person("Ida Holm"),
        "members": [{"id": "u3", "displayName": "Eva Lind"}, {"id": "u4", "displayName": None}]}),
    said("4", "Ida Holm", '<attachment id="1"></attachment><p>See</p>', 4, attachments=[
        {"id": "1", "contentType": "messageReference", "content": "{}"},
        {"id": "f", "contentType": "reference", "name": "menu.pdf", "contentUrl": "https://x.example/menu.pdf"}]),
    said("5", "Ida Holm", "", 5, deletedDateTime="2025-03-03T10:00:00Z"),
]  # fmt: skip
EXPECTED = [
    ("1", "user", "Ida Holm", "Lunch at one\xa0& coffee?\n\n- soup", None, {}),
    ("2", "user", "Rui Paz", "Ida Holm yes 🎉", None, {
        "edited": True, "reactions": [{"emoji": "👍", "by": "Ida Holm"}, {"emoji": "🥣", "by": "u9"}]}),
    ("3", "system", "Ida Holm", "members added: Eva Lind", None, {}),
    ("4", "user", "Ida Holm", "See", "1", {"attachments": [{"name": "menu.pdf"}]}),
]  # fmt: skip


def capital(value: Any) -> Any:
    if isinstance(value, dict):
        return {key[:1].upper() + key[1:]: capital(item) for key, item in value.items()}
    return [capital(item) for item in value] if isinstance(value, list) else value


@pytest.mark.parametrize(
    "data",
    [
        LUNCH,
        LUNCH[::-1],
        capital(LUNCH[::-1]),
        {"@odata.context": "https://graph.example/x", "@odata.count": 5, "value": LUNCH[::-1]},
        [{"value": LUNCH[3:][::-1]}, {"value": LUNCH[:3][::-1]}],
    ],
    ids=["oldest first", "newest first", "capitals", "a page", "pages"],
)
def test_every_form_says_the_same(read: Callable[..., Any], data: Any) -> None:
    got = read(json.dumps(data))
    assert got.format == "teams"
    assert [s.external_id for s in got.sessions] == ["19:soup@thread.v2"]
    assert got.sessions[0].created_at == datetime(2025, 3, 3, 9, 15, 1, 310000, tzinfo=UTC)
    assert [(m.external_id, m.role, m.author, m.text, m.reply_to, dict(m.metadata)) for m in got.messages] == EXPECTED
    assert [n.message for n in got.notes] == ["skipped 1 deleted message without text"]
    assert got.problems == []


def test_equal_times_in_a_list_that_runs_backwards(read: Callable[..., Any]) -> None:
    messages = [
        said("9", "Ida", "last", 9),
        said("3", "Ida", "two", 5),
        said("2", "Ida", "one", 5),
        said("1", "Ida", "0"),
    ]
    assert read(json.dumps(messages)).texts == ["0", "one", "two", "last"]


def test_a_channel_with_replies(read: Callable[..., Any]) -> None:
    place = {"teamId": "t", "channelId": "19:general@thread.tacv2"}
    reply = said("11", "Rui", "Sure", 2, chatId=None)
    del reply["replyToId"]
    post = said("10", "Ida", "Who cooks?", 1, chatId=None, channelIdentity=place, subject="Lunch", replies=[reply, 5])
    got = read(json.dumps({"value": [post]}))
    assert [s.external_id for s in got.sessions] == ["19:general@thread.tacv2"]
    assert [(m.text, m.reply_to) for m in got.messages] == [("Lunch\n\nWho cooks?", None), ("Sure", "10")]


def test_a_chat_that_holds_its_messages(read: Callable[..., Any]) -> None:
    messages = [said(str(n), "Ida", f"words {n}", n, chatId=None) for n in (2, 1)]
    got = read(json.dumps([{"id": "19:x", "topic": "Kitchen", "chatType": "group", "messages": messages}]))
    assert [(s.external_id, s.title) for s in got.sessions] == [("19:x", "Kitchen")]
    assert got.texts == ["words 1", "words 2"]


def test_several_chats_in_a_file(read: Callable[..., Any]) -> None:
    messages = [said("1", "Ida", "a"), said("1", "Rui", "b", chatId="19:other"), said("2", "Ida", "c")]
    got = read(json.dumps(messages))
    assert [(m.session, m.text) for m in got.messages] == [
        ("19:soup@thread.v2", "a"),
        ("19:soup@thread.v2", "c"),
        ("19:other", "b"),
    ]


def test_bots_people_who_left_and_cards(read: Callable[..., Any]) -> None:
    card = {"type": "AdaptiveCard", "body": [{"type": "TextBlock", "text": "Build 7 failed"}, {"title": "Log"}]}
    bot = {"user": None, "application": {"id": "b", "displayName": "Cook bot"}}
    plain = {"contentType": "text", "content": "plain <b>"}
    messages = [
        said("1", None, "<p>Hi</p>", **{"from": bot}),
        said("2", None, "", body=plain, **{"from": person(None, "u7")}),
        said("3", "Cook bot", '<attachment id="c"></attachment>', attachments=[
            {"id": "c", "contentType": "application/vnd.microsoft.card.adaptive", "content": json.dumps(card)}]),
    ]  # fmt: skip
    got = read(json.dumps(messages))
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Cook bot", "Hi"),
        ("user", "u7", "plain <b>"),
        ("user", "Cook bot", "[attachment: card]\nBuild 7 failed\nLog"),
    ]


def test_times(read: Callable[..., Any]) -> None:
    at = 1741000000000
    messages = [
        said(str(at), "Ida", "by its id", createdDateTime=None),
        said("2", "Ida", "PowerShell", createdDateTime=f"/Date({at})/"),
        said("3", "Ida", "open", createdDateTime="soon"),
    ]
    got = read(json.dumps(messages))
    expected = datetime(2025, 3, 3, 11, 6, 40, tzinfo=UTC)
    assert [m.sent_at for m in got.messages] == [expected, expected, None]
    assert [n.message for n in got.notes] == ["the time 'soon' can't be read; left open"]


def test_without_a_chat_the_first_message_names_it(read: Callable[..., Any]) -> None:
    messages = [said(str(n), "Ida", f"{n}", n, chatId=None) for n in range(1, 4)]
    ids = {read(json.dumps(m), n).sessions[0].external_id
           for m, n in ((messages, "a"), (messages[::-1], "b"), (messages[:2], "c"))}  # fmt: skip
    assert len(ids) == 1


def test_the_same_id_twice(read: Callable[..., Any]) -> None:
    got = read(json.dumps([said("1", "Ida", "one"), said("1", "Ida", "two", 1)]))
    assert [(m.external_id, m.text) for m in got.messages] == [("1", "one"), (None, "two")]


@pytest.mark.parametrize(
    "data",
    [
        {"value": [{"id": "m", "subject": "Mail", "from": {"emailAddress": {}}, "body": {"content": "x"},
                    "createdDateTime": "2025-01-01T00:00:00Z"}]},
        {"messages": [{"role": "user", "content": "x"}]},
        [{"id": 1, "body": "an issue", "created_at": "2025-01-01"}],
    ],
)  # fmt: skip
def test_what_others_write_is_left_to_them(data: Any) -> None:
    from appliance.formats.base import DocumentHead
    from appliance.formats.teams import matches

    assert matches(DocumentHead("x.json", json.dumps(data), False)) == 0


@pytest.mark.parametrize("wrong", [None, 5, "x", [], {}, [None], {"a": None}, True, [[[]]], {"user": 5}])
def test_wrong_types_cost_only_their_place(read: Callable[..., Any], wrong: Any) -> None:
    good = said("9", "Rui", "kept", 59)
    for message in LUNCH:
        for key in (*message, "replies"):
            assert "kept" in read(json.dumps([message | {key: wrong}, wrong, good]), forced="teams").texts
    for key in ("value", "messages", "topic", "id"):
        assert read(json.dumps([{"value": [good]} | {key: wrong}, good]), forced="teams").texts[-1] == "kept"


@pytest.mark.parametrize("data", [LUNCH, {"value": LUNCH}])
def test_a_cut_off_file_keeps_every_whole_message(read: Callable[..., Any], data: Any) -> None:
    written = json.dumps(data)
    texts = [text for _, _, _, text, _, _ in EXPECTED]
    for cut in range(0, len(written), 50):
        got = read(written[:cut], forced="teams")
        assert got.texts == texts[: len(got.texts)]
        assert len(got.texts) >= min(4, written[:cut].count('"eventDetail": ') - 1)
