"""Branches: what they share with the conversation that they left, and what becomes of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from appliance import Appliance, Session
from appliance.errors import UsageError
from tests.stored_sessions import clean, found, ingest, line, texts


def forked(memory: Appliance) -> tuple[Session, Session, Session, Session]:
    """A conversation of four turns; one that left it at the third, one that left that one at its end, and one
    that left at the second turn, through the first branch."""
    root = memory.sessions.create(title="Root")
    turns = [root.add("user", f"root {number}") for number in range(1, 5)]
    near = root.branch(turns[2].id)
    near.add("user", "near 1")
    far = near.branch()
    far.add("user", "far 1")
    side = near.branch(turns[1].id, title="Side")
    side.add("user", "side 1")
    near.add("user", "near 2")
    return root, near, far, side


PASTS = (
    ["root 1", "root 2", "root 3", "root 4"],
    ["root 1", "root 2", "root 3", "near 1", "near 2"],
    ["root 1", "root 2", "root 3", "near 1", "far 1"],
    ["root 1", "root 2", "side 1"],
)


def test_a_branch_shares_its_past_and_has_its_own_future(memory: Appliance) -> None:
    family = forked(memory)
    assert tuple(texts(each) for each in family) == PASTS
    root, near, far, side = (each.info for each in family)
    assert (near.branch_of, near.branch_at, near.messages, near.shared) == (root.id, "m3", 2, 3)
    assert (far.branch_of, far.shared, side.branch_of, side.shared) == (near.id, 4, root.id, 2)
    assert (near.title, far.title, side.title) == ("Root (branch)", "Root (branch)", "Side")
    exported = [each["content"] for each in memory.export()]
    assert sorted(exported) == sorted({text for past in PASTS for text in past}), "every message once"
    assert memory.sessions.messages(far.id)[0].session_id == root.id
    clean(memory)


def test_within_a_branch_its_past_is_found_and_no_other_future(memory: Appliance) -> None:
    for wait in (False, True):
        family = forked(memory)
        if wait:
            memory.embed_pending()
        for session, past in zip(family, PASTS, strict=True):
            for mode in ("hybrid", "lexical"):
                hits = memory.search("root near far side 1 2 3 4", session_id=session.id, mode=mode, limit=50)  # type: ignore[arg-type]
                assert {hit.text for hit in hits} == set(past)


def test_a_context_in_a_branch_begins_before_it(memory: Appliance) -> None:
    _, near, _, _ = forked(memory)
    (recent,) = [layer for layer in near.context("root", budget=800).layers if layer.name == "recent"]
    assert [item.text for item in recent.items] == PASTS[1]


def test_an_edit_of_the_shared_past_is_seen_in_both_and_made_where_it_belongs(memory: Appliance) -> None:
    root = memory.sessions.create()
    root.add("user", "we meet at nine", external_id="plan")
    branch = root.branch()
    with pytest.raises(UsageError, match=f"Edit it in {root.id}|shares"):
        branch.add("user", "we meet at ten", external_id="plan")
    root.add("user", "we meet at ten", external_id="plan")
    assert texts(branch) == ["we meet at ten"]


@pytest.mark.parametrize("verb", ["clear", "delete"])
@pytest.mark.parametrize("order", [(0,), (1,), (0, 1), (1, 0), (2, 1, 0), (0, 1, 2), (3, 0), (0, 3, 1)])
def test_nothing_of_a_branch_is_lost_with_what_it_left(memory: Appliance, verb: str, order: tuple[int, ...]) -> None:
    family = forked(memory)
    memory.embed_pending()
    for number in order:
        removed = getattr(family[number], verb)()
        assert removed.kept == 0 or removed.heir in {each.id for each in family}
    for number, (session, past) in enumerate(zip(family, PASTS, strict=True)):
        if number not in order:
            assert texts(session) == past
            assert found(memory, "root near far side 1 2 3 4", session_id=session.id) == set(past)
        elif verb == "clear":
            assert texts(session) == [] and session.info.branch_of is None
    left = {text for number, past in enumerate(PASTS) if number not in order for text in past}
    assert sorted(each["content"] for each in memory.export()) == sorted(left), "each once, nothing more"
    clean(memory)
    assert found(memory, "root near far side 1 2 3 4") == left


@pytest.mark.parametrize("erased", [("near 1",), ("near 1", "root 3"), ("near 1", "near 2", "root 2", "root 3")])
def test_a_branch_of_a_branch_keeps_its_past_when_a_message_between_them_is_erased(
    memory: Appliance, erased: tuple[str, ...]
) -> None:
    family = forked(memory)
    memory.embed_pending()
    ids = [message.id for session in family for message in session.messages() if message.text in erased]
    memory.erasure.forget(memory.erasure.preview(*dict.fromkeys(ids)))
    for session, past in zip(family, PASTS, strict=True):
        left = [text for text in past if text not in erased]
        assert texts(session) == left
        assert found(memory, "root near far side 1 2 3 4", session_id=session.id) == set(left)
    clean(memory)


def test_a_branch_keeps_its_order_whatever_times_its_messages_have(memory: Appliance) -> None:
    from datetime import UTC, datetime

    root = memory.sessions.create()
    for number in (1, 2):
        root.add("user", f"root {number}", external_id=f"{number}")
    branch = root.branch()
    for number in (1, 2, 3):
        # Of long before the branch began, and with external ids that its past has.
        external = f"{number}" if number == 3 else None
        branch.add("user", f"own {number}", timestamp=datetime(2020, 1, number, tzinfo=UTC), external_id=external)
    root.add("user", "later", external_id="3")
    expected = ["root 1", "root 2", "own 1", "own 2", "own 3"]
    assert texts(branch) == expected
    root.delete()
    assert texts(branch) == expected
    clean(memory)


def test_external_ids_that_meet_in_a_handing_over_are_told_apart(memory: Appliance, tmp_path: Path) -> None:
    ingest(memory, tmp_path, [line("a", 5, "five")])
    root = memory.sessions.resume("a")
    branch = root.branch()
    branch.add("user", "own", external_id="a-1")
    ingest(memory, tmp_path, [line("a", 1, "one")])  # comes into the shared past
    assert texts(branch) == ["one", "five", "own"]
    root.delete()
    assert texts(branch) == ["one", "five", "own"]
    clean(memory)


def test_what_was_withheld_stays_so_with_its_new_owner(memory: Appliance) -> None:
    root = memory.sessions.create()
    root.add("user", "the violin is a secret")
    branch = root.branch()
    root.set_storage_scope("none")
    assert not found(memory, "violin")
    root.delete()
    assert texts(branch) == ["the violin is a secret"] and not found(memory, "violin")
    assert branch.info.storage_scope == "none"
