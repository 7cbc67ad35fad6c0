"""What a question may find: whoever asks, from wherever, whatever was branched, withheld or joined before.

A memory is filled at random; what each question may see is worked out once more from what was done, in plain
Python, and nothing else may come back from any verb, in any mode, embedded or waiting.
"""

from __future__ import annotations

import json
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from appliance import Appliance
from appliance.errors import NotFound
from appliance_models import HashEmbedder
from tests.examples import examples

pytestmark = pytest.mark.usefixtures("every_field_index")

OWNERS = (("me", ""), ("ana", ""), ("ana", "work"), ("ANA", ""))
AGENTS = ("", "coder", "painter")
SCOPES = ("all", "conversational", "summaries_only", "none")
ROLES = ("user", "assistant", "tool", "system")
WORDS = "the violin lies in the harbour office".split()


@dataclass
class Said:
    text: str
    role: str


@dataclass
class Talk:
    """A session as it should be."""

    id: str
    owner: tuple[str, str]
    agents: set[str]
    scope: str
    past: list[tuple[Talk, Said]] = field(default_factory=list)
    own: list[Said] = field(default_factory=list)
    ids: list[str] = field(default_factory=list)

    @property
    def turns(self) -> list[tuple[Talk, Said]]:
        return [*self.past, *((self, said) for said in self.own)]


def gives(talk: Talk, said: Said) -> bool:
    """What a session gives to others."""
    return talk.scope == "all" or (talk.scope == "conversational" and said.role in ("user", "assistant"))


steps = st.lists(
    st.one_of(
        st.tuples(st.just("begin"), st.sampled_from(OWNERS), st.sampled_from(AGENTS), st.sampled_from(SCOPES)),
        st.tuples(st.just("say"), st.integers(0, 9), st.sampled_from(ROLES), st.sampled_from(AGENTS)),
        st.tuples(st.just("say"), st.integers(0, 9), st.sampled_from(ROLES), st.sampled_from(AGENTS)),
        st.tuples(st.just("branch"), st.integers(0, 9), st.integers(0, 9), st.none()),
        st.tuples(st.just("scope"), st.integers(0, 9), st.sampled_from(SCOPES), st.none()),
        st.tuples(st.just("embed"), st.none(), st.none(), st.none()),
    ),
    min_size=6,
    max_size=24,
)


def filled(memory: Appliance, done: list[tuple[Any, ...]]) -> list[Talk]:
    talks: list[Talk] = []
    for number, (what, *how) in enumerate(done):
        if what == "begin" or not talks:
            owner, agent, scope = how if what == "begin" else (OWNERS[0], "", "all")
            begun = memory.sessions.create(
                user_id=owner[0], namespace=owner[1], agent_id=agent, storage_scope=scope, external_id=f"x{number}"
            )
            talks.append(Talk(begun.id, owner, {agent} - {""}, scope))
        elif what == "embed":
            memory.embed_pending()
        else:
            talk = talks[how[0] % len(talks)]
            session = memory.sessions.resume(talk.id)
            if what == "say":
                said = Said(f"{' '.join(WORDS[number % 4 :])} word{number}x", how[1])
                message = session.add(said.role, said.text, agent_id=how[2] or None)  # type: ignore[arg-type]
                talk.agents |= {how[2]} - {""}
                talk.own.append(said)
                talk.ids.append(message.id)
            elif what == "scope":
                session.set_storage_scope(how[1])
                talk.scope = how[1]
            elif talk.turns:
                at = how[1] % len(talk.turns)
                ids = [message.id for message in session.messages()]
                branch = session.branch(ids[at])
                talks.append(Talk(branch.id, talk.owner, {*talk.agents}, talk.scope, talk.turns[: at + 1]))
    return talks


