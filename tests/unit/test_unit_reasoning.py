"""Answers lose the reasoning that a model wrote into them, and nothing else."""

from __future__ import annotations

import pytest

from appliance.types.reasoning import without_reasoning

THOUGHT = "The person asks about an otter.\n\nI should be brief."


@pytest.mark.parametrize(
    "answer",
    [
        f"<think>{THOUGHT}</think>\n\nHis name is Lutz.",
        f"<think>\n{THOUGHT}\n</think>His name is Lutz.",
        f"\n\n<thinking>{THOUGHT}</thinking>\nHis name is Lutz.",
        f"<Reasoning effort='high'>{THOUGHT}</Reasoning> His name is Lutz.",
        f"<thought>{THOUGHT}</thought>\nHis name is Lutz.",
        f"<seed:think>{THOUGHT}</seed:think>His name is Lutz.",
        f"[THINK]{THOUGHT}[/THINK]His name is Lutz.",
        f"◁think▷{THOUGHT}◁/think▷His name is Lutz.",
        f"<|begin_of_thought|>{THOUGHT}<|end_of_thought|>\nHis name is Lutz.",
        f"<|START_THINKING|>{THOUGHT}<|END_THINKING|>His name is Lutz.",
        f"<|channel|>analysis<|message|>{THOUGHT}<|end|><|start|>assistant<|channel|>final<|message|>His name is Lutz.",
        f'<details type="reasoning" done="true" duration="3">\n<summary>Thought</summary>\n> {THOUGHT}\n</details>\n'
        "His name is Lutz.",
        f":::thinking\n{THOUGHT}\n:::\nHis name is Lutz.",
        f"{THOUGHT}\n</think>\n\nHis name is Lutz.",  # the template began the reasoning
        f"<think>{THOUGHT}</think><think>\n</think>\nHis name is Lutz.",
        f"<think>Like ```\n<think>\n``` that.</think>\n<think>{THOUGHT}</think>His name is Lutz.",
    ],
)
def test_reasoning_is_taken_out(answer: str) -> None:
    assert without_reasoning(answer) == "His name is Lutz."


def test_reasoning_between_parts_of_an_answer() -> None:
    answer = f"I look it up.\n<think>{THOUGHT}</think>\nHis name is Lutz.\n\n<think>Done.</think>"
    assert without_reasoning(answer) == "I look it up.\n\nHis name is Lutz."


@pytest.mark.parametrize("answer", [f"<think>{THOUGHT}", f" <think>\n{THOUGHT}\n", "<think></think>", "◁think▷ Well"])
def test_nothing_but_reasoning_leaves_nothing(answer: str) -> None:
    assert without_reasoning(answer) == ""


@pytest.mark.parametrize(
    "answer",
    [
        "I think that <think> is a tag, and </think> ends it.",
        "Models write `<think>` first.\nThen `</think>`\n",
        "For example:\n```\n<think>\nLike this.\n</think>\n```\nThat is all.",
        "<thinker>Rodin</thinker>",
        "<details>\n<summary>More</summary>\nHis name is Lutz.\n</details>",
        "The answer.\n<think>\nwas never ended, but stands behind an answer.",
        "No tag, but a thought for a good reason.",
        "",
    ],
)
def test_other_texts_stay_as_they_are(answer: str) -> None:
    assert without_reasoning(answer) is answer


def test_a_long_answer_with_many_tags_takes_no_time() -> None:
    answer = "<think>a</think>\nb\n" * 2_000
    assert without_reasoning(answer).count("b") == 2_000
    assert without_reasoning("<think>" * 20_000) == ""
