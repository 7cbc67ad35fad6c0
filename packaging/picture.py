"""Draws the README's picture: real commands on the demo data, in a real terminal, as an SVG.

.venv/bin/python packaging/picture.py docs/picture.svg
"""

from __future__ import annotations

import io
import os
import pty
import re
import subprocess
import sys
import tempfile
from pathlib import Path

from rich._export_format import CONSOLE_SVG_FORMAT
from rich.console import Console
from rich.text import Text

import appliance.demo

COLUMNS, LINES = 104, 60
COMMANDS = (
    ("search", "which food is dangerous for Ben", "-k", "2", "--explain"),
    ("context", "which day do I have to hand in my slides?", "--budget", "170"),
)


def run(arguments: tuple[str, ...], home: Path) -> str:
    """What a command prints on a terminal of ``COLUMNS`` columns, colours and all."""
    master, slave = pty.openpty()
    environment = {
        **os.environ,
        "APPLIANCE_HOME": str(home),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "COLUMNS": str(COLUMNS),
        "LINES": str(LINES),
    }
    process = subprocess.Popen(
        [sys.executable, "-m", "appliance", *arguments], stdout=slave, stderr=subprocess.DEVNULL, env=environment
    )
    os.close(slave)
    output = b""
    while True:
        try:
            piece = os.read(master, 65_536)
        except OSError:  # Linux says so at the end
            break
        if not piece:
            break
        output += piece
    if process.wait() != 0:
        raise SystemExit(f"'appliance {' '.join(arguments)}' failed")
    return output.decode().replace("\r\n", "\n")


def shown(arguments: tuple[str, ...]) -> str:
    return "appliance " + " ".join(f'"{part}"' if " " in part else part for part in arguments)


def main(target: Path) -> None:
    console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder) / "home"
        samples = Path(appliance.demo.__file__).parent
        run(("ingest", *(str(samples / name) for name in appliance.demo.FILES)), home)
        for arguments in COMMANDS:
            console.print(f"[bold green]$[/] [bold]{shown(arguments)}[/]", highlight=False)
            console.print(Text.from_ansi(run(arguments, home).rstrip("\n")), "\n", sep="")
    # The fonts that rich's template would fetch from the web are left out: nothing here loads from elsewhere.
    template = re.sub(r"@font-face \{\{.*?\}\}", "", CONSOLE_SVG_FORMAT, flags=re.DOTALL)
    template = template.replace("Fira Code, monospace", "ui-monospace, Menlo, Consolas, DejaVu Sans Mono, monospace")
    svg = console.export_svg(title="appliance", unique_id="appliance", code_format=template)
    target.write_text(svg, encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
