"""Which parts of a memory use the network, by its settings. Nothing is connected to find that out."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterator
from urllib.parse import urlsplit

from appliance.lazy_dataclasses import dataclass
from appliance.settings import JINA_PREFIX, Settings


@dataclass(frozen=True, slots=True)
class NetworkUse:
    """A part that sends data over the network: its name, the address, and the setting that turns it on."""

    part: str
    address: str
    setting: str


def network_uses(settings: Settings, model: str) -> tuple[NetworkUse, ...]:
    """The configured parts that send data beyond this machine.

    Args:
        settings: The settings.
        model: The embedding model in use; the settings name the one of a new memory.
    """
    return tuple(use for use in _configured(settings, model) if not is_on_this_machine(use.address))


def loopback_uses(settings: Settings, model: str) -> tuple[NetworkUse, ...]:
    """The configured parts that ask a server on this machine itself; what that does with the data is not known here.
    The arguments are those of ``network_uses``."""
    return tuple(use for use in _configured(settings, model) if is_on_this_machine(use.address))


def _configured(settings: Settings, model: str) -> Iterator[NetworkUse]:
    if model.startswith(JINA_PREFIX):
        yield NetworkUse("Jina API", settings.jina.url, "model.name")
    if settings.llm.base_url:
        yield NetworkUse("language model", settings.llm.base_url, "llm.base_url")
    for url in settings.index.urls:
        yield NetworkUse("Qdrant server", url, "index.url")


def is_on_this_machine(url: str) -> bool:
    """Whether an address is a loopback address. One that can't be read is not."""
    try:
        host = urlsplit(url).hostname or ""
    except ValueError:
        return False
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
