"""Chats as HTML pages: the elements that are messages, one at a time, each as a small tree."""

from __future__ import annotations

import html
from collections.abc import Callable, Iterator
from dataclasses import field

from appliance.formats import json_stream, markup
from appliance.formats import text as texts
from appliance.formats.base import HEAD_BYTES, Document
from appliance.lazy_dataclasses import dataclass
from appliance.types import InputProblem

# Browsers give up sooner; below this only abuse is left.
_MAX_DEPTH = 200
_VOID = frozenset("area base br col embed hr img input link meta source track wbr".split())


@dataclass(slots=True)
class HtmlElement:
    """An element with its elements and texts. It begins at ``line``, counted from 1."""

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[HtmlElement | str] = field(default_factory=list)
    is_complete: bool = False

    @property
    def classes(self) -> list[str]:
        return self.attributes.get("class", "").split()

    def find_all(self, predicate: Callable[[HtmlElement], bool], nested: bool = True) -> Iterator[HtmlElement]:
        """The elements inside this one that satisfy ``predicate``; those inside a match only if ``nested``."""
        for inner in self.children:
            if isinstance(inner, HtmlElement):
                matches = predicate(inner)
                if matches:
                    yield inner
                if nested or not matches:
                    yield from inner.find_all(predicate, nested)

    def find_first(self, *classes: str) -> HtmlElement | None:
        """The first element inside this one that has all these classes."""
        return next(self.find_all(lambda element: set(classes) <= set(element.classes)), None)

    def text(self) -> str:
        """The text that a person saw."""
        return markup.text_of(self._html())

    def _html(self) -> str:
        inside = "".join(html.escape(i, quote=False) if isinstance(i, str) else i._html() for i in self.children)
        return f"<{self.tag}>" if self.tag in _VOID else f"<{self.tag}>{inside}</{self.tag}>"


def read_beginning(document: Document) -> str:
    """The first characters of a document; fewer or none where it can't be read."""
    try:
        with texts.utf8(document) as (stream, _):
            return stream.read(HEAD_BYTES).decode("utf-8", "replace")
    except texts.READ_ERRORS:
        return ""


def elements(
    document: Document, predicate: Callable[[HtmlElement], bool], prepare: Callable[[str], str] = str
) -> Iterator[HtmlElement | InputProblem]:
    """The outermost elements that satisfy ``predicate`` (by tag and attributes), each as soon as it is complete.
    ``prepare`` changes the source before it is parsed, a line at a time.

    If the page is cut off within the last element, that one and its open children are not ``is_complete``."""
    try:
        encoding = texts.encoding_of(document)
    except texts.READ_ERRORS as error:
        yield InputProblem("", f"can't be read: {json_stream.error_text(error)}")
        return
    builder = _TreeBuilder(predicate)
    waiting: list[str] = []
    size = 0
    for line in json_stream.lines(document, blank=True):
        if isinstance(line, InputProblem):
            yield line
            continue
        number, data = line
        text, readable = texts.decoded(data, encoding)
        if not readable:
            yield InputProblem(f"line {number}", "bytes that are not UTF-8 were replaced by U+FFFD")
        waiting.append(prepare(text))
        size += len(text)
        if size >= texts.CHUNK_BYTES:
            builder.feed("".join(waiting))
            waiting, size = [], 0
            yield from builder.drain()
    builder.feed("".join(waiting))
    builder.close()
    rest = builder.drain() + builder.unfinished()
    yield from rest
    if builder.is_unterminated and all(element.is_complete for element in rest):
        yield InputProblem(f"line {builder.getpos()[0]}", "the page is cut off")


class _TreeBuilder(markup.TolerantHTMLParser):
    def __init__(self, predicate: Callable[[HtmlElement], bool]) -> None:
        super().__init__()
        self._predicate = predicate
        self._open: list[HtmlElement] = []
        self._complete_elements: list[HtmlElement] = []
        self.is_unterminated = False

    def drain(self) -> list[HtmlElement]:
        complete, self._complete_elements = self._complete_elements, []
        return complete

    def unfinished(self) -> list[HtmlElement]:
        """The outermost element that is still open, if there is one."""
        return self._open[:1]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.is_unterminated = self.is_unterminated or tag == "html"
        element = self._make_element(tag, attrs)
        if not self._open and not self._predicate(element):
            return
        if tag not in _VOID and len(self._open) > _MAX_DEPTH:
            return
        if self._open:
            self._open[-1].children.append(element)
        if tag not in _VOID:
            self._open.append(element)

    def _make_element(self, tag: str, attrs: list[tuple[str, str | None]]) -> HtmlElement:
        return HtmlElement(tag, {name: value or "" for name, value in attrs}, self.getpos()[0])

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = self._make_element(tag, attrs)
        if self._open:
            self._open[-1].children.append(element)
        elif self._predicate(element):
            element.is_complete = True
            self._complete_elements.append(element)

    def handle_endtag(self, tag: str) -> None:
        self.is_unterminated = self.is_unterminated and tag != "html"
        at = next((n for n in range(len(self._open) - 1, -1, -1) if self._open[n].tag == tag), None)
        if at is None:
            return
        self._open[at].is_complete = True
        if at == 0:
            self._complete_elements.append(self._open[0])
        del self._open[at:]

    def handle_data(self, data: str) -> None:
        if self._open:
            self._open[-1].children.append(data)
