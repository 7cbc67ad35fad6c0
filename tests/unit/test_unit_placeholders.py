"""Placeholders of the apps are known in their languages, and words of people are not taken for them."""

from __future__ import annotations

import pytest

from appliance.types.placeholders import omitted_file, placeholder_kind


@pytest.mark.parametrize(
    ("text", "file"),
    [
        ("image omitted", "image"),
        ("\u200eBild weggelassen", "image"),
        ("<Medien ausgeschlossen>", "file"),
        ("<Multimedia omitido>", "file"),
        ("<メディアは含まれていません>", "file"),
        ("‹メディアは含まれていません›", "file"),
        ("<تم استبعاد الوسائط>", "file"),
        ("لم يتم إدراج الصورة", "image"),
        ("Audio weggelassen", "audio"),
        ("áudio ocultado", "audio"),
        ("vidéo absente", "video"),
        ("video note omitted", "video"),
        ("sticker omitted", "sticker"),
        ("GIF omitted", "gif"),
        ("documento omitido", "document"),
        ("Kontaktkarte ausgelassen", "contact card"),
        ("画像は含まれていません", "image"),
        ("[写真]", "image"),
        ("[Sticker]", "sticker"),
    ],
)
def test_an_omitted_file_has_a_kind(text: str, file: str) -> None:
    assert placeholder_kind(text) == "left out" and omitted_file(text) == file


@pytest.mark.parametrize(
    "text", ["Diese Nachricht wurde gelöscht.", "This message was deleted.", "You deleted this message"]
)
def test_a_deleted_message_has_no_file(text: str) -> None:
    assert placeholder_kind(text) == "deleted" and omitted_file(text) is None


@pytest.mark.parametrize(
    "text",
    [
        "The image was omitted from the report",
        "Bild",
        "ok",
        "",
        "image omitted, sorry",
        "the message was deleted",
        "x" * 500,
    ],
)
def test_words_of_people_are_none(text: str) -> None:
    assert placeholder_kind(text) is None and omitted_file(text) is None
