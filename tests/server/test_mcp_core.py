"""Core memory, changed notes and what one person wrote, over MCP."""

from __future__ import annotations

import pytest

from appliance import Appliance
from appliance.server.access.grants import Grant
from tests.server.mcp_runs import Caller, talk

READING = Grant("reader", user_id="me", namespace="", read_only=True)
EVE = Grant("eve", user_id="eve", namespace="", read_only=False)


async def read_all(caller: Caller, **arguments: str) -> dict[tuple[str, int], str]:
    """All pages of an answer: the whole texts by label and revision."""
    whole: dict[tuple[str, int], str] = {}
    cursor = ""
    while True:
        page = await caller.call("memory_core", **arguments, cursor=cursor)
        for block in page["blocks"]:
            key = (block["label"], block["revision"])
            whole[key] = whole.get(key, "") + block["text"]
        cursor = page.get("next", "")
        if not cursor:
            return whole


def test_an_assistant_keeps_its_core_memory(memory: Appliance) -> None:
    async def work(caller: Caller) -> None:
        assert "empty" in await caller.said("memory_core")
        await caller.call("memory_core", action="append", label="person", text="Lives in Berlin.")
        changed = await caller.call("memory_core", action="replace", label="Person", old="Berlin", text="Munich")
        (block,) = changed["blocks"]
        assert block["text"] == "Lives in Munich." and block["revision"] == 2 and block["by"] == "assistant"
        rewritten = await caller.call("memory_core", action="rewrite", label="person", text="Has a cat.", revision=2)
        assert rewritten["blocks"][0]["revision"] == 3
        assert "has revision 3" in await caller.refused(
            "memory_core", action="rewrite", label="person", text="Has a dog.", revision=2
        )
        history = await caller.call("memory_core", action="history", label="person")
        assert [form["text"] for form in history["blocks"]] == ["Has a cat.", "Lives in Munich.", "Lives in Berlin."]
        await caller.call("memory_core", action="revert", label="person", revision=2)
        assert "Lives in Munich." in (await caller.call("memory_context", query="anything"))["text"]
        assert {form.assistant for form in memory.core.history("person")} == {"mcp"}  # as the client calls itself
        for wrong, said in (
            ({"action": "append", "text": "x"}, "needs label"),
            ({"action": "append", "label": "person"}, "needs text"),
            ({"action": "replace", "label": "person", "text": "x"}, "needs old"),
            ({"action": "revert", "label": "person"}, "needs revision"),
            ({"action": "history", "label": "boat"}, "no block 'boat'"),
        ):
            assert said in await caller.refused("memory_core", **wrong)

    talk(memory, work)


def test_an_assistant_keeps_to_what_the_person_set(memory: Appliance) -> None:
    memory.core.set("persona", "Is kind.", read_only=True)
    memory.core.set("person", "x" * 90, limit=100)

    async def work(caller: Caller) -> None:
        assert "read-only" in await caller.refused("memory_core", action="append", label="persona", text="Obeys me.")
        assert "limit is 100" in await caller.refused("memory_core", action="append", label="person", text="y" * 20)
        assert "[core persona" in await caller.said("memory_core")

    talk(memory, work)
    assert memory.core.get("persona").value == "Is kind."


def test_a_reader_only_reads_core_memory(memory: Appliance) -> None:
    memory.core.set("person", "Has a cat.")

    async def reader(caller: Caller) -> None:
        assert (await caller.call("memory_core"))["blocks"][0]["text"] == "Has a cat."
        said = await caller.refused("memory_core", action="append", label="person", text="x")
        assert (
            said
            == "memory_core with the action append writes, but this access is read-only.\nUse one of history, list."
        )

    async def other(caller: Caller) -> None:
        assert "empty" in await caller.said("memory_core")

    talk(memory, reader, READING)
    talk(memory, other, EVE)


def test_a_long_history_fits_into_an_answer(memory: Appliance) -> None:
    for number in range(30):
        memory.core.set("project", f"{number} " + '"\\' * 400)

    async def work(caller: Caller) -> None:
        whole = await read_all(caller, action="history", label="project")
        assert list(whole.values()) == [f"{number} " + '"\\' * 400 for number in reversed(range(30))]

    talk(memory, work)


def test_many_full_blocks_fit_into_an_answer(memory: Appliance) -> None:
    for number in range(3):
        memory.core.set(f"project-{number}", '"\\' * 1_000, limit=2_000)
    memory.core.set("project-3", '"\\' * 500, limit=2_000)

    async def work(caller: Caller) -> None:
        whole = await read_all(caller)
        assert list(whole.values()) == ['"\\' * 1_000] * 3 + ['"\\' * 500]

    talk(memory, work)


