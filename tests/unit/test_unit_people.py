"""Which identities are one person: numbers, names, evidence, traps, and what a person decides."""

from __future__ import annotations

import pytest

from appliance.memory.people import names
from appliance.memory.people.linking import Links, link
from appliance.memory.people.proposals import is_automated, propose
from appliance.store import identities
from appliance.store.people import PersonDecision, StoredPerson, to_node
from appliance.store.profiles import AuthorUse, Profile

# --- normal forms -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("written", "normal"),
    [
        ("+49 170 1234567", "+491701234567"),
        ("0049 (170) 123-45-67", "+491701234567"),
        ("+49 (0)170 1234567", "+491701234567"),
        ("\u202a+49\u00a0170\u00a01234567\u202c", "+491701234567"),
        ("tel:+1-415-555-0132;ext=2", "+14155550132"),
        ("0170 1234567", "01701234567"),
        ("110", None),
        ("Ana", None),
        ("+49 170 12345678901234", None),
        ("2026-02-06 10:30", None),
    ],
)
def test_a_number_in_any_spelling(written: str, normal: str | None) -> None:
    assert identities.normalise_number(written) == normal


@pytest.mark.parametrize(
    ("national", "international"),
    [
        ("01701234567", "+491701234567"),  # the zero is dialled within Germany
        ("4155550132", "+14155550132"),  # none in America
        ("0612345678", "+390612345678"),  # in Italy it stays
        ("4917012345678", "+4917012345678"),  # written without the plus
    ],
)
def test_a_number_without_its_country_is_the_one_that_ends_so(national: str, international: str) -> None:
    assert identities.international_forms([national, international, "+33612345670"]) == {national: international}


def test_a_number_that_fits_two_countries_is_neither() -> None:
    assert identities.international_forms(["01701234567", "+491701234567", "+431701234567"]) == {}
    assert identities.international_forms(["1234567", "+49301234567"]) == {}, "the code of its town is missing"


def test_an_author_may_be_an_address_or_a_number() -> None:
    assert identities.of_author("Helga@Web.Example") == ("address", "helga@web.example")
    assert identities.of_author("+49 170 1234567") == ("number", "+491701234567")
    for name in ("Ana", "user42", "2024", "Ana @ work", "10 11 12"):
        assert identities.of_author(name) is None


# --- names ------------------------------------------------------------------------------------------------


def test_the_parts_of_a_name() -> None:
    assert names.name_parts("Brandt, Dr. Helga (Tracker)") == ("helga", "brandt")
    assert names.name_parts("helga.brandt") == ("helga", "brandt")
    assert names.name_parts("a@b.example") == ()
    assert names.name_parts("User 1") != names.name_parts("User 2")


@pytest.mark.parametrize("other", ["H. Brandt", "Helga", "Brandt", "Helga Maier", "Brandt, Helga", "a@b.example"])
def test_names_that_one_person_may_write_under(other: str) -> None:
    assert not names.contradicts("Helga Brandt", other)


@pytest.mark.parametrize("other", ["Otto Brandt", "Mum", "Ana Silva"])
def test_names_of_two_people(other: str) -> None:
    assert names.contradicts("Helga Brandt", other)


def test_short_forms_of_a_name() -> None:
    assert not names.contradicts("Benjamin Carter", "Ben Carter")
    assert names.resembles("Bob Carter", "Robert Carter")
    assert names.resembles("Robert Carter", "Robert Silva") is None
    assert names.is_in_address("Helga Brandt", "hbrandt7@web.example")
    assert not names.is_in_address("Helga Brandt", "info@web.example")


@pytest.mark.parametrize(
    ("kind", "value", "machine"),
    [
        ("address", "noreply@facebookmail.com", True), ("address", "no-reply+abc@x.example", True),
        ("address", "alert@bank.example", True), ("address", "notifications@tracker.example", True),
        ("address", "MAILER-DAEMON@x.example".casefold(), True), ("address", "newsletter-de@x.example", True),
        ("address", "helga@b.example", False), ("address", "alertina@b.example", False),
        ("address", "info@b.example", False), ("handle", "@weather_bot", True), ("handle", "@WeatherBot", True),
        ("handle", "@talbot", False), ("name", "Summary Bot", True), ("name", "Bot", False),
        ("name", "Ana Talbot", False),
        ("name", "helga@b.example", None), ("id", "T1/U1", None),
    ],
)  # fmt: skip
def test_what_a_machine_writes_from(kind: str, value: str, machine: bool | None) -> None:
    assert names.is_machine(kind, value) is machine


# --- linking ----------------------------------------------------------------------------------------------


