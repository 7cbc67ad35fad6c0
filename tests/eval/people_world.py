"""A generated world of people who write in five sources, and how well they are linked.

``write_world`` writes the exports of one person's machine: a mailbox, a Slack workspace, WhatsApp chats, a Telegram
account, the database of iMessage, and an address book; it returns the truth: which accounts are whose. Traps are among
them: namesakes in one workspace, a family with one landline, a couple with one mail address, a robot that writes in
many names, numbers that are written in national form, and people who are saved under a nickname or not at all.

    python -m tests.eval.people_world [--seeds 5] [--people 40]

prints JSON: precision and recall of the automatic links, as pairs of accounts of one person, and the precision of the
proposals, as pairs of people.
"""

from __future__ import annotations

import argparse
import json
import random
import sqlite3
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from itertools import combinations
from pathlib import Path
from typing import Any

GIVEN = (
    "Helga Benjamin Katharina Robert Elisabeth William Margaret Anna Thomas Julia Michael Sofia Carlos Lucia Mateo"
    " Priya Arjun Mei Hiroshi Yuki Fatima Omar Leila Ingrid Lars Pierre Chloe Giulia Marco Olga Dmitri Zofia Jan"
    " Katarzyna Alexander Eva Daniel Laura Samuel Nora Peter Ruth David Claire Emma Felix"
).split()
FAMILY = (
    "Brandt Carter Hoffmann Nguyen Okafor Schmidt Keller Rossi Garcia Lopez Kumar Tanaka Petrov Kowalski Larsen Dubois"
    " Novak Silva Murphy Jensen Weber Fischer Moreau Costa Haddad Sato Wagner Reed Ibrahim Lindqvist"
).split()
SHORT = {
    "Benjamin": "Ben", "Katharina": "Kathi", "Robert": "Bob", "Elisabeth": "Lisa", "William": "Bill",
    "Margaret": "Maggie", "Thomas": "Tom", "Michael": "Mike", "Alexander": "Alex", "Samuel": "Sam", "Daniel": "Dan",
}  # fmt: skip
PET_NAMES = ("Mum", "Dad", "Grandma", "Landlord", "Plumber", "Uncle Rudi")
MAIL_HOSTS = ("web.example", "mail.example", "post.example", "firm.example")
OWNER = 0
BEGIN = datetime(2025, 3, 1, 9, tzinfo=UTC)

Account = tuple[str, str, str]
"""The source, the kind and the value of an identity, in normal form."""


@dataclass(slots=True)
class WorldPerson:
    number: int
    given: str
    family: str
    addresses: list[str]
    mobile: str
    accounts: set[Account] = field(default_factory=set)
    card: str | None = None
    slack: str | None = None
    telegram: int | None = None

    @property
    def name(self) -> str:
        return f"{self.given} {self.family}"


@dataclass(slots=True)
class World:
    folder: Path
    people: list[WorldPerson]
    strangers: set[Account] = field(default_factory=set)
    """Accounts that belong to several people or to a machine."""

    @property
    def paths(self) -> list[Path]:
        return sorted(self.folder.iterdir())

    def owner_of(self) -> dict[Account, int]:
        return {account: person.number for person in self.people for account in person.accounts}


def write_world(folder: Path, seed: int = 1, people: int = 40) -> World:
    """Write the exports of a world into a folder."""
    rng = random.Random(seed)
    world = World(folder, [_person(rng, number) for number in range(people)])
    # Namesakes: same name, everything else different.
    first, second = world.people[3], world.people[4]
    second.given, second.family = first.given, first.family
    _address_book(rng, world)
    _mailbox(rng, world)
    _slack(rng, world)
    _whatsapp(rng, world)
    _telegram(rng, world)
    _imessage(rng, world)
    # What two people are called alike by is nobody's in particular.
    for a, b in combinations(world.people, 2):
        world.strangers |= a.accounts & b.accounts
    for person in world.people:
        person.accounts -= world.strangers
    return world


