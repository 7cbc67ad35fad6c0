"""Transcripts in Markdown and plain text: what is one, what is none, and who said what when."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime

import pytest

from appliance.errors import InputError
from appliance.formats import markdown
from appliance.formats.base import DocumentHead

AIDER = """
# aider chat started at 2025-03-04 09:15:00

> /usr/bin/aider --model m  \n> Aider v0.80.0  \n> Added ferry.py to the chat.  \n
#### make the timetable sorted  \n#### by departure  \n
I will sort it.

#### Notes on sorting

> A quotation.

```python
# aider is not started here
#### nor is this a question  \nrows.sort()
```

> Tokens: 1.2k sent, 80 received.  \n> Applied edit to ferry.py  \n
#### /exit  \n
# aider chat started at 2025-03-04 10:00:00

> Aider v0.80.0  \n
#### thanks  \n
You are welcome.
"""

# What must be known without being told, with (role, author, text) of its messages.
CHATS = {
    "headings": (
        "# Ferries\n\n## User\n\nWhen does it leave?\n\n## Assistant\n\nAt nine.\n\n### Fares\n\n"
        "Free.\n\n## User\n\nThanks.\n",
        [
            ("user", None, "When does it leave?"),
            ("assistant", None, "At nine.\n\n### Fares\n\nFree."),
            ("user", None, "Thanks."),
        ],
    ),
    "one question": (
        "#### You:\nWhy?\n\n#### ChatGPT:\nBecause.\n",
        [("user", None, "Why?"), ("assistant", None, "Because.")],
    ),
    "asked and response": (
        "# you asked\n\nmessage time: 2025-02-03 10:11:12\n\nWhy?\n\n---\n\n# chatgpt response\n\n"
        "Because.\n\n---\n\n"
        "# you asked\n\nmessage time: 2025-02-03 10:12:00\n\nAh.\n\n---\n\n# chatgpt response\n\nYes.\n",
        [("user", None, "Why?"), ("assistant", None, "Because."), ("user", None, "Ah."), ("assistant", None, "Yes.")],
    ),
    "prompt and response": (
        "# Ferries\n\n**Created:** 10/17/2025 22:03:13\n"
        "**Link:** [https://claude.ai/chat/0f9a4c8e-1111-4222-8333-abcdefabcdef]\n\n"
        "## Prompt:\n10/17/2025, 10:03:13 PM\n\nWhy?\n\n## Response:\n10/17/2025, 10:03:20 PM\n\n"
        "Because.\n\n"
        "## Prompt:\n10/17/2025, 10:04:00 PM\n\nAh.\n\n## Response:\n10/17/2025, 10:04:10 PM\n\n> quoted\n",
        [
            (
                "system",
                None,
                "**Created:** 10/17/2025 22:03:13\n"
                "**Link:** [https://claude.ai/chat/0f9a4c8e-1111-4222-8333-abcdefabcdef]",
            ),
            ("user", None, "Why?"),
            ("assistant", None, "Because."),
            ("user", None, "Ah."),
            ("assistant", None, "> quoted"),
        ],
    ),
    "a copied page": (
        "You said:\nWhy?\nChatGPT said:\nBecause.\nYou said:\nAh.\nChatGPT said:\nNote: all true.\n",
        [
            ("user", None, "Why?"),
            ("assistant", None, "Because."),
            ("user", None, "Ah."),
            ("assistant", None, "Note: all true."),
        ],
    ),
    "a copied page with levels": (
        "##### You said:\n\nWhy?\n\n###### ChatGPT said:\n\nBecause.\n\n##### You said:\n\nAh.\n\n"
        "###### ChatGPT said:\n\nYes.\n",
        [("user", None, "Why?"), ("assistant", None, "Because."), ("user", None, "Ah."), ("assistant", None, "Yes.")],
    ),
    "bold labels": (
        "**Human:** Why?\n\n**Assistant:** Because.\n\n**Note:** not a turn.\n\n**Human:** Ah.\n\n"
        "**Assistant:** Yes.\n",
        [
            ("user", None, "Why?"),
            ("assistant", None, "Because.\n\n**Note:** not a turn."),
            ("user", None, "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "bold alone": (
        "_**User (2025-11-06 12:01Z)**_\n\nWhy?\n\n---\n\n_**Agent (model x, mode Ask)**_\n\n"
        "Because.\n\n---\n\n_**User (2025-11-06 12:05Z)**_\n\nAh.\n\n---\n",
        [("user", None, "Why?"), ("assistant", None, "Because."), ("user", None, "Ah.")],
    ),
    "plain": (
        "User: Why?\nAssistant: Because:\n- one\nSource: a book\nUser: Ah.\nAssistant: Yes.\n",
        [
            ("user", None, "Why?"),
            ("assistant", None, "Because:\n- one\nSource: a book"),
            ("user", None, "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "a name and an assistant": (
        "ana-k: Why?\n\nGitHub Copilot: Because.\n\nana-k: Ah.\n\nGitHub Copilot: Yes.\n",
        [
            ("user", "ana-k", "Why?"),
            ("assistant", None, "Because."),
            ("user", "ana-k", "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "system and tools": (
        "## System\n\nBe kind.\n\n## User\n\nWhy?\n\n## Thinking\n\nHm.\n\n## Tool result\n\n42\n\n"
        "## Assistant\n\nBecause.\n\n"
        "## User\n\nAh.\n\n## Assistant\n\nYes.\n",
        [
            ("system", None, "Be kind."),
            ("user", None, "Why?"),
            ("tool", None, "Hm."),
            ("tool", None, "42"),
            ("assistant", None, "Because."),
            ("user", None, "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "other languages": (
        "**Du:** Warum?\n\n**ChatGPT:** Darum.\n\n**Du:** Ah.\n\n**ChatGPT:** Ja.\n",
        [("user", None, "Warum?"), ("assistant", None, "Darum."), ("user", None, "Ah."), ("assistant", None, "Ja.")],
    ),
    "models by name": (
        "## User\n\nWhy?\n\n## GPT-4o\n\nBecause.\n\n## User\n\nAh.\n\n## Claude 3.5 Sonnet\n\nYes.\n",
        [("user", None, "Why?"), ("assistant", None, "Because."), ("user", None, "Ah."), ("assistant", None, "Yes.")],
    ),
    "turns within code": (
        "## User\n\nShow me.\n\n## Assistant\n\n```markdown\n## User\n\nhi\n\n## Assistant\n\n"
        "hello\n```\n\n## User\n\nAh.\n",
        [
            ("user", None, "Show me."),
            ("assistant", None, "```markdown\n## User\n\nhi\n\n## Assistant\n\nhello\n```"),
            ("user", None, "Ah."),
        ],
    ),
    "code that never ends": (
        "## User\n\n```\nhelp\n\n## Assistant\n\nSure.\n\n## User\n\nAh.\n\n## Assistant\n\nYes.\n",
        [("user", None, "```\nhelp"), ("assistant", None, "Sure."), ("user", None, "Ah."), ("assistant", None, "Yes.")],
    ),
    "bold with times": (
        "**Ana Ruiz** (2024-03-15 9:00 PM): evening\nall\n**Ben Okoye** (2024-03-15 9:01 PM): hey\n"
        "**Ana Ruiz** (2024-03-15 9:02 PM): bye\n",
        [("user", "Ana Ruiz", "evening\nall"), ("user", "Ben Okoye", "hey"), ("user", "Ana Ruiz", "bye")],
    ),
    "bold with dashes": (
        "**Ana** 09:15 \u2014 morning\n**Ben** 09:16 - hey\n**Ana** 09:17 \u2013 bye\n",
        [("user", "Ana", "morning"), ("user", "Ben", "hey"), ("user", "Ana", "bye")],
    ),
    "bold brackets": (
        "**[18:37] \U0001f464 Ana Ruiz:** hello\n**[18:38] \U0001f464 Ben:** hey\n"
        "**[18:39] \U0001f464 Ana Ruiz:** bye\n",
        [("user", "Ana Ruiz", "hello"), ("user", "Ben", "hey"), ("user", "Ana Ruiz", "bye")],
    ),
    "matrix": (
        "[18:37] @ana:example.org: hello\n[18:38] @ben:example.org: hey\n[18:40] @ana:example.org: bye: now\n",
        [
            ("user", "@ana:example.org", "hello"),
            ("user", "@ben:example.org", "hey"),
            ("user", "@ana:example.org", "bye: now"),
        ],
    ),
    "teams": (
        "Ana Ruiz, 3/15/2024 6:37 PM: hello team\nOkoye, Ben, 3/15/2024 6:38 PM: hey\nsecond line\n"
        "Ana Ruiz, 3/15/2024 6:39 PM: at 4?\n",
        [("user", "Ana Ruiz", "hello team"), ("user", "Okoye, Ben", "hey\nsecond line"), ("user", "Ana Ruiz", "at 4?")],
    ),
    "name and time in brackets": (
        "Ana Ruiz (2024-03-15 18:37 UTC): hello\nBen (2024-03-15 18:38 UTC): hey\n"
        "Ana Ruiz (2024-03-15 18:39 UTC): bye\n",
        [("user", "Ana Ruiz", "hello"), ("user", "Ben", "hey"), ("user", "Ana Ruiz", "bye")],
    ),
    "bold names": (
        "**Ana:** are you there?\n**Ben:** yes\n**Ana:** good, I come over\n**Ben:** ok\n",
        [
            ("user", "Ana", "are you there?"),
            ("user", "Ben", "yes"),
            ("user", "Ana", "good, I come over"),
            ("user", "Ben", "ok"),
        ],
    ),
}

# What must stay a document.
DOCUMENTS = {
    "readme": "# Ferry\n\nA timetable.\n\n## Usage\n\n```\nferry --help\n```\n\n## Users\n\nNone.\n"
    "\n## License\n\nMIT\n",
    "readme with an example": "# Bot\n\nTalk to it.\n\n```\nUser: hi\nAssistant: hello\nUser: bye\n"
    "Assistant: bye\n```\n\n## Install\n\nRun it.\n",
    "readme with a bare example": "# Bot\n\nTalk to it:\n\nUser: hi\nAssistant: hello\nUser: bye\n"
    "Assistant: bye\n\n## Install\n\nRun it.\n\n"
    "## Configure\n\nSet it.\n\n## Contribute\n\nPlease do.\n\n## License\n\nMIT\n\nMore.\n",
    "the manual of an API": "# Roles\n\n## System\n\nSets the tone.\n\n## User\n\nAsks.\n\n"
    "## Assistant\n\nAnswers.\n\n## Errors\n\nNone.\n",
    "a prompt's template": "# Summaries\n\n## System prompt\n\nYou sum up.\n\n## User\n\nThe text.\n"
    "\n## Output format\n\nJSON.\n",
    "a list of prompts": "## Prompt\n\nWrite a poem.\n\n## Prompt\n\nWrite a letter.\n\n## Prompt\n\nWrite a list.\n",
    "recipe": "# Soup\n\n**Servings:** 4\n**Time:** 30 min\n\n**Ingredients:** leeks, cream\n"
    "**Step 1:** cut\n**Step 2:** cook\n",
    "two recipes": "**Dish:** soup\n**Time:** 30\n**Cost:** low\n\n**Dish:** cake\n**Time:** 60\n**Cost:** low\n",
    "meeting notes": "# Monday\n\n**Date:** 2024-03-15\n**Attendees:** Ana, Ben\n**Decisions:** go\n"
    "**Action items:** Ben: call\n**Next meeting:** Friday\n",
    "notes on people": "# Standup\n\n**Ana:** ferry done\n**Ben:** blocked by rain\n**Cleo:** on leave\n",
    "standups of two days": "## Monday\n\n**Ana:** ferry\n**Ben:** rain\n\n## Tuesday\n\n**Ana:** boat\n**Ben:** sun\n",
    "decisions, twice": "**Decision:** we go\n**Action:** Ana calls\n**Decision:** we stay\n**Action:** Ben calls\n",
    "examples of a task": "**Input:** 1 2\n**Output:** 3\n**Input:** 2 2\n**Output:** 4\n",
    "a glossary": "**Ferry:** a boat\n**Pier:** a place\n**Deck:** a floor\n**Hull:** a body\n",
    "a catalogue": "**Model:** A1\n**Price:** 3\n**Model:** B2\n**Price:** 4\n**Model:** C3\n**Price:** 9\n",
    "a changelog": "**Added:** boats\n**Fixed:** leaks\n\n**Added:** piers\n**Fixed:** holes\n",
    "questions and answers": "**Q:** Is it free?\n**A:** Yes.\n**Q:** Is it open?\n**A:** No.\n",
    "questions as headings": "# FAQ\n\n## Question\n\nIs it free?\n\n## Answer\n\nYes.\n",
    "a screenplay with one speaker": "INT. PIER\n\n**ANA:** Where is it?\n\nShe waits.\n\n"
    "**ANA:** Gone.\n\n**ANA:** I see!\n",
    "a screenplay": "INT. PIER\n\n**ANA:** Where is it?\n\n**BEN:** Gone.\n\n**ANA:** I see!\n\n**BEN:** Yes.\n",
    "a play": "ANA: Where is it?\nBEN: Gone.\nANA: I see!\nBEN: Yes.\n",
    "a monologue with times": "**Ana** (9:04 AM): morning\n**Ana** (9:05 AM): noon\n**Ana** (9:06 AM): night\n",
    "a schedule": "**Registration** 09:00 - hall\n**Keynote** 10:00 - room 1\n"
    "**Break** 11:00 - coffee\n**Talk** 11:30 - room 2\n**Break** 12:00 - lunch\n",
    "a log": "2024-03-15 09:00:01 INFO: started\n2024-03-15 09:00:02 ERROR: stopped\n"
    "2024-03-15 09:00:03 INFO: started\n",
    "a log with clocks": "[09:00:01] INFO: started\n[09:00:02] ERROR: stopped\n[09:00:03] INFO: started\n",
    "a log of a server": "Mar 15 09:00:01 host sshd[1]: opened\nMar 15 09:00:02 host cron[2]: ran\n",
    "a diary with clocks": "[09:00] Breakfast: eggs\n[10:00] Walk: pier\n[12:00] Lunch: soup\n",
    "settings": "user: ana\nhost: pier\nport: 22\nassistant: none\ncolor: blue\n",
    "a mail": "From: ana@example.org\nTo: ben@example.org\nSubject: ferry\n"
    "Date: Fri, 15 Mar 2024 09:00:00 +0000\n\nUser: hi\n",
    "code": "class User:\n    name: str\n\nclass Assistant:\n    name: str\n\ndef main():\n    pass\n",
    "code with labels": "int main() {\nuser:\n  goto assistant;\nassistant:\n  return 0;\n}\n",
    "html": "<p> one\n<b> two\n<p> three\n<b> four\n<p> five\n",
    "a list of tasks": "- [ ] User: add\n- [x] Assistant: remove\n* **Ana:** ferry\n"
    "* **Ben:** boat\n* **Ana:** pier\n* **Ben:** deck\n",
    "a table": "| **User:** | **Assistant:** |\n|---|---|\n| hi | hello |\n",
    "an essay": "# On talk\n\nThe user speaks. The assistant answers.\n\n**User:** is a word. So is assistant.\n",
    "a job": "## Assistant\n\nWe look for one.\n\n## You\n\nAre kind.\n\n## We\n\nPay.\n",
    "poem": "You: said the sea.\nMe: said the pier.\n\nAnd all was still.\n",
    "json": '{"messages": [\n"User: hi",\n"Assistant: hello",\n"User: bye"\n]}\n',
    "empty lines": "\n\n\n",
}


def said(got):
    return [(m.role, m.author, m.text) for m in got.messages]


@pytest.mark.parametrize("name", CHATS)
def test_a_chat_is_known_and_read(read, name):
    text, messages = CHATS[name]
    for source in (text, text.replace("\n", "\r\n")):
        got = read(source, name="a.md")
        assert got.format == "markdown"
        assert [(r, a, t.replace("\r\n", "\n")) for r, a, t in said(got)] == messages
        assert got.problems == []
        assert len(got.sessions) == 1


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_stays_one(read, name):
    text = DOCUMENTS[name]
    assert markdown.matches(DocumentHead("a.md", text, False)) < 0.5
    # Some are another format's: a mail is one.
    if text.strip():
        with suppress(InputError):
            assert read(text, name="a.md").format != "markdown"


def test_there_are_enough_of_both():
    assert len(CHATS) > 15
    assert len(DOCUMENTS) > 25


def test_a_readme_is_none_even_where_it_looks_like_one():
    text = CHATS["headings"][0]
    assert markdown.matches(DocumentHead("x/a.md", text, False)) > 0.5
    assert markdown.matches(DocumentHead("x/README.md", text, False)) < 0.5


@pytest.mark.parametrize(
    ("text", "messages"),
    [
        ("ANA: Where?\nBEN: Gone.\n", [("user", "ANA", "Where?"), ("user", "BEN", "Gone.")]),
        ("**Ana:** hi\n", [("user", "Ana", "hi")]),
        ("User: hi\nAssistant: hello\n", [("user", None, "hi"), ("assistant", None, "hello")]),
        (
            "[31/12/2024, 10:00:00] Ana: x\n[31/12/2024, 10:00:01] Ben: y\n",
            [("user", "Ana", "x"), ("user", "Ben", "y")],
        ),
        ("<ana> hi\n<ben> hey\n", [("user", "ana", "hi"), ("user", "ben", "hey")]),
        ("**Q:** Free?\n**A:** Yes.\n", [("user", "Q", "Free?"), ("user", "A", "Yes.")]),
        (DOCUMENTS["a screenplay"], [
            ("system", None, "INT. PIER"),
            ("user", "ANA", "Where is it?"),
            ("user", "BEN", "Gone."),
            ("user", "ANA", "I see!"),
            ("user", "BEN", "Yes."),
        ]),
    ],
)  # fmt: skip
def test_what_detection_is_unsure_of_is_read_when_told(read, text, messages):
    assert said(read(text, forced="markdown")) == messages


def test_a_text_without_turns(read):
    got = read("just\nwords\n", forced="markdown")
    assert (got.messages, got.problems, len(got.notes)) == ([], [], 1)


def test_times(read):
    got = read(CHATS["prompt and response"][0], name="a.md")
    assert [m.sent_at for m in got.messages[1:3]] == [
        datetime(2025, 10, 17, 22, 3, 13),
        datetime(2025, 10, 17, 22, 3, 20),
    ]
    assert got.sessions[0].external_id == "markdown:0f9a4c8e-1111-4222-8333-abcdefabcdef"
    assert got.sessions[0].title == "Ferries"
    got = read(CHATS["bold alone"][0], name="a.md")
    assert [m.sent_at for m in got.messages] == [
        datetime(2025, 11, 6, 12, 1, tzinfo=UTC),
        None,
        datetime(2025, 11, 6, 12, 5, tzinfo=UTC),
    ]
    got = read(CHATS["asked and response"][0], name="a.md")
    assert got.messages[0].sent_at == datetime(2025, 2, 3, 10, 11, 12)
    got = read(CHATS["bold with times"][0], name="a.md")
    assert [m.sent_at.hour for m in got.messages] == [21, 21, 21]
    got = read(CHATS["name and time in brackets"][0], name="a.md")
    assert got.messages[0].sent_at == datetime(2024, 3, 15, 18, 37, tzinfo=UTC)
    got = read('#### You:\n\n<time datetime="2025-01-02T03:04:05.000Z">3:04</time>\n\nWhy?\n\n#### ChatGPT:\n\nSo.\n')
    assert (got.messages[0].sent_at, got.texts) == (datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC), ["Why?", "So."])


def test_the_day_of_a_clock(read):
    text = CHATS["bold with dashes"][0].replace("09:17", "00:02")
    assert [m.sent_at for m in read(text, name="x/2024-02-28-notes.md").messages] == [
        datetime(2024, 2, 28, 9, 15),
        datetime(2024, 2, 28, 9, 16),
        datetime(2024, 2, 29, 0, 2),
    ]
    got = read(text, name="notes.md")
    assert [m.sent_at for m in got.messages] == [None] * 3
    assert len(got.notes) == 1
    got = read("## 2024-05-06\n" + text + "### Tuesday, May 7, 2024\n**Ben** 08:00 - up\n", name="2020-01-01.md")
    assert [m.sent_at.day for m in got.messages] == [6, 6, 7, 7]
    # On a clock of twelve hours, one o'clock follows noon.
    text = "**Ana** 11:50 - a\n**Ben** 12:10 - b\n**Ana** 1:05 - c\n"
    assert [m.sent_at.day for m in read(text, name="2024-02-28.md").messages] == [28, 28, 28]


def test_day_or_month_first(read):
    got = read("Ana, 2/3/2024 18:37: x\nBen, 2/3/2024 18:38: y\nAna, 14/3/2024 18:39: z\n", name="a.txt")
    assert [(m.sent_at.day, m.sent_at.month) for m in got.messages] == [(2, 3), (2, 3), (14, 3)]
    got = read("Ana, 2/3/2024 18:37: x\nBen, 3/4/2024 18:38: y\nAna, 4/5/2024 18:39: z\n", name="a.txt")
    assert [n.where for n in got.notes] == ["line 1"]


def test_a_conversation_keeps_its_id(read):
    text = CHATS["headings"][0]
    ids = {
        read(source, name=name).sessions[0].external_id
        for source, name in (
            (text, "a.md"),
            (text.replace("# Ferries", "# Another title"), "b/c.md"),
            (text + "\n## Assistant\n\nWelcome.\n", "a (1).md"),
            (text.replace("\n", "\r\n"), "a.md"),
        )
    }
    assert len(ids) == 1
    other = text.replace("At nine.", "At ten.")
    assert read(other, name="a.md").sessions[0].external_id not in ids


def test_aider(read):
    got = read(AIDER, name=".aider.chat.history.md")
    assert got.format == "markdown"
    assert [(s.title, s.created_at) for s in got.sessions] == [
        ("make the timetable sorted", datetime(2025, 3, 4, 9, 15)),
        ("thanks", datetime(2025, 3, 4, 10)),
    ]
    assert [(m.role, m.text) for m in got.messages] == [
        ("system", "/usr/bin/aider --model m\nAider v0.80.0\nAdded ferry.py to the chat."),
        ("user", "make the timetable sorted\nby departure"),
        (
            "assistant",
            "I will sort it.\n\n#### Notes on sorting\n\n> A quotation.\n\n```python\n"
            "# aider is not started here\n"
            "#### nor is this a question  \nrows.sort()\n```",
        ),
        ("system", "Tokens: 1.2k sent, 80 received.\nApplied edit to ferry.py"),
        ("user", "/exit"),
        ("system", "Aider v0.80.0"),
        ("user", "thanks"),
        ("assistant", "You are welcome."),
    ]
    assert got.messages[3].metadata == {"files": ["ferry.py"]}
    longer = read(AIDER + "\n#### more  \n\nSure.\n", name="history.md")
    assert [s.external_id for s in longer.sessions] == [s.external_id for s in got.sessions]
    assert longer.messages[-1].text == "Sure."


def test_aider_without_line_breaks(read):
    text = (
        "# aider chat started at 2026-05-18\n> Tokens: 1.2k sent\n#### add a guard\nHere:\n```go\n> quote\n```\nDone.\n"
    )
    got = read(text)
    assert [(m.role, m.text) for m in got.messages] == [
        ("system", "Tokens: 1.2k sent"),
        ("user", "add a guard"),
        ("assistant", "Here:\n```go\n> quote\n```\nDone."),
    ]


@pytest.mark.parametrize("name", [*CHATS, "aider"])
def test_cut_anywhere(read, name):
    data = (AIDER if name == "aider" else CHATS[name][0]).encode()
    for cut in range(0, len(data), 11):
        read(data[:cut] + b"\xff\x00", forced="markdown")


def test_bytes_and_encodings(read):
    text = CHATS["bold labels"][0].replace("Why?", "Größe?")
    assert read(text.encode("cp1252"), name="a.md").texts[0] == "Größe?"
    assert read(text.encode("utf-16"), name="a.md").texts[0] == "Größe?"
    got = read(text.encode() + b"\xff\xff", name="a.md")
    assert [p.where for p in got.problems] == ["line 10"]


def test_collected_samples(read, exports):
    base = exports / "plaintext" / "gbrain"
    expected = {
        "2024-03-15-imessage-001.md": (5, "morning", "you?", datetime(2024, 3, 15, 9, 0)),
        "2024-03-15-imessage-time-only-12h-001.md": (4, "morning", "good night", datetime(2024, 3, 15, 9, 4)),
        "2026-04-10-bold-time-dash-002.md": (3, "ASCII separator", "Unicode em dash", datetime(2026, 4, 10, 7, 5)),
        "2026-05-24-telegram-bracket-001.md": (4, "hello world", "good", datetime(2026, 5, 24, 18, 37)),
        "2026-05-28-bold-name-no-time-001.md": (
            4,
            "Okay, start on. And then weirdly like zoom doesn’t work.",
            "Okay, let me.",
            None,
        ),
        "2026-05-28-chatgpt-export-you-chatgpt-001.md": (
            4,
            "What is the capital of France?",
            "You are welcome! Let me know if you have any other questions.",
            None,
        ),
        "2026-08-01-markdown-heading-turn-basic.md": (3, "What is the deploy command?", "Thanks.", None),
    }
    for name, (count, first, last, begun) in expected.items():
        got = read(base / name)
        assert (got.format, len(got.messages)) == ("markdown", count)
        assert (got.texts[0], got.texts[-1]) == (first, last)
        assert got.messages[0].sent_at == begun
        assert got.problems == got.notes == []
    got = read(base / "2024-03-15-imessage-time-only-12h-001.md")
    assert got.messages[-1].sent_at == datetime(2024, 3, 16, 22, 7)
    got = read(base / "2026-05-28-chatgpt-export-you-chatgpt-001.md")
    assert got.roles == ["user", "assistant"] * 2
    assert got.texts[1].endswith("the Louvre Museum.")
    got = read(exports / "teams" / "gbrain" / "2024-03-15-teams-export-001.txt")
    assert (got.format, [m.author for m in got.messages]) == ("markdown", ["Alice Example", "Bob Example"] * 2)
    assert got.messages[-1].sent_at == datetime(2024, 3, 15, 18, 40)
    assert got.texts[-1] == "works for me"
    got = read(base / "2024-03-15-irc-classic-001.txt", forced="markdown")
    assert [m.author for m in got.messages] == ["alice", "bob"] * 2


def test_other_formats_samples_are_left_alone(exports):
    for path in sorted(exports.rglob("*")):
        if path.is_file() and not {"plaintext", "teams"} & set(path.parts):
            text = path.read_bytes()[:65536].decode("utf-8", "replace")
            assert markdown.matches(DocumentHead(path.as_posix(), text, False)) <= 0.5, path
