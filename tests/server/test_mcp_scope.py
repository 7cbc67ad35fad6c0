"""Two grants on one memory: neither finds, reads, changes, erases or counts what is the other's."""

from __future__ import annotations

from typing import Any

import pytest
from mcp.shared.exceptions import MCPError

from appliance import Appliance
from appliance.server.access.grants import OWNER, Grant
from tests.server.mcp_runs import Caller, talk

pytestmark = pytest.mark.usefixtures("every_field_index")

ANA = Grant("ana's", user_id="ana", namespace="")
ANA_AT_WORK = Grant("ana's at work", user_id="ana", namespace="work")
BEN = Grant("ben's", user_id="ben", namespace="")


@pytest.fixture
def shared(memory: Appliance) -> Appliance:
    """A message, a session and a fact of each; the ids of all are easy to guess."""
    for user, namespace, word in (("ana", "", "marmot"), ("ana", "work", "badger"), ("ben", "", "otter")):
        session = memory.sessions.create(user_id=user, namespace=namespace, external_id="diary", title=f"The {word}")
        session.add("user", f"I saw the {word} today. I live in {word.title()}ville.")
    memory.embed_pending()
    assert [fact.user_id for user in ("ana", "ben") for fact in memory.facts.list(user)] == ["ana", "ben"]
    return memory


GRANTS = [(ANA, "marmot", "m1", "s1"), (ANA_AT_WORK, "badger", "m2", "s2"), (BEN, "otter", "m3", "s3")]


@pytest.mark.parametrize(("grant", "word", "message", "session"), GRANTS)
def test_each_reaches_its_own_and_nothing_else(
    shared: Appliance, grant: Grant, word: str, message: str, session: str
) -> None:
    others = [(w, m, s) for _, w, m, s in GRANTS if w != word]

    async def work(caller: Caller) -> None:
        for query in ("what did I see today", *(other for other, _, _ in others)):
            said = await caller.said("memory_search", query=query)
            assert not any(other in said.lower() for other, _, _ in others)
        context = await caller.said("memory_context", query="what did I see today")
        facts = await caller.said("memory_facts")
        sessions = await caller.said("memory_sessions")
        passed = await caller.said("memory_timeline", since="2000-01-01")
        assert all(word in said.lower() for said in (context, facts, sessions, passed))
        assert not any(other in said.lower() for said in (context, facts, sessions, passed) for other, _, _ in others)
        assert (await caller.call("memory_get", ids=[message]))["messages"][0]["id"] == message
        status = await caller.call("memory_status")
        assert status["counts"] == {"sessions": 1, "messages": 1, "facts": 1}
        assert (await caller.call("memory_sessions", session="diary"))["sessions"][0]["id"] == session
        for _, their_message, their_session in others:
            read = await caller.call("memory_get", ids=[message, their_message])
            assert [piece["id"] for piece in read["messages"]] == [message] and read["missing"] == [their_message]
            nobody = await caller.refused("memory_get", ids=["m999"])
            assert await caller.refused("memory_get", ids=[their_message]) == nobody.replace("m999", their_message)
            for tool, arguments in (
                ("memory_timeline", {"around": their_message}),
                ("memory_timeline", {"session": their_session}),
                ("memory_search", {"query": "x", "session": their_session}),
                ("memory_context", {"query": "x", "session": their_session}),
                ("memory_sessions", {"session": their_session}),
                ("memory_add", {"text": "x", "session": their_session}),
                ("memory_forget", {"ids": [their_message]}),
                ("memory_forget", {"ids": [their_session]}),
            ):
                said = await caller.refused(tool, **arguments)
                assert "no message" in said or "no session" in said
                assert not any(other in said for other, _, _ in others)
            with pytest.raises(MCPError, match="no session"):
                await caller.client.read_resource(f"memory://sessions/{their_session}")
        for other, _, _ in others:
            assert "Nothing matches" in await caller.refused("memory_forget", query=other)

    talk(shared, work, grant)


@pytest.mark.parametrize(("grant", "word", "message", "session"), GRANTS)
def test_nobody_settles_another_s_facts(shared: Appliance, grant: Grant, word: str, message: str, session: str) -> None:
    mine = {fact.id for fact in shared.facts.list(grant.user_id, grant.namespace or "")}
    everyone = {
        fact.id
        for user, space in (("ana", ""), ("ana", "work"), ("ben", ""))
        for fact in shared.facts.list(user, space)
    }

    async def work(caller: Caller) -> None:
        for id in everyone - mine:
            for action in ("confirm", "correct", "reject", "history"):
                assert f"no fact {id}" in await caller.refused("memory_facts", action=action, id=id, text="Nowhere")
        for id in mine:
            (held,) = (await caller.call("memory_facts", action="confirm", id=id))["facts"]
            assert held["by"] == "person" and word in held["text"].lower()

    talk(shared, work, grant)


def test_a_code_of_one_confirms_nothing_for_another(shared: Appliance) -> None:
    async def preview(caller: Caller) -> str:
        return str((await caller.call("memory_forget", query="today"))["confirm"])

    code = talk(shared, preview, ANA)

    async def work(caller: Caller) -> None:
        assert "nothing was erased" in await caller.refused("memory_forget", query="today", confirm=code)

    talk(shared, work, BEN)

    async def done(caller: Caller) -> dict[str, Any]:
        return await caller.call("memory_forget", query="today", confirm=code)

    assert talk(shared, done, ANA)["messages"] == 1
    assert shared.message("m2") and shared.message("m3")


def test_what_is_added_is_the_caller_s(shared: Appliance) -> None:
    async def work(caller: Caller) -> str:
        return str((await caller.call("memory_add", text="a secret of the heron", session="diary"))["session"])

    assert talk(shared, work, BEN) == "s3"
    fresh = Grant("carla's", user_id="carla", namespace="")
    assert shared.sessions.info(talk(shared, work, fresh)).user_id == "carla"
    assert not any("heron" in hit.text for hit in shared.search("heron", user_id="ana"))


def test_the_owner_s_access_means_the_configured_user(shared: Appliance) -> None:
    shared.sessions.create(title="Mine").add("user", "the heron is mine")

    async def work(caller: Caller) -> None:
        assert len((await caller.call("memory_sessions"))["sessions"]) == 1
        assert "no message m1" in await caller.refused("memory_get", ids=["m1"])
        assert (await caller.call("memory_status"))["counts"]["messages"] == 4

    talk(shared, work, OWNER)


@pytest.mark.parametrize("scope", ["none", "summaries_only", "conversational"])
def test_what_a_session_keeps_to_itself_is_not_read_from_elsewhere(memory: Appliance, scope: Any) -> None:
    session = memory.sessions.create(title="Diary", storage_scope=scope)
    session.add("user", "the heron nests")
    session.add("tool", "lookup: heron")
    hidden = ("m1", "m2") if scope != "conversational" else ("m2",)

    async def work(caller: Caller) -> None:
        for id in hidden:
            assert f"no message {id}" in await caller.refused("memory_get", ids=[id])
            assert f"no message {id}" in await caller.refused("memory_timeline", around=id)
        passed = await caller.said("memory_timeline", since="2000-01-01", records=True)
        assert ("nests" in passed) is (scope == "conversational") and "lookup" not in passed
        listed = await caller.said("memory_sessions")
        assert ("Diary" in listed) is (scope != "none")
        if scope != "conversational":
            assert "s1" in await caller.refused("memory_timeline", session="s1")
        if scope == "none":
            assert "no session" in await caller.refused("memory_sessions", session="s1")

    talk(memory, work)
