"""``forget``: erase messages for good, with a receipt."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

import typer

from appliance.cli import options, output
from appliance.cli.options import argument, flag, option
from appliance.errors import UsageError

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import ErasurePreview, ErasureReport, Message, Receipt

MAX_LISTED_ECHOES = 10
MAX_LISTED_MESSAGES = 20
MAX_LISTED_FILES = 3

MAX_AUTHOR_CHARACTERS = 20
MAX_WORDS_CHARACTERS = 60
"""Characters of a message in the list of what would be erased."""

MESSAGES_A_REQUEST = 1_000

PLACE_NOUNS = {"facts": "fact", "core memory": "block"}
"""What has words in a place and no message; in the others, it is a conversation."""

EchoShape = Mapping[str, str | None]
"""An echo as ``erasure_answers.EchoAnswer`` describes it."""


def forget(
    ids: Annotated[
        list[str] | None,
        argument("[ID]…", "Messages (m345), sessions (s12), facts (f7), blocks (core:person), or external ids."),
    ] = None,
    source: Annotated[
        str | None, option("--source", "FORMAT|PATH", "Messages from this format, file, zip or folder.")
    ] = None,
    query: Annotated[
        str | None,
        option(
            "--query",
            "WORDS",
            "Exactly these whole words, in messages, authors, titles, metadata, file names, facts and core memory.",
        ),
    ] = None,
    title: Annotated[str | None, option("--title", "WORDS", "Conversations whose title has these whole words.")] = None,
    author: Annotated[
        str | None,
        option("--author", "NAME", "Messages of this person, under all names; a whole name, an address or an id."),
    ] = None,
    author_name: Annotated[
        str | None, option("--author-name", "NAME", "Messages under this whole name as it is written.")
    ] = None,
    since: options.Since = None,
    until: options.Until = None,
    everything: Annotated[bool, flag("--everything", "All messages of the user.")] = False,
    with_echoes: Annotated[
        bool,
        flag("--with-echoes", "Also near copies, answers that repeat it, and summaries, facts and blocks that say it."),
    ] = False,
    user: options.User = None,
    dry_run: options.DryRun = False,
    yes: Annotated[bool, flag("--yes -y", "Don't ask for confirmation.")] = False,
    receipts: Annotated[bool, flag("--receipts", "List the receipts of earlier erasures.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Erase messages permanently and verify that no trace is left.

    It erases them from the database with its log and free pages, from full text, vectors and index, and then searches
    every file of the memory for the erased texts. Several of ids, --source, --query, --title, --author, --author-name,
    --since and --until select the messages that match all of them. It names your original export files but does not
    change them. Ingesting them again does not bring the messages back; 'ingest --again' does.

    \b
    Examples:
      appliance forget m345 m346
      appliance forget s12 --dry-run
      appliance forget --query "blue envelope" --user ana
      appliance forget --title "Dr Zorn" --author Zorn --until 2025-12-31
      appliance forget --author p3 --dry-run
      appliance forget f7 core:project-garden
      appliance forget --source whatsapp --yes --json
      appliance forget --receipts
    """  # fmt: skip
    if receipts:
        with options.open_existing(home, "forget") as memory:
            _print_receipts(memory.erasure.receipts(), json)
        return
    _check_conditions(
        {"--source": source, "--query": query, "--title": title, "--author": author, "--author-name": author_name}
    )
    from appliance.server.http import erasure_answers

    with options.open_existing(home, "forget") as memory:
        preview = memory.erasure.preview(
            *(ids or ()), source=source, query=query, title=title, author=author, author_name=author_name,
            since=since, until=until, everything=everything, with_echoes=with_echoes, user_id=user,
        )  # fmt: skip
        ids = erasure_answers.message_echoes(preview.echoes)
        texts = {message.id: message.text for message in memory.masked().overview.messages(ids)} if ids else {}
        echoes = erasure_answers.echo_shapes(_masked(preview), texts)
        _say_source_files(preview)
        _say_authors(preview)
        if dry_run or preview.is_empty:
            _print_preview(memory, preview, echoes, json, dry_run)
            _say_echoes(echoes, with_echoes)
            _say_unfinished(memory.erasure.receipts())
            return
        _say_echoes(echoes, with_echoes)
        _confirm(memory, preview, yes)
        with output.progress() as (_, on_embedded):
            receipt = memory.erasure.forget(preview, on_embedded, on_wait=_say_waiting)
    if json:
        output.print_json(
            {
                "receipt": erasure_answers.receipt_shape(receipt),
                "authors": preview.authors,
                "files": preview.files,
                "echoes": echoes,
            }
        )
    else:
        _print_receipt(receipt, preview)
    if receipt.proof.traces or receipt.proof.awaits_server:
        raise typer.Exit(1)


