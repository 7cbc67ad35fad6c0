"""Whose memory it is: what exports state, what file names suggest, and what a person decides."""

from __future__ import annotations

import pytest

from appliance.memory.people.linking import Links, link
from appliance.store.people import Node, PersonDecision
from appliance.store.profiles import AuthorUse, Profile


def account(key: int, source: str, *stated: tuple[str, str], me: bool = False) -> Profile:
    return Profile(key, source, me, False, stated)


def own(links: Links) -> set[str]:
    return {author for (_, author), number in links.authors.items() if number is not None and links.people[number].me}


def test_accounts_that_the_exports_call_mine_are_one() -> None:
    accounts = [
        account(1, "telegram", ("id", "user1"), me=True),
        account(2, "mail", ("address", "i@b.example"), me=True),
    ]
    links = link(accounts, [AuthorUse(1, "telegram", "Ana S", (1,)), AuthorUse(2, "mail", "Ana Silva", (2,))], [])
    assert own(links) == {"Ana S", "Ana Silva"}
    assert len(links.people) == 1


def test_who_is_in_all_conversations_of_two_is_me() -> None:
    uses = [AuthorUse(1, "whatsapp", "Ana"), AuthorUse(1, "whatsapp", "Ben"),
            AuthorUse(2, "whatsapp", "Ana"), AuthorUse(2, "whatsapp", "Cem")]  # fmt: skip
    assert own(link([], uses, [])) == {"Ana"}
    assert own(link([], uses[:2], [])) == set(), "one conversation says nothing"
    three = [*uses, AuthorUse(3, "whatsapp", "Ben"), AuthorUse(3, "whatsapp", "Cem")]
    assert own(link([], three, [])) == set()


def test_one_with_another_full_name_than_mine_is_not_me() -> None:
    mail = account(1, "mail", ("address", "i@b.example"), me=True)
    mine = AuthorUse(9, "mail", "Ada Quill", (1,))
    chats = [AuthorUse(1, "signal", "Alice Example"), AuthorUse(1, "signal", "Ben"),
             AuthorUse(2, "signal", "Alice Example"), AuthorUse(2, "signal", "Cem")]  # fmt: skip
    assert own(link([mail], [mine, *chats], [])) == {"Ada Quill"}
    assert own(link([], chats, [], "Ada Quill")) == set()
    for name in ("Ada", "A. Quill", "Sunny", "Ada Quill-Meier"):
        renamed = [AuthorUse(use.session, use.source, use.author.replace("Alice Example", name)) for use in chats]
        assert own(link([mail], [mine, *renamed], [])) == {"Ada Quill", name}
    others = [AuthorUse(use.session + 5, "discord", use.author.replace("Alice Example", "Eve Moss")) for use in chats]
    assert own(link([], [*chats, *others], [])) == set(), "one of both is another person, and nothing says which"


def test_what_a_person_decides_goes_before_the_exports() -> None:
    accounts = [account(1, "telegram", ("id", "user1"), me=True), account(2, "telegram", ("id", "user2"))]
    uses = [AuthorUse(1, "telegram", "Ana", (1,)), AuthorUse(1, "telegram", "Ben", (2,))]
    assert own(link(accounts, uses, [PersonDecision("me", (("telegram", "id", "user2"),))])) == {"Ben"}


def test_the_name_in_the_settings_is_a_hint() -> None:
    uses = [AuthorUse(1, "signal", "Ana"), AuthorUse(1, "signal", "Ben")]
    assert own(link([], uses, [], "ana")) == {"Ana"}


def file_name_says(key: int, name: str) -> Profile:
    """The profile of somebody who exported a chat, as far as the name of its file says."""
    return account(key, "whatsapp", ("name", name), me=True)


def chat(session: int, partner: str, exported_by: str, key: int, *writers: str) -> list[AuthorUse]:
    """A chat with a partner; ``key`` is the profile of its exporter."""
    return [
        AuthorUse(session, "whatsapp", one, (key,) if one == exported_by else ()) for one in (partner, exported_by)
    ] + [AuthorUse(session, "whatsapp", one) for one in writers]


ANNA, BEN = file_name_says(1, "Anna"), file_name_says(2, "Ben")
OF_BOTH_PHONES = [*chat(1, "Anna", "Ben", 2), *chat(2, "Ben", "Anna", 1)]


def maybe(links: Links) -> set[str]:
    return {one.name for one in links.people if one.maybe_me}


