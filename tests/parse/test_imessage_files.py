"""iMessage: the text files and pages of imessage-exporter."""

from __future__ import annotations

from datetime import datetime

TEXT = """May 17, 2022  5:29:42 PM (Read by them after 1 hour, 49 seconds)
Me
Can you send the map?

or the list

May 17, 2022  6:02:10 PM
Lena Lind
Sent!
/Users/me/Library/Messages/Attachments/ab/map.png
Tapbacks:
    Loved by Me
    May 17, 2022  6:05:00 PM
    Me
    Thank you

May 17, 2022  6:03:00 PM Lena Lind added Raj to the conversation.

May 17, 2022  6:05:00 PM
Me
Thank you
This message responded to an earlier message.

"""


def test_a_text_file(read):
    got = read(TEXT, name="export/Lena Lind.txt")
    assert (got.format, got.sessions[0].title) == ("imessage", "Lena Lind")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "Me", "Can you send the map?\n\nor the list"),
        ("user", "Lena Lind", "Sent!"),
        ("user", "Me", "Thank you"),
        ("system", None, "Lena Lind added Raj to the conversation."),
    ]
    assert got.messages[0].sent_at == datetime(2022, 5, 17, 17, 29, 42)
    assert got.messages[1].metadata == {
        "attachments": [{"name": "map.png"}], "reactions": [{"emoji": "Loved", "by": "Me"}],
    }  # fmt: skip
    assert got.messages[2].sent_at == datetime(2022, 5, 17, 18, 5)
    assert got.problems == got.notes == []


def bubble(kind: str, time: str, sender: str, text: str, more: str = "") -> str:
    head = f'<p><span class="timestamp">{time}</span> <span class="sender">{sender}</span></p>'
    part = f'<div class="message_part"><span class="bubble">{text}</span></div>'
    return f'<div class="message"><div class="{kind}">{head}<hr>{part}{more}</div></div>'


def test_a_page_with_a_reply_that_stands_twice(read):
    reply = bubble("sent iMessage", "Jul 17, 2022 5:32:03 PM", "Me", "Yep")
    replies = f'<div class="replies"><div class="reply">{reply}</div></div>'
    page = (
        "<html><body>"
        + bubble(
            "received", "Jul 17, 2022 5:31:49 PM (Read by you after 5 seconds)", "a@e.org", "is &lt;it&gt; so?", replies
        )
        + '<div class="announcement"><p><span class="timestamp">Jul 17, 2022 5:31:50 PM</span> You left.</p></div>'
        + reply
        + bubble("sent iMessage", "Jul 17, 2022 5:32:03 PM", "Me", "Yes")
        + "</body></html>"
    )
    got = read(page, name="a@e.org.html")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("user", "a@e.org", "is <it> so?"), ("user", "Me", "Yep"), ("system", None, "You left."), ("user", "Me", "Yes"),
    ]  # fmt: skip
    assert got.messages[0].sent_at == datetime(2022, 7, 17, 17, 31, 49)
