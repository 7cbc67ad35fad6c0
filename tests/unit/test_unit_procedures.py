"""Procedures: steps that worked, in a conversation's own words; and nothing else."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.memory import how_to, procedures
from appliance.types import Message
from tests.eval import procedures as measuring
from tests.eval.procedure_talks import Talk, talks
from tests.examples import examples
from tests.waits import spent

SECONDS_AT_MOST = 2.0
"""For five megabytes of hostile text, on a machine that others use too."""


def said(*turns: str) -> list[Message]:
    return Talk(0, turns, None, 0).messages()


def found(*turns: str) -> list[procedures.Procedure]:
    return procedures.find(said(*turns))


@pytest.mark.parametrize("talk", [talk for talk in talks() if talk.goal is None], ids=lambda talk: talk.name)
def test_what_only_looks_like_a_procedure_is_none(talk: Talk) -> None:
    assert procedures.find(talk.messages()) == []


def test_precision_comes_first_and_recall_is_fair() -> None:
    figures = measuring.measured()
    assert figures["precision"] >= 0.98
    assert figures["recall"] >= 0.85
    assert figures["questions"]["taken for one"] == []
    assert figures["questions"]["not known"] == []


def test_every_quote_stands_as_it_is_in_its_message() -> None:
    count = 0
    for talk in talks():
        messages = {message.id: message for message in talk.messages()}
        for procedure in procedures.find(talk.messages()):
            assert procedure.quotes == (procedure.goal, *procedure.steps, procedure.confirmed)
            for quote in procedure.quotes:
                assert messages[quote.message_id].text[quote.start : quote.end] == quote.text
                assert quote.text.strip() == quote.text != ""
                count += 1
            metadata = procedure.metadata
            assert procedure.text.splitlines() == [metadata["goal"], *metadata["steps"]]
            assert 2 <= procedure.messages <= len(messages)
    assert count > 200


def test_what_failed_before_is_no_step() -> None:
    (procedure,) = found(
        "U How do I free space on the boot partition?",
        "A 1. Open the cleaner.\n2. Press Free.",
        "U That didn't work.",
        "A 1. List the kernels.\n2. Remove the old ones.\n3. Reboot.",
        "U That did the trick, thanks!",
    )
    assert [step.text for step in procedure.steps] == ["1. List the kernels.", "2. Remove the old ones.", "3. Reboot."]
    assert procedure.goal.text == "How do I free space on the boot partition?"
    assert procedure.confirmed.text == "That did the trick, thanks!"


def test_steps_keep_their_code_and_end_where_the_list_ends() -> None:
    (procedure,) = found(
        "U How do I build it?",
        "A Like so:\n\n1. Clone it:\n\n```\ngit clone x\n\ncd x\n```\n\n2. Build:\n   - run make\n\nGood luck!",
        "U It worked!",
    )
    assert [step.text for step in procedure.steps] == [
        "1. Clone it:\n\n```\ngit clone x\n\ncd x\n```",
        "2. Build:\n   - run make",
    ]


def test_of_what_was_run_what_went_well_and_changed_something_is_kept() -> None:
    (procedure,) = found(
        "U How do I publish the docs?",
        "C ls -la",
        "R a.txt",
        "C mkdocs deploy",
        "R Error: no such command\nexit code: 2",
        "C mkdocs build",
        "R built",
        "C mkdocs gh-deploy",
        "R INFO done\nexit code: 0",
        "C mkdocs build",
        "R built",
        "A Published.",
        "U It works now.",
    )
    assert [step.text for step in procedure.steps] == ["mkdocs gh-deploy", "mkdocs build"]
    assert procedure.messages == 13


def test_results_belong_to_the_calls_that_they_name() -> None:
    messages = said(
        "U How do I publish it?", "C make a", "C make b", "R exit code: 1", "R fine", "A Done.", "U It works now."
    )
    first, second, third = messages[2], messages[3], messages[4]
    messages[3] = _answering(second, messages[1])
    messages[4] = _answering(third, first)
    (procedure,) = procedures.find(messages)
    assert [step.text for step in procedure.steps] == ["make b"]


def _answering(result: Message, call: Message) -> Message:
    return Message(
        result.id, result.session_id, result.external_id, result.role, result.author, result.timestamp,
        result.text, call.external_id, result.metadata,
    )  # fmt: skip


def test_what_was_taken_back_or_never_shown_does_not_count() -> None:
    turns = ("U How do I reset it?", "A 1. Off.\n2. On.", "U That worked.")
    assert len(found(*turns)) == 1
    for mark in ("branch", "deleted", "hidden", "sidechain"):
        messages = said(*turns)
        marked = messages[1]
        messages[1] = Message(
            marked.id, "s1", marked.external_id, "assistant", None, None, marked.text, None, {mark: True}
        )
        assert procedures.find(messages) == [], mark


def test_two_procedures_of_a_conversation_are_two() -> None:
    turns = ("U How do I reset it?", "A 1. Off.\n2. On.", "U That worked.")
    both = found(*turns, "U How do I pair it?", "A 1. Hold.\n2. Wait.", "U It works now!", "U It works now!")
    assert [procedure.goal.text for procedure in both] == ["How do I reset it?", "How do I pair it?"]


HOSTILE = {
    "fences": "```\n~~~\n" * 700_000,
    "numbers": "1. a\n" * 1_000_000,
    "ticks": "run `" * 1_000_000,
    "sentences": "." * 5_000_000,
    "errors": "error" * 1_000_000,
    "how": "how do i " * 550_000,
    "worked": "it worked and " * 350_000,
    "thanks": "thanks " * 70,
    "wie": "wie ich " * 600_000,
    "spaces": " " * 5_000_000,
    "lines": "\n" * 5_000_000,
    "quotes": '"' * 5_000_000,
    "exit": "exit code " * 500_000,
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_text_costs_little(text: str) -> None:
    said("U x")
    how_to.find_success("warm"), how_to.find_how_to("warm"), how_to.find_error("warm")
    told = f"U How do I do it? {text}", f"A {text}", f"C {text}", f"R {text}", f"U {text}", "U It works now."
    assert spent(lambda: found(*told)) < SECONDS_AT_MOST


@settings(max_examples=examples(60))
@given(st.lists(st.tuples(st.sampled_from("UACR"), st.text(max_size=200)), max_size=12))
def test_no_conversation_breaks_it(turns: list[tuple[str, str]]) -> None:
    messages = said(*(f"{who} {text}" for who, text in turns))
    known = {message.id: message.text for message in messages}
    for procedure in procedures.find(messages):
        for quote in procedure.quotes:
            assert known[quote.message_id][quote.start : quote.end] == quote.text


# --- kept among the summaries ------------------------------------------------------------------------


def test_procedures_are_made_with_the_summaries_and_found_by_their_question(memory: Appliance) -> None:
    session = memory.sessions.create()
    for role, text in (
        ("user", "How do I descale the coffee machine?"),
        ("assistant", "1. Fill the tank with vinegar.\n2. Run the rinse program twice.\n3. Rinse with water."),
        ("user", "That worked, thank you!"),
    ):
        session.add(role, text, external_id=role + text[:3])  # type: ignore[arg-type]
    made = [one for one in memory.summaries.make(session.id) if one.level == "procedure"]
    assert [one.metadata["goal"] for one in made] == ["How do I descale the coffee machine?"]
    (hit,) = memory.summaries.search("how to descale the machine", level="procedure")
    assert hit.summary.id == made[0].id
    assert hit.summary.metadata["confirmed"] == "That worked, thank you!"
    assert [quote.message_id for quote in hit.summary.quotes] == ["m1", "m2", "m2", "m2", "m3"]
    # Made again it stays the same one; when its steps change it goes, and a new one comes.
    assert [one.id for one in memory.summaries.make(session.id) if one.level == "procedure"] == [made[0].id]
    session.add("assistant", "1. Fill it with citric acid.\n2. Rinse.", external_id="assistant1. ")
    (changed,) = [one for one in memory.summaries.make(session.id) if one.level == "procedure"]
    assert (changed.id != made[0].id, len(changed.quotes)) == (True, 4)
    session.add("user", "That didn't work", external_id="userTha")
    assert [one for one in memory.summaries.make(session.id) if one.level == "procedure"] == []
    assert not memory.verify().problems


def test_what_an_agent_ran_is_quoted_from_its_records(memory: Appliance) -> None:
    session = memory.sessions.create()
    call = {"tools": [{"kind": "call", "name": "Bash"}]}
    result = {"tools": [{"kind": "result", "name": "Bash"}]}
    session.add("user", "Set up the development database, please.")
    session.add("tool", "Bash\ncommand: createdb dev\ndescription: create it", external_id="c1", metadata=call)
    session.add("tool", "exit code: 0", reply_to="c1", metadata=result)
    session.add("assistant", "It is there.")
    session.add("user", "It works, thanks.")
    (made,) = [one for one in memory.summaries.make(session.id) if one.level == "procedure"]
    assert [quote.text for quote in made.quotes] == [
        "Set up the development database, please.",
        "createdb dev",
        "It works, thanks.",
    ]
    assert not memory.verify().problems