def _person(rng: random.Random, number: int) -> WorldPerson:
    given = GIVEN[number] if number < 20 else rng.choice(GIVEN)
    family = rng.choice(FAMILY)
    style = rng.choice(("{g}.{f}", "{i}{f}", "{g}{n}", "{f}.{g}"))
    local = style.format(g=given.lower(), f=family.lower(), i=given[0].lower(), n=rng.randint(1, 99))
    addresses = [f"{local}{number}@{rng.choice(MAIL_HOSTS)}"]
    if rng.random() < 0.4:
        addresses.append(f"{given.lower()}.{family.lower()}.{number}@firm.example")
    mobile = rng.choice(("+49151{:08d}", "+4479{:08d}", "+1415{:07d}", "+34612{:06d}")).format(
        rng.randrange(10**6, 10**7)
    )
    return WorldPerson(number, given, family, addresses, mobile)


def _national(number: str) -> str:
    for code, trunk in (("+49", "0"), ("+44", "0"), ("+1", ""), ("+34", "")):
        if number.startswith(code):
            digits = trunk + number[len(code) :]
            return f"{digits[:4]} {digits[4:7]} {digits[7:]}"
    return number


def _spelled(rng: random.Random, number: str) -> str:
    return rng.choice((number, f"{number[:3]} {number[3:6]} {number[6:]}", "00" + number[1:], _national(number)))


def _address_book(rng: random.Random, world: World) -> None:
    cards: list[str] = []
    pets = list(PET_NAMES)
    landline = "+493045678901"
    for person in world.people:
        if person.number != OWNER and rng.random() < 0.12:
            continue  # not saved
        roll = rng.random()
        name = person.name
        if person.number == OWNER:
            pass
        elif pets and roll < 0.15:
            name = pets.pop(0)
        elif roll < 0.3:
            name = SHORT.get(person.given, person.given) + f" {person.family}"
        if person.number == 4:
            name = f"{person.name} (Yoga)"
        person.card = name
        lines = ["BEGIN:VCARD", "VERSION:3.0", f"FN:{name}", f"N:{person.family};{person.given};;;"]
        if rng.random() < 0.93:
            lines.append(f"TEL;TYPE=CELL:{_spelled(rng, person.mobile)}")
        if person.number in (6, 7):  # a family with one landline
            lines.append(f"TEL;TYPE=HOME:{landline}")
        for address in person.addresses:
            if rng.random() < 0.85:
                lines.append(f"EMAIL;TYPE=INTERNET:{address.capitalize() if rng.random() < 0.2 else address}")
        cards.append("\r\n".join([*lines, "END:VCARD", ""]))
        if person.number == 9:  # saved twice
            cards.append(f"BEGIN:VCARD\r\nVERSION:3.0\r\nFN:{name}\r\nTEL:{person.mobile}\r\nEND:VCARD\r\n")
    (world.folder / "contacts.vcf").write_text("".join(cards), "utf-8")


def _when(minute: int) -> datetime:
    return BEGIN + timedelta(minutes=minute)


