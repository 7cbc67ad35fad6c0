"""Checks a built site: every link leads somewhere, and nothing is loaded from another machine."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urlsplit

_LOADED = {
    ("img", "src"), ("script", "src"), ("link", "href"), ("iframe", "src"), ("source", "src"), ("object", "data"),
    ("image", "href"), ("use", "href"),
}  # fmt: skip
"""What a browser loads by itself. A link of the text is followed only by a person."""

_CSS_URL = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
_WAITS_FOR_NETWORK = ("mermaid", "giscus")
"""Classes of elements for which the theme's script would load a program from the internet."""


class _Page(HTMLParser):
    """The links and anchors of a page."""

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.anchors: set[str] = set()
        self.links: list[tuple[str, str, str]] = []
        self.classes: set[str] = set()

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            if value is None:
                continue
            if name == "id" or (tag == "a" and name == "name"):
                self.anchors.add(value)
            elif name in ("href", "src", "data", "xlink:href"):
                self.links.append((tag, name.removeprefix("xlink:"), value))
            elif name == "class":
                self.classes |= set(value.split())

    def handle_startendtag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attributes)


def problems(site: Path) -> list[str]:
    """What is wrong with a site, a line each: nothing, if it is whole."""
    pages = {}
    for path in sorted(site.rglob("*")):
        if path.suffix in (".html", ".svg"):
            page = pages[path.relative_to(site).as_posix()] = _Page()
            page.feed(path.read_text(encoding="utf-8"))
    found = [problem for name, page in pages.items() for problem in _of_page(site, name, page, pages)]
    for path in sorted(site.rglob("*.css")):
        text = path.read_text(encoding="utf-8")
        for match in _CSS_URL.finditer(text):
            target = match[1] or match[2]
            if not target.startswith(("data:", "#")) and (
                urlsplit(target).scheme or not (path.parent / target).exists()
            ):
                found.append(f"{path.relative_to(site).as_posix()}: loads {target}")
    return found


def _of_page(site: Path, name: str, page: _Page, pages: dict[str, _Page]) -> Iterator[str]:
    for waiting in _WAITS_FOR_NETWORK:
        if waiting in page.classes:
            yield f"{name}: has the class {waiting}, for which the theme loads a program from the internet"
    for tag, attribute, target in page.links:
        parts = urlsplit(target)
        if parts.scheme or target.startswith("//"):
            if (tag, attribute) in _LOADED and parts.scheme != "data":
                yield f"{name}: loads {target}"
            elif parts.scheme not in ("http", "https", "mailto", "data"):
                yield f"{name}: links to {target}"
            continue
        path = posixpath.normpath(posixpath.join(posixpath.dirname(name), unquote(parts.path))) if parts.path else name
        if path.startswith("..") or not (site / path).is_file():
            yield f"{name}: {target} does not exist"
        elif path in pages and not _is_there(unquote(parts.fragment), pages[path]):
            yield f"{name}: {target} has no such place"


def _is_there(place: str, page: _Page) -> bool:
    return not place or place in page.anchors or place.startswith("__")  # as the theme's script names its own
