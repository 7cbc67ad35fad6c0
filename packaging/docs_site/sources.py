"""The Markdown that the site is built from: the pages of docs/, some of the repository, and the generated ones."""

from __future__ import annotations

import hashlib
import os
import posixpath
import re
import shutil
import sys
import tempfile
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from docs_site import command_pages, error_pages, http_pages, python_pages, setting_pages, tool_pages
from docs_site.markdown import outside_fences

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs"
DIAGRAMS = Path(__file__).parent / "diagrams"

TAKEN_IN = {
    "CHANGELOG.md": "project/changelog.md",
    "CONTRIBUTING.md": "project/contributing.md",
    "SECURITY.md": "project/security.md",
    "clients/typescript/README.md": "reference/typescript.md",
    "packaging/README.md": "project/packaging.md",
    "packaging/model_pack/DIALOGUE_SOURCES.md": "project/model-sources.md",
}
"""Pages of the repository that are not in docs/, and where they stand in the site."""

ALONE = ("README.md", "tutorial.md")
"""Pages that are all of their section: a list of its pages would name only them."""

_LINK = re.compile(r"(!?)\[((?:[^\]\[]|\[[^\]]*\])*)\]\(([^()\s]+)\)")
_GENERATED = re.compile(r"`(reference/[\w-]+)\.html`")
"""A page that only the site has, as docs/ names it."""

_MERMAID = re.compile(r"^```mermaid\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_LIST = re.compile(r"^([-*] |\d+\. |\|)")


class SourceError(Exception):
    """A page can't be taken into the site; the message says which, and what to do."""


def generated() -> dict[str, str]:
    """The reference pages, by their paths. Opens a memory in a folder that is removed again."""
    # The program of this tree, whichever is installed.
    sys.path[:0] = [path for path in (str(ROOT), str(ROOT / "models")) if path not in sys.path]
    from appliance import Appliance
    from appliance_models import HashEmbedder

    kept = {name: value for name, value in os.environ.items() if not name.startswith("APPLIANCE_")}
    with tempfile.TemporaryDirectory() as home:
        removed = {name: os.environ.pop(name) for name in os.environ.keys() - kept.keys()}
        try:
            with Appliance.open(Path(home) / "memory", worker=False, embedder=HashEmbedder(dimension=64)) as memory:
                return {
                    **command_pages.pages(DOCS),
                    **error_pages.pages(),
                    **setting_pages.pages(),
                    **tool_pages.pages(),
                    **http_pages.pages(_openapi(memory)),
                    **python_pages.pages(memory),
                }
        finally:
            os.environ.update(removed)


def _openapi(memory: Any) -> Mapping[str, Any]:
    """The document that a daemon of this memory would give."""
    from appliance.server.access.grants import Service
    from appliance.server.http.app import create_app
    from appliance.settings import ServerSettings

    engine = memory._transport._transport.engine
    document: Mapping[str, Any] = create_app(Service(memory, engine, memory.home, ServerSettings())).openapi()
    return document


def write(folder: Path) -> dict[str, str]:
    """Write all pages into a folder. Returns their titles, by their paths.

    Raises:
        SourceError: A diagram has not been drawn.
    """
    pages = {path.relative_to(DOCS).as_posix(): path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))}
    where = {f"docs/{name}": name for name in pages} | TAKEN_IN
    pages |= {name: (ROOT / origin).read_text(encoding="utf-8") for origin, name in TAKEN_IN.items()}
    origins = {name: origin for origin, name in where.items()}
    pages["decisions/index.md"] = _decisions(pages)
    made = generated()
    for name, text in {**pages, **made}.items():
        if name in origins:
            text = outside_fences(text, partial(_relinked, origin=origins[name], name=name, where=where))
            text = _with_diagrams(text, name)
            text = outside_fences(text, _spaced)
            text = _GENERATED.sub(r"[\1.html](\1.md)", text)
        target = folder / name
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")
    for name in ALONE:
        path = folder / name
        path.write_text("---\nhide: [navigation]\n---\n\n" + path.read_text(encoding="utf-8"), encoding="utf-8")
    for picture in sorted(DOCS.rglob("*.svg")):
        _copy(picture, folder / picture.relative_to(DOCS))
    for picture in sorted(DIAGRAMS.glob("*.svg")):
        _copy(picture, folder / "diagrams" / picture.name)
    return {name: _title(text) for name, text in {**pages, **made}.items()}


