"""The memory as a program holds it."""

from __future__ import annotations

from appliance.engine import Engine


class Appliance(Engine):
    """An open memory. Use it as a context manager, from any number of threads."""
