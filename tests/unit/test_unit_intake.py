"""What an ingest makes of awkward files: order, forms, machine records, and every character to the model."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from appliance import Appliance
from appliance_models import HashEmbedder

Line = dict[str, Any]
MINUTE = "2024-01-01T10:30:00Z"


class Recorder(HashEmbedder):
    """Notes what it is asked to embed."""

    def __init__(self) -> None:
        super().__init__(max_tokens=16)
        self.passages: list[str] = []

    def embed_passages(self, texts: Sequence[str]) -> NDArray[np.float32]:
        self.passages += texts
        return super().embed_passages(texts)


def line(number: int, content: str = "", **more: Any) -> Line:
    text = content or f"said {number}"
    return {"session_id": "s", "message_id": f"{number}", "role": "user", "content": text, **more}


def read(memory: Appliance, tmp_path: Path, lines: Sequence[Line], **options: Any) -> Any:
    path = tmp_path / "lines.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    return memory.ingest(path, **options)


def order(memory: Appliance) -> list[int]:
    return [int(message.external_id) for message in memory.sessions.messages("s")]


@pytest.mark.parametrize("stamp", [{}, {"timestamp": MINUTE}], ids=["no time", "one minute"])
@pytest.mark.parametrize(
    "reads",
    [
        [range(6), range(4, 8)],
        [range(6), range(6, 9)],
        [[0, 1, 3], range(5), [4, 5]],
        [[3, 4], [2, 3], range(6)],
        [[0, 9], range(10)],
        [[5], range(8)],
        [[0, 4, 8], [0, 2, 4, 6, 8], range(9)],
    ],
    ids=str,
)
def test_messages_of_one_moment_keep_the_order_of_the_chat(
    memory: Appliance, tmp_path: Path, stamp: Line, reads: list[Sequence[int]]
) -> None:
    for numbers in reads:
        read(memory, tmp_path, [line(number, **stamp) for number in numbers], wait=False)
    assert order(memory) == sorted({number for numbers in reads for number in numbers})
    assert not memory.verify().problems


def test_order_holds_over_the_batches_of_a_large_file(memory: Appliance, tmp_path: Path) -> None:
    read(memory, tmp_path, [line(number) for number in range(0, 2_600, 13)], wait=False)
    read(memory, tmp_path, [line(number) for number in range(2_600)], wait=False)
    assert order(memory) == list(range(2_600))


def test_a_message_without_a_time_stays_behind_the_one_before_it(memory: Appliance, tmp_path: Path) -> None:
    times = {2: "2024-01-01T10:00:00Z", 0: "2024-01-01T09:00:00Z", 4: "2024-01-01T11:00:00Z"}
    lines = [line(n, **({"timestamp": times[n]} if n in times else {})) for n in (2, 3, 0, 1, 4)]
    read(memory, tmp_path, lines)
    assert order(memory) == [0, 1, 2, 3, 4]


def test_two_forms_of_a_message_in_one_file_are_a_message_and_its_revision(memory: Appliance, tmp_path: Path) -> None:
    report = read(memory, tmp_path, [line(1, "first form"), line(2), line(1, "second form"), line(2)])
    assert (report.total("new"), report.total("updated"), report.total("duplicates")) == (2, 1, 1)
    assert [message.text for message in memory.sessions.messages("s")] == ["second form", "said 2"]
    findings = memory.verify()
    assert not findings.problems and findings.checked["revisions"] == 1
    assert not [hit for hit in memory.search("first form") if "first" in hit.text]


@pytest.mark.parametrize("role", ["tool", "system"])
def test_turns_around_a_machine_record_leave_full_text_in_agreement(
    memory: Appliance, tmp_path: Path, role: str
) -> None:
    read(memory, tmp_path, [line(1), line(2, "listing of files", role=role)])
    read(memory, tmp_path, [line(0), line(1), line(2, "listing of files", role=role), line(3), line(4)])
    memory.sessions.get("s").add("user", "and a last word")
    assert not memory.verify().problems


def test_a_record_that_becomes_talk_and_back_leaves_full_text_in_agreement(memory: Appliance, tmp_path: Path) -> None:
    lines = [line(number) for number in range(7)]
    read(memory, tmp_path, lines)
    for change in ({"role": "tool"}, {"role": "user", "content": "aloud"}, {"metadata": {"hidden": True}}):
        lines[3] = {**lines[3], **change}
        read(memory, tmp_path, lines)
        assert not memory.verify().problems, change


AWKWARD = {
    "NUL": "before\x00behind",
    "nothing but NUL": "\x00",
    "many NUL": "".join(f"a\x00{i} " for i in range(60)),
    "joined emoji": "".join(f"👩‍👩‍👧{i}" for i in range(80)),
    "no spaces": "".join(f"灯{i}台" for i in range(200)),
    "accents apart": "".join(f"e\u0301{i}" for i in range(90)),
    "line ends": "".join(f"\r\n{i}\n\r" for i in range(50)),
    "marks": "\u2028x\ufeff\u202ey\u200b",
}


@pytest.mark.parametrize("text", AWKWARD.values(), ids=AWKWARD)
def test_every_character_reaches_the_model(home: Path, tmp_path: Path, text: str) -> None:
    embedder = Recorder()
    with Appliance.open(home, worker=False, embedder=embedder) as memory:
        read(memory, tmp_path, [line(1, text)])
        assert not memory.verify().problems
        assert memory.message("1").text == text
    covered = 0
    for passage in embedder.passages:  # in the order of the text, each overlapping the one before or touching it
        place = max((at for at in range(covered + 1) if text.startswith(passage, at)), default=None)
        assert place is not None
        covered = max(covered, place + len(passage))
    assert covered == len(text)


def test_an_equal_text_is_embedded_once(home: Path, tmp_path: Path) -> None:
    embedder = Recorder()
    with Appliance.open(home, worker=False, embedder=embedder) as memory:
        read(memory, tmp_path, [line(number, "the same words") for number in range(700)])
        read(memory, tmp_path, [line(900, "the same words"), line(901, "others")])
        memory.reindex()
        assert memory.verify().checked["vectors"] == 2
    assert embedder.passages == ["the same words", "others"]


def test_chats_without_ids_that_begin_alike_stay_apart(memory: Appliance, tmp_path: Path) -> None:
    """Made ids tell what was said, and many chats begin with the same words."""

    def chat(session: str, *contents: str, **more: Any) -> list[Line]:
        lines = [line(0, content, session_id=session, **more) for content in contents]
        return [{key: value for key, value in each.items() if key != "message_id"} for each in lines]

    read(memory, tmp_path, [*chat("a", "hi", "first"), *chat("b", "hi")])
    read(memory, tmp_path, chat("c", "hi"))
    assert {info.external_id: info.messages for info in memory.sessions.list()} == {"a": 2, "b": 1, "c": 1}
    read(memory, tmp_path, [*chat("d", "hi", timestamp=MINUTE), *chat("e", "hi", timestamp=MINUTE)])
    assert {"d", "e"} <= {info.external_id for info in memory.sessions.list()}
    # With times it is recognised: the same chat out of a file of another name.
    read(memory, tmp_path, chat("renamed", "hi", timestamp=MINUTE))
    assert "renamed" not in {info.external_id for info in memory.sessions.list()}