def account(key: int, source: str, *stated: tuple[str, str], me: bool = False, card: bool = False) -> Profile:
    return Profile(key, source, me, card, stated)


def card(key: int, *stated: tuple[str, str], me: bool = False) -> Profile:
    return account(key, "contacts", *stated, me=me, card=True)


def people_of(links: Links) -> list[set[str]]:
    """The authors of each person, as source and name."""
    found: dict[int, set[str]] = {}
    for (session, author), number in links.authors.items():
        if number is not None:
            found.setdefault(number, set()).add(f"{session} {author}")
    return sorted(found.values(), key=sorted)


MAIL = account(1, "mail", ("address", "helga@b.example"))
BOOK = card(2, ("name", "Mum"), ("number", "01701234567"), ("address", "helga@b.example"))
IN_MAIL = AuthorUse(1, "mail", "Helga Brandt", (1,))
IN_WHATSAPP = AuthorUse(2, "whatsapp", "Mum")
BY_NUMBER = AuthorUse(3, "imessage", "+491701234567")


def test_an_address_book_joins_name_number_and_address() -> None:
    links = link([MAIL, BOOK], [IN_MAIL, IN_WHATSAPP, BY_NUMBER], [])
    assert people_of(links) == [{"1 Helga Brandt", "2 Mum", "3 +491701234567"}]
    (person,) = links.people
    assert person.name == "Mum"
    assert any("address book" in words for words in person.evidence)


def test_the_same_name_in_two_sources_joins_nothing() -> None:
    links = link([MAIL], [IN_MAIL, AuthorUse(2, "telegram", "Helga Brandt")], [])
    assert len(people_of(links)) == 2


def test_a_name_that_two_entries_have_joins_nothing() -> None:
    other = card(3, ("name", "Mum"), ("number", "+33612345678"))
    links = link([MAIL, BOOK, other], [IN_MAIL, IN_WHATSAPP], [])
    assert {"2 Mum"} in people_of(links)


def test_namesakes_in_one_workspace_stay_apart_and_a_bare_name_is_neither() -> None:
    ids = [account(1, "slack", ("id", "T/U1")), account(2, "slack", ("id", "T/U2"))]
    uses = [AuthorUse(1, "slack", "Ben", (1,)), AuthorUse(2, "slack", "Ben", (2,)), AuthorUse(3, "slack", "Ben")]
    links = link(ids, uses, [])
    assert people_of(links) == [{"1 Ben"}, {"2 Ben"}]
    assert links.authors[3, "Ben"] is None


def test_a_name_that_two_have_in_one_session_is_neither_there() -> None:
    ids = [account(1, "slack", ("id", "T/U1")), account(2, "slack", ("id", "T/U2"))]
    links = link(ids, [AuthorUse(1, "slack", "Ben", (1, 2)), AuthorUse(2, "slack", "Ben", (1,))], [])
    assert links.authors[1, "Ben"] is None
    assert links.authors[2, "Ben"] is not None


def test_an_address_that_a_couple_shares_joins_nothing() -> None:
    shared = account(1, "mail", ("address", "haddads@b.example"))
    book = card(2, ("name", "Ulrike Haddad"), ("address", "haddads@b.example"), ("number", "+4930111222"))
    uses = [AuthorUse(1, "mail", "Ulrike Haddad", (1,)), AuthorUse(2, "mail", "Gerd Haddad", (1,)),
            AuthorUse(3, "imessage", "+4930111222")]  # fmt: skip
    assert people_of(link([shared, book], uses, [])) == [{"1 Ulrike Haddad"}, {"2 Gerd Haddad"}, {"3 +4930111222"}]


def test_a_number_that_two_entries_have_joins_nothing() -> None:
    book = [card(1, ("name", "Ana"), ("number", "+4930111222"), ("address", "ana@b.example")),
            card(2, ("name", "Ben"), ("number", "+4930111222"), ("address", "ben@b.example"))]  # fmt: skip
    mail = [account(3, "mail", ("address", "ana@b.example")), account(4, "mail", ("address", "ben@b.example"))]
    uses = [
        AuthorUse(1, "mail", "Ana", (3,)),
        AuthorUse(2, "mail", "Ben", (4,)),
        AuthorUse(3, "imessage", "+4930111222"),
    ]
    assert len(people_of(link([*book, *mail], uses, []))) == 3


# --- the person whose memory it is --------------------------------------------------------------------------


# --- decisions ----------------------------------------------------------------------------------------------

ADDRESS = ("", "address", "helga@b.example")
NUMBER = ("", "number", "+491701234567")


