"""Chats that are read while their file grows or after it was cut off: in the end they are what the whole file says."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance import Appliance
from tests.watch_runs import opened

ANDROID = (
    "26/11/2024, 09:58 - Zoë: Hi 000\n"
    "26/11/2024, 09:59 - Ben Hill: two lines\nof words\n"
    "\n"
    "26/11/2024, 10:00 - Ben Hill: The code of the gate is 9981 and the alarm is off\n"
    "26/11/2024, 10:00 - Zoë: Thanks 🙏\n"
)
IPHONE = (
    "[26.11.24, 09:58:01] Zoë: Hi 000\n"
    "[26.11.24, 09:59:12] Ben Hill: The code of the gate is 9981\n"
    "[26.11.24, 10:00:30] Zoë: Thanks\n"
)


@pytest.fixture
def memory(home: Path) -> Iterator[Appliance]:
    with opened(home) as memory:
        yield memory


def told(memory: Appliance, title: str) -> list[tuple[str | None, str | None, str]]:
    """The time, author and text of the messages of a chat."""
    (session,) = [one for one in memory.sessions.list(limit=500) if one.title == title]
    return [(one.timestamp, one.author, one.text) for one in memory.sessions.get(session.id).messages()]


def read(memory: Appliance, file: Path, data: str | bytes) -> tuple[int, int, int]:
    file.write_bytes(data.encode() if isinstance(data, str) else data)
    (report,) = memory.ingest(file, wait=False).files
    return report.new, report.updated, report.duplicates


def test_a_message_that_was_read_half_is_completed(memory: Appliance, tmp_path: Path) -> None:
    file, start = tmp_path / "WhatsApp Chat with Zed.txt", "26/11/2024, 09:58 - Zed: Hi\n26/11/2024, 09:59 - Zed: "
    assert read(memory, file, f"{start}The code of the gate is 99") == (2, 0, 0)
    assert read(memory, file, f"{start}The code of the gate is 9981 and the alarm is off") == (0, 1, 1)
    assert [text for _, _, text in told(memory, "Zed")] == ["Hi", "The code of the gate is 9981 and the alarm is off"]
    assert read(memory, file, f"{start}The code of the gate is 9981 and the alarm is off\n\n") == (0, 0, 2)
    assert read(memory, file, f"{start}The code of the gate is 99") == (0, 0, 2), "an older copy adds nothing"
    findings = memory.verify()
    assert not findings.problems
    assert findings.checked["revisions"] == 1


def test_of_two_equal_beginnings_in_one_file_both_are_messages(memory: Appliance, tmp_path: Path) -> None:
    file, start = tmp_path / "WhatsApp Chat with Zed.txt", "26/11/2024, 09:58 - Zed: Hi\n26/11/2024, 09:59 - Zed: Yes\n"
    read(memory, file, start)
    assert read(memory, file, f"{start}26/11/2024, 09:59 - Zed: Yes, I come\n") == (1, 0, 2)
    assert [text for _, _, text in told(memory, "Zed")] == ["Hi", "Yes", "Yes, I come"]


@pytest.mark.slow
def test_the_only_message_of_a_chat_without_a_name_is_completed(memory: Appliance, tmp_path: Path) -> None:
    read(memory, tmp_path / "_chat.txt", "[26.11.24, 09:58:01] Zoë: The code")
    assert read(memory, tmp_path / "_chat.txt", "[26.11.24, 09:58:01] Zoë: The code of the gate is 9981\n") == (0, 1, 0)
    assert len(memory.sessions.list()) == 1


@pytest.mark.slow
@pytest.mark.parametrize("whole", [ANDROID, IPHONE])
def test_wherever_a_file_was_cut_the_whole_file_puts_it_right(memory: Appliance, tmp_path: Path, whole: str) -> None:
    folder, begin = tmp_path / "chats", whole.encode().index(b"\n") + 1
    folder.mkdir()
    chats = {f"{length:03d}": whole.replace("000", f"{length:03d}").encode() for length in range(begin, 1000)}
    chats = dict(list(chats.items())[: len(whole.encode()) + 1 - begin])
    for name, data in chats.items():
        (folder / f"WhatsApp Chat with {name}.txt").write_bytes(data[: int(name)])
    memory.ingest(folder, wait=False)
    for name, data in chats.items():
        (folder / f"WhatsApp Chat with {name}.txt").write_bytes(data)
    memory.ingest(folder, wait=False)
    found = {name: [(*rest, text.replace(name, "000")) for *rest, text in told(memory, name)] for name in chats}
    expected = found.popitem()[1]
    assert {chats[name][: int(name)][-30:]: one for name, one in found.items() if one != expected} == {}
