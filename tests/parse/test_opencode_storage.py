"""OpenCode's storage: sessions, messages and parts in files of their own, joined by their ids."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.parse.agent_files import ANSWER, QUESTION, SECONDS, START, read_folder, write


def opencode(session: str, message: str, part: str, parts_of: str = "{message}") -> dict[str, object]:
    """A session of two messages as a tree of files, at these folders."""
    head = {"id": "ses_1", "version": "1.1.30", "projectID": "p", "directory": "/home/ines", "title": "Free piers"}
    asked = {"id": "msg_1", "sessionID": "ses_1", "role": "user", "time": {"created": SECONDS * 1000}}
    answered = {
        "id": "msg_2", "sessionID": "ses_1", "role": "assistant", "time": {"created": (SECONDS + 1) * 1000},
        "parentID": "msg_1", "modelID": "m",
    }  # fmt: skip
    tool = {
        "id": "prt_2", "messageID": "msg_2", "sessionID": "ses_1", "type": "tool", "callID": "c", "tool": "bash",
        "state": {"status": "completed", "input": {"command": "ls"}, "output": "north"},
    }  # fmt: skip

    def of(message: str) -> str:
        return f"{part}/{parts_of.format(message=message)}"

    return {
        f"{session}/ses_1.json": head | {"time": {"created": SECONDS * 1000, "updated": (SECONDS + 1) * 1000}},
        f"{message}/ses_1/msg_1.json": asked,
        f"{message}/ses_1/msg_2.json": answered,
        f"{of('msg_1')}/prt_1.json": {"id": "prt_1", "messageID": "msg_1", "type": "text", "text": QUESTION},
        f"{of('msg_1')}/prt_9.json": {"id": "prt_9", "type": "text", "text": "A file.", "synthetic": True},
        f"{of('msg_2')}/prt_2.json": tool,
        f"{of('msg_2')}/prt_3.json": {"id": "prt_3", "messageID": "msg_2", "type": "text", "text": ANSWER},
    }


LAYOUTS = {
    "present": opencode("storage/session/p", "storage/message", "storage/part"),
    "earlier": opencode(
        "project/p/storage/session/info", "project/p/storage/session/message", "project/p/storage/session/part",
        "ses_1/{message}",
    ),
}  # fmt: skip
OPENCODE = [
    ("user", QUESTION),
    ("system", "A file."),
    ("tool", "bash\ncommand: ls"),
    ("tool", "north"),
    ("assistant", ANSWER),
]


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("zipped", [False, True])
def test_opencodes_storage_is_joined_by_its_ids(tmp_path: Path, layout: str, zipped: bool):
    import zipfile

    root = write(tmp_path / "opencode", LAYOUTS[layout])
    if zipped:
        with zipfile.ZipFile(tmp_path / "opencode.zip", "w") as archive:
            for path in sorted(root.rglob("*.json")):
                archive.write(path, path.relative_to(root))
        root = tmp_path / "opencode.zip"
    sessions, messages, problems = read_folder(root)
    assert [(s.external_id, s.title, s.created_at, s.metadata) for s in sessions] == [
        ("ses_1", "Free piers", START, {"folder": "/home/ines"})
    ]
    assert [(m.role, m.text) for m in messages] == OPENCODE
    assert {m.external_id for m in messages if m.role in ("user", "assistant")} == {"msg_1", "msg_2"}
    assert all(m.sent_at is not None for m in messages)
    assert problems == []


def test_opencodes_messages_without_a_session_are_read(tmp_path: Path):
    files = {name: value for name, value in LAYOUTS["present"].items() if "/session/" not in name}
    sessions, messages, problems = read_folder(write(tmp_path, files))
    assert {s.external_id for s in sessions} == {"ses_1"}
    assert [(m.role, m.text) for m in messages] == OPENCODE
    assert problems == []


def test_opencodes_part_without_a_message_is_kept_and_named(tmp_path: Path):
    files = {name: value for name, value in LAYOUTS["present"].items() if "/message/" not in name}
    _, messages, problems = read_folder(write(tmp_path, files))
    assert {m.text for m in messages} >= {QUESTION, ANSWER}
    assert {m.role for m in messages} <= {"system", "tool"}
    assert len(problems) == 4


def test_opencodes_damaged_part_costs_only_itself(tmp_path: Path):
    files = LAYOUTS["present"] | {"storage/part/msg_1/prt_1.json": '{"id": "prt_1", "type": '}
    _, messages, problems = read_folder(write(tmp_path, files))
    assert [(m.role, m.text) for m in messages] == OPENCODE[1:]
    assert problems
