"""A chat that is exported again after a contact was renamed is the same chat: nothing is stored twice, and what was
forgotten stays forgotten."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.types import IngestReport
from tests.people_exports import whatsapp

TALK = (
    ("Alice", "Hello! How are you?"), ("Bob", "Fine, the harbour was lovely."), ("Alice", "Wonderful to hear!"),
    ("Alice", "Did you see the news?"), ("Bob", "No, what happened?"), ("Bob", "I was on the boat all day."),
)  # fmt: skip
LATER = (*TALK, ("Bob", "The ferry leaves at noon."))


def renamed(talk: Sequence[tuple[str, str]], name: str = "Bob Smith") -> list[tuple[str, str]]:
    return [(name if author == "Bob" else author, text) for author, text in talk]


def read(memory: Appliance, folder: Path, partner: str, talk: Sequence[tuple[str, str]]) -> IngestReport:
    folder.mkdir(exist_ok=True)
    return memory.ingest(whatsapp(folder / f"WhatsApp Chat with {partner}.txt", *talk))


def counts(report: IngestReport) -> tuple[int, int, int]:
    return report.total("new"), report.total("updated"), report.total("duplicates")


def texts(memory: Appliance) -> list[str]:
    return sorted(str(line["content"]) for line in memory.export() if "content" in line)


def test_a_chat_with_a_renamed_contact_is_known(memory: Appliance, tmp_path: Path) -> None:
    read(memory, tmp_path / "a", "Bob", TALK)
    report = read(memory, tmp_path / "b", "Bob Smith", renamed(LATER))
    assert counts(report) == (1, 3, 3)
    assert "the chat is known already; Bob Smith was called Bob" in [note.message for note in report.files[0].notes]
    assert [(one.name, one.messages, one.me) for one in memory.people.list()] == [
        ("Bob Smith", 4, False), ("Alice", 3, True),
    ]  # fmt: skip
    assert len(memory.sessions.list().sessions) == 1
    for number, (partner, talk) in enumerate([("Bob Smith", renamed(LATER)), ("Bob", TALK)]):
        assert counts(read(memory, tmp_path / f"again{number}", partner, talk)) == (0, 0, len(talk))


@pytest.mark.slow
def test_what_was_forgotten_under_the_name_before_stays_forgotten(memory: Appliance, tmp_path: Path) -> None:
    read(memory, tmp_path / "a", "Bob", TALK)
    (hit, *_) = memory.search("harbour", min_score=0)
    memory.erasure.forget(memory.erasure.preview(hit.message_id))
    for number in range(2):
        report = read(memory, tmp_path / f"b{number}", "Bob Smith", renamed(TALK))
        assert report.total("new") == 0
    assert not any("harbour" in text for text in texts(memory))


@pytest.mark.slow
@pytest.mark.parametrize(
    "other",
    [
        [*TALK[:4], ("Carol", "No, what happened?"), ("Bob", "I was on the boat all day.")],  # both write
        [("Alice", "Hello! How are you?"), ("Carol", "Fine.")],  # many chats begin so
        [("Alice", "Hello! How are you?"), *[("Carol", f"Other words {number}") for number in range(4)]],
    ],
    ids=["both", "short", "other"],
)
def test_another_chat_stays_another(memory: Appliance, tmp_path: Path, other: list[tuple[str, str]]) -> None:
    read(memory, tmp_path / "a", "Bob", TALK)
    report = read(memory, tmp_path / "b", "Carol", other)
    assert report.total("updated") == 0
    assert set(texts(memory)) == {text for _, text in (*TALK, *other)}


@pytest.mark.slow
def test_two_equal_messages_of_a_renamed_contact_are_both_kept(memory: Appliance, tmp_path: Path) -> None:
    lines = "".join(
        f"[04/03/2025, 11:0{minute}:00] {author}: {text}\n"
        for minute, author, text in [
            (0, "Alice", "Hello!"), (1, "Bob", "ok"), (1, "Bob", "ok"), (2, "Alice", "Bye!"), (3, "Bob", "ok"),
        ]
    )  # fmt: skip
    for name in ("Bob", "Bob Smith"):
        path = tmp_path / f"WhatsApp Chat with {name}.txt"
        path.write_text(lines.replace("Bob", name), "utf-8")
        memory.ingest(path)
    assert texts(memory) == ["Bye!", "Hello!", "ok", "ok", "ok"]
