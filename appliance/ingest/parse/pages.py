"""Chats as HTML pages: the elements that are messages, one at a time, as small trees."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from appliance.ingest.parse import jsonstream, markup
from appliance.ingest.parse import text as texts
from appliance.ingest.parse.base import HEAD_BYTES, Document
from appliance.types import Problem

# Browsers give up sooner; below this only abuse is left.
_MAX_DEPTH = 200
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


@dataclass(slots=True)
class Element:
    """An element with what is in it: elements and texts. ``line`` is where it begins, from 1."""

    tag: str
    attributes: dict[str, str]
    line: int
    inside: list[Element | str] = field(default_factory=list)
    whole: bool = False

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def all(self, wanted: Callable[[Element], bool], within: bool = True) -> Iterator[Element]:
        """The elements inside of this one, in their order; without ``within`` not those inside a found one."""
        for inner in self.inside:
            if isinstance(inner, Element):
                found = wanted(inner)
                if found:
                    yield inner
                if within or not found:
                    yield from inner.all(wanted, within)

    def first(self, *classes: str) -> Element | None:
        """The first element inside of this one that has all these classes."""
        return next(self.all(lambda element: set(classes) <= set(element.classes)), None)

    def text(self) -> str:
        """What a person saw of it."""
        return markup.text_of(self._html())

    def _html(self) -> str:
        inside = "".join(
            html.escape(i, quote=False) if isinstance(i, str) else i._html() for i in self.inside
        )
        return f"<{self.tag}>" if self.tag in _VOID else f"<{self.tag}>{inside}</{self.tag}>"


def beginning(document: Document) -> str:
    """The first characters of a document, as far as they can be read."""
    try:
        with texts.utf8(document) as (stream, _):
            return stream.read(HEAD_BYTES).decode("utf-8", "replace")
    except texts.READ_ERRORS:
        return ""


def elements(document: Document, wanted: Callable[[Element], bool]) -> Iterator[Element | Problem]:
    """The outermost elements that are ``wanted`` (by tag and attributes), each as soon as it is complete.

    The last one, and what is open in it, is not ``whole`` if the page is cut off within it."""
    try:
        encoding = texts.encoding_of(document)
    except texts.READ_ERRORS as error:
        yield Problem("", f"can't be read: {jsonstream.explained(error)}")
        return
    reader = _Reader(wanted)
    waiting: list[str] = []
    held = 0
    for line in jsonstream.lines(document, blank=True):
        if isinstance(line, Problem):
            yield line
            continue
        number, data = line
        text, readable = texts.decoded(data, encoding)
        if not readable:
            yield Problem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD")
        waiting.append(text)
        held += len(text)
        if held >= texts.CHUNK:
            reader.give("".join(waiting))
            waiting, held = [], 0
            yield from reader.taken()
    reader.give("".join(waiting), last=True)
    rest = reader.taken()
    yield from rest
    if reader.unended and all(element.whole for element in rest):
        yield Problem(f"line {reader.getpos()[0]}", "the page is cut off")


class _Reader(markup.Tolerant):
    def __init__(self, wanted: Callable[[Element], bool]) -> None:
        super().__init__()
        self._wanted = wanted
        self._open: list[Element] = []
        self._found: list[Element] = []
        self.unended = False

    def give(self, text: str, *, last: bool = False) -> None:
        self.feed(text)
        if last:
            self.close()
            self._found += self._open[:1]

    def taken(self) -> list[Element]:
        found, self._found = self._found, []
        return found

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.unended = self.unended or tag == "html"
        element = self._made(tag, attrs)
        if not self._open and not self._wanted(element):
            return
        if tag in _VOID:
            if self._open:
                self._open[-1].inside.append(element)
            return
        if len(self._open) > _MAX_DEPTH:
            return
        if self._open:
            self._open[-1].inside.append(element)
        self._open.append(element)

    def _made(self, tag: str, attrs: list[tuple[str, str | None]]) -> Element:
        return Element(tag, {name: value or "" for name, value in attrs}, self.getpos()[0])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if self._open:
            self._open[-1].inside.append(self._made(tag, attrs))

    def handle_endtag(self, tag: str) -> None:
        self.unended = self.unended and tag != "html"
        at = next((n for n in range(len(self._open) - 1, -1, -1) if self._open[n].tag == tag), None)
        if at is None:
            return
        self._open[at].whole = True
        if at == 0:
            self._found.append(self._open[0])
        del self._open[at:]

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].inside.append(data)
