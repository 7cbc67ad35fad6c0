"""How the hits of a search are printed: as lines, as CSV, or as one JSON document; page by page, however many."""

from __future__ import annotations

import csv
import sys
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from appliance.cli import output, rendering

if TYPE_CHECKING:
    from appliance.types import Hits

PAGE_HITS = 1_000
"""Hits that are in memory at once where all are printed."""

PRINTED_FIRST = {"query", "mode", "hits"}
"""The fields of a JSON document that are printed while others are not known yet."""

CSV_COLUMNS = (
    "rank", "score", "message_id", "external_id", "session_id", "external_session_id", "session_title", "timestamp",
    "author", "role", "format", "path", "tier", "text", "time", "document", "place",
)  # fmt: skip


def following(first: Hits, offset: int, search: Callable[[int, int], Hits]) -> Iterator[Hits]:
    """Yield the first page, which begins at an offset, and all that follow it; ``search`` takes limit and offset."""
    page = first
    yield page
    while page.more:
        offset += PAGE_HITS
        page = search(PAGE_HITS, offset)
        yield page


def print_lines(pages: Iterator[Hits], *, explain: bool) -> Hits:
    """Print pages as lines for people. Returns the last page."""
    for page in pages:
        rendering.print_hits(page, explain=explain)
    return page


def print_csv(pages: Iterator[Hits]) -> Hits:
    """Print pages as CSV with a line of names. Returns the last page."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(CSV_COLUMNS)
    shown = output.clean if output.is_terminal() else str
    for page in pages:
        for hit in page:
            values = (
                hit.rank, hit.score, hit.message_id, hit.external_id, hit.session_id, hit.external_session_id,
                hit.session_title, hit.timestamp, hit.author, hit.role, hit.source.format, hit.source.path, hit.tier,
                hit.text, hit.time, hit.document and hit.document.name, hit.document and hit.document.place,
            )  # fmt: skip
            writer.writerow([shown(value) if isinstance(value, str) else value for value in values])
    return page


def print_json(pages: Iterator[Hits]) -> Hits:
    """Print pages as one JSON document, with the fields of ``responses.search_shape``. Returns the last page."""
    import msgspec

    from appliance.server.http import responses

    def encode(value: object) -> bytes:
        return output.escape_controls(msgspec.json.encode(value))

    first = page = next(pages)
    output.write(b'{"query": %b, "mode": %b, "hits": [\n' % (encode(page.query), encode(page.mode)))
    output.write(b",\n".join(map(encode, page)))
    for page in pages:
        output.write(b"".join(b",\n" + encode(hit) for hit in page))
    # The first page has the notes and the summaries, the last one knows how many hits there are.
    known = {"total": page.total, "total_is_exact": page.total_is_exact, "more": page.more}
    rest = {**responses.search_shape(first), **known}
    names = sorted(rest.keys() - PRINTED_FIRST)
    fields = [encode(name) + b": " + encode(rest[name]) for name in names]
    output.write(b"],\n" + b",\n".join(fields) + b"}\n")
    return page
