"""The documentation that an installation has: where a page of it lies, and how a browser is opened on it."""

from __future__ import annotations

import os
import shlex
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from appliance.errors import NotFound
from appliance.near_names import did_you_mean

FOLDER = Path("share", "doc", "memory-appliance", "html")
"""Where the site lies below the folder of the installation."""

START = "index.html"

PLACES = ("reference/cli/{}.html", "{}.html", "reference/{}.html", "formats/{}.html", "decisions/{}.html")
"""Where a page may lie that is named by its last part, in this order: a name that a verb and a guide share means the
verb, whose page leads to the guide."""

_SHOWN_BY = ("DISPLAY", "WAYLAND_DISPLAY", "BROWSER")
"""Variables by which Linux shows that there is a browser: a desktop, or one that the person has named."""

TERMINAL_BROWSERS = ("w3m", "elinks", "links", "lynx")

SNAPS = Path("/snap/bin")


def installation() -> Path:
    """The folder of the installation: that of its environment, or of a frozen program."""
    return Path(sys.executable).parent if getattr(sys, "frozen", False) else Path(sys.prefix)


def find(page: str = "", root: Path | None = None) -> Path:
    """The file of a page: the start page without a name; else a verb, or a page by its name.

    Args:
        root: The folder of the site; by default that of this installation.

    Raises:
        NotFound: This installation has no documentation, or the documentation no such page.
    """
    root = installation() / FOLDER if root is None else root
    if not (root / START).is_file():
        raise NotFound(
            "This installation has no documentation of its own.",
            hint="'appliance help VERB' describes a verb. In a clone of the repository, read README.md and docs/, or"
            " build the site: 'python packaging/build_docs.py' says where it is.",
        )
    name = page.strip().removesuffix(".html").removesuffix(".md").strip("/")
    if not name:
        return root / START
    first = name.split()[0]  # "facts list" is on the page of facts
    for place in (name, first, first.lower()):
        for pattern in PLACES:
            found = root / pattern.format(place)
            if ".." not in found.parts and found.is_file():
                return found
    pages = sorted(path.stem for path in root.glob("*.html") if path.name != START)
    raise NotFound(
        f"The documentation has no page '{page}'.",
        hint=f"{did_you_mean(name, pages)}Name a verb, or one of: {', '.join(pages)}.",
    )


def open_in_browser(page: Path, environment: Mapping[str, str] | None = None) -> bool:
    """Open a page. False where the person would not see it, as over SSH, or where there is no browser."""
    environment = os.environ if environment is None else environment
    if environment.get("SSH_CONNECTION") or environment.get("SSH_TTY"):
        return False
    if sys.platform.startswith("linux") and not any(environment.get(name) for name in _SHOWN_BY):
        return False  # webbrowser would start any browser of the terminal that it finds
    import webbrowser

    try:
        return webbrowser.open(page.as_uri())
    except webbrowser.Error:
        return False


def may_be_hidden(page: Path, snaps: Path = SNAPS) -> bool:
    """Whether the browser may refuse a page: one that is a snap reads no hidden folder, such as ~/.local."""
    return snaps.is_dir() and any(part.startswith(".") for part in page.parts)


def ways_in_terminal(page: Path, root: Path | None = None) -> list[str]:
    """Commands that show a page, or what comes nearest to it, in a terminal.

    Args:
        root: The folder of the installation; by default this one.
    """
    root = installation() if root is None else root
    ways = [shlex.join([browser, str(page)]) for browser in TERMINAL_BROWSERS if shutil.which(browser)][:1]
    name = f"appliance-{page.stem}" if page.parent.name == "cli" else "appliance"
    for manual in (root / "share/man", Path("/usr/share/man")):
        if any(manual.glob(f"man1/{name}.1*")) and shutil.which("man"):
            ways.append(shlex.join(["man", "-M", str(manual), name]))
            break
    return [*ways, f"appliance help {page.stem}" if page.parent.name == "cli" else "appliance help"]
