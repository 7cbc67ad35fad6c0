"""A search says at which stage a message fell out."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from appliance import Appliance, WhyNot
from appliance.errors import NotFound
from appliance.retrieval import candidates, legs


@pytest.fixture
def chats(memory: Appliance, tmp_path: Path) -> Appliance:
    records = [
        {"session_id": "s", "message_id": f"m-{n}", "role": "user", "content": f"the harbour at night, part {n}"}
        | {"timestamp": f"2026-01-{n + 1:02}T10:00:00Z"}
        for n in range(20)
    ]
    records += [
        {"session_id": "s", "message_id": "tool", "role": "tool", "content": "harbour lookup"},
        {"session_id": "s", "message_id": "far", "role": "user", "content": "zebra"},
        {"session_id": "s", "message_id": "empty", "role": "user", "content": ""},
    ]
    path = tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    memory.ingest(path)
    return memory


def asked(memory: Appliance, reference: str, **more: object) -> WhyNot:
    found = memory.search("the harbour at night", limit=3, why_not=reference, **more)  # type: ignore[arg-type]
    assert found.why_not is not None
    return found.why_not


def test_what_is_a_hit(chats: Appliance) -> None:
    (first, *_) = chats.search("the harbour at night", limit=3)
    answer = asked(chats, first.message_id)
    assert (answer.stage, answer.rank, answer.score) == ("shown", 1, first.score)
    assert answer.why == first.why


def test_what_is_ranked_behind_the_hits(chats: Appliance) -> None:
    hits = chats.search("the harbour at night", limit=3)
    behind = chats.search("the harbour at night", limit=10)[7]
    answer = asked(chats, behind.external_id)
    assert (answer.stage, answer.rank) == ("ranked", 8)
    assert answer.why is not None and answer.score is not None
    assert 0 <= answer.score <= 1
    assert answer.score <= hits[-1].score
    assert re.fullmatch(
        r"It is hit 8 \(rank 8 of \d+ candidates before folding\); this page ends with hit 3\. The largest"
        r" difference is [\w -]+: [\d.-]+; hit 3 has [\d.-]+\. Its score is [\d.-]+, that of hit 3 is [\d.-]+\.",
        answer.words,
    ), answer.words
    assert "this page ends with hit 7" in asked(chats, behind.external_id, offset=4).words


@pytest.mark.parametrize(
    ("reference", "more", "words"),
    [
        ("tool", {}, "It is not a conversational message"),
        ("m-0", {"roles": ["assistant"]}, "Its role is user."),
        ("m-0", {"since": "2026-01-10"}, "is before the requested time."),
        ("m-19", {"until": "2026-01-10"}, "is after the requested time."),
        ("m-0", {"sources": ["whatsapp"], "since": "2026-01-10"}, "Its source is native. Its time, 2026-01-01"),
        ("m-0", {"agent_id": "other"}, "Its agent is"),
    ],
)
def test_what_a_filter_keeps_out(chats: Appliance, reference: str, more: dict[str, object], words: str) -> None:
    answer = asked(chats, reference, **more)
    assert answer.stage == "filtered" and words in answer.words


def test_what_no_leg_proposes(chats: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (candidates, legs):
        monkeypatch.setattr(module, "LEG_POOL_SIZE", 3)
    answer = asked(chats, "far")
    assert answer.stage == "not proposed" and answer.rank is None
    assert re.match(r"Meaning: -?0\.\d\d \(cut-off 0\.\d\d\)\. Words: no match\.", answer.words), answer.words
    assert asked(chats, "empty").words == "It is empty."
    beyond = chats.search("the harbour at night", limit=100)[15]
    assert "It is listed behind the ranked hits." in asked(chats, beyond.external_id).words
    assert asked(chats, "far", mode="lexical").words.startswith("Words: no match.")


def test_what_is_another_persons_is_not_there(chats: Appliance) -> None:
    with pytest.raises(NotFound):
        asked(chats, "m-0", user_id="ben")
    with pytest.raises(NotFound):
        asked(chats, "m-0", namespace="work")
    with pytest.raises(NotFound):
        asked(chats, "nothing of the kind")


def test_another_persons_message_of_the_same_id_is_not_told(chats: Appliance, tmp_path: Path) -> None:
    path = tmp_path / "b.jsonl"
    path.write_text(json.dumps({"session_id": "x", "message_id": "m-0", "role": "user", "content": "harbour"}))
    chats.ingest(path, user_id="ben")
    assert asked(chats, "m-0").stage in ("shown", "ranked")
    assert asked(chats, "m-0", user_id="ben").message_id != asked(chats, "m-0").message_id


def test_nobody_asks(chats: Appliance) -> None:
    assert chats.search("harbour").why_not is None