def _mailbox(rng: random.Random, world: World) -> None:
    me = world.people[OWNER]
    mails: list[str] = []

    def mail(name: str, address: str, to: tuple[str, str], subject: str, text: str) -> None:
        number = len(mails)
        sent = _when(17 * number)
        extra = f"Delivered-To: {me.addresses[0]}\n" if to[1] == me.addresses[0] else "X-Gmail-Labels: Sent\n"
        mails.append(
            f"From {address} {sent:%a %b %d %H:%M:%S %Y}\n{extra}From: {name} <{address}>\nTo: {to[0]} <{to[1]}>\n"
            f"Subject: {subject}\nDate: {sent:%a, %d %b %Y %H:%M:%S +0000}\nMessage-ID: <m{number}@world.example>\n"
            f"\n{text}\n\n"
        )

    own = (me.name, me.addresses[0])
    for person in world.people[1:]:
        if rng.random() < 0.2:
            continue
        for address in person.addresses:
            person.accounts.add(("mail", "address", address))
            for _ in range(rng.randint(1, 3)):
                styles = (
                    person.name,
                    f'"{person.family}, {person.given}"',
                    f"{person.given[0]}. {person.family}",
                    person.name,
                )
                mail(
                    rng.choice(styles), address, own, f"About {rng.randint(1, 999)}", "The boiler man comes on Friday."
                )
        mail(*own, (person.name, person.addresses[0]), f"Answer {person.number}", "Thank you, noted.")
    me.accounts.add(("mail", "address", me.addresses[0]))
    for name in ("Ulrike Haddad", "Gerd Haddad"):  # a couple with one address
        mail(name, "haddads@post.example", own, "Sunday", f"We come at four. {name}")
    world.strangers.add(("mail", "address", "haddads@post.example"))
    for person in world.people[10:16]:  # a machine that writes in many names
        mail(f"{person.name} (Tracker)", "notifications@tracker.example", own, "Ticket", "Ticket 12 was closed.")
    world.strangers.add(("mail", "address", "notifications@tracker.example"))
    (world.folder / "mail.mbox").write_text("".join(mails), "utf-8")


def _slack(rng: random.Random, world: World) -> None:
    folder = world.folder / "slack"
    members = [p for p in world.people if p.number in (OWNER, 3, 4) or rng.random() < 0.5]
    users: list[dict[str, Any]] = []
    for person in members:
        person.slack = f"U0{person.number:02d}{rng.randrange(10**5):05d}"
        person.accounts.add(("slack", "id", f"T01WORLD/{person.slack}"))
        shown = rng.choice((person.name, SHORT.get(person.given, person.given), ""))
        profile = {"real_name": person.name, "display_name": shown}
        if rng.random() < 0.95:  # exports have it, but for guests who hide it
            profile["email"] = person.addresses[-1]
        users.append(
            {
                "id": person.slack,
                "team_id": "T01WORLD",
                "name": f"{person.given.lower()}{person.number}",
                "profile": profile,
            }
        )
    (folder / "general").mkdir(parents=True)
    (folder / "random").mkdir()
    (folder / "users.json").write_text(json.dumps(users), "utf-8")
    channels = [{"id": "C01GENERAL", "name": "general"}, {"id": "C02RANDOM", "name": "random"}]
    (folder / "channels.json").write_text(json.dumps(channels), "utf-8")
    for channel in ("general", "random"):
        day = [
            {
                "type": "message", "user": person.slack, "text": f"Message {number} about the release",
                "ts": f"{int(_when(60 * number).timestamp())}.0001{number:02d}",
            }
            for number, person in enumerate(members)
        ]  # fmt: skip
        (folder / channel / "2025-03-01.json").write_text(json.dumps(day), "utf-8")


def _whatsapp(rng: random.Random, world: World) -> None:
    folder = world.folder / "whatsapp"
    folder.mkdir()
    me = world.people[OWNER]
    users = [p for p in world.people[1:] if rng.random() < 0.7]
    me.accounts.add(("whatsapp", "name", me.given))
    names: dict[int, str] = {}
    for person in users:
        if person.card is not None:
            names[person.number] = person.card
            person.accounts.add(("whatsapp", "name", person.card))
        elif rng.random() < 0.5:
            spaced = f"{person.mobile[:3]} {person.mobile[3:6]} {person.mobile[6:]}"
            names[person.number] = spaced
            person.accounts.add(("whatsapp", "number", person.mobile))
        else:
            names[person.number] = f"~ {person.given}"
            person.accounts.add(("whatsapp", "handle", f"~{person.given}"))
    minute = 0

    def chat(title: str, people: Sequence[str]) -> None:
        nonlocal minute
        lines = []
        for number in range(3 * len(people)):
            minute += 7
            lines.append(
                f"[{_when(minute):%d/%m/%Y, %H:%M:%S}] {people[number % len(people)]}: Line {minute} about the garden"
            )
        (folder / f"WhatsApp Chat - {title}.txt").write_text("\n".join(lines) + "\n", "utf-8")

    for person in users:
        if rng.random() < 0.6:
            chat(names[person.number], [names[person.number], me.given])
    for number in range(3):
        group = [names[person.number] for person in users[number::3]]
        chat(f"Group {number}", [*group, me.given])


