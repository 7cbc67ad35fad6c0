"""The hits of one page: texts, sessions and sources of listed messages, why each is a hit, and the turns around it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from appliance.retrieval.candidates import Column
from appliance.retrieval.listing import Listed, RankedSearch
from appliance.retrieval.ranking import contributions
from appliance.retrieval.snippet import snippet
from appliance.store import archive, lexical, messages, neighbours, sessions, variants
from appliance.store.messages import MessageRow
from appliance.types import Hit, Message, Source
from appliance.types.documents import document_page


def build_hits(found: RankedSearch, listed: Sequence[Listed], first_rank: int) -> list[Hit]:
    """Read the texts of listed messages and build their hits. ``first_rank`` is the rank of the first of them."""
    db, words = found.resources.db, found.parsed.words
    rows = messages.get(db, [one.message for one in listed])
    listed = [one for one in listed if one.message in rows]
    shown = [rows[one.message] for one in listed]
    heads = sessions.heads(db, [message.session_id for message in shown])
    archived = archive.archived(db, [message.id for message in shown])
    paths = messages.source_paths(db, [message.source_id for message in shown if message.source_id])
    whys = reasons(found, listed)
    scores = found.confidence.scores
    last_score = _least(scores, found.selection.rows)
    hits = []
    for rank, (one, message) in enumerate(zip(listed, shown, strict=True), first_rank):
        head, why = heads[message.session_id], whys[one.message]
        whole = messages.to_message(message)
        hits.append(
            Hit(
                rank=rank,
                score=_score(found, one, last_score),
                message_id=messages.message_id(message.id),
                external_id=message.external_id,
                session_id=sessions.public_id(message.session_id),
                external_session_id=head.external_id,
                session_title=head.title,
                role=message.role,
                author=message.author,
                timestamp=message.sent_at,
                text=message.text,
                snippet=snippet(message.text, words, None if one.row is None else found.candidates.span(one.row)),
                source=Source(head.format, paths.get(message.source_id) if message.source_id else None),
                tier="archived" if message.id in archived else "hot",
                why=why,
                time=whole.time,
                corrected=whole.corrected,
                document=document_page(whole.metadata) if '"document"' in message.metadata else None,
                folded=len(why["variants"]) if found.parsed.query.folds else 0,
            )
        )
    return hits


def _score(found: RankedSearch, one: Listed, last_score: float) -> float:
    """How likely a message is what was asked for: certainly, where all that pass the filters were."""
    if found.parsed.query.lists_all:
        return 1.0
    return float(found.confidence.scores[one.row]) if one.row is not None else last_score


def reasons(found: RankedSearch, listed: Sequence[Listed]) -> dict[int, dict[str, Any]]:
    """Explain the ranks of messages, by key: what each feature adds to the score of a candidate, its scores and ranks
    in the legs, and the variants of the message that the search may see, whether they are candidates or not.

    Where all that pass are listed, nothing else counts. One that was not ranked has the score of the last candidate,
    and never a better one than 0.
    """
    db, ranking, lists_all = found.resources.db, found.ranking, found.parsed.query.lists_all
    last = _least(ranking.scores, found.selection.rows)
    may_be_seen = lexical.filter_conditions(found.parsed.query.filters)
    folded = variants.others(db, [one.message for one in listed], *may_be_seen)

    def parts(row: int | None) -> dict[str, float]:
        if lists_all:
            return {"listed": 1.0}
        return {"unranked": min(last, 0.0)} if row is None else contributions(ranking.values, ranking.weights, row)

    return {
        key: {
            "score": parts(row),
            "legs": {} if row is None or lists_all else found.candidates.legs(row),
            "variants": [messages.message_id(other) for other in folded.get(key, ())],
        }
        for key, row in listed
    }


def _least(scores: Column, rows: Sequence[int]) -> float:
    """The least score of these rows; 0 if there are none."""
    return float(scores[rows].min()) if rows else 0.0


def with_neighbours(found: RankedSearch, hits: Sequence[Hit], radius: int) -> list[Hit]:
    """Return the hits with up to ``radius`` turns before and after each, of those that the query may see."""
    db, filters = found.resources.db, found.parsed.query.filters
    keys = [key for hit in hits if (key := messages.message_key(hit.message_id)) is not None]
    sides = neighbours.sides(db, keys, radius)
    around = {key for before, after in sides.values() for key in (*before, *after)}
    visible = replace(
        filters.of_whole_scope(), roles=(), session=filters.session, ancestor_parts=filters.ancestor_parts
    )
    rows = messages.get(db, [one.message for one in lexical.unscored_hits(db, around, visible)])
    nothing: tuple[int, ...] = ()
    expanded = []
    for key, hit in zip(keys, hits, strict=True):
        before, after = sides.get(key, (nothing, nothing))
        expanded.append(replace(hit, before=_turns(rows, reversed(before)), after=_turns(rows, after)))
    return expanded


def _turns(rows: Mapping[int, MessageRow], keys: Iterable[int]) -> tuple[Message, ...]:
    return tuple(messages.to_message(rows[key]) for key in keys if key in rows)
