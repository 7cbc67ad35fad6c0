"""Secrets of messages: marked when they are stored, found by a scan, hidden from assistants, dropped on request."""

from __future__ import annotations

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.secrets.masking import drop_secrets, mask_secrets
from appliance_models import HashEmbedder
from tests.homes import holding
from tests.stored_sessions import clean, ingest, line
from tests.unit.test_unit_secrets import CARD, GITHUB, JWT

pytestmark = pytest.mark.usefixtures("every_field_index")

STORES = Path(__file__).parent.parent / "stores"
PASSWORD = "Tr0ub4dor&3"


def kinds(memory: Appliance) -> list[tuple[str, str]]:
    return [(mark.message_id, mark.kind) for mark in memory.secrets.list()]


def opened(home: Path, policy: str = "mask") -> Appliance:
    home.mkdir(mode=0o700, exist_ok=True)
    (home / "config.toml").write_text(f'[secrets]\npolicy = "{policy}"\n')
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    lines = [
        line("a", 1, f"The lighthouse wifi password is {PASSWORD}, do not tell anybody."),
        line("a", 2, "The lighthouse opens at noon, call +49 170 1234567."),
        line("a", 3, f"The token of the lighthouse bot: {GITHUB}"),
    ]
    ingest(memory, tmp_path, lines)
    return memory


def test_they_are_marked_when_they_are_stored(filled: Appliance) -> None:
    marks = filled.secrets.list()
    assert [(mark.message_id, mark.kind) for mark in marks] == [("m1", "password"), ("m3", "github-pat")]
    text = filled.message("m1").text
    assert text[marks[0].start : marks[0].end] == PASSWORD
    filled.sessions.create().add("user", f"My card is {CARD}.")
    assert kinds(filled)[-1] == ("m4", "card-number")
    assert not filled.secrets.list(user_id="ana")


def test_a_message_that_changes_or_goes_takes_its_marks_along(filled: Appliance, tmp_path: Path) -> None:
    ingest(filled, tmp_path, [line("a", 1, "We changed it.")])
    assert kinds(filled) == [("m3", "github-pat")]
    filled.erasure.forget(filled.erasure.preview("m3"))
    assert kinds(filled) == []
    clean(filled)


@pytest.mark.parametrize("name", ["first", "development"])
def test_a_scan_finds_what_an_earlier_version_stored(home: Path, name: str) -> None:
    home.mkdir(mode=0o700)
    (home / "recall.db").write_bytes(gzip.decompress((STORES / f"{name}.db.gz").read_bytes()))
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        memory.sessions.create().add("user", f"My card is {CARD}.")
    connection = sqlite3.connect(home / "recall.db")
    connection.execute("DELETE FROM secret_mark")
    connection.commit()
    connection.close()
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        assert not memory.secrets.list()
        report = memory.secrets.scan()
        assert [mark.kind for mark in report.found] == ["card-number"] and report.scanned == 5
        assert memory.secrets.scan().found == report.found


def test_assistants_do_not_see_them(filled: Appliance) -> None:
    masked = filled.masked()
    for hidden in (masked.search("lighthouse wifi password"), masked.sessions.messages("a"), masked.message("m1")):
        assert PASSWORD not in repr(hidden) and GITHUB not in repr(hidden) and "lighthouse" in repr(hidden)
    assert PASSWORD in repr(filled.search("lighthouse wifi password"))
    assert GITHUB not in repr(list(masked.export())) and GITHUB in repr(list(filled.export()))
    text = masked.message("m1").text
    assert text == filled.message("m1").text.replace(PASSWORD, "•" * len(PASSWORD))
    assert masked.message("m2") == filled.message("m2")


