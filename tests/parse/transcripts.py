"""Texts for the tests of transcripts: what is a chat, and what must stay a document."""

from __future__ import annotations

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
    "names with digits and in lower case": (
        "**Ana:** can we fix the pier?\n**bob the builder:** yes we can\n**user42:** when?\n**Ana:** today, I hope\n"
        "**Participant 3:** fine\nby me\n**bob the builder:** ok\n",
        [
            ("user", "Ana", "can we fix the pier?"),
            ("user", "bob the builder", "yes we can"),
            ("user", "user42", "when?"),
            ("user", "Ana", "today, I hope"),
            ("user", "Participant 3", "fine\nby me"),
            ("user", "bob the builder", "ok"),
        ],
    ),
    "such names with times": (
        "**Ana** (2024-03-15 9:00 AM): the pier is broken\n**bob the builder** (2024-03-15 9:01 AM): coming\n"
        "**user42** (2024-03-15 9:02 AM): good\n**Ana** (2024-03-15 9:03 AM): thanks\n",
        [
            ("user", "Ana", "the pier is broken"),
            ("user", "bob the builder", "coming"),
            ("user", "user42", "good"),
            ("user", "Ana", "thanks"),
        ],
    ),
    "such names in Teams": (
        "Room 4 guest, 3/15/2024 6:37 PM: hello\nAna Ruiz, 3/15/2024 6:38 PM: hey\n"
        "ana from sales, 3/15/2024 6:39 PM: hi all\nAna Ruiz, 3/15/2024 6:40 PM: shall we?\n",
        [
            ("user", "Room 4 guest", "hello"),
            ("user", "Ana Ruiz", "hey"),
            ("user", "ana from sales", "hi all"),
            ("user", "Ana Ruiz", "shall we?"),
        ],
    ),
    "handles with clocks": (
        "[18:37] user42: hello\n[18:38] bob_7: hey\n[18:39] the boss: back to work\n[18:40] user42: ok\n",
        [
            ("user", "user42", "hello"),
            ("user", "bob_7", "hey"),
            ("user", "the boss", "back to work"),
            ("user", "user42", "ok"),
        ],
    ),
    "numbered speakers": (
        "Speaker 1: Where does it leave from?\n\nSpeaker 2: The old pier.\nNote: not on Sundays.\n\n"
        "Speaker 1: I see.\n\nSpeaker 3: So do I.\n",
        [
            ("user", "Speaker 1", "Where does it leave from?"),
            ("user", "Speaker 2", "The old pier.\nNote: not on Sundays."),
            ("user", "Speaker 1", "I see."),
            ("user", "Speaker 3", "So do I."),
        ],
    ),
    "speakers of a machine": (
        "SPEAKER_00: welcome aboard\nSPEAKER_01: thank you\nSPEAKER_00: mind the step\n",
        [
            ("user", "SPEAKER_00", "welcome aboard"),
            ("user", "SPEAKER_01", "thank you"),
            ("user", "SPEAKER_00", "mind the step"),
        ],
    ),
    "speakers with clocks": (
        "Speaker 1 (00:00:03): welcome\nSpeaker 2 (00:00:09): hi\nSpeaker 1 (00:00:12): bye\n",
        [("user", "Speaker 1", "welcome"), ("user", "Speaker 2", "hi"), ("user", "Speaker 1", "bye")],
    ),
    "speakers in bold alone": (
        "**Speaker 1**\nWelcome.\n\n**Speaker 2**\nThanks.\n\n**Speaker 1**\nGo on.\n",
        [("user", "Speaker 1", "Welcome."), ("user", "Speaker 2", "Thanks."), ("user", "Speaker 1", "Go on.")],
    ),
    "speakers as headings": (
        "## Speaker 1\n\nWelcome.\n\n## Speaker 2\n\nThanks.\n\n## Speaker 1\n\nGo on.\n",
        [("user", "Speaker 1", "Welcome."), ("user", "Speaker 2", "Thanks."), ("user", "Speaker 1", "Go on.")],
    ),
    "speakers in brackets": (
        "[SPEAKER_00]: welcome\n[SPEAKER_01]: thanks\n[SPEAKER_00]: go on\n",
        [("user", "SPEAKER_00", "welcome"), ("user", "SPEAKER_01", "thanks"), ("user", "SPEAKER_00", "go on")],
    ),
    "short names of participants": (
        "**P1:** I like it\n**P2:** I do not\n**P1:** why?\n**P2:** because\n",
        [("user", "P1", "I like it"), ("user", "P2", "I do not"), ("user", "P1", "why?"), ("user", "P2", "because")],
    ),
    "three lines with a handle": (
        "**user42:** hi, is anyone here?\n**bob the builder:** yes, I am\n**user42:** cool\n",
        [
            ("user", "user42", "hi, is anyone here?"),
            ("user", "bob the builder", "yes, I am"),
            ("user", "user42", "cool"),
        ],
    ),
    "an interview": (
        "Interviewer: How long have you sailed?\nParticipant 3: Ten years.\nInterviewer: And before?\n"
        "Participant 3: I rowed.\n",
        [
            ("user", "Interviewer", "How long have you sailed?"),
            ("user", "Participant 3", "Ten years."),
            ("user", "Interviewer", "And before?"),
            ("user", "Participant 3", "I rowed."),
        ],
    ),
    "numbered speakers in bold": (
        "# Interview\n\n**Participant 1:** The ferry is slow.\n\n**Participant 2:** It is not.\n\n"
        "**Participant 1:** Slow.\n",
        [
            ("user", "Participant 1", "The ferry is slow."),
            ("user", "Participant 2", "It is not."),
            ("user", "Participant 1", "Slow."),
        ],
    ),
    "three lines in bold": (
        "**Ana:** did you see the ferry?\n**Ben:** yes, at nine\n**Ana:** great\n",
        [("user", "Ana", "did you see the ferry?"), ("user", "Ben", "yes, at nine"), ("user", "Ana", "great")],
    ),
    "no plain name": (
        "**bob the builder:** can we fix it?\n**wendy the welder:** yes we can!\n**bob the builder:** thanks\n",
        [
            ("user", "bob the builder", "can we fix it?"),
            ("user", "wendy the welder", "yes we can!"),
            ("user", "bob the builder", "thanks"),
        ],
    ),
    "a third person says one thing": (
        "**Ana:** are you there?\n**Ben:** yes\n**Ana:** good\n**Cleo Diaz:** me too!\n",
        [
            ("user", "Ana", "are you there?"),
            ("user", "Ben", "yes"),
            ("user", "Ana", "good"),
            ("user", "Cleo Diaz", "me too!"),
        ],
    ),
    "a user with a number": (
        "user42: Why?\n\nAssistant: Because.\n\nuser42: Ah.\n\nAssistant: Yes.\n",
        [
            ("user", "user42", "Why?"),
            ("assistant", None, "Because."),
            ("user", "user42", "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "a prompt on a higher level": (
        "## System\n\nBe kind.\n\n### Human\n\nWhy?\n\n### Assistant\n\nBecause.\n\n#### Details\n\nMany.\n\n"
        "### Human\n\nAh.\n",
        [
            ("system", None, "Be kind."),
            ("user", None, "Why?"),
            ("assistant", None, "Because.\n\n#### Details\n\nMany."),
            ("user", None, "Ah."),
        ],
    ),
    "sides on two levels": (
        "# Ferries\n\n## User\n\nWhy?\n\n### Assistant\n\nBecause.\n\n#### User guide\n\nNone.\n\n## User\n\nAh.\n\n"
        "### Assistant\n\nYes.\n",
        [
            ("user", None, "Why?"),
            ("assistant", None, "Because.\n\n#### User guide\n\nNone."),
            ("user", None, "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "a prompt and one question": (
        "# System\n\nBe kind.\n\n## User\n\nWhy?\n\n### Assistant\n\nBecause.\n",
        [("system", None, "Be kind."), ("user", None, "Why?"), ("assistant", None, "Because.")],
    ),
    "headings of an answer": (
        "## User\n\nWhat are roles?\n\n## Assistant\n\n### System\n\nThe tone.\n\n### User\n\nThe person.\n\n"
        "### Assistant\n\nI.\n\n## User\n\nAh.\n\n## Assistant\n\nYes.\n",
        [
            ("user", None, "What are roles?"),
            ("assistant", None, "### System\n\nThe tone.\n\n### User\n\nThe person.\n\n### Assistant\n\nI."),
            ("user", None, "Ah."),
            ("assistant", None, "Yes."),
        ],
    ),
    "a label within a turn": (
        "**Ana Ruiz:** what do you bring?\n**things to eat:** bread\n**Ben Okoye:** soup\n**Ana Ruiz:** good!\n"
        "**Ben Okoye:** bye\n",
        [
            ("user", "Ana Ruiz", "what do you bring?\n**things to eat:** bread"),
            ("user", "Ben Okoye", "soup"),
            ("user", "Ana Ruiz", "good!"),
            ("user", "Ben Okoye", "bye"),
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
    "steps with numbers": "**Step 1:** cut it\n**Step 2:** cook it\n**Step 1:** do you cut again?\n**Step 2:** ok\n",
    "steps without bold": "Step 1: cut\nStep 2: cook\nStep 1: cut\nStep 2: cook\n",
    "weeks": "**Week 1:** run!\n**Week 2:** rest!\n**Week 1:** run!\n**Week 2:** rest!\n",
    "options": "**Option 1:** do you go?\n**Option 2:** do you stay?\n**Option 1:** yes\n**Option 2:** no\n",
    "teams and points": "**Team 1:** 3\n**Team 2:** 5\n**Team 1:** 7\n**Team 2:** 1\n",
    "quarters": "**Q1:** 3.1\n**Q2:** 3.4\n**Q1:** 2.9\n**Q2:** 3.0\n",
    "versions": "**v1.2:** fixes\n**v1.3:** more\n**v1.2:** your old one\n**v1.3:** yes\n",
    "measurements": "host1: 20 ms\nhost2: 30 ms\nhost1: 21 ms\nhost2: 31 ms\n",
    "cells": "A1: 3\nB2: 4\nA1: 5\nB2: 6\n",
    "speakers of a conference": "# Programme\n\nSpeaker 1: Ana, ferries\nSpeaker 2: Ben, piers\nSpeaker 3: Cleo\n",
    "speakers in bold": "**Speaker 1:** Ana Ruiz\n**Speaker 2:** Ben Okoye\n**Moderator:** Cleo Diaz\n",
    "a speaker's data": "Speaker 1: 50 W\nImpedance: 8 ohm\nWeight: 3 kg\nSpeaker 2: 30 W\nImpedance: 4 ohm\n"
    "Weight: 2 kg\nSpeaker 1: black\nColour: red\n",
    "a diary in lower case": "[09:00] check mail: done\n[10:00] call the bank: no answer\n[11:00] check mail: done\n",
    "a to-do list": "**buy milk:** two litres\n**call mum:** you promised\n**buy milk:** again!\n",
    "key facts": "**Paris:** big\n**Rome:** old\n**Paris:** wet\n",
    "a table of roles": "**Host:** pier.example\n**Guest:** none\n**Host:** deck.example\n",
    "settings with numbers": "host1: up\nport2: 22\nuser42: ana\nhost1: down\nassistant1: none\n",
    "ingredients twice": "**100 g flour:** sieve\n**2 eggs:** beat\n**100 g flour:** fold in\n**2 eggs:** glaze\n",
    "a list of hosts and guests": "Host: pier\nGuest: deck\nHost: quay\nGuest: dock\n",
    "code with numbered labels": "loop1: mov a, b\nloop2: jmp loop1\nloop1: ret\nloop2: nop\n",
    "roles of an API on two levels": "# Roles\n\n## System\n\nTone.\n\n### User\n\nAsks.\n\n## Assistant\n\nAnswers."
    "\n\n## Errors\n\nNone.\n\n## Limits\n\nMany, and more\nand more\nand more.\n",
    "manual of an app": "# System\n\n## User\n\nAdd one.\n\n## Groups\n\nAdd one.\n\n### Assistant\n\nA guide.\n",
    "a yaml of people": "person 1: ana\nage: 3\nperson 2: ben\nage: 4\ncity: rome\nperson 1: cleo\n",
    "minutes with names": "# Minutes\n\n**Present:** Ana, Ben\n\n**Item 1:** the pier\n**Item 2:** the deck\n"
    "**Item 1:** closed\n",
    "speakers of a programme as headings": "# Programme\n\n## Speaker 1\n\nAna Ruiz\n\n## Speaker 2\n\nBen Okoye\n",
    "loudspeakers": "## Speaker 1\n\n50 W\n\n## Speaker 2\n\n30 W\n\n## Cables\n\nNone.\n\n## Speaker 1 again\n\nx\n",
    "priorities": "**P1:** fix the pier\n**P2:** paint it\n**P1:** close the deck\n**P2:** sweep\n",
    "an agenda": "Welcome (09:00): Ana\nFerries (09:30): Ben\nBreak (10:00): coffee\nPiers (10:15): Cleo\n",
    "footnotes": "[1]: https://pier.example\n[2]: https://deck.example\n[1]: again\n[2]: and again\n",
    "a log in bold": "**web1:** started\n**web2:** started\n**web1:** stopped\n**web2:** stopped\n",
    "empty lines": "\n\n\n",
}
