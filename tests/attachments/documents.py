"""Documents that the tests make: with the libraries of office files, and PDFs by hand."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

from tests.attachments.exports import native

PLAN = ("Beds and paths\nof the garden", "The greenhouse costs 1850 euros", "Order tulip bulbs at Brandl nursery")
"""The pages of the plan that Ben sends."""


def pdf(pages: Sequence[str], trailer: str = "") -> bytes:
    """A PDF with these pages, in ASCII without parentheses; ``trailer`` is added to its trailer."""
    font = 3 + 2 * len(pages)
    kids = " ".join(f"{3 + 2 * number} 0 R" for number in range(len(pages)))
    objects = ["<< /Type /Catalog /Pages 2 0 R >>", f"<< /Type /Pages /Kids [{kids}] /Count {len(pages)} >>"]
    for number, page in enumerate(pages):
        lines = " ".join(f"({line}) '" for line in page.split("\n"))
        stream = f"BT /F1 12 Tf 14 TL 50 750 Td {lines} ET"
        objects.append(
            f"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 600 800] /Contents {4 + 2 * number} 0 R"
            f" /Resources << /Font << /F1 {font} 0 R >> >> >>"
        )
        objects.append(f"<< /Length {len(stream)} >>\nstream\n{stream}\nendstream")
    objects.append("<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
    out, places = bytearray(b"%PDF-1.4\n"), []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n".encode()
    table = "".join(f"{place:010} 00000 n \n" for place in places)
    return (
        bytes(out)
        + (
            f"xref\n0 {len(objects) + 1}\n0000000000 65535 f \n{table}"
            f"trailer << /Size {len(objects) + 1} /Root 1 0 R {trailer} >>\nstartxref\n{len(out)}\n%%EOF\n"
        ).encode()
    )


LOCKED = pdf(
    ["Locked away"],
    "/ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]"
    f" /Encrypt << /Filter /Standard /V 2 /R 3 /Length 128 /P -4 /O <{'ab' * 32}> /U <{'cd' * 32}> >>",
)
"""A PDF with a password."""


def saved(save: Callable[[BinaryIO], Any]) -> bytes:
    """What a library saves."""
    stream = io.BytesIO()
    save(stream)
    return stream.getvalue()


def chat(folder: Path, files: dict[str, bytes], time: str | None = "2026-02-06T10:30:00Z", author: str = "Ben") -> Path:
    """A native export whose messages carry files: a message each, by their numbers from 1, after a first one."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, data in files.items():
        (folder / name).write_bytes(data)
    stamp = {"timestamp": time} if time else {}
    lines: list[dict[str, Any]] = [{"message_id": "0", "author": "Ana", "content": "Send me the files", **stamp}]
    lines += [
        {"message_id": str(number), "author": author, "content": "Here it is", **stamp,
         "metadata": {"attachments": [{"name": name}]}}
        for number, name in enumerate(files, 1)
    ]  # fmt: skip
    lines.append({"message_id": "end", "author": "Ana", "content": "Thank you", **stamp})
    return native(folder / "chat.jsonl", lines)
