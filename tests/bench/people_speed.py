"""How long people take: storing messages with and without many authors, deriving, listing and filtering.

    python -m tests.bench.people_speed [--messages 100000]

prints JSON, in seconds of processor time.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from pathlib import Path

from appliance import Appliance
from appliance_models import HashEmbedder
from tests.engines import engine_of

AUTHORS = 400
MESSAGES_A_SESSION = 40


def write_mail(path: Path, messages: int) -> None:
    """A mailbox of threads among 400 people."""
    with path.open("w", encoding="utf-8") as out:
        for number in range(messages):
            thread, author = divmod(number, MESSAGES_A_SESSION)
            who = (thread * 7 + author % 5) % AUTHORS
            minute, hour = number % 60, number // 60 % 24
            references = f"References: <t{thread}@x.example>\n" if author else ""
            mail = f"t{thread}" if not author else f"m{number}"
            out.write(
                f"From p{who}@x.example Mon Mar  3 {hour:02}:{minute:02}:00 2025\n"
                f"Delivered-To: me@x.example\nFrom: Person Number{who} <p{who}@x.example>\nTo: me@x.example\n"
                f"Subject: Thread {thread}\nDate: Mon, 03 Mar 2025 {hour:02}:{minute:02}:00 +0000\n{references}"
                f"Message-ID: <{mail}@x.example>\n\nThe report {number} is about the garden and the boiler.\n\n"
            )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--messages", type=int, default=100_000)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as place:
        export = Path(place, "mail.mbox")
        write_mail(export, arguments.messages)
        with Appliance.open(Path(place, "home"), worker=False, embedder=HashEmbedder()) as memory:
            began = time.process_time()
            memory.ingest(export, wait=False)
            ingest = time.process_time() - began
            engine = engine_of(memory)
            with engine._database.write() as tx:
                tx.execute("INSERT OR IGNORE INTO people_stale VALUES (?, '')", (engine.settings.user,))
            derive, _ = spent(engine.people.refresh)
            listing, found = spent(memory.people.list)
            shown, _ = spent(lambda: memory.people.get(found[0].id))
            search, _ = spent(lambda: memory.search("boiler", authors=[found[0].id], mode="lexical", limit=5))
            plain, _ = spent(lambda: memory.search("boiler", mode="lexical", limit=5))
    print(
        json.dumps(
            {"messages": arguments.messages, "people": len(found), "ingest": round(ingest, 2), "derive": derive,
             "list": listing, "show": shown, "search_by_author": search, "search": plain}
        )
    )  # fmt: skip


def spent(work):  # type: ignore[no-untyped-def]
    began = time.process_time()
    result = work()
    return round(time.process_time() - began, 4), result


if __name__ == "__main__":
    main()
