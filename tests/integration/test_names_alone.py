"""A name in a question is no answer: who has it wrote much else, and every message of a chat has its title."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from appliance import Appliance
from appliance.types.search import LIKELY_SCORE

FRENCH = """Camille: Camille dit bonjour à tout le monde
Girard: Mort de rire 😂
Odile: Je suis à la piscine, je vous rappelle
Léo: Quelqu'un a vu mon chargeur ?
Odile: Il est dans le tiroir de la cuisine
Girard: Je passe prendre le pain en rentrant
Odile: Le médecin dit que le petit est allergique aux noisettes
Girard: La chaudière est encore en panne, le technicien vient mardi
Camille: J'ai eu 16 en maths !
Girard: Bravo ma grande
Odile: On mange à quelle heure ?
Camille: Je rentre tard, j'ai répétition de théâtre
Odile: Rendez-vous chez le dentiste pour Camille jeudi à 17h
Girard: J'ai mal au dos depuis hier, je ne bouge pas du canapé
Léo: Le code du portail a changé, c'est sur le frigo
Camille: Qui a mangé mon yaourt ?
Odile: Pour mon anniversaire je voudrais juste un gâteau
Girard: Les clés de la cave sont chez Madame Petit
Camille: Papa est à la patinoire
Odile: J'ai oublié mon sac à la boulangerie
Léo: Bonne nuit à tous""".splitlines()

ENGLISH = """Camille: Camille says hello to everybody
Girard: Dying of laughter 😂
Odile: I am at the pool, I'll call you back
Leo: Has anybody seen my charger?
Odile: It is in the kitchen drawer
Girard: I'll pick up bread on the way home
Odile: The doctor says the little one is allergic to hazelnuts
Girard: The boiler is broken again, the technician comes on Tuesday
Camille: I got 16 in maths!
Girard: Proud of you
Odile: What time do we eat?
Camille: I'll be late, theatre rehearsal
Odile: Dentist appointment for Camille on Thursday at 5pm
Girard: My back has been hurting since yesterday, I am not leaving the sofa
Leo: The gate code has changed, it is on the fridge
Camille: Who ate my yoghurt?
Odile: For my birthday I would just like a cake
Girard: The cellar keys are with Mrs Petit
Camille: Dad is at the ice rink
Odile: I forgot my bag at the bakery
Leo: Good night everybody""".splitlines()

UNANSWERED = {
    "fr": [
        "voyage de Camille",
        "mariage de Camille",
        "le salaire de Girard",
        "le chien d'Odile",
        "famille Ferreira impôts",
    ],
    "en": ["Camille's wedding", "Camille's trip", "Girard's salary", "Odile's dog", "the Ferreira family holidays"],
}

ANSWERED = [
    ("fr", "le dentiste de Camille", 12),
    ("fr", "l'anniversaire d'Odile", 16),
    ("fr", "le mal de dos de Girard", 13),
    ("fr", "les allergies de la famille", 6),
    ("en", "Camille's dentist", 12),
    ("en", "Odile's birthday", 16),
    ("en", "Girard's back", 13),
    ("en", "Camille hello", 0),
]


@pytest.fixture(scope="module")
def memories(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Appliance]]:
    """A chat in either language, each in a home with the shipped model."""
    folder = tmp_path_factory.mktemp("names")
    opened = {}
    for language, title, said in (("fr", "Famille Ferreira", FRENCH), ("en", "Ferreira family", ENGLISH)):
        path = folder / f"{language}.jsonl"
        lines = []
        for number, (author, text) in enumerate(line.split(": ", 1) for line in said):
            about = {"session_id": "chat", "session_title": title, "role": "user", "message_id": str(number)}
            lines.append(json.dumps({**about, "author": author, "content": text}) + "\n")
        path.write_text("".join(lines), encoding="utf-8")
        opened[language] = Appliance.open(folder / language, worker=False)
        opened[language].ingest(path)
    yield opened
    for memory in opened.values():
        memory.close()


@pytest.mark.parametrize(
    ("language", "query"), [(language, query) for language, queries in UNANSWERED.items() for query in queries]
)
def test_a_name_alone_makes_nothing_likely(memories: dict[str, Appliance], language: str, query: str) -> None:
    hits = memories[language].search(query, min_score=0)
    assert [(hit.text, hit.score) for hit in hits if hit.score >= 0.4] == [] and hits.likely == 0


@pytest.mark.parametrize(("language", "query", "answer"), ANSWERED)
def test_with_other_words_beside_it_a_name_counts(
    memories: dict[str, Appliance], language: str, query: str, answer: int
) -> None:
    hits = memories[language].search(query)
    assert hits[0].external_id == str(answer) and hits[0].score >= LIKELY_SCORE


def test_a_title_makes_no_other_message_as_likely_as_the_answer(memories: dict[str, Appliance]) -> None:
    hits = memories["fr"].search("les allergies de la famille", min_score=0)
    assert [hit.score for hit in hits[1:] if hit.score >= 0.4] == []