def test_a_split_stays_apart_whatever_the_evidence() -> None:
    split = PersonDecision("split", (NUMBER,), (ADDRESS,))
    links = link([MAIL, BOOK], [IN_MAIL, BY_NUMBER], [split])
    assert people_of(links) == [{"1 Helga Brandt"}, {"3 +491701234567"}]


def test_the_later_decision_wins() -> None:
    split, merge = PersonDecision("split", (NUMBER,), (ADDRESS,)), PersonDecision("merge", (ADDRESS,), (NUMBER,))
    assert len(people_of(link([MAIL], [IN_MAIL, BY_NUMBER], [merge]))) == 1
    assert len(people_of(link([MAIL], [IN_MAIL, BY_NUMBER], [merge, split]))) == 2
    assert len(people_of(link([MAIL, BOOK], [IN_MAIL, BY_NUMBER], [split, merge]))) == 1


def test_deriving_does_not_depend_on_the_order_of_what_is_known() -> None:
    profiles, uses = [MAIL, BOOK], [IN_MAIL, IN_WHATSAPP, BY_NUMBER]
    assert people_of(link(profiles, uses, [])) == people_of(link(profiles[::-1], uses[::-1], []))


# --- proposals ----------------------------------------------------------------------------------------------


def stored(links: Links) -> list[StoredPerson]:
    return [
        StoredPerson(number, one.name, one.me, tuple(sorted(one.identities | one.bare, key=str)), frozenset(one.bare))
        for number, one in enumerate(links.people, 1)
    ]


def reasons(profiles: list[Profile], uses: list[AuthorUse]) -> list[str]:
    people = stored(link(profiles, uses, []))
    return [one.reason for one in propose(people, (), {person.key for person in people})]


def test_the_same_name_in_two_sources_is_proposed() -> None:
    (reason,) = reasons([MAIL], [IN_MAIL, AuthorUse(2, "telegram", "Helga Brandt")])
    assert reason == "the same name, Helga Brandt, in mail and telegram"


def test_two_accounts_of_one_workspace_are_not_proposed() -> None:
    ids = [account(1, "slack", ("id", "T/U1")), account(2, "slack", ("id", "T/U2"))]
    assert reasons(ids, [AuthorUse(1, "slack", "Ben Ek", (1,)), AuthorUse(1, "slack", "Ben Ek ", (2,))]) == []


def test_weaker_signs_are_proposed_with_their_reasons() -> None:
    dotted = [
        account(1, "mail", ("address", "h.brandt@gmail.com")),
        account(2, "mail", ("address", "hbrandt+x@gmail.com")),
    ]
    uses = [AuthorUse(1, "mail", "H", (1,)), AuthorUse(2, "mail", "Helga", (2,))]
    assert reasons(dotted, uses) == ["h.brandt@gmail.com and hbrandt+x@gmail.com may be one mailbox"]
    (reason,) = reasons([], [AuthorUse(1, "signal", "Bob Carter"), AuthorUse(2, "discord", "Robert Carter")])
    assert "short form" in reason


def test_names_that_differ_in_spelling_are_both_shown() -> None:
    assert reasons([], [AuthorUse(1, "irc", "ben"), AuthorUse(2, "irc", "ben_")]) == ["the names ben and ben_, in irc"]


def test_a_machine_is_no_person_of_the_same_name() -> None:
    tracker = account(1, "mail", ("address", "noreply@t.example"))
    uses = [AuthorUse(1, "mail", "Helga Brandt", (1,)), AuthorUse(2, "telegram", "Helga Brandt")]
    assert reasons([tracker], uses) == []
    people = {one.name: is_automated(one) for one in stored(link([tracker], uses[:1], []))}
    assert people == {"Helga Brandt": True}


def test_what_was_kept_apart_is_not_proposed_again() -> None:
    people = stored(link([MAIL], [IN_MAIL, AuthorUse(2, "telegram", "Helga Brandt")], []))
    nodes = [to_node(one) for person in people for one in person.identities if one not in person.bare]
    assert propose(people, [(nodes[0], nodes[1])], {1, 2}) == ()


def test_who_only_assistants_call_is_no_person() -> None:
    people = stored(link([MAIL], [IN_MAIL, AuthorUse(2, "codex", "Helga Brandt")], []))
    writer, agent = (person.key for person in people)
    assert propose(people, (), {writer}) == ()
    assert len(propose(people, (), {writer, agent})) == 1


@pytest.mark.parametrize("name", ["System", "#general", "Slackbot"])
def test_what_is_no_name_of_a_person(name: str) -> None:
    assert names.is_machine("name", name)
