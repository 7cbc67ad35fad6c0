"""What the OpenAPI document promises holds: schemathesis asks whatever it allows, and what it does not."""

from __future__ import annotations

BASE = "http://127.0.0.1:7707"

QUICK = 0.02
"""Seconds for which a stream of events is listened to here: it has no end of its own."""

FEW, MANY = 3, 150
"""Examples of each route."""
