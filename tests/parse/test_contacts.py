"""Address books: cards of all versions, tables of Google and Outlook, damage."""

from __future__ import annotations

import pytest

CARD = """BEGIN:VCARD\r
VERSION:3.0\r
N:Brandt;Helga;;Dr.;\r
FN:Mum\r
TEL;TYPE=CELL:+49 170 1234567\r
item1.EMAIL;TYPE=INTERNET,pref:helga@\r
 brandt.example\r
PHOTO;ENCODING=b;TYPE=JPEG:/9j/4AAQSkZJRgABAQAAAQABAAD\r
 AAAAAAAA\r
END:VCARD\r
"""


def test_a_card_has_names_addresses_and_numbers(read):
    got = read(CARD + CARD.replace("Mum", "Dad").replace("helga", "otto"), "contacts.vcf")
    assert got.format == "contacts"
    assert got.messages == got.problems == got.notes == []
    mum, dad = got.contacts
    assert mum.identities == (
        ("name", "Mum"), ("number", "+49 170 1234567"), ("address", "helga@brandt.example"),
    )  # fmt: skip
    assert dad.identities[0] == ("name", "Dad")


def test_the_parts_of_a_name_stand_in_for_a_missing_one(read):
    (contact,) = read("BEGIN:VCARD\nN:Brandt;Helga;Maria;;\nTEL:1\nEND:VCARD\n").contacts
    assert contact.identities[0] == ("name", "Helga Maria Brandt")


def test_an_old_telephone_writes_quoted_printable(read):
    card = (
        "BEGIN:VCARD\nVERSION:2.1\nFN;CHARSET=UTF-8;ENCODING=QUOTED-PRINTABLE:J=C3=B6rg=20=\n=C3=84rmel\n"
        "TEL;CELL:0170 1\nEND:VCARD\n"
    )
    (contact,) = read(card).contacts
    assert contact.identities[0] == ("name", "Jörg Ärmel")


def test_escaped_characters_are_what_they_stand_for(read):
    (contact,) = read("BEGIN:VCARD\nVERSION:4.0\nFN:Brandt\\, Helga\nEMAIL:h@b.example\nEND:VCARD\n").contacts
    assert contact.identities[0] == ("name", "Brandt, Helga")


def test_a_card_that_is_cut_off_is_read_and_reported(read):
    got = read("BEGIN:VCARD\nFN:Ana\nEMAIL:a@b.example\nBEGIN:VCARD\nFN:Ben\nEMAIL:b@b.exam")
    assert [contact.identities[0][1] for contact in got.contacts] == ["Ana", "Ben"]
    assert [problem.where for problem in got.problems] == ["line 1", "line 4"]


GOOGLE_OLD = """Name,Given Name,Family Name,E-mail 1 - Type,E-mail 1 - Value,Phone 1 - Type,Phone 1 - Value
Helga Brandt,Helga,Brandt,* Home,helga@b.example ::: h@work.example,Mobile,+49 170 1
"""
GOOGLE_NEW = """First Name,Last Name,Nickname,E-mail 1 - Label,E-mail 1 - Value,Phone 1 - Label,Phone 1 - Value
Helga,Brandt,Mum,* Home,helga@b.example,Mobile,+49 170 1
"""
OUTLOOK = """First Name,Last Name,E-mail Address,E-mail 2 Address,Mobile Phone,Home Phone
Helga,Brandt,helga@b.example,,+49 170 1,
"""


@pytest.mark.parametrize("table", [GOOGLE_OLD, GOOGLE_NEW, OUTLOOK])
def test_a_table_has_the_same(read, table):
    got = read(table, "contacts.csv")
    assert got.format == "contacts"
    (contact,) = got.contacts
    assert contact.identities[0] == ("name", "Helga Brandt")
    assert ("address", "helga@b.example") in contact.identities
    assert ("number", "+49 170 1") in contact.identities
    if "Mum" in table:
        assert ("name", "Mum") in contact.identities
    if "work" in table:
        assert ("address", "h@work.example") in contact.identities


def test_a_table_of_something_else_is_no_address_book(read):
    from appliance.errors import InputError

    with pytest.raises(InputError, match="not recognised"):
        read("Date,Amount,Name,Currency,Balance\n2025-01-01,1,Ana,EUR,2\n", "account.csv")


def test_an_empty_card_says_so(read):
    got = read("BEGIN:VCARD\nVERSION:3.0\nEND:VCARD\n")
    assert got.contacts == []
    assert "holds no contacts" in got.notes[0].message
