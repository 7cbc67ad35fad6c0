"""Whatever is done in whatever order: what goes in comes out, all stores agree, and order is the chat's own."""

from __future__ import annotations

import itertools
import json
import shutil
import tempfile
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from appliance import Appliance
from appliance_models import HashEmbedder
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("every_field_index")

Line = dict[str, Any]

SESSIONS = ("one", "two", "no ids")
USERS = ("me", "ana")
WORDS = "river bridge violin harbour ticket 東京 猫 Straße naïve 👩‍👩‍👧 a\x00b".split(" ")


def moment(minutes: int) -> str:
    return f"2024-01-{1 + minutes // 1440:02}T{minutes // 60 % 24:02}:{minutes % 60:02}:00+00:00"


@st.composite
def spoken(draw: st.DrawFn) -> Line:
    """What may be said: talk, machine records, what nobody saw, with a time or without."""
    line: Line = {
        "role": draw(st.sampled_from(("user", "assistant", "user", "tool", "system"))),
        "content": " ".join(draw(st.lists(st.sampled_from(WORDS), max_size=12))),
    }
    if draw(st.booleans()):
        line["timestamp"] = moment(draw(st.integers(0, 3_000)))
    if draw(st.booleans()):
        line["author"] = draw(st.sampled_from(("Ana", "Ben van der Berg", "李")))
    marks = draw(st.sampled_from(({}, {}, {"hidden": True}, {"branch": True}, {"sidechain": True})))
    if marks:
        line["metadata"] = marks
    return line


def key(line: Line) -> tuple[str, str]:
    """What a message is known by; the content stands in where the source has no ids."""
    return line["session_id"], line["content"] if line["session_id"] == "no ids" else line["message_id"]


def shown(line: Line) -> str:
    """A message as an export should give it, in a form that can be compared."""
    metadata = {name: value for name, value in line.get("metadata", {}).items() if name not in ("source", "user_id")}
    wanted = {name: line.get(name) for name in ("session_id", "role", "content", "timestamp", "author")}
    if line["session_id"] != "no ids":
        wanted["message_id"] = line["message_id"]
    return json.dumps({**wanted, "metadata": metadata}, sort_keys=True)


class Memory(RuleBasedStateMachine):
    """An open memory beside a model of it: each message's forms, the last of them the present one."""

    @initialize()
    def begin(self) -> None:
        self.folder = Path(tempfile.mkdtemp())
        self.memory = self.opened()
        self.forms: dict[str, dict[tuple[str, str], list[Line]]] = {user: {} for user in USERS}
        self.revisions = 0
        self.number = 0

    def opened(self) -> Appliance:
        return Appliance.open(self.folder / "home", worker=False, embedder=HashEmbedder(max_tokens=16))

    def teardown(self) -> None:
        if hasattr(self, "memory"):
            self.memory.close()
            shutil.rmtree(self.folder)

    def expect(self, user: str, line: Line) -> None:
        """The model's rule: a form that was there once changes nothing, another is a revision."""
        forms = self.forms[user].setdefault(key(line), [])
        if not forms:
            forms.append(line)
        elif shown(forms[-1]) != shown(line) and not any(
            (form["content"], form.get("metadata")) == (line["content"], line.get("metadata")) for form in forms[:-1]
        ):
            forms.append(line)
            self.revisions += 1

    @rule(
        user=st.sampled_from(USERS),
        session=st.sampled_from(SESSIONS),
        said=st.lists(spoken(), min_size=1, max_size=6),
        again=st.lists(st.integers(0, 200), max_size=4),
        edited=st.booleans(),
        wait=st.booleans(),
        chance=st.randoms(use_true_random=False),
    )
    def ingest(
        self, user: str, session: str, said: list[Line], again: list[int], edited: bool, wait: bool, chance: Any
    ) -> None:
        """New messages with some that are there already, in any order; with ``edited`` in other words."""
        lines = []
        for line in said:
            self.number += 1
            line = {**line, "session_id": session, "session_title": f"About {session}"}
            if session == "no ids":
                line["content"] += f" {self.number}"
            else:
                line["message_id"] = f"{session}-{self.number}"
            lines.append(line)
        known = [forms for forms in self.forms[user].values() if forms[0]["session_id"] == session]
        for place in again if known else ():
            forms = known[place % len(known)]
            line = forms[place % len(forms)]
            if session == "no ids" and line in lines:
                continue  # the same words twice in one file are two messages
            if edited and session != "no ids":
                self.number += 1
                line = {**line, "content": f"{line['content']} edit{self.number}"}
            lines.append(line)
        chance.shuffle(lines)
        path = self.folder / f"{user}.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        report = self.memory.ingest(path, user_id=user, wait=wait)
        assert report.complete and report.total("messages") == len(lines)
        before = sum(map(len, self.forms.values())), self.revisions
        for line in lines:
            self.expect(user, line)
        after = sum(map(len, self.forms.values())), self.revisions
        assert (report.total("new"), report.total("updated")) == (after[0] - before[0], after[1] - before[1])

    @precondition(lambda self: self.number)
    @rule(place=st.integers(0, 20), line=spoken())
    def say(self, place: int, line: Line) -> None:
        """A turn in a session that is there already."""
        infos = [info for user in USERS for info in self.memory.sessions.list(user_id=user)]
        info = infos[place % len(infos)]
        self.number += 1
        text = f"{line['content']} {self.number}"
        message = self.memory.sessions.get(info.id).add(
            line["role"], text, external_id=f"said-{self.number}", metadata=line.get("metadata")
        )
        line = {**line, "session_id": info.external_id, "message_id": message.external_id, "content": text}
        line.pop("author", None)
        self.expect(info.user_id, {**line, "timestamp": message.timestamp})

    @rule()
    def embed(self) -> None:
        self.memory.embed_pending()
        assert self.memory.status()["counts"]["pending"] == 0

    @rule(vectors=st.booleans())
    def reindex(self, vectors: bool) -> None:
        self.memory.reindex(vectors=vectors)

    @rule()
    def reopen(self) -> None:
        self.memory.close()
        self.memory = self.opened()

    @invariant()
    def all_stores_agree(self) -> None:
        findings = self.memory.verify()
        assert not findings.problems
        assert findings.checked["revisions"] == self.revisions

    @invariant()
    def what_went_in_comes_out(self) -> None:
        for user in USERS:
            expected = Counter(shown(forms[-1]) for forms in self.forms[user].values())
            exported = list(self.memory.export(user_id=user))
            assert Counter(map(shown, exported)) == expected
            for session in SESSIONS:
                times = [x["timestamp"] for x in exported if x["session_id"] == session and "timestamp" in x]
                if not self.revisions:
                    assert times == sorted(times)

    @invariant()
    def what_is_found_is_there(self) -> None:
        for mode in ("hybrid", "lexical"):
            for hit in self.memory.search("violin at the harbour 猫", mode=mode, user_id="ana", limit=50):  # type: ignore[arg-type]
                forms = self.forms["ana"].values()
                assert hit.text in {form[-1]["content"] for form in forms}, "never an earlier form"


