"""``recover``: the messages of a damaged memory in a new one."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from appliance.cli import options, output
from appliance.cli.backup import Identity, PassphraseFile, passphrase_to_read
from appliance.cli.options import option, path_argument
from appliance.paths import find_home

MAX_PRINTED_LOSSES = 20
"""How many losses are printed; --json has all."""


def recover(
    source: Annotated[
        str, path_argument("SRC", "The damaged memory's folder, its file recall.db, or a damaged backup.")
    ],
    id: Annotated[
        str | None, option("--id", "ID", "Which backup; its beginning is enough. Default: the latest.")
    ] = None,
    passphrase_file: PassphraseFile = None,
    identity: Identity = None,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Save every readable message of a damaged memory, or of a damaged backup, into a new one.

    --home names the new folder, which must not exist or be empty. What is damaged is only read. Messages keep their
    ids; vectors, summaries and facts are made again. What can't be read is named, and the exit code is 1.

    \b
    Examples:
      appliance recover ~/memory --home ~/recovered
      appliance recover /media/old/recall.db --home ~/recovered --json
      appliance recover /media/usb/memory --home ~/recovered --id 20260401
    """  # fmt: skip
    from appliance.engine.recovery import recover
    from appliance.store.backup.encryption import Keys

    keys = Keys(
        passphrase_to_read(source, passphrase_file, identity), (), Path(identity).expanduser() if identity else None
    )
    report = recover(Path(source), find_home(home).root, id, keys=keys)
    if json:
        output.print_json(asdict(report))
    else:
        output.print_line(
            f"{report.home}: {output.plural(report.messages, 'message')} recovered in {report.seconds:.1f} s"
        )
        for part in report.lost[:MAX_PRINTED_LOSSES]:
            output.say(f"{part.where}: {part.reason}")
        if len(report.lost) > MAX_PRINTED_LOSSES:
            output.say(f"and {len(report.lost) - MAX_PRINTED_LOSSES} more; --json names all")
        if report.messages:
            output.say("'appliance reindex --pending' computes the vectors now; a running memory does so by itself.")
    if report.lost:
        raise typer.Exit(1)
