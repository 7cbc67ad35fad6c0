"""SMS Backup & Restore: the XML of an Android phone's text messages."""

from __future__ import annotations

from datetime import UTC, datetime

BACKUP = """<?xml version='1.0' encoding='UTF-8' standalone='yes' ?>
<!--File Created By SMS Backup & Restore-->
<smses count="6" backup_set="x">
  <sms protocol="0" address="+4917012345678" date="1619600000000" type="1" subject="null"
   body="Ferry at nine? &#55357;&#56842;&#10;second &amp; last" contact_name="Ana" />
  <sms protocol="0" address="017012345678" date="1619600060000" type="2" body="Yes" contact_name="Ana" />
  <sms address="BANK" date="1619600070000" type="1" body="code 1234" contact_name="(Unknown)" />
  <sms address="BANK" date="1619600070001" type="1" body="" contact_name="null" />
  <mms date="1619600120000" msg_box="1" address="+4917012345678~+4917099999999" sub="null" contact_name="Ana, Ben">
    <parts>
      <part seq="-1" ct="application/smil" text="&lt;smil>&lt;/smil>" name="null" />
      <part seq="0" ct="image/jpeg" name="boat.jpg" cl="boat.jpg" text="null" data="{data}" />
      <part seq="0" ct="text/plain" name="null" text="the boat" />
    </parts>
    <addrs><addr address="+4917099999999" type="137" /><addr address="+4917012345678" type="151" /></addrs>
  </mms>
  <mms date="1619600130000" msg_box="2" address="+4917012345678~+4917099999999" contact_name="Ana, Ben"><parts>
    <part seq="0" ct="text/plain" text="nice" /></parts>
    <addrs><addr address="insert-address-token" type="137" /></addrs>
  </mms>
</smses>
"""


def test_texts_and_pictures_of_people_and_groups(read):
    got = read(BACKUP.replace("{data}", "QUJD" * 100_000), name="sms-20210428.xml")
    assert got.format == "sms"
    assert [(m.author, m.text) for m in got.messages] == [
        ("Ana", "Ferry at nine? 😊\nsecond & last"),
        ("Me", "Yes"),
        ("BANK", "code 1234"),
        ("Ben", "the boat"),
        ("Me", "nice"),
    ]
    assert got.messages[0].sent_at == datetime(2021, 4, 28, 8, 53, 20, tzinfo=UTC)
    assert got.messages[3].metadata == {"attachments": [{"name": "boat.jpg"}]}
    assert [s.title for s in got.sessions] == ["Ana", "BANK", "Ana, Ben"]
    assert [note.message for note in got.notes] == ["skipped 1 message without text (SMS)"]
    assert got.problems == []
    assert {(p.author, p.identities[0], p.me) for p in got.participants} >= {
        ("Ana", ("number", "+4917012345678"), False), ("Me", ("name", "Me"), True),
    }  # fmt: skip


def test_a_backup_that_is_cut_off_keeps_what_is_whole(read):
    got = read(BACKUP[: BACKUP.index("code 1234") + 4], name="sms.xml")
    assert [m.text for m in got.messages] == ["Ferry at nine? 😊\nsecond & last", "Yes"]