@settings(max_examples=examples(25, costly=True), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    done=steps,
    asker=st.sampled_from(OWNERS),
    agent=st.sampled_from((None, *AGENTS)),
    here=st.integers(0, 9),
    roles=st.sampled_from((None, ("user",), ("tool", "system"), ROLES)),
    picks=st.lists(st.integers(0, 9), max_size=2),
)
def test_nobody_finds_what_is_not_theirs(
    done: list[tuple[Any, ...]],
    asker: tuple[str, str],
    agent: str | None,
    here: int,
    roles: tuple[str, ...] | None,
    picks: list[int],
) -> None:
    with (
        tempfile.TemporaryDirectory() as folder,
        Appliance.open(Path(folder) / "home", worker=False, embedder=HashEmbedder()) as memory,
    ):
        talks = filled(memory, done)
        check_everything(memory, talks, asker, agent, talks[here % len(talks)], roles)
        for pick in picks[: len(talks)]:
            gone = talks[pick % len(talks)]
            kept = [talk for talk in talks if talk is not gone]
            before = {talk.id: [said.text for _, said in talk.turns] for talk in kept}
            if gone in talks:
                memory.sessions.resume(gone.id).delete()
                talks = kept
            for talk in talks:
                assert [m.text for m in memory.sessions.messages(talk.id)] == before[talk.id]
        assert not memory.verify().problems
        memory.embed_pending()
        assert not memory.verify().problems
        exported = [line["content"] for line in memory.export()]
        left = {said.text for talk in talks for _, said in talk.turns}
        assert sorted(exported) == sorted(left)


def check_everything(
    memory: Appliance,
    talks: list[Talk],
    asker: tuple[str, str],
    agent: str | None,
    here: Talk,
    roles: tuple[str, ...] | None,
) -> None:
    user, namespace = asker
    wanted = roles or ("user", "assistant")

    def may(within: Talk | None, only: bool, agent: str | None) -> set[str]:
        """What may be found: by others, within a session, and only there or not."""
        own = {id(said) for _, said in within.turns} if within is not None else set()
        return {
            said.text
            for talk in talks
            for said in talk.own
            if talk.owner == asker
            and said.role in wanted
            and (agent is None or agent in (talk.agents or {""}))
            and (id(said) in own or (not only and gives(talk, said)))
        }

    everything = {said.text for talk in talks for said in talk.own}
    query = " ".join(dict.fromkeys(word for text in everything for word in text.split())) or "violin"
    inside = here if here.owner == asker else None
    for mode in ("hybrid", "dense", "lexical"):
        for within, asked_in in ((None, None), (None, here.id), (here.id, None)):
            if asked_in is not None and inside is None:
                continue
            found = set()
            answer = memory.search(
                query,
                mode=mode,  # type: ignore[arg-type]
                user_id=user,
                namespace=namespace,
                agent_id=agent,
                roles=roles,  # type: ignore[arg-type]
                session_id=within,
                asked_in=asked_in,
                limit=100,
            )
            for hit in answer:
                found.add(hit.text)
                found |= {memory.message(other).text for other in hit.why["variants"]}
            if within is not None and here.owner[0] == user:
                # A session's id names its namespace too.
                asked = here.owner
                allowed = {s.text for t, s in here.turns if s.role in wanted and t.owner == asked}
                assert found <= allowed
            elif within is not None:
                assert not found
            else:
                allowed = may(inside if asked_in else None, False, agent)
                assert found <= allowed
                if mode != "dense" and agent is None:
                    assert found == allowed, "and all of it is found"
    context = memory.context(query, user_id=user, namespace=namespace, budget=4_000)
    shown = json.dumps([context.text, context.messages, context.dropped], default=str)
    wanted = ("user", "assistant")
    assert not [text for text in everything - may(None, False, None) if text in shown]
    listed = memory.sessions.list(user_id=user, namespace=namespace, agent_id=agent)
    assert {info.id for info in listed} == {
        talk.id for talk in talks if talk.owner == asker and (agent is None or agent in (talk.agents or {""}))
    }
    for talk in talks:
        if talk.owner[0] != user:
            for reach in (memory.sessions.info, memory.sessions.get):
                try:
                    reach(talk.id, user_id=user)
                except NotFound:
                    continue
                raise AssertionError("another user's session was opened")
