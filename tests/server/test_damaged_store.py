"""A daemon over a damaged database answers with what is sound, and says what is not."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

import msgspec
import pytest

from appliance import Appliance, __version__
from appliance.errors import IncompleteExport
from appliance.transports.daemon import DaemonAddress
from appliance_models import HashEmbedder
from tests.damages import break_text
from tests.http_calls import application, calling, owner, running
from tests.stored_sessions import ingest, line


def open_memory(home: Path) -> Appliance:
    return Appliance.open(home, worker=False, embedder=HashEmbedder())


@pytest.fixture
def damaged(home: Path, tmp_path: Path) -> Path:
    """A closed home with nine messages, of which m5 has two bytes that are no text."""
    with open_memory(home) as memory:
        ingest(memory, tmp_path, [line("a", number, f"The violin of a is number {number}") for number in range(9)])
    break_text(home, "violin of a is number 4", b"violin of a is n\xff\xfeber 4")
    return home


def test_http_finds_and_shows_what_is_sound_and_its_health_names_the_rest(damaged: Path) -> None:
    with open_memory(damaged) as memory, calling(application(memory), owner(memory)) as client:
        hits = client.post("/v1/search", json={"query": "violin", "limit": 20}).json()["hits"]
        assert {hit["external_id"] for hit in hits} == {f"a-{number}" for number in range(9)}
        texts = [message["text"] for message in client.get("/v1/sessions/s1/messages").json()["messages"]]
        assert "The violin of a is n\ufffd\ufffdber 4" in texts
        assert client.post("/v1/context", json={"query": "violin"}).status_code == 200
        assert "m5" in client.get("/v1/status").json()["health"]


def test_an_attached_program_gets_the_whole_export_and_then_the_error(damaged: Path) -> None:
    with open_memory(damaged) as owner_memory, tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "socket"  # the name of a Unix socket is at most 107 bytes long
        with running(application(owner_memory), uds=path):
            address = DaemonAddress(os.getpid(), "", str(path), "", __version__)
            owner_memory.home.daemon.write_bytes(msgspec.json.encode(address))
            lines: list[str] = []
            with Appliance.open(damaged, create=False) as memory:
                assert memory.is_attached
                with pytest.raises(IncompleteExport, match="m5"):
                    lines.extend(one["message_id"] for one in memory.export())
            owner_memory.home.daemon.unlink()
    assert lines == [f"a-{number}" for number in range(9)]
