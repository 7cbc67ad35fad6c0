"""``ingest`` and ``add``: import exports, and add single messages."""

from __future__ import annotations

import math
import os
import tempfile
import time
from contextlib import ExitStack
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, cast

import typer

from appliance.cli import import_report, options, output
from appliance.cli.options import argument, flag, option, path_argument
from appliance.errors import ApplianceError, UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Any

    from appliance.client import Appliance
    from appliance.types import IngestReport, Role

DEFAULT_SESSION = "notes"
"""The session of messages that are added without --session."""

EMPTY_HINT = "The memory is empty. 'appliance discover' shows the histories that lie on this machine."
"""Said after an import of nothing into an empty memory."""

MAX_LEFTOVER_SECONDS = 5.0
"""Seconds that an import without news spends on summaries and facts that were left from before it."""

PARTIAL_EXIT_CODE = 1
"""The exit code when an input failed or was read only in part."""


def ingest(
    paths: Annotated[list[str] | None, path_argument("[PATH]…", "Files, folders and zips.")] = None,
    format: Annotated[str | None, option("--format", "F", "Format of the files. Default: detected.")] = None,
    user: options.TargetUser = None,
    dry_run: Annotated[bool, flag("--dry-run", "Show what would be imported; change nothing.")] = False,
    again: Annotated[bool, flag("--again", "Also import messages that were forgotten or deleted.")] = False,
    policy: Annotated[
        str | None,
        option("--policy", "keep|mask|drop", "Secrets: drop never stores them. Default: the setting secrets.policy."),
    ] = None,
    keep: Annotated[
        bool | None,
        typer.Option(
            "--keep-attachments/--no-keep-attachments",
            help="Copy attached files into the memory, or not. Default: the setting attachments.keep.",
            show_default=False,
        ),
    ] = None,
    day_first: Annotated[
        bool | None,
        typer.Option(
            "--day-first/--month-first",
            help="The order in dates like 3/4/24, where a file leaves it open. Default: the usual one of their style.",
            show_default=False,
        ),
    ] = None,
    wait: Annotated[bool, typer.Option("--wait/--no-wait", help="Embed and summarise now, or later.")] = True,
    resume: Annotated[
        bool | None,
        typer.Option(
            "--resume/--no-resume",
            help="Go on with the imports that were broken off, as they were asked for; or give them up.",
            show_default=False,
        ),
    ] = None,
    profile: options.MachineProfile = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Import chat exports into the memory.

    Importing the same export again, or a later one, adds only new messages. Parts that can't be read are reported and
    skipped; the exit code is then 1.

    The formats are native, chatgpt, claude, whatsapp, chat_apps, open_webui, librechat, sharegpt, openai_jsonl,
    google_chat, teams, claude_code, codex, gemini_cli, agents, gemini, aistudio, grok, deepseek, lmstudio, slack,
    telegram, discord, meta, markdown, imessage, signal, sms, kakaotalk, line, skype, hangouts, google_voice,
    mattermost, matrix, rocketchat, snapchat, chat_table, irc, contacts and mail. 'appliance docs formats'
    says what each one reads.

    \b
    Examples:
      appliance ingest ~/Downloads/chatgpt-export.zip
      appliance ingest exports/ --dry-run
      appliance ingest slack-export.zip --keep-attachments
      appliance ingest "WhatsApp Chat with Ana.txt" --user ana --json
      appliance ingest --resume
    """  # fmt: skip
    from appliance.engine.index_service import ALL_STORED

    began = time.perf_counter()
    paths, given = paths or [], {
        "format": format, "user_id": user, "again": again, "secrets": options.check_secret_policy(policy),
        "keep_attachments": keep, "day_first": day_first,
    }  # fmt: skip
    _check_resuming(resume, paths, given)
    if resume is False:
        _give_up(home, json)
        return
    report, stored, summarising = _ingest(paths, given, dry_run, wait, bool(resume), home)
    report = replace(report, seconds=time.perf_counter() - began)  # as long as the person has waited
    if resume and not report.files and not json:
        output.say("No import was broken off.")
        return
    not_there = {path for path in paths if not os.path.lexists(os.path.expanduser(path))}
    missing = [file.path for file in report.files if file.path in not_there]
    is_nothing_there = len(missing) == len(report.files)
    if json:
        from appliance.server.http.responses import ingest_shape

        output.print_json(ingest_shape(report))
    elif not is_nothing_there:
        import_report.say_notes(report.files)
        import_report.print_report(report, dry_run, summarising)
        if stored and report.repeated_conversations and report.total("conversations") > stored["sessions"]:
            output.say(
                "A conversation that is in several files counts once for each:"
                f" the memory has {stored['sessions']:,} in all."
            )
    if not is_nothing_there:
        import_report.say_errors(report.files, missing)
    if any(file.status in ("partial", "failed") for file in report.files):
        _say_incomplete(report, missing, dry_run)
        if resume:
            output.say("'appliance ingest --no-resume' gives up what is not there any more.")
    if report.stopped:
        hint = "Make room on the disk, then ingest again: only new messages are added."
        if report.stopped.startswith(ALL_STORED):
            hint = "Make room on the disk; then 'appliance reindex --pending' makes the rest."
        output.say_error(report.stopped, hint)
    if stored is not None and not report.total("messages") and not stored["messages"]:
        output.say(EMPTY_HINT)
    if not report.complete:
        raise typer.Exit(PARTIAL_EXIT_CODE)


def _say_incomplete(report: IngestReport, missing: list[str], dry_run: bool) -> None:
    if len(missing) == len(report.files):
        verb = "does" if len(missing) == 1 else "do"
        output.say(f"{', '.join(missing)} {verb} not exist; nothing was imported.")
        return
    count = sum(file.status in ("partial", "failed") for file in report.files)
    if not report.total("messages"):
        rest = "Nothing would be imported" if dry_run else "Nothing was imported"
    else:
        rest = "The rest would be imported" if dry_run else "The rest was imported"
    output.say(
        f"{count} of {output.plural(len(report.files), 'file')} failed or could be read only in part. {rest}."
        " Fix the errors and ingest again: only new messages are added."
    )


def _check_resuming(resume: bool | None, paths: list[str], given: Mapping[str, Any]) -> None:
    if resume is None and not paths:
        raise UsageError("No path is given.", hint="Name a file, a folder or a zip; --resume goes on with an import.")
    has_options = given["again"] or any(value is not None for name, value in given.items() if name != "again")
    if resume is not None and (paths or has_options):
        flags = "--resume" if resume else "--no-resume"
        raise UsageError(f"{flags} takes no paths, and no options of an import: they are those that it began with.")


def _give_up(home: str | None, json: bool) -> None:
    """Forget which imports were broken off; what was read of them stays."""
    with options.open_existing(home, "ingest") as memory:
        begun = memory.overview.unfinished_imports()
        for one in begun:
            memory.overview.give_up_import(one.path, user_id=one.user_id, namespace=one.namespace)
    if json:
        output.print_json({"given_up": [one.path for one in begun]})
    elif not begun:
        output.say("No import was broken off.")
    for one in () if json else begun:
        output.print_line(f"{output.display_path(one.path)} is given up. What was read of it stays.")


def _ingest(
    paths: list[str], given: Mapping[str, Any], dry_run: bool, wait: bool, resume: bool, home: str | None
) -> tuple[IngestReport, Mapping[str, int] | None, float]:
    """The report, how much the memory has after it (None after a dry run), and for how many seconds it summarised."""
    from appliance.paths import find_home

    with ExitStack() as stack:
        if dry_run and not find_home(home).database.is_file():
            # A dry run must not create a memory.
            home = stack.enter_context(tempfile.TemporaryDirectory(prefix="appliance-"))
        memory = stack.enter_context((options.open_existing if resume else options.open_or_create)(home, "ingest"))
        on_file, on_embedded = stack.enter_context(output.progress())
        imports: list[tuple[Any, Mapping[str, Any]]] = [(paths, given)]
        if resume:
            imports = [(one.path, one.options) for one in memory.overview.unfinished_imports()]
        reports = []
        for source, arguments in imports:
            reports.append(
                memory.ingest(source, **arguments, dry_run=dry_run, wait=wait, on_file=on_file, on_embedded=on_embedded)
            )
            if reports[-1].stopped:
                break
        report = _together(reports)
        stored = None if dry_run else memory.overview.counts()
        summarising = 0.0
        # Where no daemon does it, no process stays for it. A language model would take minutes to hours, so it waits.
        if wait and not (dry_run or report.stopped or memory.settings.llm.base_url or memory.is_attached_to_daemon):
            has_news = bool(report.total("new") or report.total("updated"))
            summarising = _summarise(memory, math.inf if has_news else MAX_LEFTOVER_SECONDS)
        return report, stored, summarising


def _summarise(memory: Appliance, seconds: float) -> float:
    """Make summaries, facts and what else is due, for so many seconds at most, with progress on a terminal. Returns
    how long it took."""
    began, due = time.perf_counter(), memory.summaries.pending()
    with output.step_progress() as step:

        def should_continue() -> bool:
            step("summarising conversations", max(due - memory.summaries.pending(), 0), due)
            return time.perf_counter() - began < seconds

        memory.run_pending_jobs(should_continue)
    took = time.perf_counter() - began
    if took >= seconds and (left := memory.summaries.pending()):
        wait = "conversation waits for its summary" if left == 1 else "conversations wait for their summaries"
        output.say(f"{left:,} {wait} from before: 'appliance summaries make', the daemon or the screen makes them.")
    return took


def _together(reports: Sequence[IngestReport]) -> IngestReport:
    """The reports of several imports as one."""
    from appliance.types import IngestReport

    if len(reports) == 1:
        return reports[0]
    return IngestReport(
        tuple(file for report in reports for file in report.files), sum(report.chunks for report in reports),
        sum(report.embedded for report in reports), reports[-1].pending if reports else 0,
        sum(report.seconds for report in reports), reports[-1].pending_reason if reports else "",
        reports[-1].stopped if reports else "", sum(report.repeated_conversations for report in reports),
    )  # fmt: skip


def add(
    text: Annotated[str, argument("TEXT|-", "The message; - reads it from stdin.")],
    session: Annotated[
        str, typer.Option("--session", metavar="ID", help="An id, an external id, or the name of a new session.")
    ] = DEFAULT_SESSION,
    role: Annotated[str, typer.Option("--role", metavar="user|assistant|system|tool", help="Role.")] = "user",
    author: Annotated[str | None, option("--author", "NAME", "Who wrote it.")] = None,
    user: options.TargetUser = None,
    pin: Annotated[bool, flag("--pin", "Pin the message.")] = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Add one message.

    \b
    Examples:
      appliance add "My deadline is March 15th" --pin
      appliance add "The blue key opens the cellar" --session house --author Ana
      pbpaste | appliance add - --session clippings
    """
    if not session.strip():
        raise UsageError("--session is empty.", hint="Name a session, or leave --session out.")
    content = options.read_text(text)
    if not content.strip():
        raise UsageError("The message is empty.", hint="Give a text, or - to read it from stdin.")
    with options.open_or_create(home, "add") as memory:
        info = (
            options.own_session(memory, session, user)
            or memory.sessions.create(external_id=session, title=session, user_id=user).info
        )
        target_session = memory.sessions.resume(info.id)
        if session == DEFAULT_SESSION and "independent" not in info.options:
            target_session.configure({"independent": True})
        message = target_session.add(
            cast("Role", role), content, author=author, metadata={"pinned": True} if pin else {}
        )
        info = target_session.info
        waits_for = _embed_added(memory)
    if json:
        output.print_json({"message": message})
    else:
        waiting = "; stored, waiting for its vector" if waits_for else ""
        output.print_line(f"{message.id} added to {info.title or info.external_id} ({info.id}){waiting}")
    if waits_for:
        output.say(f"note: stored, waiting for its vector: {waits_for}" if json else f"note: {waits_for}")


def _embed_added(memory: Appliance) -> str:
    """Embed a message that was just stored. Returns why it waits for its vector; "" if it does not.

    No error of this step is one of the command: the message is stored, and adding it again would store it twice.
    """
    from appliance.engine.index_service import MAX_CATCH_UP_CHUNKS

    try:
        pending = memory.status()["counts"]["pending"]
        if pending > MAX_CATCH_UP_CHUNKS:
            waiting = "1 chunk waits for its vector" if pending == 1 else f"{pending:,} chunks wait for their vectors"
            return f"{waiting}; 'appliance reindex --pending' continues."
        memory.embed_pending()
    except ApplianceError as error:
        return error.with_hint
    except Exception as error:
        return str(error) or type(error).__name__
    return ""
