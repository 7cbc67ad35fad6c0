"""What an assistant gets from the tools, and what it is told when something can't be."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from typing import Any, cast

import pytest
from jsonschema import Draft202012Validator
from mcp.shared.exceptions import MCPError

from appliance import Appliance
from appliance.retrieval import confidence
from appliance.server.access.grants import Grant
from appliance_models import DEFAULT_MODEL
from tests.server.mcp_runs import READER, TOOLS, Caller, talk

REPEATED_DIFFERS = ("memory_add", "memory_update", "memory_feedback", "memory_people", "memory_core")
"""The tools that do more if they are called twice."""

READING = Grant("reader", user_id="me", namespace="", read_only=True)


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    trip = memory.sessions.create(title="Lisbon", external_id="trip")
    trip.add("user", "We leave for Lisbon on Thursday", author="Ana")
    trip.add("user", "Did you book the hotel?", author="Ben")
    trip.add("user", "The blue one near the river, reservation QX-4471", author="Ana")
    trip.add("tool", "search: hotels near the river")
    soup = memory.sessions.create(title="Soup")
    soup.add("user", "How do I thicken a soup without flour? I live in Berlin.")
    soup.add("assistant", "Blend some of the vegetables into it.")
    memory.embed_pending()
    return memory


# --- what is offered --------------------------------------------------------------------------------------


def test_ten_tools_say_what_they_do_and_what_they_may_change(memory: Appliance) -> None:
    async def work(caller: Caller) -> None:
        listed = await caller.client.list_tools()
        tools = {tool.name: tool for tool in listed.tools}
        assert set(tools) == TOOLS
        for name, tool in tools.items():
            Draft202012Validator.check_schema(tool.input_schema)
            Draft202012Validator.check_schema(tool.output_schema)
            assert tool.input_schema["type"] == tool.output_schema["type"] == "object"
            assert tool.input_schema["additionalProperties"] is False
            assert 40 < len(tool.description) < 500
            hints = tool.annotations
            assert hints is not None and hints.open_world_hint is False
            assert hints.read_only_hint is (name in READER - {"memory_facts", "memory_people", "memory_core"})
            assert hints.destructive_hint is (name == "memory_forget")
            assert hints.idempotent_hint is (name not in REPEATED_DIFFERS)
            for argument in tool.input_schema["properties"].values():
                assert argument["type"] in ("string", "integer", "number", "boolean", "array")
        assert len(repr([tool.model_dump() for tool in listed.tools])) < 30_000

    talk(memory, work)


def test_who_may_only_read_is_offered_nothing_that_writes(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        tools = {tool.name: tool for tool in (await caller.client.list_tools()).tools}
        assert set(tools) == READER
        assert all(tool.annotations.read_only_hint for tool in tools.values())
        actions = tools["memory_facts"].input_schema["properties"]["action"]["enum"]
        assert sorted(actions) == ["history", "list", "review"]
        assert "read-only" in await caller.refused("memory_add", text="x")
        assert "read-only" in await caller.refused("memory_forget", ids=["m1"])
        assert "confirm" in await caller.refused("memory_facts", action="confirm", id="f1")
        assert [prompt.name for prompt in (await caller.client.list_prompts()).prompts] == ["recall"]

    talk(filled, work, READING)
    assert len(filled.sessions.list()) == 2


# --- search → timeline → get --------------------------------------------------------------------------------


def test_from_a_search_to_what_stands_around_to_the_full_text(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("memory_search", query="which hotel", limit=2)
        first = found["hits"][0]
        assert first["id"] in ("m2", "m3") and first["session"] == "s1" and first["title"] == "Lisbon"
        assert first["when"] and first["score"] and len(found["hits"]) == 2
        around = await caller.call("memory_timeline", around="m2", before=1, after=1)
        (stretch,) = around["stretches"]
        assert [line["id"] for line in stretch["lines"]] == ["m1", "m2", "m3"]
        assert [line.get("here", False) for line in stretch["lines"]] == [False, True, False]
        assert stretch["of"] == 3 and stretch["records"] == 1
        read = await caller.call("memory_get", ids=["m3", "m9999", "m1"])
        assert [piece["text"] for piece in read["messages"]] == [
            "The blue one near the river, reservation QX-4471",
            "We leave for Lisbon on Thursday",
        ]
        assert read["missing"] == ["m9999"] and "next" not in read

    talk(filled, work)


def test_an_index_is_text_that_names_the_next_step(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        said = await caller.said("memory_search", query="reservation QX-4471")
        assert re.match(r"m3 \| [01]\.\d\d \| 20", said.splitlines()[1]) and "| Ana | s1 Lisbon | The blue one" in said
        assert "1 hit, best first" in said and re.search(r"\n\d weaker ones are left out; weak=true", said)
        whole = await caller.said("memory_search", query="reservation QX-4471", weak=True)
        assert re.match(r"[3-7] hits, best first", whole) and "left out" not in whole
        nearest = await caller.said("memory_search", query="zebra crossing on Mars", weak=True)
        assert nearest.startswith("Weak matches only: ")
        assert 'memory_get ids ["m3"]' in said
        assert "No matches" in await caller.said("memory_search", query="hotel", since="1999-01-01", until="1999-01-02")

    talk(filled, work)


def test_a_search_keeps_to_what_messages_have_and_to_tags(filled: Appliance) -> None:
    async def ask(caller: Caller) -> None:
        found = await caller.call("memory_search", query="hotel river", has=["video"], tags=["trip"], weak=True)
        assert not found.get("hits")
        assert "no tag 'trip'" in await caller.said("memory_search", query="hotel river", tags=["trip"], weak=True)
        assert (await caller.call("memory_search", query="hotel river", tags=["sea"], weak=True))["hits"]
        await caller.refused("memory_search", query="hotel river", has=["smell"])

    for info in filled.sessions.list():
        filled.sessions.get(info.id).tag(["sea"])
    talk(filled, ask)


def test_a_search_keeps_to_its_authors(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        found = await caller.call("memory_search", query="hotel river", authors=["ana"])
        assert {line["who"] for line in found["hits"]} == {"Ana"}
        assert "did you mean Ana?" in await caller.said("memory_search", query="hotel river", authors=["Anna"])

    talk(filled, work)


def test_what_matches_nothing_well_is_said_and_the_nearest_are_there_on_request(
    filled: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    shipped = confidence.CALIBRATIONS[DEFAULT_MODEL]
    monkeypatch.setitem(cast("dict[str, object]", confidence.CALIBRATIONS), "hash", shipped)

    async def work(caller: Caller) -> None:
        found = await caller.call("memory_search", query="zorblax quantum flux")
        assert (found["found"], found["hits"]) == (False, []) and found["weaker"] > 0
        said = await caller.said("memory_search", query="zorblax quantum flux")
        assert said.startswith("found: false. No good match.") and "weak=true" in said
        nearest = await caller.call("memory_search", query="zorblax quantum flux", weak=True)
        assert not nearest["found"] and nearest["hits"] and nearest["hits"][0]["score"] < 0.12
        good = await caller.call("memory_search", query="reservation QX-4471")
        assert "found" not in good and good["hits"][0]["score"] > 0.5, "true is the default, and not sent"

    talk(filled, work)


def test_what_was_read_in_full_counts_as_recalled(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        await caller.call("memory_search", query="hotel")
        await caller.call("memory_timeline", session="s1")
        await caller.call("memory_get", ids=["m3"])

    talk(filled, work)
    assert [filled.pins.importance(id).times for id in ("m1", "m2", "m3")] == [0, 0, 1]


def test_a_timeline_of_a_stretch_of_time_goes_through_sessions_in_order(memory: Appliance, tmp_path: Any) -> None:
    import json

    lines = [
        {"session_id": f"s{session}", "message_id": f"{session}-{day}", "role": "user",
         "timestamp": f"2026-03-{day:02}T10:00:00Z", "content": f"day {day} of {session}"}
        for session, days in enumerate(((1, 2, 3), (2, 4), (5,), (1, 9)))
        for day in days
    ]  # fmt: skip
    file = tmp_path / "a.jsonl"
    file.write_text("".join(json.dumps(line) + "\n" for line in lines))
    memory.ingest(file)

    async def work(caller: Caller) -> None:
        whole = await caller.call("memory_timeline", since="2026-03-02", until="2026-03-05")
        said = [line["text"] for stretch in whole["stretches"] for line in stretch["lines"]]
        assert said == ["day 2 of 0", "day 3 of 0", "day 2 of 1", "day 4 of 1", "day 5 of 2"]
        paged: list[str] = []
        cursor, rounds = "", 0
        while cursor or not rounds:
            page = await caller.call("memory_timeline", since="2026-03-02", until="2026-03-05", limit=1, cursor=cursor)
            paged += [line["text"] for stretch in page["stretches"] for line in stretch["lines"]]
            cursor, rounds = page.get("next", ""), rounds + 1
        assert paged == said

    talk(memory, work)


def test_hits_go_on_page_by_page_as_one_long_search_has_them(memory: Appliance) -> None:
    session = memory.sessions.create()
    for number in range(30):
        session.add("user", f"the heron number {number} stands in the reeds, {'and stands ' * (number % 7)}")
    memory.embed_pending()
    whole = [hit.message_id for hit in memory.search("heron", limit=30, per_session=0)]
    at_once = [hit.message_id for hit in memory.search("heron", limit=30)]

    async def work(caller: Caller) -> None:
        seen: list[str] = []
        cursor = ""
        while True:
            page = await caller.call("memory_search", query="heron", limit=4, cursor=cursor)
            seen += [hit["id"] for hit in page["hits"]]
            cursor = page.get("next", "")
            if not cursor:
                break
        assert seen == at_once and set(seen) <= set(whole)

    talk(memory, work)


# --- contexts, sessions, facts, status ------------------------------------------------------------------------


def test_a_context_keeps_to_its_budget(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        built = await caller.call("memory_context", query="which hotel did we book?", budget=200)
        assert "QX-4471" in built["text"] and built["tokens"] <= 200 and "m3" in built["ids"]

    talk(filled, work)
    assert filled.pins.importance("m3").times == 1


def test_sessions_are_listed_and_one_has_its_summary(filled: Appliance) -> None:
    filled.run_pending_jobs()

    async def work(caller: Caller) -> None:
        listed = await caller.call("memory_sessions", limit=1)
        again = await caller.call("memory_sessions", limit=1, cursor=listed["next"])
        assert [one["title"] for page in (listed, again) for one in page["sessions"]] == ["Soup", "Lisbon"]
        assert "next" not in again
        assert [one["id"] for one in (await caller.call("memory_sessions", title="lisbon"))["sessions"]] == ["s1"]
        one = await caller.call("memory_sessions", session="trip")
        assert one["sessions"][0]["id"] == "s1" and one["sessions"][0]["messages"] == 4

    talk(filled, work)


def test_facts_are_listed_added_corrected_and_rejected(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        known = (await caller.call("memory_facts"))["facts"]
        home = next(fact for fact in known if "Berlin" in fact["text"])
        assert home["messages"] == ["m5"] and home["kind"] == "profile"
        right = (await caller.call("memory_facts", action="correct", id=home["id"], text="Lisbon"))["facts"][0]
        assert "Lisbon" in right["text"] and right["by"] == "person"
        history = await caller.call("memory_facts", action="history", id=right["id"])
        assert [fact["state"] for fact in history["facts"]].count("held") == 1
        added = (await caller.call("memory_facts", action="add", text="My sister is called Mia"))["facts"]
        assert any("Mia" in fact["text"] for fact in added)
        await caller.call("memory_add", text="I live in Salzburg.")
        settled = (await caller.call("memory_facts", action="add", text="I live in Bad Ischl"))["facts"][1:]
        assert [(fact["text"], fact["state"]) for fact in settled] == [("lives in Salzburg", "superseded")]
        await caller.call("memory_facts", action="reject", id=right["id"])
        left = (await caller.call("memory_facts", kind="profile"))["facts"]
        assert not any("Lisbon" in fact["text"] for fact in left)
        assert "needs the id of a fact" in await caller.refused("memory_facts", action="confirm")
        assert "no fact f999" in await caller.refused("memory_facts", action="history", id="f999")

    talk(filled, work)


def test_status_says_how_much_there_is(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        state = await caller.call("memory_status")
        assert state["health"] == "ok" and state["counts"]["messages"] == 6 and state["user"] == "me"

    talk(filled, work)


# --- remembering ----------------------------------------------------------------------------------------------


def test_turns_of_one_conversation_stay_together(memory: Appliance) -> None:
    async def one(caller: Caller) -> None:
        first = await caller.call("memory_add", text="Meine Frist ist der 15. März 🗓", pin=True)
        second = await caller.call("memory_add", text="Noted.", role="assistant")
        assert first["session"] == second["session"] and first["pinned"]
        named = await caller.call("memory_add", text="about the garden", session="garden")
        assert named["session"] != first["session"]
        again = await caller.call("memory_add", text="more of it", session="garden")
        by_id = await caller.call("memory_add", text="and more", session=named["session"])
        assert again["session"] == by_id["session"] == named["session"]

    async def other(caller: Caller) -> dict[str, Any]:
        return await caller.call("memory_add", text="somewhere else")

    talk(memory, one)
    assert talk(memory, other, conversation="there")["session"] == "s3"
    assert [m.text for m in memory.sessions.messages("s1")] == ["Meine Frist ist der 15. März 🗓", "Noted."]
    assert len(memory.sessions.messages("garden")) == 3


# --- forgetting -----------------------------------------------------------------------------------------------


def test_nothing_is_erased_without_the_code_of_its_preview(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        shown = await caller.call("memory_forget", query="QX-4471")
        assert not shown["done"] and shown["messages"] == 1 and shown["sample"][0]["id"] == "m3"
        assert shown.get("titles", {}) == {}
        whole = await caller.call("memory_forget", ids=["s1"])
        assert whole["titles"] == {"s1": "Lisbon"}
        assert "Whole sessions: s1 Lisbon." in await caller.said("memory_forget", ids=["s1"])
        code = shown["confirm"]
        assert "m3 | 2" in await caller.said("memory_forget", query="QX-4471"), "a preview has no scores"
        assert "nothing was erased" in await caller.refused("memory_forget", query="QX-4471", confirm="0" * 12)
        assert "nothing was erased" in await caller.refused("memory_forget", ids=["m1"], confirm=code)
        assert len(filled.sessions.messages("s1")) == 4
        done = await caller.call("memory_forget", query="QX-4471", confirm=code)
        assert done["done"] and done["receipt"] == "e1" and "traces" not in done
        assert "Nothing matches" in await caller.refused("memory_forget", query="QX-4471", confirm=code)

    talk(filled, work)
    assert [message.id for message in filled.sessions.messages("s1")] == ["m1", "m2", "m4"]


def test_echoes_are_counted_and_erased_on_request(memory: Appliance) -> None:
    session = memory.sessions.create()
    said = session.add("user", "The spare keys are with Mrs. Aydin")
    session.add("assistant", "Saved: spare keys with Mrs. Aydin.")
    memory.core.set("person", "The spare keys are with Mrs. Aydin. Has a cat.")

    async def work(caller: Caller) -> None:
        shown = await caller.call("memory_forget", ids=[said.id])
        assert (shown["messages"], shown["echoes"]) == (1, 2)
        both = await caller.call("memory_forget", ids=[said.id], with_echoes=True)
        assert both["messages"] == 2 and "echoes" not in both and both["confirm"] != shown["confirm"]
        assert (await caller.call("memory_forget", ids=[said.id], with_echoes=True, confirm=both["confirm"]))["done"]

    talk(memory, work)
    assert session.messages() == []
    block = memory.core.get("person")
    assert (block.value, block.changed_by) == ("Has a cat.", "assistant")


def test_archived_messages_are_searched_on_request(filled: Appliance) -> None:
    said = filled.sessions.create().add("user", "The attic key is brass", timestamp=datetime(2020, 1, 1, tzinfo=UTC))
    filled.embed_pending()
    assert filled.archive.run(importance=1.0).archived == 1

    async def work(caller: Caller) -> None:
        found = await caller.call("memory_search", query="attic key", include_archived=True)
        assert found["hits"][0]["id"] == said.id and "notes" not in found

    talk(filled, work)


def test_a_preview_is_worth_nothing_when_more_would_go_now(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        code = (await caller.call("memory_forget", query="river"))["confirm"]
        filled.sessions.get("s1").add("user", "the river rises")
        assert "changed since" in await caller.refused("memory_forget", query="river", confirm=code)

    talk(filled, work)
    assert len(filled.sessions.messages("s1")) == 5


# --- resources and prompts ----------------------------------------------------------------------------------------


def test_profile_and_sessions_can_be_attached(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        client = caller.client
        listed = [str(one.uri) for one in (await client.list_resources()).resources]
        assert listed == ["memory://profile", "memory://sessions"]
        templates = [one.uri_template for one in (await client.list_resource_templates()).resource_templates]
        assert "memory://sessions/{id}{?cursor}" in templates

        async def read(uri: str) -> str:
            (content,) = (await client.read_resource(uri)).contents
            assert content.mime_type == "text/plain"
            return str(content.text)  # type: ignore[union-attr]

        assert "Berlin" in await read("memory://profile")
        assert "s1 | Lisbon" in await read("memory://sessions")
        talked = await read("memory://sessions/s1")
        assert "[m1 Ana, " in talked and "QX-4471" in talked and "search: hotels" not in talked
        for uri in ("memory://sessions/s99", "memory://other", "file:///etc/passwd", "memory://sessions/s1?cursor=x"):
            with pytest.raises(MCPError):
                await client.read_resource(uri)

    talk(filled, work)


def test_a_long_session_is_read_as_a_resource_page_by_page(memory: Appliance) -> None:
    session = memory.sessions.create()
    said = [f"turn {number} " + "ä" * (number * 97) for number in range(60)]
    for turn in said:
        session.add("user", turn)

    async def work(caller: Caller) -> None:
        uri, whole = f"memory://sessions/{session.id}", ""
        for _ in range(100):
            (content,) = (await caller.client.read_resource(uri)).contents
            page = str(content.text)  # type: ignore[union-attr]
            assert len(page) <= 8_000
            whole += page
            if "The next page: " not in page:
                break
            uri = page.rpartition("The next page: ")[2].strip()
        assert whole.count("ä") == "".join(said).count("ä")
        assert all(f"[m{number + 1} user, " in whole for number in range(60))

    talk(memory, work)


def test_prompts_bring_what_is_known_and_ask_for_what_is_to_be_kept(filled: Appliance) -> None:
    async def work(caller: Caller) -> None:
        client = caller.client
        assert [one.name for one in (await client.list_prompts()).prompts] == ["recall", "remember"]
        (message,) = (await client.get_prompt("recall", {"about": "which hotel?"})).messages
        assert "which hotel?" in message.content.text and "QX-4471" in message.content.text  # type: ignore[union-attr]
        (message,) = (await client.get_prompt("remember", {"what": "tea, not coffee"})).messages
        assert "tea, not coffee" in message.content.text and "memory_add" in message.content.text  # type: ignore[union-attr]
        for name, arguments in (("recall", {}), ("recall", {"about": " "}), ("dance", {"about": "x"})):
            with pytest.raises(MCPError):
                await client.get_prompt(name, arguments)

    talk(filled, work)
