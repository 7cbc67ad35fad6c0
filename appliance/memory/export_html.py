"""The export of messages as one HTML page to read, to print or to send: it has no scripts and loads nothing."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from itertools import chain

from appliance.errors import IncompleteExport
from appliance.memory.export import describe_session, readable_messages, time_text
from appliance.store.messages import MessageRow
from appliance.store.sql import from_json
from appliance.types import SessionInfo

_STYLE = """
:root { color-scheme: light dark; }
body { font: 16px/1.5 system-ui, sans-serif; max-width: 46rem; margin: 2rem auto; padding: 0 1rem; }
h1 { font-size: 1.5rem; margin: 3rem 0 0; }
h1 + p, .head, .files { color: GrayText; font-size: .875rem; }
h1 + p { margin: 0 0 1.5rem; }
article { margin: 0 0 1.25rem; padding-left: .75rem; border-left: 3px solid #8886; }
article.assistant { border-color: #47a; }
article.aside { opacity: .75; font-size: .9rem; }
.head { margin: 0; }
.head b { color: CanvasText; }
.text { margin: 0; white-space: pre-wrap; overflow-wrap: anywhere; unicode-bidi: plaintext; }
.files { margin: 0; }
@media print { article { break-inside: avoid; } }
"""

_HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; style-src 'unsafe-inline'">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="referrer" content="no-referrer">
<title>Conversations</title>
<style>{_STYLE}</style>
</head>
<body>
"""

_ANY_LANGUAGE = 'lang="" dir="auto"'

_CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\ufdd0-\ufdef\ufffe\uffff]")

_END = "</body>\n</html>\n"


def html(db: sqlite3.Connection, user_id: str | None, ids: Sequence[str] = ()) -> Iterator[str]:
    """Yield messages as an HTML page, piece by piece: a heading a session, an article a message. Texts are as written,
    with their Markdown; control characters are shown by their codes. What people wrote is in no stated language, and
    each line of it has the direction of its first letter, which ends with it. The policy of the page forbids scripts,
    forms and everything that would have to be loaded.

    Raises:
        NotFound: An id names nothing.
        IncompleteExport: At the end, behind a complete page, if some messages are damaged.
    """
    rows = readable_messages(db, user_id, ids)
    first = next(rows, None)  # what the ids name is known before the page begins
    yield _HEAD
    current_session: str | None = None
    try:
        for row, info in chain([] if first is None else [first], rows):
            if info.id != current_session:
                current_session = info.id
                yield _heading(info, ids)
            yield _article(row)
    except IncompleteExport:
        yield _END
        raise
    yield _END


def _heading(info: SessionInfo, ids: Sequence[str]) -> str:
    title, about = _quoted(info.title or info.external_id), _quoted(describe_session(info, ids))
    return f"<h1 {_ANY_LANGUAGE}>{title}</h1>\n<p>{about}</p>\n"


def _article(row: MessageRow) -> str:
    kind = "assistant" if row.role == "assistant" and row.conversational else "" if row.conversational else "aside"
    role = "" if row.conversational or row.author is None else f" ({escape(row.role)})"
    when = f" · <time>{_quoted(time_text(row))}</time>" if row.sent_at else ""
    names = [f"<bdi {_ANY_LANGUAGE}>{_quoted(name)}</bdi>" for name in _file_names(from_json(row.metadata))]
    files = f'<p class="files">with {", ".join(names)}</p>\n' if names else ""
    who = f"<b {_ANY_LANGUAGE}>{_quoted(row.author or row.role)}</b>{role}"
    named = f' class="{kind}"' if kind else ""
    return (
        f'<article{named}>\n<p class="head">{who}{when}</p>\n'
        f'<p class="text" {_ANY_LANGUAGE}>{_quoted(row.text)}</p>\n{files}</article>\n'
    )


def _quoted(text: str) -> str:
    """A text for the page, without characters that have no place in HTML."""
    return escape(_CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode(), text))


def _file_names(metadata: Mapping[str, object]) -> Iterator[str]:
    """The names of the files that are attached to a message."""
    attachments = metadata.get("attachments")
    for item in attachments if isinstance(attachments, list) else []:
        if isinstance(item, Mapping):
            yield str(item.get("name") or "a file")
