"""Filters that are being typed: the unfinished one at the end of the search line, and one typed into the picker."""

from __future__ import annotations

import re

from appliance.requests.typed_filters import FILTER_NAMES
from appliance_tui.screens.picker import PickerOption

_PARTIAL = re.compile(rf'(?:^|\s)({"|".join(FILTER_NAMES)}):("?[^\s"]*)$')


def partial_filter(text: str) -> tuple[str, str] | None:
    """Name and start of the value of an unfinished filter at the end of a text."""
    match = _PARTIAL.search(text)
    return (match[1], match[2].lstrip('"')) if match else None


def without_partial_filter(text: str) -> str:
    """A text without the unfinished filter at its end, which is no words to search for."""
    return _PARTIAL.sub("", text)


def parse_filter(text: str) -> list[PickerOption]:
    """A text that is a filter, as an option: "since 2024-03", "until:2024", "source:slack"."""
    match = re.fullmatch(rf"({'|'.join(FILTER_NAMES)})[:\s]\s*(\S+)", text.strip())
    return [PickerOption(match[1], match[2], "as typed")] if match else []
