"""``status``, ``verify`` and ``reindex``: check the memory, and rebuild what is derived from it."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Annotated, Any

import typer

from appliance.cli import options, output
from appliance.cli.options import flag, option
from appliance.cli.sending import confirm_sending
from appliance.errors import StoreError, UsageError

MAX_REPORTED_TROUBLES = 10
"""How many unreadable files ``status`` names."""


VERIFIED = {
    "sessions": "conversations",
    "messages": "in the database, each as it was stored",
    "revisions": "earlier forms of messages that were edited",
    "messages without a digest yet": "of an earlier version; whether they changed can't be told yet",
    "variants": "messages that repeat an earlier one; they are among the messages",
    "archived": "messages whose text is in the archive; they are among the messages",
    "chunks": "parts of messages: one of a message that fits into the model, more of a longer one",
    "chunked_otherwise": "messages split under other settings of chunk.tokens: 'appliance reindex' splits them again",
    "characters": "of all messages; each lies in a chunk",
    "summaries": "each quotes messages as they are",
    "summary_chunks": "parts of summaries",
    "kept_attachments": "copies of attached files, each as it was stored",
    "vectors": "in the vector file: as many as texts + earlier_texts once nothing is pending",
    "texts": "different texts of chunks and summary_chunks: equal ones share a vector",
    "earlier_texts": "that still have a vector: of messages that were edited or deleted, and of earlier summaries",
    "token_vectors": "texts with vectors of single tokens; those that lack are computed in the background",
    "points": "in the index: as many as chunks + summary_chunks - archived_chunks once nothing is pending",
    "pending": "chunks that wait to be put into the index, or dropped from it",
    "archived_chunks": "chunks of archived messages, which the archive index has in place of the index",
    "kept_vectors": "of the generations that are kept for 'appliance reindex --rollback'",
}
"""What each number that ``verify`` prints counts, and what it should equal."""


def status(home: options.Home = None, json: options.Json = False) -> None:
    """Show counts, model, disk use and health.

    \b
    Examples:
      appliance status
      appliance status --json | jq .counts
    """
    with options.open_existing(home, "status") as memory:
        facts = memory.status()
        root = output.display_path(memory.home.root)
    from appliance.server.http.responses import status_shape

    shape = status_shape(facts, root)
    if json:
        output.print_json(shape)
        return
    model = shape["model"]
    made = f", {model['dimension']} dimensions, generation {model['generation']}" if model["generation"] else ""
    used = output.format_size(sum(shape["disk_bytes"].values()))
    troubles = shape["files"]["troubles"]
    disk = f"{used}: " + ", ".join(
        f"{name} {output.format_size(number)}"
        for name, number in shape["disk_bytes"].items()
        if number or name != "attachments"
    )
    output.print_fields(
        {
            "health": shape["troubles"] or shape["health"] + _unchecked_text(shape["unchecked_tables"]),
            "home": root,
            **_owner_row(shape),
            **_count_rows(shape["counts"]),
            **dict(_chunking_rows(shape)),
            "summaries": "; ".join([f"{shape['counts']['summaries']:,}", *_summaries_rows(shape["summaries"])]),
            "facts": "; ".join([f"{shape['counts']['facts']:,}", *_facts_rows(shape["facts"])]),
            **dict(_recall_rows(shape["recall"])),
            "model": model["name"] + made,
            **dict(_generation_rows(shape)),
            **({"index": shape["index"]["place"]} if shape["index"] and shape["index"]["collection"] else {}),
            "disk": disk,
            "size of files": output.format_size(sum(shape["apparent_bytes"].values()))
            + ", space reserved in them included",
            "backup": _backup_text(shape["backup"]),
            "network": _network_text(shape),
            "profile": _profile_text(shape["profile"]),
            **({"power": text} if (text := power_text(shape["power"])) else {}),
            **dict(_process_rows(shape)),
            **dict(_settings_rows(shape)),
            **({"watched files": watched} if (watched := _files_text(shape["files"])) else {}),
            **({"not read completely": output.plural(len(troubles), "file")} if troubles else {}),
        }
    )
    for trouble in [one for one in troubles if one["is_there"]][:MAX_REPORTED_TROUBLES]:
        output.print_line(f"  {trouble['path']}: {trouble['reason']}")
    if gone := sum(not one["is_there"] for one in troubles):
        lost = (
            "1 file that was not read completely is"
            if gone == 1
            else f"{gone:,} files that were not read completely are"
        )
        output.print_line(f"  {lost} not there any more: 'appliance sources problems', or 'sources dismiss --gone'")
    for begun in shape["files"]["unfinished"][:MAX_REPORTED_TROUBLES]:
        output.print_line(f"  {begun['path']}: the import was broken off; 'ingest --resume' reads the rest")


def _unchecked_text(tables: Sequence[str]) -> str:
    """What the health says nothing of."""
    if not tables:
        return ""
    return f"; not checked for damage, which takes longer: {', '.join(tables)} ('appliance verify' does)"


NAMED_COUNTS = {"variants": "repeated"}
"""What ``status`` calls a count whose name in JSON says little to a person: messages that repeat an earlier one."""


def _count_rows(counts: dict[str, int]) -> dict[str, str]:
    """The counts; those of pages and of copies stand beside what they are of."""
    rows = {
        NAMED_COUNTS.get(name, name): f"{count:,}"
        for name, count in counts.items()
        if name not in ("document_pages", "kept_attachments", "hidden_sessions")
    }
    if kept := counts["kept_attachments"]:
        rows["attachments"] += f"; {kept:,} {'copy' if kept == 1 else 'copies'}"
    if hidden := counts["hidden_sessions"]:
        rows["sessions"] += (
            f"; {hidden:,} of them of tools and systems alone, which 'appliance sessions --all' lists too"
        )
    if pages := counts["document_pages"]:
        rows["documents"] += f"; {output.plural(pages, 'page')}, which are among the messages"
    return rows


def _backup_text(backup: dict[str, Any] | None) -> str:
    """Where the latest backup is, and from when; or that it is not there."""
    if backup is None:
        return "none; 'appliance backup FOLDER' makes one"
    if backup["is_there"]:
        return _named_backup(backup)
    lost = f"that of {_named_backup(backup)} is not there: it was removed, or its disk is not connected"
    if backup["other"]:
        return f"{_named_backup(backup['other'])}; {lost}"
    return f"none can be found; {lost}. 'appliance backup FOLDER' makes a new one"


def _named_backup(backup: dict[str, Any]) -> str:
    return f"{output.format_timestamp(backup['at'])} in {output.display_path(backup['path'])}"


def _profile_text(profile: dict[str, Any]) -> str:
    """The machine profile, and what it would store otherwise."""
    chosen = ", by this machine" if profile["setting"] == "auto" else ""
    stored, new = profile["vectors"], profile["new_vectors"]
    differs = stored is not None and stored != new
    return f"{profile['name']}{chosen}" + (
        f"; the vectors are stored as {stored} and stay so, those of a new generation will be {new}" if differs else ""
    )


def power_text(power: dict[str, Any]) -> str:
    """That heavy work waits for mains power; empty if the machine has it."""
    if not power["on_battery"]:
        return ""
    charge = "" if power["percent"] is None else f", {power['percent']} %"
    waits = "; embedding, summaries and archiving wait for mains power" if power["paused"] else ""
    return f"on battery{charge}{waits}"


def _network_text(shape: dict[str, Any]) -> str:
    """Which parts use the network, which ask a server on this machine, and how many tokens an embedding API was
    sent."""
    beyond, here = (
        "; ".join(f"{use['part']} ({use['address']})" for use in shape[name]) for name in ("network", "loopback")
    )
    parts = [beyond or ("none beyond this machine" if here else "none")]
    if here:
        parts.append(f"on this machine: {here}")
    if (api := shape["api"]) is not None:
        cap = f" of at most {api['token_cap']:,}" if api["token_cap"] else ""
        parts.append(f"{api['tokens']:,}{cap} tokens sent to the Jina API")
    return "; ".join(parts)


def _settings_rows(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Settings that the owner of the memory does not follow."""
    if changed := shape["settings_changed"]:
        who = "the daemon" if shape["daemon"] else "the program that has the memory open"
        yield "settings", f"changed since {who} began: {', '.join(changed)}. Restart it to use them."


