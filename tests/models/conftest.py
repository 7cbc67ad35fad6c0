"""Fixtures for the embedding layer: one loaded model for all tests, sockets closed, and a small pack to break."""

from __future__ import annotations

import shutil
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from appliance_models import DEFAULT_MODEL, OnnxEmbedder
from appliance_models.files import SHIPPED_PACKS


@pytest.fixture(scope="session")
def embedder() -> OnnxEmbedder:
    return OnnxEmbedder(SHIPPED_PACKS / DEFAULT_MODEL)


@pytest.fixture(autouse=True)
def closed_sockets(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Any attempt at the network fails the test that made it."""

    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("something tried to use the network")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    return


@pytest.fixture
def pack(tmp_path: Path) -> Path:
    """A private copy of the default pack."""
    return Path(shutil.copytree(SHIPPED_PACKS / DEFAULT_MODEL, tmp_path / DEFAULT_MODEL))
