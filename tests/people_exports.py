"""Small exports of one person's machine, in which the same people write from several sources."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

CARDS = """BEGIN:VCARD
VERSION:3.0
FN:Mum
TEL;TYPE=CELL:0170 1234567
EMAIL:helga@brandt.example
END:VCARD
BEGIN:VCARD
VERSION:3.0
FN:Ben Carter
TEL:+14155550132
EMAIL:ben@carter.example
END:VCARD
"""

Mail = tuple[str, str, str, str]
"""Sender's name, address, subject, text."""

MAILS: Sequence[Mail] = (
    ("Helga Brandt", "helga@brandt.example", "Boiler", "The boiler man comes on Friday at noon."),
    ("Ana Silva", "ana@silva.example", "Re: Boiler", "Thank you, I live in Lisbon now, so Friday is bad."),
    ("Ben Carter", "ben@carter.example", "Release", "The boiler plate of the release is done."),
    ("Ana Silva", "ana@silva.example", "Hello", "My sister is called Rosa."),
)


def mailbox(path: Path, mails: Sequence[Mail] = MAILS, own: str = "ana@silva.example") -> Path:
    parts = []
    for number, (name, address, subject, text) in enumerate(mails):
        label = "X-Gmail-Labels: Sent\n" if address == own else f"Delivered-To: {own}\n"
        parts.append(
            f"From {address} Mon Mar  3 10:0{number}:00 2025\n{label}From: {name} <{address}>\nTo: {own}\n"
            f"Subject: {subject}\nDate: Mon, 03 Mar 2025 10:0{number}:00 +0000\nMessage-ID: <m{number}@x.example>\n"
            f"\n{text}\n\n"
        )
    path.write_text("".join(parts), "utf-8")
    return path


def whatsapp(path: Path, *lines: tuple[str, str]) -> Path:
    """A chat that WhatsApp exported; ``path`` names it."""
    text = "".join(f"[04/03/2025, 11:{minute:02}:00] {author}: {said}\n" for minute, (author, said) in enumerate(lines))
    path.write_text(text, "utf-8")
    return path


def write_exports(folder: Path) -> Path:
    """A mailbox, an address book, and a chat of WhatsApp."""
    folder.mkdir(exist_ok=True)
    mailbox(folder / "mail.mbox")
    (folder / "contacts.vcf").write_text(CARDS, "utf-8")
    whatsapp(
        folder / "WhatsApp Chat - Mum.txt",
        ("Mum", "Did you feed the parrot on Sunday?"),
        ("Ana", "Yes, the parrot is fine."),
        ("Mum", "And call the plumber, the sink drips."),
    )
    return folder


def slack(folder: Path, *users: tuple[str, str, str], channel: str = "general") -> Path:
    """A workspace in which users (id, display name, address) write one message each."""
    (folder / channel).mkdir(parents=True, exist_ok=True)
    profiles = [
        {"id": id, "team_id": "T1", "name": id.lower(), "profile": {"display_name": name, "email": address}}
        for id, name, address in users
    ]
    (folder / "users.json").write_text(json.dumps(profiles), "utf-8")
    (folder / "channels.json").write_text(json.dumps([{"id": f"C{channel}", "name": channel}]), "utf-8")
    day = [
        {"type": "message", "user": id, "text": f"Message of {id} about the launch", "ts": f"174100000{number}.000100"}
        for number, (id, _, _) in enumerate(users)
    ]
    (folder / channel / "2025-03-03.json").write_text(json.dumps(day), "utf-8")
    return folder