def test_contexts_never_show_them_even_shortened(memory: Appliance, tmp_path: Path) -> None:
    long = f"The lighthouse opens at noon. {'We met the keeper there. ' * 40} Its token: {JWT} and more. " * 3
    ingest(memory, tmp_path, [line("a", 1, long), line("a", 2, f"The lighthouse password is {PASSWORD}.")])
    session = memory.sessions.create()
    session.add("user", f"the lighthouse token again: {GITHUB}")
    for budget in (120, 300, 800, 8000):
        context = memory.context("lighthouse password and token", session_id=session.id, budget=budget)
        shown = repr(context)
        assert "lighthouse" in shown
        assert not any(part in shown for part in (PASSWORD, GITHUB, *JWT.split("."))), budget


def test_with_keep_everybody_sees_them_and_with_drop_nobody(home: Path, tmp_path: Path) -> None:
    lines = [line("a", 1, f"The password is {PASSWORD}.", metadata={"attachments": [{"name": "x", "text": GITHUB}]})]
    with opened(home, "keep") as memory:
        ingest(memory, tmp_path, lines)
        assert kinds(memory) == [("m1", "password")]
        assert PASSWORD in memory.masked().message("m1").text and PASSWORD in memory.context("password").text
    other = tmp_path / "other"
    with opened(other, "drop") as memory:
        ingest(memory, tmp_path, lines)
        session = memory.sessions.create(title="by hand")
        session.add("user", f"and my card {CARD}")
        assert memory.message("m1").text == "The password is [secret: password]."
        assert memory.message("m1").metadata["attachments"][0]["text"] == "[secret: github-pat]"
        assert session.messages()[0].text == "and my card [secret: card-number]"
        assert not memory.secrets.list()
        ingest(memory, tmp_path, lines)
        assert memory.verify().checked["revisions"] == 0, "the same export again changes nothing"
        clean(memory)
    assert not holding(other, *(one.encode() for one in (PASSWORD, GITHUB, CARD)))


def test_one_ingest_can_drop_them(memory: Appliance, tmp_path: Path) -> None:
    ingest(memory, tmp_path, [line("a", 1, f"The password is {PASSWORD}.")], secrets="drop")
    assert memory.message("m1").text == "The password is [secret: password]."


def test_a_repeated_or_cut_secret_is_hidden_too() -> None:
    value = {
        "text": f"my token is {GITHUB}",
        "snippet": f"…{GITHUB[-20:]} is it",
        "lines": (f"ends with {GITHUB[:12]}…", "token"),
        "id": GITHUB,
    }
    masked = mask_secrets(value)
    assert masked["id"] == GITHUB
    assert masked["snippet"] == f"…{'•' * 20} is it" and masked["lines"] == (f"ends with {'•' * 12}…", "token")
    assert drop_secrets(json.loads(json.dumps({"a": [f"x {GITHUB}"]}))) == {"a": ["x [secret: github-pat]"]}


def test_what_has_no_secret_is_the_same_value() -> None:
    value = {"text": "nothing", "more": [1, None, ("a",)]}
    assert mask_secrets(value) is value


def test_nothing_that_is_made_of_a_message_has_a_part_of_its_secret(memory: Appliance) -> None:
    session = memory.sessions.create(title="Harbour")
    session.add("user", "I live in Lisbon. My wifi password is Marigold!7732, please keep it. My name is Ana.")
    session.add("assistant", f"Noted. The token is {GITHUB}. Do you want to rotate it in March?")
    session.add("user", "My password is Marigold!7732 at work too. I decided to rotate it on 5 March with Bruno Lopes.")
    for _ in range(8):
        session.add(
            "user", f"The github token {GITHUB} works, and Marigold!7732 as password does too: password: Marigold!7732."
        )
    made = memory.summaries.make(session.id)
    assert made and memory.facts.list()
    masked = memory.masked()
    answers = [masked.summaries.list(session_id=session.id), masked.search("password wifi token", limit=20)]
    stored = [memory.facts.list(), memory.sessions.list(), *((summary.text, summary.metadata) for summary in made)]
    for shown in (*answers, *stored):
        text = str(shown)
        assert "Marigold" not in text and "7732" not in text
        assert not any(GITHUB[at : at + 8] in text for at in range(len(GITHUB) - 8))
