"""Copies by text: the same memories come out whatever arrives first and however it is cut, in one scope only."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from hypothesis import example, given, settings
from hypothesis import strategies as st

from appliance.ingest import near_duplicates
from appliance.store import messages, sessions, variants
from appliance.store.database import Database
from appliance.store.messages import MessageInsert
from appliance.types import Role, Scope, SessionRecord
from tests.examples import examples

Said = tuple[str, Role, str]
"""Who, as what, and the words."""

STORY = (
    "in the spring we took the slow boat along the coast and slept in a small house above the harbour where"
    " the baker sang every morning and nobody ever asked us when we meant to leave or what we did at home"
).split()
STORY_ZH = "春天我们坐慢船沿着海岸航行住在港口上方的一间小房子里面包师每天早上唱歌没有人问我们什么时候打算离开"


def other_word(at: int, word: str) -> str:
    return " ".join([*STORY[:at], word, *STORY[at + 1 :]])


told = st.one_of(
    st.sampled_from(
        ["ok", "OK", "thanks", "  thanks ", "How late is it?", "how late  is it?", "", "👍", "No. 7", "No. 8"]
    ),
    st.builds(other_word, st.integers(0, len(STORY) - 1), st.sampled_from(["boat", "blue", "7", "8", "harbour."])),
    st.builds(lambda end: " ".join(STORY[:end]), st.integers(7, len(STORY))),
    st.builds(lambda end: STORY_ZH[:end], st.integers(5, len(STORY_ZH))),
)
saying: st.SearchStrategy[Said] = st.tuples(
    st.sampled_from(["ana", "ben"]), st.sampled_from(["user", "assistant"]), told
)


@contextmanager
def database() -> Iterator[Database]:
    with tempfile.TemporaryDirectory() as folder:
        opened = Database(Path(folder) / "recall.db")
        try:
            yield opened
        finally:
            opened.close()


def arrive(database: Database, numbered: Sequence[tuple[int, Said]]) -> None:
    """Store messages in one transaction and link them, as a round does."""
    with database.write() as tx:
        keys = []
        for number, (user, role, text) in numbered:
            session, _ = sessions.upsert(tx, Scope(user), "native", SessionRecord(f"session {number % 3}"))
            keys += messages.insert(
                tx,
                session,
                None,
                [MessageInsert(str(number), number, 0, None, None, role, None, text, True, None, "{}")],
            )
        near_duplicates.link_by_text(tx, near_duplicates.sign(variants.comparable_messages(tx, keys)))


def memories(database: Database) -> set[frozenset[int]]:
    """The messages of each memory that has several, by their numbers."""
    db = database.read()
    found: dict[int, set[int]] = {}
    number = dict(db.execute("SELECT id, CAST(external_id AS INTEGER) FROM message"))
    for key, memory in variants.group_heads(db, list(number)).items():
        found.setdefault(memory, set()).add(number[key])
    return {frozenset(group) for group in found.values()}


def expected(said: Sequence[Said]) -> set[frozenset[int]]:
    """The same by looking at every pair; MinHash may pass over one in a hundred that are just near enough."""
    root = list(range(len(said)))
    texts = [variants.normalize_text(text) for *_, text in said]
    for i, one in enumerate(said):
        for j in range(i):
            if one[:2] == said[j][:2] and (texts[i] == texts[j] or near(texts[i], texts[j])):
                gone, stays = root[i], root[j]
                root = [stays if r == gone else r for r in root]
    groups = (frozenset(i for i, r in enumerate(root) if r == wanted) for wanted in set(root))
    return {group for group in groups if len(group) > 1}


def near(one: str, other: str) -> bool:
    a, b = near_duplicates.shingles(one), near_duplicates.shingles(other)
    enough = min(len(a), len(b)) >= near_duplicates.MIN_SHINGLES
    return (
        enough
        and near_duplicates.decisive_words(one) == near_duplicates.decisive_words(other)
        and near_duplicates.jaccard(a, b) >= near_duplicates.MIN_JACCARD
    )


@settings(max_examples=examples(60, costly=True), deadline=None)
@given(said=st.lists(saying, min_size=1, max_size=24), data=st.data())
@example(said=[("ana", "user", "ok"), ("ben", "user", "ok"), ("ana", "assistant", "ok")], data=None)
def test_neither_order_nor_rounds_change_what_belongs_together(said: list[Said], data: st.DataObject) -> None:
    numbered = list(enumerate(said))
    with database() as first, database() as second:
        arrive(first, numbered)
        order = data.draw(st.permutations(numbered)) if data else numbered[::-1]
        size = data.draw(st.integers(1, 9)) if data else 1
        for start in range(0, len(order), size):
            arrive(second, order[start : start + size])
        assert memories(first) == memories(second)
        for group in memories(first):
            assert len({said[number][:2] for number in group}) == 1, "one scope and role"
        for group in memories(first):
            assert any(group <= wanted for wanted in expected(said))
        for opened in (first, second):
            assert not list(variants.disagreements(opened.read()))
            (count,) = opened.read().execute("SELECT count(*) FROM message").fetchone()
            assert count == len(said), "nothing is dropped"


@settings(max_examples=examples(60, costly=True), deadline=None)
@given(said=st.lists(saying, min_size=2, max_size=16), data=st.data())
def test_what_is_deleted_leaves_nothing_and_the_others_stay_together(said: list[Said], data: st.DataObject) -> None:
    gone = data.draw(st.sets(st.integers(0, len(said) - 1), min_size=1))
    with database() as opened:
        arrive(opened, list(enumerate(said)))
        before = memories(opened)
        with opened.write() as tx:
            for number in gone:
                tx.execute("DELETE FROM message WHERE external_id = ?", (str(number),))
        assert memories(opened) == {group - gone for group in before if len(group - gone) > 1}
        db = opened.read()
        (left,) = db.execute("SELECT count(*) FROM fingerprint").fetchone()
        assert left == len(said) - len(gone)
        assert not list(variants.disagreements(db))
        # What finds the copies of a text went from the one that is gone to another of the same text.
        arrive(opened, [(number + 100, said[number]) for number in gone])
        assert {frozenset(n % 100 for n in group) for group in memories(opened)} == before


def test_a_text_s_bands_are_for_good() -> None:
    """They are stored: another version of a library must not make others."""
    said = variants.ComparableMessage(1, 1, "ana", "", "user", None, None, 0, 0, " ".join(STORY))
    (found,) = near_duplicates.sign([said])
    assert found.digest == -128203156532040625
    assert found.bands == (-942205298, 1684373869, -397416612, -2112290868, -1306803189)
