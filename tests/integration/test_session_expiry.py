"""Conversations with a time to live: what has outlived it is not shown, and then deleted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from appliance import Appliance
from appliance.errors import NotFound, UsageError
from appliance_models import HashEmbedder
from tests.engines import engine_of
from tests.stored_sessions import DAY, clean, found, ingest, line, names, texts


def test_what_has_outlived_its_time_is_not_shown_and_then_deleted(
    memory: Appliance, clock: Callable[[float], None]
) -> None:
    short = memory.sessions.create(ttl=60, external_id="short")
    message = short.add("user", "the walrus sings")
    memory.sessions.create(title="stays").add("user", "the walrus sleeps")
    memory.embed_pending()
    clock(50)
    short.add("user", "the walrus swims")  # activity prolongs
    clock(50)
    assert "the walrus sings" in found(memory, "walrus")
    clock(20)
    assert found(memory, "walrus") == found(memory, "walrus", mode="lexical") == {"the walrus sleeps"}
    assert [info.title for info in memory.sessions.list()] == ["stays"]
    assert [each["content"] for each in memory.export()] == ["the walrus sleeps"]
    for gone in (
        lambda: short.info,
        lambda: short.messages(),
        lambda: short.add("user", "x"),
        lambda: memory.sessions.get("short"),
        lambda: memory.message(message.id),
        lambda: memory.context("walrus", session_id="short"),
        lambda: memory.search("walrus", session_id="short"),
    ):
        with pytest.raises(NotFound):
            gone()
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 1
    assert memory.status()["counts"]["sessions"] == 1
    clean(memory)


def test_one_that_is_begun_again_by_its_name_begins_empty(memory: Appliance, clock: Callable[[float], None]) -> None:
    memory.sessions.create(ttl=60, external_id="daily").add("user", "yesterday")
    clock(61)
    again = memory.sessions.create(ttl=60, external_id="daily")
    assert texts(again) == [] and again.info.expires_at is not None
    clean(memory)


def test_the_default_is_for_what_was_begun_here_and_is_not_pinned(
    home: Path, tmp_path: Path, clock: Callable[[float], None]
) -> None:
    def opened() -> Appliance:
        return Appliance.open(home, worker=False, embedder=HashEmbedder())

    with opened() as memory:
        ingest(memory, tmp_path, [line("import", 1, "imported")])
        for name, ttl in (("plain", None), ("pinned", None), ("for ever", 0), ("long", 10 * DAY)):
            memory.sessions.create(external_id=name, ttl=ttl).add("user", name)
        memory.sessions.resume("pinned").pin()
        assert memory.sessions.info("plain").expires_at is None
        assert memory.sessions.info("long").expires_at is not None
        with pytest.raises(UsageError, match="imported"):
            memory.sessions.resume("import").set_ttl(5)
    (home / "config.toml").write_text(f"[session]\nttl = {DAY}\n", encoding="utf-8")
    clock(2 * DAY)
    with opened() as memory:
        assert set(names(memory.sessions.list())) == {"import", "pinned", "for ever", "long"}
        assert engine_of(memory).sessions.delete_expired(lambda: True) == 1
        assert set(names(memory.sessions.list())) == {"import", "pinned", "for ever", "long"}
        memory.sessions.resume("pinned").unpin()
        assert engine_of(memory).sessions.delete_expired(lambda: True) == 0, "its time begins when it is let go"
        clock(1 * DAY + 1)
        assert engine_of(memory).sessions.delete_expired(lambda: True) == 1
        memory.sessions.create(external_id="new").add("user", "new")
    (home / "config.toml").write_text("", encoding="utf-8")
    clock(2 * DAY)
    with opened() as memory:
        assert set(names(memory.sessions.list())) == {"import", "for ever", "long", "new"}
        clock(10 * DAY)
        assert engine_of(memory).sessions.delete_expired(lambda: True) == 1
        clean(memory)


def test_a_clock_that_goes_back_deletes_nothing_early(memory: Appliance, clock: Callable[[float], None]) -> None:
    before = memory.sessions.create(ttl=60, external_id="before")
    before.add("user", "before")
    clock(-1000 * DAY)
    during = memory.sessions.create(ttl=60, external_id="during")
    during.add("user", "during")
    before.add("user", "more")
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 0 and len(memory.sessions.list()) == 2
    clock(+1000 * DAY)
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 0 and len(memory.sessions.list()) == 2, (
        "both were active a moment ago"
    )
    clock(61)
    assert not memory.sessions.list() and engine_of(memory).sessions.delete_expired(lambda: True) == 2


def test_many_are_cleared_away_in_steps(memory: Appliance, clock: Callable[[float], None]) -> None:
    for number in range(25):
        memory.sessions.create(ttl=1).add("user", f"gone {number}")
    clock(2)
    asked: list[int] = []
    assert engine_of(memory).sessions.delete_expired(lambda: not asked.append(1) and len(asked) <= 3) == 3  # type: ignore[func-returns-value]
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 20
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 2
    clean(memory)


def test_a_branch_outlives_what_it_left(memory: Appliance, clock: Callable[[float], None]) -> None:
    root = memory.sessions.create(ttl=60)
    root.add("user", "the walrus sings")
    branch = root.branch()
    branch.set_ttl(0)
    memory.embed_pending()
    clock(61)
    assert texts(branch) == ["the walrus sings"]
    assert found(memory, "walrus", session_id=branch.id) == {"the walrus sings"}
    assert engine_of(memory).sessions.delete_expired(lambda: True) == 1
    assert texts(branch) == ["the walrus sings"]
    assert found(memory, "walrus") == {"the walrus sings"}
    clean(memory)
