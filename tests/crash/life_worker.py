"""Does one thing with a home, and prints what is acknowledged, a line each: ``python life_worker.py HOME ACTION …``."""

from __future__ import annotations

import json
import sys

from appliance import Appliance
from appliance_models import HashEmbedder


def say(*words: object) -> None:
    print(json.dumps(words), flush=True)


def main(home: str, action: str, *arguments: str) -> None:
    with Appliance.open(home, worker=False, embedder=HashEmbedder()) as memory:
        say("open")
        if action == "add":
            external_id, texts = arguments
            session = memory.sessions.create(external_id=external_id, title=f"About {external_id}")
            for text in json.loads(texts):
                session.add("user", text)
                say("added", text)
        elif action == "ingest":
            memory.ingest(arguments, on_file=lambda path, count: say("file", path, count))
        elif action == "forget":
            receipt = memory.erasure.forget(memory.erasure.preview(*arguments))
            say("forgotten", receipt.id)
        elif action == "delete":
            memory.sessions.resume(*arguments).delete()
            say("forgotten")
        else:
            memory.reindex(vectors=action == "vectors")


if __name__ == "__main__":
    main(*sys.argv[1:])