def _copy(source: Path, target: Path) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    shutil.copyfile(source, target)


def _title(text: str) -> str:
    return re.sub(r"[`*]", "", text.splitlines()[0].lstrip("# ")).strip()


def _decisions(pages: Mapping[str, str]) -> str:
    rows = [
        f"- [{_title(text)}]({posixpath.basename(name)})"
        for name, text in pages.items()
        if name.startswith("decisions/")
    ]
    return (
        "# Decisions\n\nWhy things are as they are, one page each, in the order in which they were decided. A change of"
        " mind is a new page.\n\n" + "\n".join(rows) + "\n"
    )


def _relinked(text: str, origin: str, name: str, where: Mapping[str, str]) -> str:
    """Links to other pages lead to where these stand in the site; what is not in it is named instead."""

    def replaced(found: re.Match[str]) -> str:
        mark, words, target = found.groups()
        if re.match(r"[a-z]+:|#", target):
            return found[0]
        path, _, anchor = target.partition("#")
        there = posixpath.normpath(posixpath.join(posixpath.dirname(origin), path))
        if there in ("docs/decisions", "docs/formats"):
            there = {"docs/decisions": "decisions/index.md", "docs/formats": "formats.md"}[there]
        elif there in where:
            there = where[there]
        elif there.startswith("docs/") and (ROOT / there).is_file():
            there = there.removeprefix("docs/")
        elif (ROOT / there).exists():
            return words if words.strip("`") == there else f"{words} (`{there}`)"
        else:
            raise SourceError(f"{origin}: {target} does not exist. Mend the link.")
        link = posixpath.relpath(there, posixpath.dirname(name) or ".")
        return f"{mark}[{words}]({link}{'#' + anchor if anchor else ''})"

    return _LINK.sub(replaced, text)


def _with_diagrams(text: str, name: str) -> str:
    """Mermaid's diagrams as the pictures of ``draw_diagrams.py``: its program is larger than the rest of the site."""

    def replaced(found: re.Match[str]) -> str:
        picture = diagram_name(found[1])
        if not (DIAGRAMS / picture).exists():
            raise SourceError(
                f"{name}: a diagram has changed. Draw it with npm and chromium:"
                " python packaging/docs_site/draw_diagrams.py"
            )
        link = posixpath.relpath(f"diagrams/{picture}", posixpath.dirname(name) or ".")
        return f"![Diagram]({link}){{ .diagram }}"

    return _MERMAID.sub(replaced, text)


def diagram_name(source: str) -> str:
    """The name of a diagram's picture, which changes with the diagram."""
    return f"{hashlib.sha256(source.encode()).hexdigest()[:12]}.svg"


def diagrams() -> dict[str, str]:
    """The diagrams of all pages, by the names of their pictures."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(DOCS.rglob("*.md"))]
    return {diagram_name(source): source for text in texts for source in _MERMAID.findall(text)}


def _spaced(text: str) -> str:
    """Python's Markdown begins a list or a table only after an empty line, and wants four spaces within a list; code
    hosts want neither."""
    out: list[str] = []
    for line in text.splitlines(keepends=True):
        before = out[-1].strip() if out else ""
        if _LIST.match(line) and before and not _LIST.match(before) and not _in_list(out):
            out.append("\n")
        out.append(line)
    return "".join(out)


def _in_list(lines: list[str]) -> bool:
    """Whether the last lines go on with an entry of a list."""
    for line in reversed(lines):
        if not line.strip():
            return False
        if re.match(r"^([-*] |\d+\. )", line):
            return True
    return False
