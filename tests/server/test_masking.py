"""What HTTP and MCP answer has no secrets, whatever is asked."""

from __future__ import annotations

import pytest

from appliance import Appliance
from appliance.server.mcp.memory_lease import MemoryLease
from appliance_models import HashEmbedder
from tests.http_calls import application, calling, owner
from tests.unit.test_unit_secrets import CARD, GITHUB


@pytest.fixture
def filled(memory: Appliance) -> Appliance:
    session = memory.sessions.create(title=f"The bot {GITHUB}", external_id="bot")
    session.add("user", f"The lighthouse bot has the token {GITHUB}")
    session.add("user", f"and pays with {CARD}, at +49 170 1234567")
    memory.embed_pending()
    return memory


def test_no_answer_over_http_has_one(filled: Appliance) -> None:
    with calling(application(filled), owner(filled)) as client:
        answers = [
            client.post("/v1/search", json={"query": "lighthouse bot token"}),
            client.post("/v1/context", json={"query": "lighthouse bot token"}),
            client.get("/v1/messages/m1"),
            client.get("/v1/sessions"),
            client.get("/v1/sessions/bot"),
            client.get("/v1/sessions/bot/messages"),
            client.post("/v1/messages", json={"text": f"again: {GITHUB}", "session_id": "bot"}),
        ]
    for answer in answers:
        assert answer.is_success
        assert GITHUB not in answer.text and CARD not in answer.text, answer.url
    assert "+49 170 1234567" in answers[5].text
    assert filled.message("m3").text == f"again: {GITHUB}", "what is stored stays as it is"


def test_an_mcp_server_opens_a_memory_that_hides_them(filled: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    home = filled.home.root
    filled.close()
    monkeypatch.setattr("appliance_models.load", lambda *_, **__: HashEmbedder())
    lease = MemoryLease(str(home), "a test")
    with lease.lease() as memory:
        assert GITHUB not in repr(memory.sessions.messages("bot"))
    lease.close()
