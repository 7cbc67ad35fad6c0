"""A session that goes on in another file repeats its records: they are stored once, and the sessions are a tree."""

from __future__ import annotations

import json
from itertools import permutations
from pathlib import Path

import pytest

from appliance import Appliance
from appliance_models import HashEmbedder

FIRST, SECOND, THIRD = (f"0000000{number}-1111-4222-8333-444444444444" for number in (1, 2, 3))


@pytest.fixture
def memory(home: Path):
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened


def uuid(number: int) -> str:
    return f"{number:08d}-aaaa-4bbb-8ccc-dddddddddddd"


def record(number: int, session: str, *, text: str = "", uuid_of: str = "") -> dict:
    kind = "user" if number % 2 else "assistant"
    return {
        "type": kind,
        "uuid": uuid_of or uuid(number),
        "parentUuid": uuid(number - 1) if number > 1 else None,
        "sessionId": session,
        "timestamp": f"2026-03-01T09:00:{number:02d}.000Z",
        "cwd": "/home/ines/boats",
        "message": {"role": kind, "content": text or f"message {number} about boats"},
    }


def write(folder: Path, session: str, records: list[dict]) -> Path:
    path = folder / f"{session}.jsonl"
    path.write_text("".join(json.dumps(one) + "\n" for one in records), encoding="utf-8")
    return path


def project(folder: Path) -> list[Path]:
    """A session, one that resumes it with two records of its own, and one that resumes that."""
    folder.mkdir()
    first = [record(n, FIRST) for n in range(1, 5)]
    second = [record(n, SECOND) for n in range(1, 7)]
    third = [record(n, THIRD) for n in range(1, 8)]
    return [write(folder, *one) for one in ((FIRST, first), (SECOND, second), (THIRD, third))]


def texts(memory: Appliance) -> list[str]:
    return sorted(line["content"] for line in memory.export() if "content" in line)


def test_a_resumed_session_is_stored_once(memory: Appliance, tmp_path: Path) -> None:
    project(tmp_path / "projects")
    report = memory.ingest(tmp_path / "projects")
    assert (report.total("new"), report.total("updated"), report.total("duplicates")) == (7, 0, 10)
    assert texts(memory) == [f"message {n} about boats" for n in range(1, 8)]
    infos = {info.external_id: info for info in memory.sessions.list()}
    assert infos[SECOND].branch_of == infos[FIRST].id
    assert infos[THIRD].branch_of == infos[SECOND].id
    whole = memory.sessions.get(infos[THIRD].id).messages()
    assert [m.external_id for m in whole] == [uuid(n) for n in range(1, 8)]
    assert not memory.verify().problems


@pytest.mark.parametrize("order", permutations(range(3)))
def test_the_files_may_come_one_by_one_in_any_order(memory: Appliance, tmp_path: Path, order: tuple[int, ...]) -> None:
    paths = project(tmp_path / "projects")
    for number in order:
        memory.ingest(paths[number])
    assert texts(memory) == [f"message {n} about boats" for n in range(1, 8)]
    for count, session in ((4, FIRST), (6, SECOND), (7, THIRD)):
        assert [m.external_id for m in memory.sessions.get(session).messages()] == [
            uuid(n) for n in range(1, count + 1)
        ]
    for path in paths:
        report = memory.ingest(path)
        assert (report.total("new"), report.total("updated")) == (0, 0)
    assert not memory.verify().problems


def test_forks_share_only_what_came_before(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    write(folder, FIRST, [record(n, FIRST) for n in range(1, 5)])
    own = [record(3, SECOND, text="another way", uuid_of=uuid(33))]
    write(folder, SECOND, [record(n, SECOND) for n in (1, 2)] + own)
    memory.ingest(folder)
    assert len(texts(memory)) == 5
    assert [m.text for m in memory.sessions.get(SECOND).messages()] == [
        "message 1 about boats",
        "message 2 about boats",
        "another way",
    ]


def test_a_session_that_goes_on_under_a_new_id_keeps_its_parent(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    write(folder, FIRST, [record(n, FIRST) for n in range(1, 5)])
    write(folder, SECOND, [record(n, SECOND) for n in (5, 6)])
    memory.ingest(folder)
    infos = {info.external_id: info for info in memory.sessions.list()}
    assert (infos[SECOND].branch_of, infos[SECOND].shared) == (infos[FIRST].id, 4)


def test_the_same_id_with_other_words_is_another_message(memory: Appliance, tmp_path: Path) -> None:
    folder = tmp_path / "projects"
    folder.mkdir()
    write(folder, FIRST, [record(1, FIRST)])
    write(folder, SECOND, [record(1, SECOND, text="something else")])
    memory.ingest(folder)
    assert texts(memory) == ["message 1 about boats", "something else"]


def test_another_person_has_messages_of_their_own(memory: Appliance, tmp_path: Path) -> None:
    paths = project(tmp_path / "projects")
    memory.ingest(paths[0], user_id="ana")
    memory.ingest(paths[1], user_id="ben")
    assert len(list(memory.export(user_id="ana"))) >= 4
    assert [m.external_id for m in memory.sessions.get(SECOND).messages()] == [uuid(n) for n in range(1, 7)]
    assert len(texts(memory)) == 10


def test_what_was_forgotten_does_not_come_back_with_a_copy(memory: Appliance, tmp_path: Path) -> None:
    paths = project(tmp_path / "projects")
    memory.ingest(paths[0])
    first = memory.sessions.get(FIRST).messages()[0]
    memory.erasure.forget(memory.erasure.preview(first.id))
    memory.ingest(paths[1])
    assert "message 1 about boats" not in texts(memory)
