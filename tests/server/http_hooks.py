"""What schemathesis has to know of this API beyond its document."""

from __future__ import annotations

import uuid
from typing import Any

import schemathesis

KEY = "idempotency-key"
SHORTEST = 8
"""Signs of a key that is taken."""

LISTEN = 0.02
"""Seconds for which a stream of events is listened to: it has no end of its own."""


UNKNOWN = "x-schemathesis-unknown-property"


@schemathesis.hook
def filter_case(context: Any, case: Any) -> bool:
    """Leave out what sends a header that nobody knows and expects a refusal: such headers are to be ignored
    (RFC 9110, 5.1)."""
    return UNKNOWN not in {name.lower() for name in case.headers or {}}


@schemathesis.hook
def before_call(context: Any, case: Any, kwargs: dict[str, Any]) -> None:
    """Let streams end soon, and let no two requests have one Idempotency-Key: a key that is used for another
    request is refused, by design."""
    query = dict(case.query or {})
    if case.path == "/v1/events" and _is_long(query.get("seconds")):
        case.query = {**query, "seconds": LISTEN}
    key = str((case.headers or {}).get(KEY, ""))
    if len(key) >= SHORTEST and _is_plain(key):
        case.headers[KEY] = str(uuid.uuid4())


def _is_long(seconds: Any) -> bool:
    """Whether a valid number of seconds, or none, would be waited for."""
    return seconds is None or (isinstance(seconds, int | float) and not isinstance(seconds, bool) and seconds > LISTEN)


def _is_plain(key: str) -> bool:
    return key.isascii() and all(sign.isalnum() or sign in "._:/+=-" for sign in key)