Memory.TestCase.settings = settings(
    max_examples=examples(8, costly=True),
    stateful_step_count=10,
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
TestMemory = Memory.TestCase


# --- order -------------------------------------------------------------------------------------------


@st.composite
def chats(draw: st.DrawFn) -> list[Line]:
    """A conversation whose times never go back, often in one minute: all with a time, or none, or some."""
    timed = draw(st.sampled_from((lambda i: True, lambda i: False, lambda i: i % 3 == 0)))
    count, minute, lines = draw(st.integers(1, 24)), 0, []
    for number in range(count):
        minute += draw(st.sampled_from((0, 0, 0, 1)))
        line = {"session_id": "s", "message_id": f"{number:02}", "role": "user", "content": f"said {number}"}
        lines.append({**line, "timestamp": moment(minute)} if timed(number) else line)
    return lines


@pytest.fixture(scope="module")
def memory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Appliance]:
    """An open memory, in which each example below is a user of its own."""
    home = tmp_path_factory.mktemp("order") / "home"
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as opened:
        yield opened
        assert not opened.verify().problems


users = itertools.count()


def order_after(memory: Appliance, folder: Path, reads: list[list[Line]]) -> list[str]:
    user = f"user {next(users)}"
    for lines in reads:
        path = folder / "part.jsonl"
        path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
        memory.ingest(path, wait=False, user_id=user)
    return [line["message_id"] for line in memory.export(user_id=user)]


@settings(
    max_examples=examples(60, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chat=chats(), cuts=st.lists(st.tuples(st.integers(1, 8), st.integers(0, 4)), min_size=1, max_size=4))
def test_exports_that_overlap_give_the_order_of_the_chat(
    memory: Appliance, tmp_path: Path, chat: list[Line], cuts: list[tuple[int, int]]
) -> None:
    reads, end = [], 0
    for length, overlap in cuts:
        # A part that begins without a time and without anything known says nothing of its place.
        overlap = overlap if "timestamp" in chat[min(end, len(chat) - 1)] else max(overlap, 1)
        reads.append(chat[max(0, end - overlap) : end + length])
        end += length
    reads = [lines for lines in reads if lines]
    assert order_after(memory, tmp_path, reads) == [line["message_id"] for line in chat[:end]]


@settings(
    max_examples=examples(60, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(chat=chats(), kept=st.lists(st.booleans(), min_size=24, max_size=24), last=st.integers(1, 24))
def test_what_an_earlier_export_lacked_goes_where_it_belongs(
    memory: Appliance, tmp_path: Path, chat: list[Line], kept: list[bool], last: int
) -> None:
    if {"timestamp" in line for line in chat} == {True, False}:
        chat = [line for line in chat if "timestamp" in line]
    parts = [line for line, keep in zip(chat, kept, strict=False) if keep]
    # Without a message in common, two parts of one minute have no order.
    middle = [chat[:last]] if any(line in chat[:last] for line in parts) else []
    reads = [lines for lines in (parts, *middle, chat) if lines]
    assert order_after(memory, tmp_path, reads) == [line["message_id"] for line in chat]


@settings(
    max_examples=examples(60, costly=True), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(minutes=st.lists(st.integers(0, 5), min_size=1, max_size=20))
def test_times_that_go_back_are_put_in_order_and_equal_ones_stay(
    memory: Appliance, tmp_path: Path, minutes: list[int]
) -> None:
    lines = [
        {"session_id": "s", "message_id": f"{i}", "role": "user", "content": "x", "timestamp": moment(minute)}
        for i, minute in enumerate(minutes)
    ]
    expected = [line["message_id"] for line in sorted(lines, key=lambda line: line["timestamp"])]
    assert order_after(memory, tmp_path, [lines]) == expected
    assert order_after(memory, tmp_path, [lines[:7], lines]) == expected