def _telegram(rng: random.Random, world: World) -> None:
    me = world.people[OWNER]
    me.telegram = 9_000_000
    me.accounts.add(("telegram", "id", "user9000000"))
    contacts, chats = [], []
    for person in world.people[1:]:
        if rng.random() < 0.45:
            continue
        person.telegram = 9_000_000 + 37 * person.number
        person.accounts.add(("telegram", "id", f"user{person.telegram}"))
        shown = person.card or person.name
        if person.card and rng.random() < 0.9:
            first, _, last = shown.partition(" ")
            contacts.append({
                "user_id": person.telegram, "first_name": first, "last_name": last,
                "phone_number": "00" + person.mobile[1:], "date": "2024-01-01T00:00:00",
            })  # fmt: skip
        messages = []
        for number in range(4):
            sender, name = (person.telegram, shown) if number % 2 == 0 else (me.telegram, me.name)
            sent = _when(11 * number + person.number)
            messages.append({
                "id": 10 * person.number + number, "type": "message", "date": f"{sent:%Y-%m-%dT%H:%M:%S}",
                "date_unixtime": str(int(sent.timestamp())), "from": name, "from_id": f"user{sender}",
                "text": f"Note {number} about the trip",
            })  # fmt: skip
        chats.append({"name": shown, "type": "personal_chat", "id": person.telegram, "messages": messages})
    export = {
        "about": "Here is the data you requested from Telegram.",
        "personal_information": {
            "user_id": me.telegram, "first_name": me.given, "last_name": me.family, "phone_number": me.mobile,
            "username": "@owner", "bio": "",
        },
        "contacts": {"about": "", "list": contacts},
        "chats": {"about": "", "list": chats},
    }  # fmt: skip
    (world.folder / "telegram").mkdir()
    (world.folder / "telegram" / "result.json").write_text(json.dumps(export), "utf-8")


def _imessage(rng: random.Random, world: World) -> None:
    (world.folder / "imessage").mkdir()
    with closing(sqlite3.connect(world.folder / "imessage" / "chat.db")) as db:
        db.executescript(
            "CREATE TABLE handle (ROWID INTEGER PRIMARY KEY, id TEXT, service TEXT);"
            "CREATE TABLE chat (ROWID INTEGER PRIMARY KEY, guid TEXT, display_name TEXT, chat_identifier TEXT);"
            "CREATE TABLE chat_handle_join (chat_id INTEGER, handle_id INTEGER);"
            "CREATE TABLE chat_message_join (chat_id INTEGER, message_id INTEGER);"
            "CREATE TABLE message (ROWID INTEGER PRIMARY KEY, guid TEXT, text TEXT, date INTEGER, is_from_me INTEGER,"
            " handle_id INTEGER);"
        )
        row = 0
        for person in world.people[1:]:
            if rng.random() < 0.5:
                continue
            by_mail = rng.random() < 0.3
            handle = person.addresses[0] if by_mail else person.mobile
            person.accounts.add(("imessage", "address" if by_mail else "number", handle))
            number = person.number
            db.execute("INSERT INTO handle VALUES (?, ?, 'iMessage')", (number, handle))
            db.execute("INSERT INTO chat VALUES (?, ?, '', ?)", (number, f"iMessage;-;{handle}", handle))
            db.execute("INSERT INTO chat_handle_join VALUES (?, ?)", (number, number))
            for turn in range(4):
                row += 1
                nanoseconds = int((_when(13 * row) - datetime(2001, 1, 1, tzinfo=UTC)).total_seconds()) * 10**9
                db.execute(
                    "INSERT INTO message VALUES (?, ?, ?, ?, ?, ?)",
                    (row, f"guid-{row}", f"Word {row} about dinner", nanoseconds, turn % 2, number),
                )
                db.execute("INSERT INTO chat_message_join VALUES (?, ?)", (number, row))
        db.commit()


