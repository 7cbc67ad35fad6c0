"""In languages that the embedding model does not know, scores rest on words: only the right message is likely."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from appliance import Appliance

SAID = {
    "de1": "Wo ist mein Fahrradschlüssel?",
    "de2": "Der Zahnarzttermin ist am Dienstag um neun in der Gartenstraße",
    "de3": "Ich habe die Rechnung vom Klempner überwiesen",
    "de4": "Danke dir, bis morgen!",
    "es1": "El alquiler sube a novecientos euros en septiembre",
    "es2": "La contraseña del wifi está detrás del router",
    "es3": "Vale, muchas gracias por todo",
    "ar1": "الإيجار أصبح ١٥٠٠ ريال",
    "ar2": "موعد طبيب الأسنان يوم الخميس الساعة السابعة",
    "ar3": "شكرا، سأحضر المفتاح الأزرق معي",
    "ja1": "家賃は八万五千円に上がりました",
    "ja2": "新しい病院の住所は渋谷区神南1-2-3です",
    "ja3": "私は大阪に住んでいます。猫の名前はミケです。",
    "ja4": "ありがとうございます。予約は来週です。",
    "ru1": "Аренда теперь стоит сорок тысяч рублей",
    "ru2": "Ключ лежит под цветочным горшком",
    "ru3": "Спасибо большое, до завтра",
    "fr1": "Ma sœur a commandé un bœuf bourguignon chez le traiteur",
    "fr2": "Le magasin de Nîmes a ouvré dimanche dernier",
    "fr3": "Merci beaucoup, à demain tout le monde",
    "en1": "The ferry to the island leaves at seven in the morning",
    "en2": "Thanks a lot, see you tomorrow",
    "en4": "The museum shows how ships were built, loaded and repaired. " * 60 + "The locker word is axolotl-77.",
    "ja5": "海は静かで、船は港を出た。" * 120 + "合言葉は紫陽花です。" + "海は静かで、船は港を出た。" * 120,
    "en3": "I repaired the dishwasher, the pump was blocked by a cherry stone",
}

ANSWERED = [
    ("Fahrrad", "de1"),
    ("wo ist der Fahrradschlüssel", "de1"),
    ("Wann ist der Zahnarzttermin?", "de2"),
    ("Klempner Rechnung", "de3"),
    ("cuánto es el alquiler", "es1"),
    ("dónde está la contraseña del wifi", "es2"),
    ("كم الإيجار", "ar1"),
    ("متى موعد طبيب الأسنان", "ar2"),
    ("家賃はいくらですか", "ja1"),
    ("病院の住所", "ja2"),
    ("猫の名前は何ですか", "ja3"),
    ("сколько стоит аренда", "ru1"),
    ("где лежит ключ", "ru2"),
    ("boeuf", "fr1"),
    ("boeuf bourguignon", "fr1"),
    ("dishwasher", "en3"),
    ("when does the ferry leave", "en1"),
    ("axolotl", "en4"),
    ("axolotl-77", "en4"),
    ("紫陽花", "ja5"),
]

UNANSWERED = [
    "Geschwindigkeitsbegrenzung",
    "Wer gewann die Fußballweltmeisterschaft",
    "campeonato mundial de ajedrez",
    "كأس العالم لكرة القدم",
    "宇宙飛行士の訓練",
    "чемпионат мира по шахматам",
    "zzzqqq nothing",
]

WEAK = 0.4


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """A home with the shipped model: what a cosine means, a test's own model can't say."""
    folder = tmp_path_factory.mktemp("languages")
    path = folder / "chat.jsonl"
    lines = [
        json.dumps({"session_id": id[:2], "message_id": id, "role": "user", "author": "Ana", "content": text})
        for id, text in SAID.items()
    ]
    path.write_text("\n".join(lines), encoding="utf-8")
    with Appliance.open(folder / "home", worker=False) as opened:
        opened.ingest(path)
        yield opened


@pytest.mark.parametrize(("query", "answer"), ANSWERED)
def test_the_message_with_the_words_is_likely_and_no_other(memory: Appliance, query: str, answer: str) -> None:
    hits = memory.search(query)
    assert hits[0].external_id == answer and hits[0].score >= WEAK
    assert not [(hit.external_id, hit.score) for hit in hits[1:] if hit.score >= WEAK]


@pytest.mark.parametrize("query", UNANSWERED)
def test_words_that_no_message_has_find_nothing(memory: Appliance, query: str) -> None:
    assert [(hit.external_id, hit.score) for hit in memory.search(query)] == []
