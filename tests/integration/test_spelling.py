"""A word that no message has is searched for as the messages spell it, and this is said."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.store import vocabulary
from appliance.store.database import Database
from appliance.types import Filters, Scope
from tests.waits import spent

SAID = {
    "me": [
        "The necklace is from my grandmother",
        "On Mondays I go to the pottery class",
        "At the zoo we saw a Hyacinth Macaw",
        "Der Schmetterling saß auf dem Fensterbrett",
        "Mi hermana trabaja en la biblioteca",
        "Öğretmen bize kitap verdi",
        "Красная машина стоит у дома",
        "We hiked over the bridge",
        "I was relieved",
        "The kennel is dry",
        "The keel is red",
        "A new keel",
    ],
    "ben": ["My potery broke", "The flamingo stands on one leg"],
}


@pytest.fixture
def said(memory: Appliance, tmp_path: Path) -> Appliance:
    for user, texts in SAID.items():
        path = tmp_path / f"{user}.jsonl"
        path.write_text(
            "".join(
                json.dumps(
                    {
                        "session_id": f"chat-{number}",
                        "message_id": str(number),
                        "role": "user",
                        "author": "Karolina Macow",
                        "session_title": "Bridje building",
                        "content": text,
                    }
                )
                + "\n"
                for number, text in enumerate(texts)
            )
        )
        memory.ingest(path, user_id=user, wait=False)
    return memory


def asked(memory: Appliance, query: str, **how: object) -> tuple[list[str], list[str]]:
    """The notes on the spelling of a query, and the texts that it finds."""
    hits = memory.search(query, mode="lexical", **how)  # type: ignore[arg-type]
    return [note for note in hits.notes if "searched for" in note], [hit.text for hit in hits]


@pytest.mark.parametrize(
    ("query", "corrections", "answer"),
    [
        ("necklase", {"necklase": "necklace"}, 0),
        ("Where is my Neclkace?", {"Neclkace": "necklace"}, 0),
        ("potery", {"potery": "pottery"}, 1),
        ("Hyacint Makaw", {"Hyacint": "hyacinth", "Makaw": "macaw"}, 2),
        ("wo ist der Schmeterling?", {"Schmeterling": "schmetterling"}, 3),
        ("la bibliotega", {"bibliotega": "biblioteca"}, 4),
        ("öğretmn", {"öğretmn": "öğretmen"}, 5),
        ("мошина", {"мошина": "машина"}, 6),
        ("kenel", {"kenel": "kennel"}, 9),  # and not "keel", which more messages have
    ],
)
def test_a_slip_is_found_and_said(said: Appliance, query: str, corrections: dict[str, str], answer: int) -> None:
    notes, texts = asked(said, query)
    assert notes == [f"No message has {word!r}; searched for {other!r} too." for word, other in corrections.items()]
    assert texts[0] == SAID["me"][answer]
    assert said.search(query).query == query


@pytest.mark.parametrize(
    "query",
    [
        *("necklace", "necklaces", "hiking over bridges", '"necklase"', 'necklase on "the bridge"', "neck_lase"),
        *("recieved", "carrot", "kitap", "Macow", "bridje", "xyzzyplugh", "neck", "", "the", "a" * 10_000),
        "necklase potery hyacint schmeterling",  # as in a language that the memory does not have
    ],
)
def test_nothing_else_is_corrected(said: Appliance, query: str) -> None:
    assert asked(said, query)[0] == []


@pytest.mark.parametrize("word", ["Müsli", "Äpfel"])
def test_a_word_that_is_a_whole_message_is_not_corrected(memory: Appliance, word: str) -> None:
    memory.sessions.create().add("user", word)
    assert asked(memory, word) == ([], [word])


def test_no_user_learns_a_word_of_another(said: Appliance) -> None:
    assert asked(said, "flamigno") == ([], [])
    assert asked(said, "flamigno", user_id="ben")[1] == ["The flamingo stands on one leg"]
    assert asked(said, "necklase", user_id="ben") == ([], [])
    # That another has the misspelled word does not show either.
    assert asked(said, "potery")[0] == ["No message has 'potery'; searched for 'pottery' too."]
    assert asked(said, "potery", user_id="ben") == ([], SAID["ben"][:1])


def test_a_slip_in_what_was_just_said_is_one_still(said: Appliance) -> None:
    query = "Where is my necklase?"
    said.sessions.create().add("user", query)
    for _ in range(2):
        notes, texts = asked(said, query)
        assert notes == ["No message has 'necklase'; searched for 'necklace' too."] and texts[0] == SAID["me"][0]
        assert said.search(query)[0].text != query
        said.embed_pending()


def test_what_a_session_withholds_is_no_spelling_for_others(said: Appliance) -> None:
    session = said.sessions.create(storage_scope="none")
    session.add("user", "The walrus sings")
    assert asked(said, "walrsu") == ([], [])
    assert asked(said, "walrsu", session_id=session.id)[0] == ["No message has 'walrsu'; searched for 'walrus' too."]


def test_an_archived_word_is_known(said: Appliance) -> None:
    said.embed_pending()
    assert said.archive.run(importance=1.0, days=0).archived == sum(map(len, SAID.values()))
    assert asked(said, "necklace", include_archived=True)[1] == [SAID["me"][0]]
    assert asked(said, "necklace")[0] == []


def test_known_words_cost_next_to_nothing(said: Appliance) -> None:
    database = Database(said.home.database)
    words = "necklace grandmother mondays pottery class hyacinth macaw hiked bridge".split()
    db = database.read()
    assert vocabulary.missing_words(db, words, Filters(Scope("me")), "") == []
    took = spent(lambda: [vocabulary.missing_words(db, words, Filters(Scope("me")), "") for _ in range(20)])
    database.close()
    assert took < 20 * 0.002