def _check_conditions(given: Mapping[str, str | None]) -> None:
    """
    Raises:
        UsageError: A condition is empty. To leave it out would erase more than was meant: an unset variable of a shell
            is empty.
    """
    for name, value in given.items():
        if value is not None and not value.strip():
            raise UsageError(f"{name} is empty; nothing was erased.", hint=f"Give it a value, or leave {name} out.")


def _say_waiting(waits_for: str) -> None:
    output.say(f"Waiting for {waits_for}; then the erasure goes on.")


def _describe(preview: ErasurePreview) -> str:
    sources = "".join(f"; {count:,} from {format}" for format, count in preview.formats.items())
    parts = [
        f"{output.plural(len(preview.messages), 'message')} ({preview.characters:,} characters{sources})",
        *([output.plural(len(preview.sessions), "whole session")] if preview.sessions else []),
        *([output.plural(preview.facts, "fact")] if preview.facts else []),
        *([output.plural(len(preview.contacts), "contact")] if preview.contacts else []),
        *([f"{output.plural(len(preview.blocks), 'block')} of core memory"] if preview.blocks else []),
    ]
    return ", ".join(parts)


def _list_titles(preview: ErasurePreview) -> Iterator[str]:
    """The conversations that go whole, a line each, by their ids and titles."""
    if not preview.titles:
        return
    yield "  Whole sessions:" if len(preview.sessions) > 1 else "  Whole session:"
    for key, title in _masked(preview).titles.items():
        yield f"    s{key}  {_shorten(title, MAX_WORDS_CHARACTERS) or '(no title)'}"
    if left := len(preview.sessions) - len(preview.titles):
        yield f"    and {left:,} more"


def _confirm(memory: Appliance, preview: ErasurePreview, yes: bool) -> None:
    if yes or not sys.stdin.isatty():
        for line in _list_titles(preview):
            output.say(line)
    if yes:
        return
    if not sys.stdin.isatty():
        raise UsageError(
            f"This would permanently erase {_describe(preview)}.", hint="Confirm with --yes, or try --dry-run first."
        )
    output.say(f"This permanently erases {_describe(preview)}.")
    for line in _list_titles(preview):
        output.say(line)
    for line in _list_messages(memory, preview):
        output.say(line)
    _say_places(preview)
    _say_files(preview)
    typer.confirm("Continue?", abort=True, err=True)


def _list_messages(memory: Appliance, preview: ErasurePreview) -> Iterator[str]:
    """What would be erased, a line each: id, time, author, first words, and where the words of a query stand that the
    text does not have."""
    for message in _messages(memory, preview, MAX_LISTED_MESSAGES):
        found_in = preview.found_elsewhere.get(int(message.id[1:]), ())
        where = f" (found in: {', '.join(found_in)})" if found_in else ""
        author = _shorten(message.author or message.role, MAX_AUTHOR_CHARACTERS)
        when = output.format_timestamp(message.timestamp) or "no time"
        yield f"  {message.id}  {when}  {author}: {_shorten(message.text, MAX_WORDS_CHARACTERS)}{where}"
    for block in _masked(preview).blocks:
        texts = "; ".join(map(output.one_line, block.texts))
        yield f"  {block.id}: {texts}" if texts else f"  {block.id}: the whole block, with its history"
    if len(preview.messages) > MAX_LISTED_MESSAGES:
        yield f"  and {len(preview.messages) - MAX_LISTED_MESSAGES:,} more"


def _messages(memory: Appliance, preview: ErasurePreview, limit: int | None = None) -> Iterator[Message]:
    """The messages of a preview, without the secrets in their texts."""
    masked, keys = memory.masked(), preview.messages[:limit]
    for start in range(0, len(keys), MESSAGES_A_REQUEST):
        yield from masked.overview.messages([f"m{key}" for key in keys[start : start + MESSAGES_A_REQUEST]])