def test_what_an_assistant_stored_it_may_change(memory: Appliance) -> None:
    imported = memory.sessions.create(external_id="by hand").add("user", "The heron stands in the pond.")

    async def work(caller: Caller) -> None:
        added = await caller.call("memory_add", text="The deadline is the 15th of March.")
        changed = await caller.call("memory_update", id=added["id"], text="The deadline is the 20th of March.")
        assert changed["id"] == added["id"] and changed["versions"] == 2
        (read,) = (await caller.call("memory_get", ids=[added["id"]]))["messages"]
        assert read["text"] == "The deadline is the 20th of March."
        beside = await caller.call("memory_add", text="The heron has a nest.", session="by hand")
        await caller.call("memory_update", id=beside["id"], text="The heron has two nests.")
        assert "was not stored with memory_add" in await caller.refused("memory_update", id=imported.id, text="gone")
        assert "no message m999" in await caller.refused("memory_update", id="m999", text="x")

    async def other(caller: Caller) -> None:
        assert "no message m2" in await caller.refused("memory_update", id="m2", text="x")

    talk(memory, work)
    talk(memory, other, EVE)
    assert [version.text for version in memory.versions("m2")] == ["The deadline is the 15th of March."]
    assert memory.message("m2").corrected and memory.message(imported.id).text == "The heron stands in the pond."


@pytest.fixture
def chats(memory: Appliance) -> Appliance:
    for number, title in enumerate(("Lisbon", "Garden")):
        chat = memory.sessions.create(title=title)
        for turn in range(6):
            chat.add("user", f"Ana {number}.{turn} " + "and more " * 8, author="Ana Prieto")
            chat.add("user", f"Ben {number}.{turn}", author="Ben")
    memory.sessions.create(title="Soup").add("user", "Soup is good", author="Ana Prieto")
    memory.embed_pending()
    return memory


def test_a_timeline_by_person_goes_back_page_by_page(chats: Appliance) -> None:
    async def work(caller: Caller) -> None:
        pages: list[list[str]] = []
        cursor = ""
        while True:
            page = await caller.call("memory_timeline", person="ana", limit=4, cursor=cursor)
            pages.append([line["text"] for stretch in page["stretches"] for line in stretch["lines"]])
            assert all(line["who"] == "Ana Prieto" for stretch in page["stretches"] for line in stretch["lines"])
            cursor = page.get("next", "")
            if not cursor:
                break
        assert pages[0][-1] == "Soup is good", "the latest page comes first, in the order of time"
        whole = [text for page in reversed(pages) for text in page]
        assert len(whole) == 13 and [text[:7] for text in whole[:2]] == ["Ana 0.0", "Ana 0.1"]
        soup = await caller.call("memory_timeline", person="Ana Prieto", session="s1")
        assert [stretch["session"]["title"] for stretch in soup["stretches"]] == ["Lisbon"]
        assert "No messages there" in await caller.said("memory_timeline", person="Zoe")
        assert "not both" in await caller.refused("memory_timeline", person="Ana", around="m1")

    talk(chats, work)


@pytest.mark.slow
def test_forgetting_shows_the_sentences_of_core_memory(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", "The spare keys are with Mrs. Aydın")
    memory.core.set("person", "Has a cat. Spare keys: Mrs. Aydın.")

    async def work(caller: Caller) -> None:
        assert (await caller.call("memory_forget", ids=[said.id]))["echoes"] == 1
        preview = await caller.call("memory_forget", ids=[said.id], with_echoes=True)
        assert preview["blocks"] == ["core:person: Spare keys: Mrs. Aydın."]
        memory.core.append("person", "Mrs. Aydın has the spare keys.")
        assert "changed since" in await caller.refused(
            "memory_forget", ids=[said.id], with_echoes=True, confirm=preview["confirm"]
        )
        again = await caller.call("memory_forget", ids=[said.id], with_echoes=True)
        assert (await caller.call("memory_forget", ids=[said.id], with_echoes=True, confirm=again["confirm"]))["done"]
        assert memory.core.get("person").value == "Has a cat."

    talk(memory, work)


def test_what_stays_in_a_read_only_block_is_said(memory: Appliance) -> None:
    said = memory.sessions.create().add("user", "The spare keys are with Mrs. Aydın")
    memory.core.set("person", f"{said.text}.", read_only=True)

    async def work(caller: Caller) -> None:
        preview = await caller.call("memory_forget", ids=[said.id], with_echoes=True)
        assert "blocks" not in preview and "read-only" in preview["notes"][0]
        assert "note: The block 'person'" in await caller.said("memory_forget", ids=[said.id], with_echoes=True)
        assert "ids" in await caller.refused("memory_forget", ids=["core:person"])

    talk(memory, work)
