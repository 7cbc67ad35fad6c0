"""Excel files (xlsx): each sheet with the values of its cells, in rows."""

from __future__ import annotations

import io
import warnings
from collections.abc import Iterator
from datetime import date, datetime, time
from importlib import import_module
from typing import Any

from appliance.formats.documents import DocumentUnreadable
from appliance.formats.documents.packages import Package
from appliance.formats.documents.passages import joined_rows
from appliance.types.documents import PageText


def read(data: bytes) -> Iterator[PageText]:
    """Yield the sheets of a workbook, long ones in several parts. A formula is read as the value it last had."""
    openpyxl: Any = import_module("openpyxl")

    Package(data)  # refuses what unpacks to too much
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of extensions that hold no text
        try:
            book = openpyxl.load_workbook(io.BytesIO(data), read_only=True, data_only=True, keep_links=False)
        except Exception as error:
            raise DocumentUnreadable(f"it is damaged ({type(error).__name__}: {error})") from error
        for sheet in book.worksheets:
            sheet.reset_dimensions()  # what a file states of its size may be wrong
            yield from joined_rows(sheet.title, (_row(row) for row in sheet.iter_rows(values_only=True)))


def _row(values: tuple[Any, ...]) -> str:
    return "\t".join(map(_cell, values)).rstrip("\t")


def _cell(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, datetime):
        return value.isoformat(" ").removesuffix(" 00:00:00")
    if isinstance(value, date | time):
        return value.isoformat()
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e15:
        return str(int(value))
    return str(value)