def _masked(preview: ErasurePreview) -> ErasurePreview:
    """A preview as it is shown, without secrets in titles and in the sentences of blocks. The erasure takes the other
    one."""
    if not (preview.blocks or preview.block_echoes or preview.titles):
        return preview
    from appliance.secrets.masking import mask_secrets

    return replace(
        preview,
        blocks=mask_secrets(preview.blocks),
        block_echoes=mask_secrets(preview.block_echoes),
        titles=mask_secrets(preview.titles),
    )


def _shorten(text: str, characters: int) -> str:
    line = output.one_line(text)
    return line if len(line) <= characters else f"{line[: characters - 1].rstrip()}…"


def _print_preview(
    memory: Appliance, preview: ErasurePreview, echoes: Sequence[EchoShape], json: bool, dry_run: bool
) -> None:
    if json:
        from appliance.server.http.erasure_answers import erasure_preview_shape

        shape = erasure_preview_shape(_masked(preview), echoes)
        shape["items"] = [
            {
                "message_id": message.id,
                "timestamp": message.timestamp,
                "author": message.author,
                "role": message.role,
                "text": message.text,
                "found_in": preview.found_elsewhere.get(int(message.id[1:]), ("text",) if preview.found_in else ()),
            }
            for message in _messages(memory, preview)
        ]
        output.print_json({"would_forget" if dry_run else "forgotten": shape})
    elif not preview.is_empty:
        output.print_line(f"would erase {_describe(preview)}")
        for line in _list_titles(preview):
            output.print_line(line)
        for line in _list_messages(memory, preview):
            output.print_line(line)
        _say_places(preview)
        _say_files(preview)
    else:
        output.print_line("nothing to forget")
        _say_places(preview)


def _print_receipt(receipt: Receipt, preview: ErasurePreview) -> None:
    report = receipt.proof
    output.print_fields(
        {
            "receipt": f"{receipt.id} · {output.format_timestamp(receipt.at)}",
            "erased": _describe(preview),
            **({"written by": _describe_authors(preview)} if preview.authors else {}),
            "vectors": f"{receipt.vectors:,} erased",
            "searched": f"{output.plural(report.files, 'file')} ({output.format_size(report.bytes)}) for"
            f" {_describe_coverage(report)}",
            "traces": ", ".join(report.traces) or _describe_absence(report),
            **({"on the server": _describe_points(report)} if _has_server(report) else {}),
        }
    )
    if report.awaits_server:
        output.say("note: Points on the server are not erased yet. They will be when it answers again.")
    for backup in receipt.backups:
        output.say(f"note: The backup {backup} may still contain it. 'appliance backup --keep' removes older ones.")
    for path in report.yours:
        output.say(f"note: Your export {path} still contains it.")
    _say_files(preview)


def _describe_coverage(report: ErasureReport) -> str:
    missing = report.erased_texts - report.texts
    names = f" and {output.plural(report.names, 'name')}" if report.names else ""
    return (
        f"{report.texts:,} of {output.plural(report.erased_texts, 'text')}{names};"
        f" full text for {output.plural(report.words, 'word')}"
        + (f"; files not for {output.plural(missing, 'text')}: too short, or too many" if missing else "")
    )


def _describe_absence(report: ErasureReport) -> str:
    """That no trace was found of what was looked for, which may not be everything."""
    if report.texts >= report.erased_texts:
        return f"none found{_describe_repetition(report)}"
    if report.texts:
        found = f"none found of the {output.plural(report.texts, 'text')} looked for; not known of the others"
        return found + _describe_repetition(report)
    words = "no word in the full text; " if report.words else ""
    return f"{words}in files not looked for: too short to be told from other texts"


def _describe_repetition(report: ErasureReport) -> str:
    """That other messages say the same and were not erased."""
    if not report.repeated:
        return ""
    verb = "stays" if report.repeated == 1 else "stay"
    what = "the text stays" if report.erased_texts == 1 else f"{report.repeated:,} of the texts {verb}"
    ids = f" ({', '.join(report.repeated_by)})" if report.repeated_by else ""
    return f"; {what} where another message says the same, such as another user's{ids}"


def _has_server(report: ErasureReport) -> bool:
    return report.awaits_server or bool(report.collections or report.dropped_collections)


def _describe_points(report: ErasureReport) -> str:
    if report.awaits_server:
        return "not erased yet: the server is away"
    parts = (
        [f"all {output.plural(report.points, 'point')} looked at, none of them erased"] if report.collections else []
    )
    if report.dropped_collections:
        parts.append(f"{output.plural(report.dropped_collections, 'other collection')} dropped")
    return "; ".join(parts)


