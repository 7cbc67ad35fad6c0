"""What a client can attach without a tool: the person's profile, the list of conversations, and each of them."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import parse_qs, urlencode, urlsplit

from mcp_types import ReadResourceResult, Resource, ResourceTemplate, TextResourceContents

from appliance.errors import NotFound
from appliance.server.mcp import reading, shapes, words

if TYPE_CHECKING:
    from appliance.server.mcp.reach import Reach

PLAIN = "text/plain"

RESOURCES = [
    Resource(
        uri="memory://profile",
        name="profile",
        title="What is known of you",
        description="Facts about the person, with the messages that they are from.",
        mime_type=PLAIN,
    ),
    Resource(
        uri="memory://sessions",
        name="sessions",
        title="Conversations",
        description="Past conversations, the last active first.",
        mime_type=PLAIN,
    ),
]

TEMPLATES = [
    ResourceTemplate(
        uri_template="memory://profile{?cursor}",
        name="profile-page",
        title="What is known of you, a page",
        description="A further page of the profile; the page before ends with its address.",
        mime_type=PLAIN,
    ),
    ResourceTemplate(
        uri_template="memory://sessions{?cursor}",
        name="sessions-page",
        title="Conversations, a page",
        description="A further page of the list; the page before ends with its address.",
        mime_type=PLAIN,
    ),
    ResourceTemplate(
        uri_template="memory://sessions/{id}{?cursor}",
        name="session",
        title="A conversation",
        description="The messages of a session (s12) in full, page by page.",
        mime_type=PLAIN,
    ),
]


def read(reach: Reach, uri: str) -> ReadResourceResult:
    """The text of a resource.

    Raises:
        NotFound: there is none at this address, or no such session of the caller's.
        UsageError: the cursor is of another page.
    """
    parts = urlsplit(uri)
    path = [part for part in (parts.netloc, *parts.path.split("/")) if part]
    cursor = parse_qs(parts.query).get("cursor", [""])[0]
    if parts.scheme == "memory" and path == ["profile"]:
        known = reading.facts(reach, shapes.ReadFacts(cursor=cursor))
        text, following = words.known(known), known.next
    elif parts.scheme == "memory" and path == ["sessions"]:
        listed = reading.sessions(reach, shapes.Sessions(cursor=cursor))
        text, following = words.listed(listed), listed.next
    elif parts.scheme == "memory" and len(path) == 2 and path[0] == "sessions":
        page = reading.transcript(reach, path[1], cursor)
        text, following = "\n\n".join(map(words.piece, page.messages)) or "(no messages)", page.next
    else:
        raise NotFound(
            f"no resource {uri}", hint="memory://profile, memory://sessions or memory://sessions/s12"
        )
    if following:
        text += f"\n\nThe next page: memory://{'/'.join(path)}?{urlencode({'cursor': following})}"
    return ReadResourceResult(contents=[TextResourceContents(uri=uri, mime_type=PLAIN, text=text)])
