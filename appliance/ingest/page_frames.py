"""How the pages of a document pass from the process that reads it to the one that stores them: frames of MessagePack,
each behind its length."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import BinaryIO

import msgspec

from appliance.formats.base import Document
from appliance.ingest import sources
from appliance.ingest.pages import MessagePage
from appliance.ingest.side_files import SideFile, SideFiles

_LENGTH_BYTES = 4


class ReadingPlan(msgspec.Struct, frozen=True):
    """What a process is to read, and how. ``source`` is the file, or the folder or zip in which the document called
    ``name`` is found; ``within`` bounds what its parser may look up; ``format`` is None to detect it; ``digests`` are
    the stored ones of attached files, behind path and size."""

    source: str
    within: str
    name: str
    explicit: bool
    format: str | None
    me: str | None
    drop_secrets: bool
    digests: tuple[tuple[str, int, str], ...] = ()
    day_first: bool | None = None


class FormatFrame(msgspec.Struct, frozen=True, tag="ready"):
    """The document was found, and is of this format."""

    format: str | None


class Page(msgspec.Struct, frozen=True, tag="page"):
    """The next page."""

    page: MessagePage


class FailureFrame(msgspec.Struct, frozen=True, tag="failed"):
    """The document can't be read any further; ``detail`` says where the program failed if that is why."""

    message: str
    where: str | None = None
    hint: str | None = None
    detail: str = ""


class EndFrame(msgspec.Struct, frozen=True, tag="ended"):
    """The document was read to its end, with these side files."""

    side_files: dict[str, SideFile] = {}


Frame = FormatFrame | Page | FailureFrame | EndFrame

_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Frame)


def write(stream: BinaryIO, frame: Frame) -> None:
    """Write a frame and flush it."""
    data = _encoder.encode(frame)
    stream.write(len(data).to_bytes(_LENGTH_BYTES, "big") + data)
    stream.flush()


def read(stream: BinaryIO) -> bytes | None:
    """Return the next frame, still encoded; None if the stream ends before its end."""
    length = stream.read(_LENGTH_BYTES)
    if len(length) < _LENGTH_BYTES:
        return None
    data = stream.read(size := int.from_bytes(length, "big"))
    return data if len(data) == size else None


def decode(data: bytes) -> Frame:
    """Return a frame that ``read`` has returned."""
    frame: Frame = _decoder.decode(data)
    return frame


def find_document(plan: ReadingPlan, side_files: SideFiles) -> Document | None:
    """Return the document of a plan; None if it is gone. ``side_files`` collects what its parser reads with it."""
    for found in sources.expand([plan.source], plan.me, Path(plan.within), side_files):
        if isinstance(found, Document) and found.name == plan.name:
            return replace(found, explicit=plan.explicit).told(plan.day_first)
    return None
