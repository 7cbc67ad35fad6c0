"""Runs the tests' Jina API and Qdrant server on loopback, to try the program with them by hand; see CONTRIBUTING.md.

    python -m tests.loopback_servers

It prints settings for a shell and the URL of the Qdrant server. It serves until Ctrl-C, or until its input ends. A line
of input prints how often each was asked. Nothing leaves the machine, and nothing is kept. Beside them it writes a tiny
model that 'appliance models import' takes.
"""

from __future__ import annotations

import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from tests import jina_server, qdrant_server
from tests.tiny_models import encoder_folder

QDRANT_KEY = "loopback"


def main() -> None:
    with (
        tempfile.TemporaryDirectory(prefix="appliance-try-") as folder,
        jina_server.serving() as jina,
        qdrant_server.serving(api_key=QDRANT_KEY) as qdrant,
    ):
        tiny = encoder_folder(Path(folder) / "tiny")
        print(
            f"export JINA_API_KEY={jina_server.KEY}",
            f"export APPLIANCE_JINA_URL={jina.url} APPLIANCE_JINA_TOKENS_A_MINUTE=0",
            f"export APPLIANCE_INDEX_API_KEY={QDRANT_KEY}",
            "# then, for example:",
            "#   appliance reindex --model jina:jina-embeddings-v3/64 --yes",
            f"#   appliance index move {qdrant.url}",
            f"#   appliance models import {tiny}",
            sep="\n",
            flush=True,
        )
        with suppress(KeyboardInterrupt):
            for _ in sys.stdin:
                texts = f"{len(jina.asked)} requests with {len(jina.texts)} texts to the Jina API"
                print(f"{texts}, {len(qdrant.log)} to the Qdrant server", flush=True)


if __name__ == "__main__":
    main()
