"""Makes the golden files.

    python -m tests.golden.make                 # all but the figures of the fit
    python -m tests.golden.make demo help       # these topics alone
    python -m tests.golden.make fit             # minutes

Topics of LoCoMo need the research data beside the project, and are left alone where it is not there.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

sys.path.append(str(Path(__file__).parents[2] / "packaging"))  # what writes signatures for the documentation, too
from tests.golden import demo, interfaces, locomo, python_api

FILES = Path(__file__).parent / "files"

TOPICS: Mapping[str, Callable[[], Mapping[str, str]]] = {
    "demo": demo.make,
    "help": interfaces.make_help,
    "served": interfaces.make_served,
    "schema": interfaces.make_schema,
    "python": python_api.make,
    "locomo": locomo.make,
    "fit": locomo.make_figures,
}
"""What makes the files of a topic: their names and their texts."""

NEED_DATA = ("locomo", "fit")
LONG = ("fit",)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("topics", nargs="*", metavar="TOPIC", help=", ".join(TOPICS))
    topics = parser.parse_args().topics or [topic for topic in TOPICS if topic not in LONG]
    if unknown := set(topics) - set(TOPICS):
        parser.error(f"no topic {', '.join(sorted(unknown))}; there are {', '.join(TOPICS)}")
    for topic in topics:
        if topic in NEED_DATA and not locomo.is_there():
            print(f"{topic}: left alone, because there is no research data beside the project")
            continue
        for name, text in TOPICS[topic]().items():
            (FILES / name).write_text(text, encoding="utf-8")
            print(f"{topic}: {name}, {len(text):,} characters")


if __name__ == "__main__":
    main()