def test_a_couple_whose_phones_lie_in_one_folder_is_two_people() -> None:
    links = link([ANNA, BEN], OF_BOTH_PHONES, [])
    assert (own(links), maybe(links)) == (set(), {"Anna", "Ben"})
    assert len(links.people) == 2
    links = link([ANNA, BEN], OF_BOTH_PHONES, [PersonDecision("me", (("whatsapp", "name", "anna"),))])
    assert own(links) == {"Anna"}
    assert own(link([ANNA, BEN], OF_BOTH_PHONES, [], "Ben")) == {"Ben"}


def test_a_stated_account_tells_which_guess_is_right() -> None:
    mail = account(3, "mail", ("address", "i@b.example"), me=True)
    links = link([ANNA, BEN, mail], [*OF_BOTH_PHONES, AuthorUse(9, "mail", "Anna Berg", (3,))], [])
    assert (own(links), maybe(links)) == ({"Anna", "Anna Berg"}, {"Ben"})


def test_names_of_two_people_from_file_names_are_two_people() -> None:
    chats = [*chat(1, "Cem", "Ben", 2), *chat(2, "Dan", "Anna", 1)]
    assert own(link([ANNA, BEN], chats, [])) == set(), "no conversation is of both, but a messenger shows one name"
    full = file_name_says(2, "Anna Berg")
    assert own(link([ANNA, full], [*chat(1, "Cem", "Anna Berg", 2), *chat(2, "Dan", "Anna", 1)], [])) == {
        "Anna", "Anna Berg",
    }  # fmt: skip


def test_the_name_of_one_file_is_not_mine_under_another_name() -> None:
    mail = account(3, "mail", ("address", "i@b.example"), me=True)
    mine = AuthorUse(9, "mail", "Ada Quill", (3,))
    links = link([ANNA, mail], [mine, *chat(1, "Cem", "Anna", 1)], [])
    assert (own(links), maybe(links)) == ({"Ada Quill"}, {"Anna"})
    links = link([ANNA, mail], [mine, *chat(1, "Cem", "Anna", 1), *chat(2, "Dan", "Anna", 1)], [])
    assert own(links) == {"Ada Quill", "Anna"}, "a nickname in several chats"


def test_who_writes_with_me_is_not_me() -> None:
    phone = account(3, "telegram", ("id", "user1"), me=True)
    uses = [AuthorUse(9, "telegram", "Sunny", (3,)), *chat(1, "Cem", "Ada", 1), AuthorUse(1, "whatsapp", "S. Q.")]
    card = PersonDecision("merge", (("whatsapp", "name", "s. q."),), (("telegram", "id", "user1"),))
    assert own(link([file_name_says(1, "Ada"), phone], uses, [card])) == {"Sunny", "S. Q."}


STATED = [account(1, "telegram", ("id", "user1"), me=True), account(2, "mail", ("address", "i@b.example"), me=True)]
STATED_USES = [AuthorUse(1, "telegram", "Ana S", (1,)), AuthorUse(2, "mail", "Ana Silva", (2,))]
IN_TELEGRAM, IN_MAILS = ("telegram", "id", "user1"), ("", "address", "i@b.example")


@pytest.mark.parametrize("confirmed", [(IN_MAILS, IN_TELEGRAM), (IN_TELEGRAM,)])
def test_who_confirms_who_they_are_stays_whole(confirmed: tuple[Node, ...]) -> None:
    links = link(STATED, STATED_USES, [PersonDecision("me", confirmed)])
    assert own(links) == {"Ana S", "Ana Silva"}
    assert len(links.people) == 1


@pytest.mark.parametrize(("parted", "left"), [(IN_MAILS, "Ana S"), (IN_TELEGRAM, "Ana Silva")])
def test_after_a_split_one_of_both_is_me(parted: Node, left: str) -> None:
    rest = IN_TELEGRAM if parted == IN_MAILS else IN_MAILS
    split = PersonDecision("split", (parted,), (rest,))
    confirmed = PersonDecision("me", (IN_MAILS, IN_TELEGRAM))
    assert own(link(STATED, STATED_USES, [split])) == {left}
    assert own(link(STATED, STATED_USES, [confirmed, split])) == {left}
    assert own(link(STATED, STATED_USES, [split, PersonDecision("me", (parted,))])) == {"Ana S", "Ana Silva"} - {left}
