"""Why no parser reads a document: what it is instead of a chat export, or what has become of one."""

from __future__ import annotations

import json
import re

from appliance.errors import InputError
from appliance.formats import exported_markdown
from appliance.formats import text as texts
from appliance.formats.base import Document, DocumentHead

UNFINISHED = "an export or a copy was not finished: export or copy it again"
"""What to do with a file that breaks off."""

UNKNOWN_BEGINNING = "not recognised: no known chat export begins with"
"""Why a file is not read that may be an export of a kind which no parser knows; its beginning follows."""

_NO_TEXT = "the file is no text"
_UNPACK = "unpack it, and name the file or folder in it"
_NAME_AN_EXPORT = "a chat export is a text, a zip, a folder or a database: name one of them"
_NAME_THE_CHAT = "a document is read with the message that carries it: name the export of that chat"
_NAME_THE_FORMAT = "name its format with --format; 'appliance ingest --help' lists the formats"

_TEXT_BYTES = 4_096
_QUOTED_CHARACTERS = 40
_CONTROL = re.compile(r"[\x00-\x08\x0e-\x1a\x1c-\x1f]")

_KINDS: tuple[tuple[int, bytes, str, str], ...] = (
    (0, b"\x1f\x8b", "a gzip archive, which is not opened", _UNPACK),
    (0, b"Rar!\x1a\x07", "a RAR archive, which is not opened", _UNPACK),
    (0, b"7z\xbc\xaf\x27\x1c", "a 7-Zip archive, which is not opened", _UNPACK),
    (0, b"\xfd7zXZ\x00", "an xz archive, which is not opened", _UNPACK),
    (0, b"BZh", "a bzip2 archive, which is not opened", _UNPACK),
    (0, b"\x28\xb5\x2f\xfd", "a Zstandard archive, which is not opened", _UNPACK),
    (257, b"ustar", "a tar archive, which is not opened", _UNPACK),
    (0, b"%PDF-", "a PDF document", _NAME_THE_CHAT),
    (0, b"\x89PNG", "a picture (PNG)", _NAME_AN_EXPORT),
    (0, b"\xff\xd8\xff", "a picture (JPEG)", _NAME_AN_EXPORT),
    (0, b"GIF8", "a picture (GIF)", _NAME_AN_EXPORT),
    (0, b"OggS", "a sound (Ogg)", _NAME_AN_EXPORT),
    (0, b"ID3", "a sound (MP3)", _NAME_AN_EXPORT),
    (4, b"ftyp", "a film, a sound or a picture (MPEG-4)", _NAME_AN_EXPORT),
)
"""Kinds of files that people take for exports, by the bytes at an offset, each with what to do."""


def refuse_export_without_ids(document: Document, head: DocumentHead) -> None:
    """Refuse Markdown that this program exported before it wrote ids: all of it would come back as a new chat, also
    what the memory has and what was forgotten.

    Raises: InputError if it is that.
    """
    if exported_markdown.has_no_ids(head.text):
        reason = "not recognised: a Markdown export of this program for reading, without the ids of its messages"
        hint = "import the JSON Lines export of them, or with --format markdown, as a new chat"
        raise InputError(reason, where=document.name, hint=hint)


def recognition_error(
    document: Document, head: DocumentHead, *, has_export_name: bool, has_usual_name: bool
) -> InputError:
    """Say why no parser recognises a document.

    Args:
        has_export_name: Only exports have such a name, so that the file is a damaged one.
        has_usual_name: Exports have such a name, and files of other programs too.
    """
    data = _first_bytes(document)
    must_be_export = document.explicit or has_export_name
    for offset, signature, kind, hint in _KINDS:
        if data.startswith(signature, offset) and (document.explicit or not has_export_name):
            return InputError(f"not recognised: {kind}", where=document.name, hint=hint)
    if must_be_export and not _is_text(data):
        hint = f"{UNFINISHED}, or {_NAME_THE_FORMAT}" if has_usual_name else _NAME_AN_EXPORT
        return InputError(_NO_TEXT, where=document.name, hint=hint)
    if must_be_export and (problem := _cut_off_json(document, head)):
        return InputError(problem, where=document.name, hint=f"{UNFINISHED}, or {_NAME_THE_FORMAT}")
    text = head.text.lstrip()
    excerpt = text[:_QUOTED_CHARACTERS]
    has_letters = bool(excerpt.strip("\ufffd\x00"))
    is_json_name = document.name.lower().endswith((".json", ".jsonl"))
    is_text = has_letters and (not is_json_name or excerpt.startswith(("{", "[")))
    quoted = excerpt if excerpt == text else f"{excerpt[:-1]}…"
    beginning = repr(quoted) if has_letters else "bytes that are not text"
    if not document.explicit and (has_export_name or (has_usual_name and not is_text)):
        reason = f"it has the name of an export, but no known one begins with {beginning}"
        return InputError(reason, where=document.name, hint=UNFINISHED)
    reason = f"{UNKNOWN_BEGINNING} {beginning}"
    return InputError(reason, where=document.name, hint=f"if it is one of them, {_NAME_THE_FORMAT}")


def _first_bytes(document: Document) -> bytes:
    with document.open() as stream:
        return texts.read_some(stream, _TEXT_BYTES)


def _is_text(data: bytes) -> bool:
    """Whether the beginning of a document is text. Zeros between letters may be UTF-16, or anything."""
    encoding, length = texts.encoding_of_start(data[: texts.MARK_BYTES])
    text = data[length:].decode(encoding, "replace")
    if encoding != "utf-8" and not length and 2 * sum(map(str.isascii, text)) < len(text):
        return False
    odd = len(_CONTROL.findall(text))
    return odd * 50 <= len(text)


def _cut_off_json(document: Document, head: DocumentHead) -> str:
    """What is wrong with a document of JSON that has only begun; else empty."""
    text = head.text.strip("\ufeff \t\r\n")
    if head.truncated or not text.startswith(("[", "{")):
        return ""
    try:
        json.loads(text, strict=False)
    except json.JSONDecodeError as error:
        is_cut = error.pos >= len(text) or error.msg.startswith("Unterminated string")
        size = f"{document.size:,} byte{'' if document.size == 1 else 's'}"
        return f"the file is cut off after {size}, too early to tell its format" if is_cut else ""
    except RecursionError:
        pass
    return ""
