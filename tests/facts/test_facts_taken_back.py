"""What is taken back, cancelled or moved holds no longer; what only sounds so still holds."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, date, datetime, timedelta

import pytest

from appliance import Appliance
from appliance.errors import UsageError
from appliance.memory.facts import changes, extraction, timeline
from appliance.memory.facts.rule_extractor import extract_statements
from appliance.store.facts import DerivedFact
from appliance.store.statements import PendingStatements, Statement
from appliance.timestamps import iso_from_microseconds, to_microseconds

DAY = datetime(2031, 3, 10, tzinfo=UTC)  # a Monday that is to come, so that no date is past
SAID = date(2031, 3, 10)


def derived(*texts: str) -> list[DerivedFact]:
    """The facts of messages that were said on one day after the other, without a database."""
    statements: list[Statement] = []
    for number, text in enumerate(texts, 1):
        at = to_microseconds(DAY + timedelta(days=number))
        said = iso_from_microseconds(at)
        message = PendingStatements(number, 1, "me", "", "local", "all", "user", None, True, text, said, "{}", 1)
        found = extraction.to_statements(message, extract_statements(text, extraction.sent_date(said)))
        placed = {"session": 1, "order_at": at, "position": number, "at": at, "said_at": said}
        statements += [Statement(**({f: getattr(one, f) for f in one.__slots__} | placed)) for one in found]
    told = [one for one in statements if one.slot == timeline.CHANGE_SLOT]
    others = [one for one in statements if one.slot != timeline.CHANGE_SLOT]
    resolution = changes.resolve(told, others)
    slots = dict.fromkeys([*(one.slot for one in others), *resolution.statements])
    return [
        fact
        for slot in slots
        for fact in timeline.derive([*(s for s in others if s.slot == slot), *resolution.of(slot)], [], frozenset())
    ]


def texts(state: str, *said: str) -> list[str]:
    return sorted(fact.text for fact in derived(*said) if fact.state == state)


MARATHON = "I'm planning to run the Valencia marathon."
PERU = "I'm planning a trip to Peru in May 2032."
LEIPZIG = "Ich ziehe im Juni nach Leipzig."
MARATON = "Quiero correr un maratón."
TAKEN_BACK = (
    (MARATHON, "I won't run the marathon after all."),
    (MARATHON, "My knee is worse, so I'm not going to run the Valencia marathon any more."),
    (MARATHON, "I've decided not to run the marathon."),
    (MARATHON, "I decided against the Valencia marathon."),
    (MARATHON, "In the end I cancelled the marathon."),
    (MARATHON, "I'm no longer running the marathon in Valencia."),
    (MARATHON, "I had to pull out of the Valencia marathon because of my knee."),
    (PERU, "The trip to Peru is cancelled."),
    (PERU, "Sadly, our Peru trip got called off."),
    (PERU, "We had to cancel the trip to Peru in May."),
    (PERU, "Peru is off the table, the trip is cancelled."),
    (PERU, "We won't go to Peru in May after all."),
    (PERU, "The trip to Peru fell through."),
    (PERU, "I won't be going to Peru after all."),
    (PERU, "Peru is cancelled."),
    (PERU, "I've changed my mind about Peru."),
    (LEIPZIG, "Doch nicht Leipzig, ich bleibe in Berlin."),
    (LEIPZIG, "Ich ziehe doch nicht nach Leipzig."),
    (LEIPZIG, "Aus dem Umzug nach Leipzig wird nichts."),
    (LEIPZIG, "Wir haben uns gegen Leipzig entschieden."),
    (LEIPZIG, "Der Umzug ist leider geplatzt."),
    (LEIPZIG, "Ich bleibe doch in Berlin."),
    ("Wir planen eine Reise nach Peru.", "Die Reise nach Peru ist abgesagt."),
    ("Wir planen eine Reise nach Peru.", "Wir mussten die Peru Reise stornieren."),
    ("Ich möchte einen Marathon laufen.", "Ich laufe den Marathon doch nicht."),
    ("Ich möchte einen Marathon laufen.", "Den Marathon laufe ich nicht mehr."),
    (MARATON, "Al final no voy a correr el maratón."),
    (MARATON, "No voy a correr el maratón al final."),
    (MARATON, "He decidido no correr el maratón."),
    ("Estamos planeando un viaje a Perú.", "El viaje a Perú se ha cancelado."),
    ("Estamos planeando un viaje a Perú.", "Hemos cancelado el viaje a Perú."),
    ("Me mudo a Sevilla.", "Al final no me mudo a Sevilla."),
    ("Me mudo a Sevilla.", "Ya no me mudo a Sevilla."),
    ("I'm moving to Berlin next month.", "We've decided not to move to Berlin."),
    ("I'm moving to Berlin next month.", "I'm staying in Leeds after all."),
    ("We're getting married in June.", "The wedding is cancelled."),
    ("We're getting married in June.", "We aren't getting married any more."),
    ("Wir heiraten im Juni.", "Wir heiraten doch nicht."),
    ("Our wedding is on 5 June 2032.", "The wedding has been postponed."),
    ("I play tennis.", "I don't play tennis any more."),
    ("I'm learning Japanese.", "I stopped learning Japanese."),
    ("Ich arbeite bei der Charité.", "Ich arbeite nicht mehr in der Charité, sondern bei Siemens als Projektleiterin."),
    ("Trabajo en una empresa que se llama Nubela.", "Ya no trabajo en Nubela, ahora soy autónoma."),
)


@pytest.mark.parametrize(("before", "after"), TAKEN_BACK)
def test_what_is_taken_back_holds_no_longer(before: str, after: str) -> None:
    (text,) = texts("held", before)
    assert text not in texts("held", before, after) and not texts("review", before, after)
    assert text in [*texts("ended", before, after), *texts("superseded", before, after)]


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (MARATHON, "I won't run the marathon without you."),
        (MARATHON, "I won't run the marathon alone."),
        (MARATHON, "I won't run the marathon if it rains."),
        (MARATHON, "We won't forget the marathon!"),
        (MARATHON, "I won't cancel the Valencia marathon."),
        (MARATHON, "Should I not run the marathon after all?"),
        (MARATHON, "Ben says he won't run the Valencia marathon after all."),
        (MARATHON, "He won't run the Valencia marathon after all."),
        (MARATHON, "If I cancelled the marathon, Ida would be sad."),
        (MARATHON, "I almost cancelled the Valencia marathon."),
        (MARATHON, "I cancelled my gym membership."),
        (PERU, "Is the trip to Peru cancelled?"),
        (PERU, "Anna's trip to Peru is cancelled."),
        (PERU, "Anna says the trip to Peru is cancelled."),
        (PERU, "The trip to Peru isn't cancelled."),
        (PERU, "The trip to Peru might be cancelled."),
        (PERU, "The trip to Rome is cancelled."),
        (PERU, "What happens if the trip to Peru is cancelled?"),
        (PERU, 'She wrote: "The trip to Peru is cancelled."'),
        (PERU, "Write a story: the trip to Peru is cancelled."),
        (LEIPZIG, "Zieh doch nicht nach Leipzig!"),
        (LEIPZIG, "Warum ziehst du doch nicht nach Leipzig?"),
        (LEIPZIG, "Meine Schwester zieht doch nicht nach Leipzig."),
        (LEIPZIG, "Wenn der Umzug geplatzt ist, sag Bescheid."),
        (LEIPZIG, "Der Umzug nach Leipzig ist nicht abgesagt."),
        (LEIPZIG, "Ich bleibe heute im Bett."),
        (MARATON, "No voy a correr el maratón sin ti."),
        (MARATON, "¿Al final no corres el maratón?"),
        (MARATON, "Dicen que el maratón se ha cancelado."),
        (MARATON, "Si se cancela el maratón, lloro."),
    ],
)
def test_what_only_sounds_so_still_holds(before: str, after: str) -> None:
    assert texts("held", before)[0] in texts("held", before, after)
    assert not texts("review", before, after)


DOCTOR = "Tengo una cita con el médico el 3 de noviembre de 2031."
DENTIST = "My dentist appointment is on Monday 4 August 2031."


@pytest.mark.parametrize(
    ("said", "day"),
    [
        ((DOCTOR, "La cita con el médico se ha cambiado al 17 de noviembre."), "2031-11-17"),
        ((DOCTOR, "Me han cambiado la cita al 17 de noviembre."), "2031-11-17"),
        ((DOCTOR, "Mi cita con el médico pasa al 17 de noviembre."), "2031-11-17"),
        ((DENTIST, "My dentist moved the appointment from Monday to Friday 8 August."), "2031-08-08"),
        ((DENTIST, "The appointment has been moved to 8 August."), "2031-08-08"),
        ((DENTIST, "I had to reschedule my dentist appointment to 8 August."), "2031-08-08"),
        (("My flight is on 3 December 2031.", "My flight moved to 5 December 2031."), "2031-12-05"),
        (("My flight to Vienna is on 3 December 2031.", "My flight was moved to 5 December."), "2031-12-05"),
        (("Mein Flug nach Wien geht am 7. Dezember.", "Mein Flug wurde auf den 9. Dezember verschoben."), "2031-12-09"),
        (("Mein Flug nach Wien geht am 7. Dezember.", "Ich habe meinen Flug auf den 9. Dezember umgebucht."),
         "2031-12-09"),
        (("Ich habe einen Zahnarzttermin am 4. August.",
          "Mein Zahnarzt hat den Termin von Montag auf Freitag, den 8. August verlegt."), "2031-08-08"),
        (("Our wedding is on 5 June 2032.", "The wedding has been postponed to 12 September 2032."), "2032-09-12"),
    ],
)  # fmt: skip
def test_what_is_moved_has_its_new_day_and_no_other(said: Sequence[str], day: str) -> None:
    assert [fact.value for fact in derived(*said) if fact.state == "held"] == [day]
    assert [fact.state for fact in derived(*said) if fact.value != day] == ["superseded"]


@pytest.mark.parametrize(
    ("before", "denial", "now"),
    [
        ("I live in Vienna.", "I don't live in Vienna any more, but in Linz.", "lives in Linz"),
        ("I live in Vienna.", "I don't live in Vienna but in Linz.", "lives in Linz"),
        ("I live in Vienna.", "I no longer live in Vienna, but in a tent.", None),
        ("Ich wohne in Wien.", "Ich wohne nicht mehr in Wien, sondern in Linz.", "lives in Linz"),
        ("Ich wohne in Wien.", "In Wien wohne ich nicht mehr, sondern auf dem Land.", None),
        ("Vivo en Madrid.", "Ya no vivo en Madrid, sino en Sevilla.", "lives in Sevilla"),
        ("I work at Acme.", "I don't work at Acme anymore but at Initech.", "works at Initech"),
        ("Mi comida favorita es la paella.", "Mi comida favorita ya no es la paella, sino el pulpo.", "pulpo"),
        ("My favourite food is ramen.", "My favourite food is no longer ramen but fondue.", "fondue"),
        ("My sister lives in Rome.", "My sister no longer lives in Rome but in Bari.", "sister lives in Bari"),
        ("Mein Bruder wohnt in Wien.", "Mein Bruder wohnt nicht mehr in Wien, sondern in Ulm.", "brother lives in Ulm"),
    ],
)
def test_a_denial_ends_a_fact_and_is_no_evidence_for_it(before: str, denial: str, now: str | None) -> None:
    (alone,) = derived(before)
    old = next(fact for fact in derived(before, denial) if fact.value == alone.value)
    assert (old.state in ("ended", "superseded"), old.confidence) == (True, alone.confidence)
    held = texts("held", before, denial)
    assert [text.endswith(now or "?") for text in held] == ([True] if now else [])


def test_two_flights_are_two() -> None:
    held = texts("held", "My flight is on 3 December 2031.", "Mein Flug nach Wien geht am 7. Dezember 2031.")
    assert held == ["flight is on 2031-12-03", "flight to Wien is on 2031-12-07"]


def test_a_message_that_may_mean_several_things_asks() -> None:
    said = (PERU, "We're planning a trip to Rome.", "The trip is cancelled.")
    assert texts("review", *said) == ["no longer: plans a trip to Peru in May 2032", "no longer: plans a trip to Rome"]
    assert len(texts("held", *said)) == 2
    said = ("I plan to visit Rome and I plan to visit Oslo.", "My visit is cancelled.")
    assert texts("review", *said) == ["no longer: plans to visit Oslo", "no longer: plans to visit Rome"]
    said = ("My flight to Rome is on 2 May.", "My flight to Oslo is on 3 May.", "My flight was moved to 5 May.")
    assert texts("review", *said) == ["flight to Oslo is on 2031-05-05", "flight to Rome is on 2031-05-05"]


def test_a_plain_denial_asks() -> None:
    assert texts("review", MARATHON, "I won't run the Valencia marathon.") == [
        "no longer: plans to run the Valencia marathon"
    ]


def test_a_wish_outlives_a_plan() -> None:
    said = ("I want to run a marathon.", MARATHON, "I won't run the Valencia marathon after all.")
    assert texts("held", *said) == ["wants to run a marathon"]


def test_what_was_taken_back_can_be_planned_again() -> None:
    said = (PERU, "The trip to Peru is cancelled.", PERU)
    assert texts("held", *said) == ["plans a trip to Peru in May 2032"]


def say(memory: Appliance, *said: str) -> None:
    session = memory.sessions.create(title="chat")
    for number, text in enumerate(said):
        session.add("user", text, timestamp=DAY + timedelta(days=number))


def test_a_proposed_end_is_confirmed_or_rejected(memory: Appliance) -> None:
    say(memory, PERU, "We're planning a trip to Rome.", "The trip is cancelled.")
    peru, rome = memory.facts.review()
    memory.facts.confirm(peru.id)
    memory.facts.reject(rome.id)
    assert not memory.facts.review()
    assert [fact.value for fact in memory.facts.list()] == ["a trip to Rome"]
    assert [fact.value for fact in memory.facts.list(state="ended")] == ["a trip to Peru in May 2032"]


@pytest.mark.slow
def test_what_is_erased_takes_nothing_back(memory: Appliance) -> None:
    say(memory, PERU)
    cancelled = memory.sessions.create().add("user", "The trip to Peru is cancelled.", timestamp=DAY.replace(month=4))
    assert memory.facts.list() == []
    memory.erasure.forget(memory.erasure.preview(cancelled.id))
    assert [fact.value for fact in memory.facts.list()] == ["a trip to Peru in May 2032"]


def test_the_person_takes_back_by_a_sentence(memory: Appliance) -> None:
    say(memory, PERU, "My flight to Rome is on 3 December 2031.")
    assert [fact.state for fact in memory.facts.add("The trip to Peru is cancelled.")] == ["ended"]
    assert [fact.value for fact in memory.facts.add("My flight moved to 5 December 2031.")] == ["2031-12-05"]
    assert [fact.value for fact in memory.facts.list()] == ["2031-12-05"]
    memory.facts.add("I'm planning a trip to Japan")
    memory.facts.add("We're planning a trip to China")
    with pytest.raises(UsageError, match="trip to China, plans a trip to Japan"):
        memory.facts.add("The trip is cancelled.")
    assert len(memory.facts.list()) == 3


def test_a_date_and_a_dated_plan_hold_until_they_are_over(memory: Appliance) -> None:
    session = memory.sessions.create(title="chat")
    when = datetime(2024, 5, 2, tzinfo=UTC)
    for text in ("I have a dentist appointment on 3 May 2024.", "I'm planning a trip to Peru in June."):
        session.add("user", text, timestamp=when)
    assert memory.facts.list() == []
    assert {fact.attribute: fact.until for fact in memory.facts.list(state="ended")} == {
        "dentist appointment": "2024-05-03", "plans": "2024-06",
    }  # fmt: skip
    assert len(memory.facts.list(as_of="2024-05-03")) == 2
    assert [fact.attribute for fact in memory.facts.list(as_of="2024-05-05")] == ["plans"]


def test_an_age_says_when_it_was_said(memory: Appliance) -> None:
    say(memory, "I'm 38 years old.")
    (fact,) = memory.facts.list()
    assert (fact.text, fact.since) == ("is 38 years old (as of 2031-03-10)", None)


def test_what_states_nothing_of_the_person_is_a_note(memory: Appliance) -> None:
    (fact,) = memory.facts.add("The weather is nice")
    assert fact.kind == "note"
