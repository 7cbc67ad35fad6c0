"""The exports of a memory, as their requests say. What makes them is loaded when the first one begins."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from appliance import requests as r
from appliance.errors import UsageError
from appliance.store.database import Database
from appliance.types import Stream


def lines(
    database: Database, request: r.ExportRequest, owner: str, update_facts: Callable[[], object]
) -> Stream[dict[str, Any]]:
    """See ``ExportRequest``; ``update_facts`` is called before what else the memory holds."""
    from appliance.memory import export

    if request.ids and request.state:
        raise UsageError(
            "An export of some messages can't have the rest of the memory too.", hint="Leave state or ids out."
        )
    before_state = update_facts if request.state else None
    return export.stream_lines(database, request.user_id, owner, request.ids, before_state)


def markdown(database: Database, request: r.ExportMarkdownRequest, owner: str) -> Stream[str]:
    """See ``ExportMarkdownRequest``."""
    from appliance.memory import export

    return export.stream_text(database, partial(export.markdown, owner=owner), request.user_id, request.ids)


def html(database: Database, request: r.ExportHtmlRequest) -> Stream[str]:
    """See ``ExportHtmlRequest``."""
    from appliance.memory import export, export_html

    return export.stream_text(database, export_html.html, request.user_id, request.ids)
