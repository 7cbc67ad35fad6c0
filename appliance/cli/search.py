"""``search`` and ``context``: find messages, and build what an assistant is given."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError
from appliance.requests.typed_filters import NO_CURSOR, SearchFilters, extract_filters, filter_notes

if TYPE_CHECKING:
    from appliance.types import HitOrder, Hits, Mode

NOTHING_FOUND = "No matches. Try other words or fewer filters."
NO_GOOD_MATCH = "No good match. Try other words, or --min-score 0 to see the nearest."


def search(
    query: Annotated[str, argument("QUERY", "Words, a name, or a whole question.")],
    limit: options.Limit = None,
    offset: Annotated[int, option("--offset", "N", "Skip this many hits: go on behind them.", min=0)] = 0,
    everything: Annotated[
        bool, flag("--all", "Every hit: the best ones, then all other messages with the words, copies too.")
    ] = False,
    sort: Annotated[
        str, typer.Option("--sort", metavar="score|time", help="Best first, or all with the words, newest first.")
    ] = "score",
    neighbours: Annotated[
        int, option("--neighbours -C", "N", "Show N turns before and after each hit.", min=0, max=25)
    ] = 0,
    min_score: Annotated[
        float | None,
        option(
            "--min-score",
            "0..1",
            "Show hits from this score on. Default: those above 0.12, if the best is a good match.",
            min=0,
            max=1,
        ),
    ] = None,
    mode: Annotated[
        str, typer.Option("--mode", metavar="hybrid|dense|lexical", help="Search by meaning, by words, or both.")
    ] = "hybrid",
    profile: options.Profile = None,
    without: Annotated[
        list[str] | None,
        option("--without", "LEG", "Skip dense, own, window, quoted, title, time or file (repeatable)."),
    ] = None,
    per_session: Annotated[
        int | None, option("--per-session", "N", "Most hits from one session; 0 for any number.", min=0)
    ] = None,
    user: options.User = None,
    session: options.InSession = None,
    role: options.Roles = None,
    source: options.Sources = None,
    author: options.Authors = None,
    participants: options.Participants = None,
    has: options.Has = None,
    tag: options.Tag = None,
    tool: options.Tools = None,
    file: options.Files = None,
    entity: options.Entities = None,
    topic: options.Topics = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: Annotated[str | None, option("--as-of", "WHEN", "Search as if it were this date or time.")] = None,
    include_archived: Annotated[
        bool, flag("--include-archived", "Search archived messages too, in one ranking.")
    ] = False,
    explain: Annotated[bool, flag("--explain", "Show the parts of each score.")] = False,
    why_not: Annotated[str | None, option("--why-not", "MESSAGE_ID", "Explain why this message is not a hit.")] = None,
    generation: Annotated[
        int | None,
        option("--generation", "N", "Search with the vectors that a change of the model has kept; see status.", min=1),
    ] = None,
    reveal: options.Reveal = False,
    home: options.Home = None,
    as_csv: Annotated[bool, flag("--csv", "Print the hits as CSV, with their whole texts.")] = False,
    json: options.Json = False,
) -> None:
    """Find the messages that best answer a question. Text in quotation marks is matched exactly.

    The query may hold filters: author:ana, with:ben, source:slack, role:tool, has:image, tag:trip, file:plan.md,
    tool:bash, entity:Lisbon, topic:budget, since:2024-03, until:2024, user:ana. With filters alone, all messages that
    pass them are listed, the newest first.

    A hit with ×5 stands for five messages that say the same. --all, --sort time, --csv and filters alone list each.

    \b
    Examples:
      appliance search "when does the lease end"
      appliance search 'what was wrong with the "connection pool"'
      appliance search "what did we decide in March 2025" --per-session 2
      appliance search KLP-512 -k 3 --explain
      appliance search "wifi password" --source whatsapp --since 2026-02-01
      appliance search "birthday cake" --author ana --author "Ben Weber"
      appliance search "the boiler" --author mum
      appliance search "author:mum since:2026-01 the boiler"
      appliance search "everything Diego wrote"
      appliance search "the trip" --with p3
      appliance search "the old flat" --include-archived
      appliance search "the floor plan" --has file --tag house
      appliance search "what did I change in endpoints.py"
      appliance search "file:endpoints.py tool:bash tests"
      appliance search ubuntu --all --csv > ubuntu.csv
      appliance search deadline --sort time --offset 20 -C 2
      appliance search "who plays the cello" --min-score 0.5
      appliance search deadline --json | jq -r '.hits[].text'
    """
    from appliance.cli import hit_pages
    from appliance.server.http import responses
    from appliance.types.reasons import stage_text
    from appliance.types.search import without_unlikely

    if everything and limit is not None:
        raise UsageError("--all and --limit exclude each other.", hint="Leave one of them out.")
    if as_csv and json:
        raise UsageError("--csv and --json exclude each other.", hint="Leave one of them out.")
    words, filters = extract_filters(
        query,
        SearchFilters(
            user, tuple(source or ()), tuple(author or ()), tuple(participants or ()), tuple(role or ()),
            tuple(has or ()), tuple(tag or ()), since, until, tuple(tool or ()), tuple(file or ()),
            tuple(entity or ()), tuple(topic or ()),
        ),
        NO_CURSOR,
    )  # fmt: skip
    if not query.strip():
        raise UsageError("The query is empty.", hint="Name words, or a time such as 'what was said on 8 May 2023'.")
    with options.open_for_search(home, "search", reveal) as memory:

        def find(limit: int | None, offset: int, count: bool = False) -> Hits:
            return memory.search(
                words.strip(),
                limit=limit,
                offset=offset,
                sort=cast("HitOrder", sort),
                count=count,
                neighbours=neighbours,
                min_score=min_score,
                mode=cast("Mode", mode),
                session_id=session,
                **filters.search_arguments(user),
                as_of=as_of,
                profile=profile,
                without=without,
                per_session=per_session,
                variants=True if everything or as_csv else None,
                include_archived=include_archived,
                why_not=why_not,
                generation=generation,
            )

        first = find(hit_pages.PAGE_HITS, offset) if everything else find(limit, offset, count=True)
        # Who asks for a number, a page or an order gets it.
        folds = not (everything or json or as_csv or offset) and (limit, min_score, sort) == (None, None, "score")
        shown = replace(first, hits=tuple(without_unlikely(first.hits))) if folds else first
        pages = hit_pages.following(first, offset, find) if everything else iter([shown])
        if as_csv:
            last = hit_pages.print_csv(pages)
        elif not json:
            last = hit_pages.print_lines(pages, explain=explain)
        elif everything:
            last = hit_pages.print_json(pages)
        else:
            last = first
            output.print_json(responses.search_shape(first))
        other_users = None if first else options.other_users(memory, filters.user)
    if first.why_not is not None and not (json or as_csv):
        output.print_line(f"{stage_text(first.why_not)}. {first.why_not.words}")
    output.say_notes([*filter_notes(query), *first.notes])
    _say_times(first)
    if other_users:
        output.say(other_users)
    output.say(_summary(first, last, sort, is_folded=len(shown) < len(first)))


def _summary(first: Hits, last: Hits, sort: str, *, is_folded: bool) -> str:
    """How many hits were shown, of how many, and how to see the next ones, or those that were too unlikely to be."""
    from appliance.types.search import LIKELY_SCORE, UNLIKELY_SCORE

    if not first and not first.found and first.total:
        return NO_GOOD_MATCH
    if not first:
        return f"There are only {output.plural(first.total, 'hit')}." if first.total else NOTHING_FOUND
    end = (last or first)[-1].rank  # what was there a page before may be deleted
    shown = end - first[0].rank + 1
    total = f"{first.total:,}" if first.total_is_exact else f"more than {first.total:,}"
    counted = (
        f"{shown:,} of {total} hits" if last.more or first[0].rank > 1 or is_folded else output.plural(shown, "hit")
    )
    if sort == "score" and first.found and 0 < first.likely < first.total:
        counted += f" ({first.likely:,} likely, {first.total - first.likely:,} less likely)"
    if is_folded:
        following = "; --all lists the unlikely ones too"
    else:
        is_worth_more = last.more and (sort == "time" or last[-1].score >= UNLIKELY_SCORE)
        following = f"; --offset {end} shows the next" if is_worth_more else ""
    best = max(hit.score for hit in first)
    is_weak = best < LIKELY_SCORE and not first.likely and first[0].rank == 1
    weak = f"; weak matches only, the best score is {best:.2f}" if is_weak else ""
    return f"{counted} in {first.took_ms:.0f} ms{weak}{following}"


def _say_times(found: Hits) -> None:
    """Name the times of the query that messages are preferred by; a note names those without messages."""
    if times := [words for words in found.times if not _is_empty(words, found)]:
        output.say(f"Preferring messages by their time: {' and '.join(times)}.")


def _is_empty(words: str, found: Hits) -> bool:
    return any(note.startswith("No messages ") and note.endswith(f" {words}.") for note in found.notes)


def context(
    query: Annotated[str, argument("QUERY", "The question for the assistant.")],
    session: Annotated[str | None, option("--session", "ID", "Add this session's recent turns.")] = None,
    budget: options.Budget = None,
    encoding: Annotated[
        str | None, option("--encoding", "NAME", "Count tokens in this encoding or model.")
    ] = None,
    profile: options.Profile = None,
    preset: Annotated[
        str | None, option("--preset", "assistant|support|tutor|code", "How the layers share the budget.")
    ] = None,
    share: Annotated[
        list[str] | None,
        option(
            "--share", "LAYER=NUMBER",
            "Share of a layer, 0 to 1: profile, retrieved, summary or recent (repeatable).",
        ),
    ] = None,
    role: options.Roles = None,
    source: options.Sources = None,
    author: options.Authors = None,
    participants: options.Participants = None,
    has: options.Has = None,
    tag: options.Tag = None,
    tool: options.Tools = None,
    file: options.Files = None,
    entity: options.Entities = None,
    topic: options.Topics = None,
    since: options.Since = None,
    until: options.Until = None,
    no_recall: Annotated[bool, flag("--no-recall", "Use only the session's own messages; search nothing.")] = False,
    recall_limit: Annotated[
        int | None, option("--recall-limit", "N", "Most messages of other conversations.")
    ] = None,
    min_score: Annotated[
        float | None,
        option("--min-score", "NUMBER", "Only messages with at least this score, 0 to 1; 0 takes the nearest."),
    ] = None,
    user: options.User = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:  # fmt: skip
    """Build the context that an assistant is given for a question.

    The text goes to stdout, ready for a pipe. A report of how it was built goes to stderr. The question may hold the
    filters of a search, such as file:plan.md or since:2024-03: they narrow which memories are recalled.

    \b
    Examples:
      appliance context "when is my deadline?"
      appliance context "what do we cook?" --budget 600 --json | jq .messages
      appliance context "and then?" --session s12 > prompt.txt
      appliance context "how far did we get?" --session s12 --preset tutor
      appliance context "which bank did I choose?" --min-score 0.5 --recall-limit 5
      appliance context "file:main.go what did I change?" --since 2026-02
      appliance context "the invoice" --share retrieved=0.7 --share recent=0.1
    """
    from appliance.cli import rendering
    from appliance.server.http import responses

    words, filters = extract_filters(
        query,
        SearchFilters(
            user, tuple(source or ()), tuple(author or ()), tuple(participants or ()), tuple(role or ()),
            tuple(has or ()), tuple(tag or ()), since, until, tuple(tool or ()), tuple(file or ()),
            tuple(entity or ()), tuple(topic or ()),
        ),
        NO_CURSOR,
    )  # fmt: skip
    with options.open_for_search(home, "context") as memory:
        built = memory.context(
            words.strip(),
            session_id=session,
            budget=budget,
            encoding=encoding,
            profile=profile,
            preset=preset,
            shares=options.parse_shares(share) if share else None,
            auto_recall=False if no_recall else None,
            recall_limit=recall_limit,
            min_score=min_score,
            **filters.search_arguments(user),
        )
    if json:
        output.print_json(responses.context_shape(built))
    elif built.text:
        output.print_line(built.text.removesuffix("\n"))
    output.say_notes(filter_notes(query))
    rendering.print_context_report(built)
