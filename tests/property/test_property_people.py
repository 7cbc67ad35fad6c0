"""People under random imports, decisions and deletions: an order does not matter, undo takes all back, scopes are
apart, and a filter by person finds exactly what the person wrote."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.memory.people.linking import link
from appliance.store.people import PersonDecision
from appliance.store.profiles import AuthorUse, Profile
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.examples import examples

ADDRESSES = [("address", f"{name}@x.example") for name in "abc"]
NUMBERS = [("number", f"+4917000000{n}0") for n in range(3)]
IDS = [("id", f"T/U{n}") for n in range(3)]
NAMES = [("name", name) for name in ("Ana", "Ben", "Ana Silva", "Benjamin Carter")]
SOURCES = ("mail", "slack", "whatsapp", "contacts")

identities = st.lists(st.sampled_from([*ADDRESSES, *NUMBERS, *IDS, *NAMES]), min_size=1, max_size=4, unique=True)


@st.composite
def worlds(draw: st.DrawFn) -> tuple[list[Profile], list[AuthorUse]]:
    profiles = [
        Profile(key, source, draw(st.booleans()) and draw(st.booleans()), source == "contacts", tuple(draw(identities)))
        for key, source in enumerate(draw(st.lists(st.sampled_from(SOURCES), max_size=6)), 1)
    ]
    uses: dict[tuple[int, str], AuthorUse] = {}
    for _ in range(draw(st.integers(0, 8))):
        session, (_, author) = draw(st.integers(1, 4)), draw(st.sampled_from([*NAMES, *NUMBERS]))
        source = SOURCES[session % 3]
        own = [one.key for one in profiles if one.source == source]
        keys = tuple(draw(st.lists(st.sampled_from(own), max_size=2, unique=True))) if own else ()
        uses[session, author] = AuthorUse(session, source, author, keys)
    return profiles, list(uses.values())


NODES = [("", *one) for one in (*ADDRESSES, *NUMBERS)] + [("slack", *one) for one in IDS]
sides = st.lists(st.sampled_from(NODES), min_size=1, max_size=3, unique=True).map(tuple)
decisions = st.lists(
    st.one_of(
        st.builds(PersonDecision, st.just("merge"), sides, sides),
        st.builds(PersonDecision, st.just("split"), sides, sides),
        st.builds(PersonDecision, st.just("me"), sides),
    ),
    max_size=4,
)


def grouped(links: Any) -> set[frozenset[tuple[str, str, str]]]:
    return {frozenset(person.nodes) for person in links.people}


@given(worlds(), decisions, st.randoms(use_true_random=False))
@settings(max_examples=examples(500), deadline=None)
def test_linking_is_a_partition_that_depends_on_no_order(world: Any, decided: Any, random: Any) -> None:
    profiles, uses = world
    links = link(profiles, uses, decided)
    nodes = [node for person in links.people for node in person.nodes]
    assert len(nodes) == len(set(nodes)), "an identity is of one person"
    assert all(person.name for person in links.people)
    assert sum(person.me for person in links.people) <= 1 or decided
    assert links.authors.keys() == {(use.session, use.author) for use in uses}
    random.shuffle(profiles)
    random.shuffle(uses)
    assert grouped(link(profiles, uses, decided)) == grouped(links)


@given(worlds(), st.tuples(sides, sides))
@settings(max_examples=examples(500), deadline=None)
def test_what_is_split_is_never_one_person(world: Any, split: Any) -> None:
    a, b = split
    links = link(*world, [PersonDecision("split", a, b)])
    for person in links.people:
        assert not any(x != y and {x, y} <= person.nodes for x in a for y in b)


# --- a whole memory ---------------------------------------------------------------------------------------

PEOPLE = {"U1": "Ben", "U2": "Ben", "U3": "Ana", "U4": "Benno"}
said = st.lists(
    st.tuples(
        st.sampled_from(sorted(PEOPLE)), st.sampled_from(["one", "two", "three"]), st.sampled_from(["me", "zoe"])
    ),
    min_size=1,
    max_size=12,
)
actions = st.lists(
    st.tuples(st.sampled_from(["merge", "split", "rename", "undo", "delete"]), st.integers(0, 9), st.integers(0, 9)),
    max_size=5,
)


def write(folder: Path, session: str, user: str, authors: list[str]) -> Path:
    """A channel of Slack in which users write one message each."""
    place = folder / user / session
    (place / session).mkdir(parents=True)
    users = [{"id": id, "team_id": "T", "profile": {"display_name": name}} for id, name in PEOPLE.items()]
    (place / "users.json").write_text(json.dumps(users))
    day = [
        {"type": "message", "user": id, "text": f"word of {id} in {session} for {user}", "ts": f"17410000{n:02}.000100"}
        for n, id in enumerate(authors)
    ]
    (place / session / "2025-03-03.json").write_text(json.dumps(day))
    return place


@given(said, actions)
@settings(max_examples=examples(30, costly=True), deadline=None, suppress_health_check=[HealthCheck.too_slow])
def test_a_filter_by_person_is_exact_and_undo_takes_all_back(messages: Any, acted: Any) -> None:
    with (
        tempfile.TemporaryDirectory() as place,
        Appliance.open(Path(place, "home"), worker=False, embedder=HashEmbedder()) as memory,
    ):
        for user in ("me", "zoe"):
            for session in ("one", "two", "three"):
                authors = [author for author, where, whose in messages if (where, whose) == (session, user)]
                if authors:
                    memory.ingest(write(Path(place), session, user, authors), user_id=user, wait=False)
        memory.embed_pending()
        others = memory.people.list("zoe")
        before = memory.people.list("me")
        made = 0
        for action, a, b in acted:
            people = list(memory.people.list("me"))
            if not people:
                break
            first, second = people[a % len(people)], people[b % len(people)]
            if action == "merge" and first != second:
                memory.people.merge(first.id, second.id, user_id="me")
                made += 1
            elif action == "split" and len({one.value for one in first.identities if one.kind == "id"}) > 1:
                value = sorted(one.value for one in first.identities if one.kind == "id")[0]
                memory.people.split(first.id, [value], user_id="me")
                made += 1
            elif action == "rename":
                memory.people.rename(first.id, f"Name {b}", user_id="me")
                made += 1
            elif action == "undo" and made:
                memory.people.undo("me")
                made -= 1
            _check_filters(memory)
        for _ in range(made):
            memory.people.undo("me")
        assert memory.people.list("me") == before
        assert memory.people.list("zoe") == others
        engine = engine_of(memory)
        with engine._database.write() as tx:
            tx.execute("INSERT OR IGNORE INTO people_stale VALUES ('me', '')")
        assert memory.people.list("me") == before, "deriving again changes nothing"
        for info in memory.sessions.list(user_id="me"):
            memory.sessions.get(info.id).delete()
        assert not memory.people.list("me", everyone=True)
        assert memory.people.list("zoe") == others


def _check_filters(memory: Appliance) -> None:
    for person in memory.people.list("me"):
        ids = {one.value.removeprefix("T/") for one in person.identities if one.kind == "id"}
        hits = memory.search("word", authors=[person.id], user_id="me", limit=50, min_score=0, per_session=0)
        assert {hit.text.split()[2] for hit in hits} <= ids
        assert all(hit.text.endswith("for me") for hit in hits)
        # Copies are folded, so that hits and messages can't be counted against each other.
        assert {hit.text.split()[2] for hit in hits} == ids or ids & {"U1", "U2"}