def _owner_row(shape: dict[str, Any]) -> dict[str, str]:
    """Who owns the memory, if it is another process."""
    if (daemon := shape["daemon"]) is not None:
        return {"daemon": f"{daemon['url']}, process {daemon['pid']}"}
    owner = shape["owner"]
    return {"owner": f"{owner['purpose']}, process {owner['pid']}"} if owner and owner["pid"] != os.getpid() else {}


def _chunking_rows(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    if found := shape["chunked_otherwise"]:
        number = ("" if found["is_complete"] else "at least ") + output.plural(found["messages"], "message")
        yield (
            "chunked before",
            f"{number} under other settings of chunk.tokens or chunk.overlap: '{found['command']}' splits them again",
        )


def _generation_rows(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The generations that do not serve."""
    for one in shape["generations"]:
        size = output.format_size(one["disk_bytes"])
        if one["state"] == "kept":
            yield f"generation {one['id']}", f"kept: {_describe_generation(one)}"
        elif one["state"] == "building":
            yield (
                f"generation {one['id']}",
                f"{one['model']}, being built, {one['pending']:,} of {one['chunks']:,} chunks left, {size}",
            )


def _describe_generation(one: dict[str, Any]) -> str:
    """Model, dimension, messages, bytes and date of a kept generation."""
    parts = (
        one["model"],
        f"{one['dimension']:,} dimensions",
        output.plural(one["messages"], "message"),
        output.format_size(one["disk_bytes"]),
        f"complete until {output.format_timestamp(one['complete_at'])}",
    )
    return ", ".join(parts)


def _process_rows(shape: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """The daemon's own measurements; a process started for this command has none."""
    for name, percentiles in shape["latency"].items():
        yield (
            f"{name} time",
            f"{percentiles['p50']:,} ms, p95 {percentiles['p95']:,} ms, p99 {percentiles['p99']:,} ms",
        )
    if shape["latency"] and shape["memory"]:
        private_bytes, files = (output.format_size(shape["memory"][kind]) for kind in ("anonymous", "files"))
        yield "memory", f"{private_bytes} private, {files} mapped from files"


def _facts_rows(facts: dict[str, Any]) -> Iterator[str]:
    if due := facts["due"]:
        yield f"{output.plural(due, 'message')} not read yet"
    if facts["trouble"]:
        yield f"{facts['model']} does not answer: {facts['trouble']}"


def _summaries_rows(summaries: dict[str, Any]) -> Iterator[str]:
    if due := summaries["due"]:
        yield f"{output.plural(due, 'session')} due ('appliance summaries make')"
    if summaries["fallback"]:
        yield f"made without {summaries['model']}: {summaries['fallback']}"


def _recall_rows(recall: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """How many memories were recalled, and what they were worth."""
    worth = ", ".join(f"{kind} {count:,}" for kind, count in recall["feedback"].items() if count)
    times = f"{output.plural(recall['messages'], 'message')}, {output.plural(recall['times'], 'time')}"
    if recall["times"] or worth:
        shares = [f"{name} {recall[name]:.0%}" for name in ("usefulness", "consistency") if recall[name] is not None]
        recent = f"{', '.join(shares)} in {recall['days']} days" if shares else ""
        yield "recalled", "; ".join(filter(None, [times, worth, recent]))


def _files_text(files: dict[str, Any]) -> str:
    counted = {state: count for state, count in files.items() if isinstance(count, int) and count}
    return ", ".join(f"{count:,} {state}" for state, count in counted.items())


def verify(
    deep: Annotated[bool, flag("--deep", "Also count the tokens of each chunk; takes minutes.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Check that the memory is complete and consistent; changes nothing.

    Every message must be as it was stored: its words, author, times and metadata. Every character must lie in a
    chunk, and chunks, vectors, index and full text must agree. The exit code is 3 if there is a problem. Beside each
    number stands what it counts, and what it should equal. --deep also checks that no chunk is longer than the model
    can read. --json adds the counts of each source.

    \b
    Examples:
      appliance verify
      appliance verify --json | jq .sources
    """  # fmt: skip
    started = time.perf_counter()
    with options.open_existing(home, "verify") as memory:
        findings = memory.verify(deep=deep)
    seconds = time.perf_counter() - started
    if json:
        output.print_json(
            {
                "ok": not findings.problems,
                "checked": findings.checked,
                "sources": [{"path": path, **asdict(book)} for path, book in findings.sources.items()],
                "problems": [{"where": p.where, "message": p.message} for p in findings.problems],
                "seconds": seconds,
            }
        )
    else:
        rows = [(name, f"{count:,}", VERIFIED.get(name, "")) for name, count in findings.checked.items()]
        output.print_columns(rows, right=(1,))
        pending = findings.checked.get("pending", 0)
        waiting = f"; {output.plural(pending, 'chunk')} still {'waits' if pending == 1 else 'wait'} for the index"
        output.print_columns(
            [["problem", problem.where, problem.message] for problem in findings.problems]
            or [[f"no problems{waiting if pending else ''}"]]
        )
    if findings.problems:
        output.say(f"{output.plural(len(findings.problems), 'problem')} found in {seconds:.1f} s")
        raise typer.Exit(StoreError.exit_code)
    output.say(f"Checked in {seconds:.1f} s.")


def reindex(
    model: Annotated[
        str | None,
        option(
            "--model",
            "NAME",
            "Change to this embedding model. The old vectors serve until it is done, and are kept.",
            callback=options.refuse_empty,
        ),
    ] = None,
    vectors: Annotated[bool, flag("--vectors", "Compute all vectors again with the same model.")] = False,
    tokens: Annotated[
        bool, flag("--tokens", "Compute the vectors of single tokens again, which the ranking compares.")
    ] = False,
    pending: Annotated[
        bool, flag("--pending", "Embed the chunks that have no vector yet, and finish an interrupted forget.")
    ] = False,
    rollback: Annotated[bool, flag("--rollback", "Go back to the vectors that served before the last change.")] = False,
    drop_old: Annotated[
        bool, flag("--drop-old", "Remove the vectors that a change of the model has kept, or has begun.")
    ] = False,
    generation: Annotated[
        int | None,
        option(
            "--generation", "N", "With --rollback or --drop-old: only this generation, as 'status' lists it.", min=1
        ),
    ] = None,
    yes: Annotated[bool, flag("--yes", "Do not ask before texts are sent to an embedding API.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Rebuild derived state: full text, index, vectors.

    By default it rebuilds full text and index from the stored messages and vectors, and splits messages again that were
    split under other settings of chunk.tokens. After an interruption the memory
    still works; the same command goes on, and --pending embeds what waits.

    \b
    Examples:
      appliance reindex
      appliance reindex --pending
      appliance reindex --model bge-small-en
      appliance reindex --rollback
      appliance reindex --rollback --generation 1
      appliance reindex --model jina:jina-embeddings-v3
    """  # fmt: skip
    _check_reindex_options(
        {
            "--model": model is not None, "--vectors": vectors, "--tokens": tokens, "--pending": pending,
            "--rollback": rollback, "--drop-old": drop_old,
        },
        generation,
    )  # fmt: skip
    from appliance import config

    started = time.perf_counter()
    with options.open_existing(home, "reindex") as memory:
        before = memory.status()["generations"]
        if model is not None or vectors or rollback:
            confirm_sending(memory.forecast_reindex(model, rollback=rollback, generation=generation), yes)
        with output.progress() as (_, on_embedded):
            if pending:
                done = memory.embed_pending(on_embedded)
            else:
                done = memory.reindex(
                    model=model,
                    vectors=vectors,
                    tokens=tokens,
                    rollback=rollback,
                    drop_old=drop_old,
                    generation=generation,
                    progress=on_embedded,
                )
        current_status = memory.status()
        # Those of an owner that was there before may be older than the file.
        settings = config.load(memory.home).model
        model, configured = model and settings.full_name(model), settings.full_name()
    seconds = time.perf_counter() - started
    used, waiting = current_status["model"], current_status["counts"]["pending"]
    kept = [one for one in current_status["generations"] if one["state"] == "kept"]
    present = {one["id"] for one in current_status["generations"]}
    dropped = [one for one in before if one["id"] not in present]
    if json:
        shape = {"chunks": 0 if drop_old else done, "pending": waiting, "model": used, "seconds": seconds}
        output.print_json({**shape, "kept": kept, "dropped": dropped})
        return
    if drop_old:
        _print_dropped(dropped)
    elif rollback:
        output.print_line(
            f"Generation {used['generation']} ({used['name']}) serves again; {output.plural(done, 'chunk')} added in"
            f" {seconds:.1f} s, {waiting:,} pending"
        )
    else:
        output.print_line(
            f"{output.plural(done, 'chunk')} indexed with {used['name']} in {seconds:.1f} s, {waiting:,} pending"
        )
    if model is not None or rollback:
        _say_kept(kept)
    if model is not None and model != configured:
        output.say(
            f"note: The settings still name {configured}. 'appliance models use {model}' makes {model} the configured"
            " model."
        )


def _check_reindex_options(given: Mapping[str, bool], generation: int | None) -> None:
    """
    Raises:
        UsageError: More than one of the options that exclude each other is given, or --generation without its own.
    """
    if sum(given.values()) > 1:
        names = " and ".join(name for name, is_given in given.items() if is_given)
        raise UsageError(f"{names} exclude each other.", hint="Give one of them at a time.")
    if generation is not None and not (given["--rollback"] or given["--drop-old"]):
        raise UsageError(
            "--generation needs --rollback or --drop-old.", hint="'appliance status' lists the generations."
        )


def _say_kept(kept: Sequence[dict[str, Any]]) -> None:
    """Name the generations that were kept, and how to go back to one."""
    which = " --generation N" if len(kept) > 1 else ""
    for one in kept:
        output.say(f"Generation {one['id']} ({_describe_generation(one)}) is kept.")
    if kept:
        output.say(f"'appliance reindex --rollback{which}' goes back to it, '--drop-old{which}' removes it.")


def _print_dropped(dropped: Sequence[dict[str, Any]]) -> None:
    if not dropped:
        output.print_line("No vectors are kept besides those that serve.")
    for one in dropped:
        output.print_line(
            f"removed generation {one['id']} ({one['model']}), {output.format_size(one['disk_bytes'])} of files"
        )
