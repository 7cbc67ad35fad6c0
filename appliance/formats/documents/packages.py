"""Office files: zips of XML. Their parts, parsed without anything that reaches beyond the file."""

from __future__ import annotations

import io
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from importlib import import_module
from typing import Any

from appliance.formats.documents import DocumentUnreadable

MAX_UNPACKED_BYTES = 512 << 20
"""Bytes of all parts of a file. The limit of memory stops what is larger, and says less about it."""

# What an office program writes in place of a zip if a document has a password.
_COMPOUND_FILE = b"\xd0\xcf\x11\xe0"


class Package:
    """An office file, by the names of its parts."""

    def __init__(self, data: bytes) -> None:
        """
        Raises:
            DocumentUnreadable: It is no zip, has a password, or unpacks to more than ``MAX_UNPACKED_BYTES``.
        """
        if data.startswith(_COMPOUND_FILE):
            raise DocumentUnreadable("it is protected by a password, or of an older format")
        try:
            self._zip = zipfile.ZipFile(io.BytesIO(data))
        except (zipfile.BadZipFile, ValueError, EOFError) as error:
            raise DocumentUnreadable("it is damaged (no zip)") from error
        self.names: Sequence[str] = self._zip.namelist()
        unpacked = sum(one.file_size for one in self._zip.infolist())
        if unpacked > MAX_UNPACKED_BYTES:
            raise DocumentUnreadable(
                f"it unpacks to {unpacked >> 20:,} MB; more than {MAX_UNPACKED_BYTES >> 20} are not read"
            )

    def read(self, name: str) -> bytes:
        """
        Raises:
            DocumentUnreadable: There is no such part, or it is damaged.
        """
        try:
            return self._zip.read(name)
        except (KeyError, zipfile.BadZipFile, zlib.error, EOFError, NotImplementedError, RuntimeError) as error:
            raise DocumentUnreadable(f"it is damaged ({name})") from error

    def parse(self, name: str) -> Any:
        """Return the root element of a part.

        Raises:
            DocumentUnreadable: There is no such part, or it is damaged.
        """
        etree: Any = import_module("lxml.etree")
        parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False, huge_tree=True)
        try:
            return etree.fromstring(self.read(name), parser)
        except etree.XMLSyntaxError as error:
            raise DocumentUnreadable(f"it is damaged ({name})") from error

    def targets(self, name: str) -> dict[str, tuple[str, str]]:
        """Return what a part refers to within the file (OPC relationships): type and name of the part, by id."""
        folder, _, base = name.rpartition("/")
        relations = f"{folder}/_rels/{base}.rels".lstrip("/")
        if relations not in self.names:
            return {}
        found = {}
        for relation in self.parse(relations):
            if relation.get("TargetMode") != "External" and relation.get("Target"):
                target = relation.get("Target")
                path = target.lstrip("/") if target.startswith("/") else _resolved(folder, target)
                found[relation.get("Id")] = (relation.get("Type", "").rpartition("/")[2], path)
        return found


def _resolved(folder: str, target: str) -> str:
    parts = folder.split("/") if folder else []
    for part in target.split("/"):
        if part == ".." and parts:
            parts.pop()
        elif part not in ("", ".", ".."):
            parts.append(part)
    return "/".join(parts)


def local_name(element: Any) -> str:
    """The name of an element without its namespace; "" for comments and instructions."""
    return element.tag.rpartition("}")[2] if isinstance(element.tag, str) else ""


def walk(element: Any, skipped: frozenset[str] = frozenset()) -> Iterator[tuple[str, Any, str]]:
    """Yield the beginning ("start") and the end ("end") of each element below one, with its local name, in order.
    Elements of the names ``skipped`` are left out with what is in them."""
    stack = [(element, False)]
    while stack:
        current, is_end = stack.pop()
        name = local_name(current)
        if is_end:
            yield "end", current, name
        elif name not in skipped:
            yield "start", current, name
            stack.append((current, True))
            stack.extend((child, False) for child in reversed(current))
