"""Procedures of ordinary exchanges: steps in sentences, problems as goals, confirmations in ordinary words."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from appliance.memory import how_to, procedures, prose_steps
from appliance.types import Message
from tests.eval.procedure_exchanges import Exchange, exchanges
from tests.eval.procedure_threads import threads
from tests.eval.procedures import measured_by_other_hands, scored_exchanges

MIN_RECALL, MIN_PRECISION = 0.75, 0.95


def test_ordinary_exchanges_are_told_apart() -> None:
    measured = scored_exchanges(exchanges())
    assert measured["recall"] >= MIN_RECALL and measured["precision"] >= MIN_PRECISION, measured


def test_a_procedure_quotes_problem_steps_and_outcome() -> None:
    one = Exchange("x", "en", True, (
        ("user", "Hi! My kitchen tap drips all night. It's driving me mad."),
        ("assistant", "Sure. Turn off the water under the sink. Then unscrew the handle and replace the washer. Luck!"),
        ("user", "It's gone, thanks so much"),
    ))  # fmt: skip
    (found,) = procedures.find(one.messages())
    assert found.goal.text == "My kitchen tap drips all night."
    assert [step.text for step in found.steps] == [
        "Turn off the water under the sink.", "Then unscrew the handle and replace the washer.",
    ]  # fmt: skip
    assert found.confirmed.text == "It's gone, thanks so much"
    for quote in found.quotes:
        message = next(message for message in one.messages() if message.id == quote.message_id)
        assert message.text[quote.start : quote.end] == quote.text


@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        ("How do I refresh the package list?", "sudo apt-get update", "ok wait..\nworks .. thanks a lot ;)"),
        (
            "After the update my screen is black, any idea?",
            "Restart the display manager.",
            "I'll try that!\nThat worked!",
        ),
        ("How can I mount the other drive?", "Open Disks and mount it.", "yup that was it!"),
    ],
)
def test_a_single_step_counts_with_an_explicit_word_that_it_worked(question: str, answer: str, outcome: str) -> None:
    assert procedures.find(_exchange(question, answer, outcome))


@pytest.mark.parametrize(
    ("question", "answer", "outcome"),
    [
        ("How do I reconfigure the server?", "sudo dpkg-reconfigure server", "done that many times"),
        ("sudo tee: permission denied. Why?", "Run it as root, then use tee -a.", "ok, thanks. got it."),
        (
            "It doesn't see the disk.",
            "Check the cables and test the port.",
            "Hey, it worked! I just plugged in the other one.",
        ),
        ("How can I remove the service?", "Try sudo apt-get remove foo", "strange, it works fine at my home"),
        ("I can't reach the folder", "sudo mount /mnt/data", "I don't know where it is. The settings are fine, BTW"),
        ("I can't install it, it says no", "Give it a shot.", "it works. Thanks"),
        (
            "I need an example of a release note",
            "Here it is. If you miss one, let me know which.",
            "That works perfectly!",
        ),
        ("Please show me the state of the repository", "Continue? OK, go.", "that worked, thanks"),
    ],
)
def test_what_only_looks_like_a_procedure(question: str, answer: str, outcome: str) -> None:
    assert procedures.find(_exchange(question, answer, outcome)) == []


def _exchange(question: str, answer: str, outcome: str) -> list[Message]:
    return Exchange("x", "en", False, (("user", question), ("assistant", answer), ("user", outcome))).messages()


@pytest.mark.skipif(shutil.which("git") is None, reason="no git")
def test_threads_are_read_from_a_clone(tmp_path: Path) -> None:
    folder = tmp_path / "data" / "train"
    folder.mkdir(parents=True)
    lines = [
        "[10:00] <ann> how do I refresh the list?", "=== bob has joined", "[10:01] <eve> is it raining?",
        "[10:02] <bob> ann: sudo apt-get update", "[10:02] <bob> quick", "[10:03] <ann> bob: that worked, thanks",
    ]  # fmt: skip
    (folder / "a.raw.txt").write_text("\n".join(lines), "utf-8")
    (folder / "a.annotation.txt").write_text("0 0 -\n0 3 -\n3 4 -\n3 5 -\n2 2 -\n", "utf-8")
    for command in (["init", "-q"], ["add", "."], ["-c", "user.name=x", "-c", "user.email=x@x", "commit", "-qm", "x"]):
        subprocess.run(["git", "-C", str(tmp_path), *command], check=True)
    (thread,) = threads(tmp_path)
    assert thread.name == "a:0"
    assert [(message.role, message.text) for message in thread.messages] == [
        ("user", "how do I refresh the list?"),
        ("assistant", "sudo apt-get update\nquick"),
        ("user", "that worked, thanks"),
    ]
    assert measured_by_other_hands(tmp_path)["threads"]["unread"] == ["a:0 m1-m3"]


@pytest.mark.parametrize(
    "answer",
    [
        "Read Dune.",
        "The sea is wide and deep.",
        "You could turn it off and put it back?",
        "330 metres.",
        "Take the U2.",
    ],
)
def test_one_action_or_none_is_no_steps(answer: str) -> None:
    assert prose_steps.find_steps(answer) == []


@pytest.mark.parametrize(
    "words",
    ["It's gone, but only for an hour", "Is it gone?", "All back ... not", "Done. Let's talk about dinner.", "thanks!",
     "It's fixed, the landlord came.", "I hope it's gone now", "Fixed! " + "And then we talked. " * 20],
)  # fmt: skip
def test_what_does_not_say_that_all_is_well(words: str) -> None:
    assert how_to.find_result(words) is None