def _say_places(preview: ErasurePreview) -> None:
    """Say where words were looked for."""
    counts = {place: _counts_at(preview, place) for place in preview.found_in}
    found = [f"{place} ({', '.join(those)})" for place, those in counts.items() if those]
    others = [place for place, those in counts.items() if not those]
    if found:
        elsewhere = f" Not in: {', '.join(others)}." if others else ""
        output.say(f"note: The words stand in: {', '.join(found)}.{elsewhere}")
    elif others:
        output.say(f"note: The words were looked for in {', '.join(others)}, and found nowhere.")


def _counts_at(preview: ErasurePreview, place: str) -> list[str]:
    """The messages that words in a place lead to, and what has the words there without a message; empty if none."""
    messages, alone = preview.found_in[place], preview.found_alone.get(place, 0)
    return [
        *([output.plural(messages, "message")] if messages else []),
        *([output.plural(alone, PLACE_NOUNS.get(place, "conversation"))] if alone else []),
    ]


def _say_authors(preview: ErasurePreview) -> None:
    """Say under which names the messages were written, if an author was named."""
    for note in preview.notes:
        output.say(f"note: {note}.".replace("?.", "?"))
    if preview.authors:
        output.say(f"note: Written under these names, with the number of messages: {_describe_authors(preview)}.")


def _say_source_files(preview: ErasurePreview) -> None:
    """Say what the path of a zip or a folder covers."""
    files = preview.source_files
    if len(files) == 1:
        output.say(f"note: The source covers 1 file: {files[0]}.")
    elif files:
        output.say(f"note: The source covers {len(files):,} files:")
        _say_first(files)


def _describe_authors(preview: ErasurePreview) -> str:
    names = (f"{output.one_line(name) or '(no name)'} ({count:,})" for name, count in preview.authors.items())
    return ", ".join(names)


def _say_echoes(echoes: Sequence[EchoShape], with_echoes: bool) -> None:
    """Name the echoes, a line each, with the beginning of a message."""
    if not echoes:
        return
    count = output.plural(len(echoes), "other item")
    output.say(f"note: With {count}:" if with_echoes else f"note: {count} may still say it; see --with-echoes:")
    for echo in echoes[:MAX_LISTED_ECHOES]:
        words = f": {output.one_line(echo['snippet'])}" if echo["snippet"] else ""
        output.say(f"  {echo['kind']} {echo['id']}{words}")
    if len(echoes) > MAX_LISTED_ECHOES:
        output.say(f"  and {len(echoes) - MAX_LISTED_ECHOES:,} more")


def _say_files(preview: ErasurePreview) -> None:
    files = preview.files
    if len(files) == 1:
        output.say(f"note: The file {files[0]} was not changed, and may still contain it.")
    elif files:
        output.say(f"note: These {len(files):,} files were not changed, and may still contain it:")
        _say_first(files)


def _say_first(files: Sequence[str]) -> None:
    for path in files[:MAX_LISTED_FILES]:
        output.say(f"  {path}")
    if len(files) > MAX_LISTED_FILES:
        output.say(f"  and {len(files) - MAX_LISTED_FILES:,} more; --json lists all")


def _say_unfinished(receipts: Sequence[Receipt]) -> None:
    if unfinished := [receipt.id for receipt in receipts if receipt.state == "open"]:
        output.say(
            f"note: {' and '.join(unfinished)} of earlier is not finished, and files may hold traces:"
            " 'appliance reindex --pending' finishes it."
        )


def _print_receipts(receipts: list[Receipt], json: bool) -> None:
    if json:
        from appliance.server.http.erasure_answers import receipt_shape

        output.print_json({"receipts": [receipt_shape(receipt) for receipt in receipts]})
        return
    rows = [
        (
            item.id,
            output.format_timestamp(item.at),
            f"{item.messages:,}",
            f"{item.sessions:,}",
            item.state,
            _count_traces(item),
        )
        for item in receipts
    ]
    output.print_table(
        ("receipt", "when", "messages", "sessions", "state", "traces"), rows, right=("messages", "sessions")
    )


def _count_traces(receipt: Receipt) -> str:
    return str(len(receipt.proof.traces)) if receipt.proof.searched else "not searched"
