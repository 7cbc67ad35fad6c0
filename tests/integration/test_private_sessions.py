"""A private conversation leaves nothing behind: not a byte of it in any file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance.requests import ContextRequest
from appliance.types import RemovalResult
from tests.engines import engine_of

pytestmark = pytest.mark.usefixtures("every_field_index")

SECRETS = ("Quetzalcoatlus", "Ouagadougou", "Eyjafjallajokull")


def held(home: Path) -> dict[Path, bytes]:
    """Every byte of a home."""
    return {path: path.read_bytes() for path in home.rglob("*") if path.is_file()}


@pytest.fixture
def known(memory: Appliance) -> Appliance:
    memory.sessions.create(title="Old").add("user", "The violin teacher lives in the harbour street")
    memory.embed_pending()
    return memory


def talk(memory: Appliance) -> Any:
    session = memory.sessions.create(private=True, title=SECRETS[0])
    session.add("user", f"I am afraid of {SECRETS[1]}, where does the violin teacher live?", author=SECRETS[2])
    session.add("assistant", f"In the harbour street, far from {SECRETS[1]}", metadata={"x": SECRETS[2]})
    return session


def test_no_byte_of_it_is_in_any_file(known: Appliance, home: Path) -> None:
    session = talk(known)
    session.context(f"{SECRETS[1]} and the violin teacher")
    session.branch().add("user", SECRETS[2])
    assert SECRETS[1] in session.window().turns[0].text
    session.rename(f"{SECRETS[0]} again")
    session.configure({"note": SECRETS[2]})
    known.run_pending_jobs()
    files = held(home)
    session.clear()
    session.delete()
    known.close()
    for each in (files, held(home)):
        assert each
        for content in each.values():
            assert not [word for word in SECRETS if word.encode() in content or word.lower().encode() in content]


def test_the_test_above_would_find_what_is_stored(known: Appliance, home: Path) -> None:
    known.sessions.create().add("user", f"I am afraid of {SECRETS[1]}")
    assert any(SECRETS[1].encode() in content for content in held(home).values())


def test_its_context_knows_the_memory_and_its_own_turns(known: Appliance) -> None:
    context = talk(known).context("where does the violin teacher live?", budget=400)
    assert {layer.name: [item.text for item in layer.items] for layer in context.layers if layer.items} == {
        "retrieved": ["The violin teacher lives in the harbour street"],
        "recent": [
            f"I am afraid of {SECRETS[1]}, where does the violin teacher live?",
            f"In the harbour street, far from {SECRETS[1]}",
        ],
    }
    assert context.tokens <= 400


def test_the_memory_learns_nothing_of_it(known: Appliance) -> None:
    session = talk(known)
    before = known.status()["counts"]
    known.run_pending_jobs()
    assert known.status()["counts"] == before
    assert not [hit for hit in known.search(SECRETS[1], limit=50) if SECRETS[1] in hit.text]
    assert [info.title for info in known.sessions.list()] == ["Old"]
    assert not [line for line in known.export() if SECRETS[1] in line["content"]]
    with pytest.raises(NotFound):
        engine_of(known).context(ContextRequest("x", session_id=session.id))


def test_it_has_the_verbs_of_a_session(known: Appliance) -> None:
    session = known.sessions.create(private=True)
    with pytest.raises(UsageError):
        session.branch()
    first = session.add("user", "Hi! What is the plan for the garden?", external_id="one")
    session.add("assistant", "Tomatoes", agent_id="gardener")
    session.add("user", "Hi! What is the plan for the attic?", external_id="one")
    assert [message.text for message in session.messages()] == ["Hi! What is the plan for the attic?", "Tomatoes"]
    assert session.title == "What is the plan for the garden?" and session.info.agents == ("gardener",)
    assert (session.info.messages, session.info.format, session.info.storage_scope) == (2, "private", "none")
    branch = session.branch(first.id)
    branch.add("user", "no, the cellar")
    assert len(session.messages()) == len(branch.messages()) == 2
    same = known.sessions.get(session.id)
    assert (same.id, same.is_private, same.messages()) == (session.id, True, session.messages())
    with pytest.raises(NotFound):
        known.sessions.get(session.id, user_id="ben")
    for refused in (
        lambda: session.add("owner", "x"),  # type: ignore[arg-type]
        lambda: session.add("user", " "),
        lambda: session.branch("m1"),
        lambda: session.branch(branch.messages()[-1].id),
        session.pin,
        lambda: session.set_ttl(5),
        lambda: session.set_storage_scope("all"),
        lambda: session.configure({"auto_recall": 3}),
        lambda: session.rename(""),
    ):
        with pytest.raises(UsageError):
            refused()
    removed = RemovalResult(1, kept=1, heir=branch.id)  # the branch keeps what it shares
    assert session.clear(dry_run=True) == removed and session.clear() == removed
    assert not session.messages() and session.title is None
    session.delete()
    for gone in (session.messages, lambda: session.add("user", "x"), lambda: known.sessions.get(session.id)):
        with pytest.raises(NotFound):
            gone()


def test_it_is_gone_with_the_program(known: Appliance, home: Path) -> None:
    session = talk(known)
    known.close()
    with Appliance.open(home, worker=False) as again, pytest.raises(NotFound):
        again.sessions.get(session.id)


def test_it_has_a_window_like_any_other_and_counts_no_recall(known: Appliance, home: Path) -> None:
    options = {"working": {"budget": 300, "keep": 2}}
    private = known.sessions.create(private=True, options=options)
    stored = known.sessions.create(options=options)
    for number in range(12):
        for session in (private, stored):
            session.add("user", f"Step {number}: the bees of hive {number} swarm at noon, so I close the window. " * 2)
    mine, other = private.window(), stored.window()
    assert mine.summary and mine.compacted == other.compacted > 0 and len(mine.turns) == len(other.turns)
    assert mine.tokens <= 300
    known.run_pending_jobs()
    before = [*engine_of(known)._database.read().execute("SELECT * FROM recalled")], held(home)[known.home.database]
    text = private.context("which hive, and where does the violin teacher live?", preset="tutor").text
    assert "violin" in text and "hive 0" in text, "the summary of what was said first, too"
    engine_of(known).pins.write_counts(lambda: True)
    assert (
        [*engine_of(known)._database.read().execute("SELECT * FROM recalled")],
        held(home)[known.home.database],
    ) == before
    with pytest.raises(UsageError, match="bogus"):
        private.configure({"working": {"bogus": 1}})


def test_its_ids_are_its_own_and_stay(known: Appliance) -> None:
    session = talk(known)
    first, second = session.messages()
    branch = session.branch(second.external_id)
    assert branch.is_private and branch.info.branch_of == session.id and branch.info.branch_at == second.id
    assert session.id.startswith("private-") and session.info.external_id == session.id
    assert {message.session_id for message in branch.messages()} == {session.id}
    assert all(message.id.startswith(f"{session.id}-") for message in (first, second))
    with pytest.raises(UsageError) as shared:
        branch.add("user", "Another name", external_id=first.external_id)
    assert first.id in str(shared.value) and session.id in str(shared.value.hint)
    for unknown in (lambda: known.sessions.get(session.id, user_id="ben"), lambda: known.sessions.get("private-0")):
        with pytest.raises(NotFound, match="There is no session 'private-"):
            unknown()
    session.delete()
    assert [message.id for message in branch.messages()] == [first.id, second.id]
    with pytest.raises(UsageError, match=f"{branch.id} is private"):
        known.overview.outline(branch.id)


def test_two_of_one_external_id_are_two(known: Appliance) -> None:
    first, second = (known.sessions.create(private=True, external_id="one") for _ in range(2))
    first.add("user", "Only in the first one")
    assert first.id != second.id and not second.messages()


def test_quotes_of_its_window_are_of_its_messages(known: Appliance) -> None:
    session = known.sessions.create(private=True, options={"working": {"budget": 300, "keep": 2}})
    for number in range(12):
        session.add("user", f"Step {number}: the bees of hive {number} swarm at noon, so I close the window. " * 2)
    texts = {message.id: message.text for message in session.messages()}
    quotes = session.window().quotes
    assert quotes and all(texts[quote.message_id][quote.start : quote.end] == quote.text for quote in quotes)


def test_its_ids_answer_alike_everywhere(known: Appliance) -> None:
    session = talk(known)
    first, *_ = session.messages()
    branch = session.branch()
    assert known.message(first.id) == first
    asked: list[Any] = [
        lambda id: known.pin(id),
        lambda id: known.unpin(id),
        lambda id: known.pins.importance(id),
        lambda id: known.versions(id),
        lambda id: known.variants(id),
        lambda id: list(known.export(ids=[id])),
        lambda id: list(known.export_markdown(ids=[id])),
        lambda id: known.search("violin", why_not=id),
        lambda id: known.erasure.preview(id),
    ]
    for ask in asked:
        with pytest.raises(UsageError, match=f"Message {first.id} is private and not indexed"):
            ask(first.id)
        with pytest.raises(NotFound):
            ask("private-0123456789abcdef-1")
    with pytest.raises(UsageError, match=f"Session {session.id} is private and not indexed"):
        list(known.export(ids=[session.id]))
    with pytest.raises(NotFound, match="There is no session or message 'private-0123456789abcdef'"):
        list(known.export(ids=["private-0123456789abcdef"]))
    session.delete()
    assert known.message(first.id).session_id == branch.id  # its branch has it
    branch.delete()
    with pytest.raises(NotFound, match=f"There is no message '{first.id}'"):
        known.message(first.id)
