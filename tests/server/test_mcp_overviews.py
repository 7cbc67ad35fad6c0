"""The overviews that an assistant can ask for: counts, months, this day in earlier years, files; sessions by tags."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from appliance import Appliance
from appliance.server.mcp import pagination
from tests.attachments.exports import FILES, PHOTO, native, whatsapp
from tests.people_exports import write_exports
from tests.server.mcp_runs import Caller, talk


@pytest.fixture
def filled(memory: Appliance, tmp_path: Path) -> Appliance:
    memory.ingest(write_exports(tmp_path / "exports"), wait=False)
    return memory


def rows(found: dict[str, Any]) -> dict[tuple[str, ...], int]:
    return {tuple(group["keys"]): group["messages"] for group in found["groups"]}


def test_counts_are_by_person_and_say_what_no_one_has(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        by_author = await caller.call("memory_overview", by=["author"])
        assert rows(by_author)[("Mum",)] == 3 and by_author["messages"] == 7
        assert rows(await caller.call("memory_overview")) == {("2025-03",): 7}
        assert rows(await caller.call("memory_overview", by=["source"], authors=["Mum"])) == {
            ("whatsapp",): 2, ("mail",): 1,
        }  # fmt: skip
        nothing = await caller.call("memory_overview", authors=["Mumm"])
        assert nothing["notes"] == ["no author 'Mumm'; did you mean Mum?"]
        assert "Mum | 3 messages in 2 conversations" in await caller.said("memory_overview", by=["author"])
        assert "day does not go with show counts" in await caller.refused("memory_overview", day="2026-03-04")

    talk(filled, work)


def test_months_and_this_day_bring_messages(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        (month,) = (await caller.call("memory_overview", show="months", authors=["Mum"]))["groups"]
        assert (month["keys"], month["messages"], len(month["lines"])) == (["2025-03"], 3, 3)
        assert {line["who"] for line in month["lines"]} == {"Mum", "Helga Brandt"}
        (day,) = (await caller.call("memory_overview", show="on_this_day", day="2026-03-04"))["groups"]
        assert day["keys"][0] == "2025-03-04" and day["messages"] == 3
        assert day["lines"][0]["text"] == "Did you feed the parrot on Sunday?"
        assert (await caller.call("memory_overview", show="on_this_day", day="2026-03-05")) == {}
        assert "not a day" in await caller.refused("memory_overview", show="on_this_day", day="soon")
        assert "authors does not go" in await caller.refused("memory_overview", show="on_this_day", authors=["Mum"])

    talk(filled, work)


def test_files_are_listed_by_kind(memory: Appliance, tmp_path: Path) -> None:
    memory.ingest(whatsapp(tmp_path / "chat"), wait=False)

    async def work(caller: Caller) -> None:
        found = await caller.call("memory_overview", show="attachments")
        assert found["attachments"] == 2 and [one["message"] for one in found["files"]] == ["m4", "m2"]
        (photo,) = (await caller.call("memory_overview", show="attachments", has=["image"]))["files"]
        assert (photo["name"], photo["size"]) == (PHOTO, len(FILES[PHOTO]))
        assert (await caller.call("memory_overview", show="attachments", has=["attachment"]))["attachments"] == 2
        assert "not an attachment" in await caller.refused("memory_overview", show="attachments", has=["link"])
        assert f"image | {PHOTO}" in await caller.said("memory_overview", show="attachments")

    talk(memory, work)


def test_long_overviews_go_on_with_a_cursor(memory: Appliance, tmp_path: Path) -> None:
    lines = [
        {"session_id": f"s{number}", "role": "user", "author": f"Person {number:03} of a long name", "content": "hi",
         "metadata": {"attachments": [{"name": f"photo-{number:03}.jpg"}]}}
        for number in range(130)
    ]  # fmt: skip
    memory.ingest(native(tmp_path / "many.jsonl", lines), wait=False)

    async def everything(caller: Caller, listed: str, **arguments: Any) -> list[Any]:
        found, cursor = [], ""
        while True:
            page = await caller.call("memory_overview", **arguments, cursor=cursor)
            found += page[listed]
            assert bool(page.get("left")) == bool(page.get("next"))
            if not (cursor := page.get("next", "")):
                return found

    async def work(caller: Caller) -> None:
        counted = await everything(caller, "groups", by=["author"])
        assert len({tuple(group["keys"]) for group in counted}) == len(counted) == 130
        files = await everything(caller, "files", show="attachments")
        assert len({one["id"] for one in files}) == len(files) == 130
        assert "another query" in await caller.refused(
            "memory_overview", by=["source"], cursor=pagination.encode_cursor("x", 1)
        )

    talk(memory, work)


def test_what_is_withheld_is_in_no_overview(filled: Appliance) -> None:
    for info in filled.sessions.list():
        if info.format == "whatsapp":
            filled.sessions.get(info.id).set_storage_scope("summaries_only")

    async def work(caller: Caller) -> None:
        assert rows(await caller.call("memory_overview", by=["source"])) == {("mail",): 4}
        assert "parrot" not in await caller.said("memory_overview", show="months")
        assert (await caller.call("memory_overview", show="on_this_day", day="2026-03-04")) == {}

    talk(filled, work)


def test_sessions_are_listed_by_tag(filled: Appliance) -> None:
    boiler = next(info for info in filled.sessions.list() if info.title == "Boiler")
    filled.sessions.get(boiler.id).tag(["House"])

    async def work(caller: Caller) -> None:
        listed = await caller.call("memory_sessions", tags=["#house", "other"])
        assert [one["id"] for one in listed["sessions"]] == [boiler.id]
        assert await caller.call("memory_sessions", tags=["other"]) == {"sessions": []}

    talk(filled, work)
