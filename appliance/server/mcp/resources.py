"""Resources, which a client can attach without a tool: the person's profile, the list of sessions, and each session."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from appliance.errors import NotFound
from appliance.server.mcp import read_tools, rendering, schemas

if TYPE_CHECKING:
    from appliance.server.mcp.access import McpAccess

TEXT_MEDIA_TYPE = "text/plain"

RESOURCES = [
    Resource(
        uri="memory://profile",
        name="profile",
        title="What is known of you",
        description="Facts about the person, with the messages that they are from.",
        mime_type=TEXT_MEDIA_TYPE,
    ),
    Resource(
        uri="memory://sessions",
        name="sessions",
        title="Conversations",
        description="Past conversations, the last active first.",
        mime_type=TEXT_MEDIA_TYPE,
    ),
]

TEMPLATES = [
    ResourceTemplate(
        uri_template="memory://profile{?cursor}",
        name="profile-page",
        title="What is known of you, a page",
        description="A further page of the profile; the page before ends with its address.",
        mime_type=TEXT_MEDIA_TYPE,
    ),
    ResourceTemplate(
        uri_template="memory://sessions{?cursor}",
        name="sessions-page",
        title="Conversations, a page",
        description="A further page of the list; the page before ends with its address.",
        mime_type=TEXT_MEDIA_TYPE,
    ),
    ResourceTemplate(
        uri_template="memory://sessions/{id}{?cursor}",
        name="session",
        title="A conversation",
        description="The messages of a session (s12) in full, page by page.",
        mime_type=TEXT_MEDIA_TYPE,
    ),
]


def read_resource(access: McpAccess, uri: str) -> ReadResourceResult:
    """The text of a resource.

    Raises:
        NotFound: There is no such resource, or no such session that the caller may read.
        UsageError: The cursor belongs to another list.
    """
    parts = urlsplit(uri)
    path = [part for part in (parts.netloc, *parts.path.split("/")) if part]
    cursor = parse_qs(parts.query).get("cursor", [""])[0]
    if parts.scheme == "memory" and path == ["profile"]:
        facts = read_tools.facts(access, schemas.ReadFactsArguments(cursor=cursor))
        text, next_cursor = rendering.render_facts(facts), facts.next
    elif parts.scheme == "memory" and path == ["sessions"]:
        sessions = read_tools.sessions(access, schemas.SessionsArguments(cursor=cursor))
        text, next_cursor = rendering.render_sessions(sessions), sessions.next
    elif parts.scheme == "memory" and len(path) == 2 and path[0] == "sessions":
        page = read_tools.transcript(access, path[1], cursor)
        text, next_cursor = ("\n\n".join(map(rendering.render_part, page.messages)) or "(no messages)", page.next)
    else:
        raise NotFound(
            f"There is no resource {uri}.",
            hint="Use memory://profile, memory://sessions, or a session such as memory://sessions/s12.",
        )
    if next_cursor:
        text += f"\n\nThe next page: memory://{'/'.join(path)}?{urlencode({'cursor': next_cursor})}"
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=TEXT_MEDIA_TYPE, text=text)])