# --- measuring ------------------------------------------------------------------------------------------


def measure(world: World, people: Sequence[Any], proposals: Sequence[Any]) -> dict[str, float]:
    """Compare the people of a memory with the truth.

    Args:
        world: The world.
        people: What ``memory.people.list`` gives: people with identities.
        proposals: Its proposals, by the people's ids.
    """
    owner = world.owner_of()
    found: dict[str, set[Account]] = {
        person.id: {
            account
            for one in person.identities
            if (account := (one.source, one.kind, _normal(one.kind, one.value))) in owner or account in world.strangers
        }
        for person in people
    }
    predicted = {frozenset(pair) for accounts in found.values() for pair in combinations(sorted(accounts), 2)}
    true = {frozenset(pair) for person in world.people for pair in combinations(sorted(person.accounts), 2)}
    right = predicted & true
    seen = {account for accounts in found.values() for account in accounts}
    by_id: Mapping[str, set[int]] = {
        id: {owner[account] for account in accounts if account in owner} for id, accounts in found.items()
    }
    judged = [(by_id.get(one.a, set()), by_id.get(one.b, set())) for one in proposals]
    judged = [pair for pair in judged if pair[0] and pair[1]]
    wanted = {frozenset(pair) for pair in true - right}
    proposed = {
        frozenset((left, other)) for one in proposals for left in found.get(one.a, ()) for other in found.get(one.b, ())
    }
    return {
        "people": len(world.people), "accounts": len(owner), "accounts_seen": len(seen & owner.keys()),
        "precision": len(right) / len(predicted) if predicted else 1.0, "recall": len(right) / len(true),
        "link_recall": _link_recall(world, found),
        "pairs": len(predicted), "true_pairs": len(true), "proposals": len(proposals),
        "proposal_precision": sum(bool(a & b) for a, b in judged) / len(judged) if judged else 1.0,
        "recall_with_proposals": len(right | (proposed & wanted)) / len(true),
    }  # fmt: skip


def _link_recall(world: World, found: Mapping[str, set[Account]]) -> float:
    """The share of the links that are needed to join each person's accounts, one less than there are, that were made
    (Vilain et al. 1995)."""
    needed = made = 0
    for person in world.people:
        pieces = sum(bool(accounts & person.accounts) for accounts in found.values())
        missing = len(person.accounts - set().union(*found.values()))
        needed += max(0, len(person.accounts) - 1)
        made += max(0, len(person.accounts) - pieces - missing)
    return made / needed


def _normal(kind: str, value: str) -> str:
    return value.casefold() if kind == "address" else value


def main() -> None:
    from appliance import Appliance

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=5)
    parser.add_argument("--people", type=int, default=40)
    arguments = parser.parse_args()
    rows = []
    for seed in range(1, arguments.seeds + 1):
        with tempfile.TemporaryDirectory() as place:
            exports, home = Path(place, "exports"), Path(place, "home")
            exports.mkdir()
            world = write_world(exports, seed, arguments.people)
            with Appliance.open(home, worker=False) as memory:
                report = memory.ingest(exports, wait=False)
                assert report.complete, report
                listed = memory.people.list(everyone=True)
                me = [person for person in listed.people if person.me]
                figures = measure(world, listed.people, listed.proposals)
                own = {(i.source, i.kind, i.value) for person in me for i in person.identities}
                rows.append({"seed": seed, **figures, "me_accounts": len(own & world.people[OWNER].accounts),
                             "me_of": len(world.people[OWNER].accounts)})  # fmt: skip
    means = {key: round(sum(row[key] for row in rows) / len(rows), 4) for key in rows[0] if key != "seed"}
    print(json.dumps({"worlds": rows, "mean": means}, indent=1))


if __name__ == "__main__":
    main()
