"""LINE: the texts of phones and computers."""

from __future__ import annotations

from datetime import datetime


def test_columns_with_tabs(read):
    got = read(
        "[LINE] Chat history with Ana Lind\nSaved on: 2018/03/25 19:57\n\n2015/12/25(Fri)\n07:33\tBen Ode\tHi!\n"
        '07:34\tAna Lind\t"first\nsecond ""x""\n2015/12/26\nwas a day"\n07:40\tAna Lind joined the group.\n\n'
        "2015/12/26 Sat\n下午08:35\tAna Lind\t[Sticker]\n",
        name="chat.txt",
    )
    assert (got.format, got.sessions[0].title) == ("line", "Ana Lind")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Ben Ode", "Hi!"),
        ("user", "Ana Lind", 'first\nsecond "x"\n2015/12/26\nwas a day'),
        ("system", None, "Ana Lind joined the group."),
        ("user", "Ana Lind", "[Sticker]"),
    ]
    assert [m.sent_at for m in got.messages][::3] == [datetime(2015, 12, 25, 7, 33), datetime(2015, 12, 26, 20, 35)]
    assert got.problems == got.notes == []


def test_the_weekday_tells_day_and_month_apart(read):
    days = (("Mon, 11/03/2025", datetime(2025, 11, 3, 9, 5)), ("Tue, 11/03/2025", datetime(2025, 3, 11, 9, 5)))
    for day, when in days:
        got = read(f"[LINE] Chat history with X\nSaved on: x\n\n{day}\n9:05AM\tAna\thi\n", name="a.txt")
        assert [m.sent_at for m in got.messages] == [when]
        assert got.notes == []


def test_the_text_of_a_computer_has_spaces(read):
    got = read(
        "[LINE] Ana Lindとのトーク履歴\n保存日時：2023/02/13 00:00\n\n2023.02.13 月曜日\n23:43 Ana Lind スタンプ\n"
        "23:47 Ben わ！\n見ます!\n",
        name="[LINE] Ana Lind.txt",
    )
    assert [(m.author, m.text) for m in got.messages] == [("Ana Lind", "スタンプ"), ("Ben", "わ！\n見ます!")]
    assert got.messages[1].sent_at == datetime(2023, 2, 13, 23, 47)
