"""KakaoTalk: texts of phones and computers in both languages, and the table of a Mac."""

from __future__ import annotations

from datetime import datetime

import pytest

KOREAN = "저장한 날짜 : 2024년 3월 11일 오후 1:00\n\n\n"
ENGLISH = "Date Saved : Mar 11, 2024, 1:00 PM\n\n\n"


@pytest.mark.parametrize(
    "text",
    [
        f"항구 3 님과 카카오톡 대화\n{KOREAN}2024년 3월 11일 오후 9:12\n"
        "2024년 3월 11일 오후 9:12, 박서준님이 나갔습니다.\n"
        "2024년 3월 11일 오후 9:12, 박서준 : 안녕: 하세요\n둘째 줄\n2024년 3월 11일 오후 9:13, 회원님 : 네\n",
        f"KakaoTalk Chats with 항구\n{ENGLISH}9:12pm, March 11, 2024\n9:12pm, March 11, 2024, 박서준님이 나갔습니다.\n"
        "9:12pm, March 11, 2024, 박서준 : 안녕: 하세요\n둘째 줄\n9:13pm, March 11, 2024, 회원님 : 네\n",
        f"항구 (3명)과 카카오톡 대화-1.txt\n{KOREAN}2024년 3월 11일 월요일\n"
        "2024. 3. 11. 오후 9:12: 박서준님이 나갔습니다.\n"
        "2024. 3. 11. 오후 9:12, 박서준 : 안녕: 하세요\n둘째 줄\n2024. 3. 11. 오후 9:13, 회원님 : 네\n",
        f"KakaoTalk Chats with 항구\n{ENGLISH}Monday, March 11, 2024\nMar 11, 2024, 9:12 PM: 박서준님이 나갔습니다.\n"
        "Mar 11, 2024, 9:12 PM, 박서준 : 안녕: 하세요\n둘째 줄\nMar 11, 2024, 9:13 PM, 회원님 : 네\n",
        "2024. 3. 11. 21:12: 박서준님이 나갔습니다.\n2024. 3. 11. 21:12, 박서준 : 안녕: 하세요\n둘째 줄\n"
        "2024. 3. 11. 21:13, 회원님 : 네\n",
    ],
)
def test_texts_of_phones(read, text):
    got = read("\ufeff" + text.replace("\n", "\r\n"), name="talk.txt")
    assert got.format == "kakaotalk"
    assert [(m.role, m.author, m.text.replace("\r", "")) for m in got.messages] == [
        ("system", None, "박서준님이 나갔습니다."),
        ("user", "박서준", "안녕: 하세요\n둘째 줄"),
        ("user", "회원님", "네"),
    ]
    assert got.messages[1].sent_at == datetime(2024, 3, 11, 21, 12)
    assert [p.me for p in got.participants] == [False, True]
    assert got.problems == got.notes == []


@pytest.mark.parametrize(
    ("day", "clock"),
    [("--------------- 2024년 3월 11일 월요일 ---------------", "오후 9:12"),
     ("--------------- Monday, March 11, 2024 ---------------", "9:12 PM")],
)  # fmt: skip
def test_the_text_of_a_computer(read, day, clock):
    head = "Harbour with KakaoTalk Chats\nDate Saved : 2024-03-12 00:29:58\n\n"
    got = read(f"{head}{day}\n[박서준] [{clock}] hi\nmore\n[Ana [B]] [{clock}] ho\n", name="KakaoTalk_1.txt")
    assert got.sessions[0].title == "Harbour"
    assert (got.messages[0].author, got.messages[0].text) == ("박서준", "hi\nmore")
    assert got.messages[0].sent_at == datetime(2024, 3, 11, 21, 12)


def test_the_table_of_a_mac(read):
    text = 'Date,User,Message\n2024-03-11 21:12:26,"박서준","so, ""yes""\ntwo lines"\n2024-03-11 21:13:00,"Ana","ok"\n'
    got = read(text, name="KakaoTalk_Chat.csv")
    assert [(m.author, m.text, m.sent_at) for m in got.messages] == [
        ("박서준", 'so, "yes"\ntwo lines', datetime(2024, 3, 11, 21, 12, 26)),
        ("Ana", "ok", datetime(2024, 3, 11, 21, 13)),
    ]


def test_a_table_that_ends_within_a_field(read):
    got = read('Date,User,Message\n2024-03-11 21:12:26,"Ana","the end is', name="KakaoTalk_Chat.csv")
    assert got.texts == ["the end is"]
    assert "ends within a field" in got.problems[0].message
