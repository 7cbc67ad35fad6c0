"""``appliance docs`` and the check of a built site."""

from __future__ import annotations

from pathlib import Path

import pytest
from build_docs import compact
from docs_site import links

from appliance import documentation
from appliance.errors import NotFound

PAGES = ("index.html", "backup.html", "reference/cli.html", "reference/cli/search.html", "reference/cli/backup.html")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A small site."""
    for name in PAGES:
        path = tmp_path / "a site" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text('<h1 id="top">x</h1><a href="https://example.org">out</a>')
    return tmp_path / "a site"


def test_a_page_is_found_by_the_name_of_a_verb_or_its_own(site: Path) -> None:
    assert documentation.find("", site) == site / "index.html"
    assert documentation.find("search", site) == site / "reference/cli/search.html"
    assert documentation.find("Backup.md", site) == site / "reference/cli/backup.html"
    assert documentation.find("search --json", site) == site / "reference/cli/search.html"
    assert documentation.find("cli", site) == site / "reference/cli.html"
    with pytest.raises(NotFound, match="no page 'nonsense'") as missing:
        documentation.find("nonsense", site)
    assert missing.value.hint == "Name a verb, or one of: backup."
    for outside in ("../../etc/passwd", "/etc/passwd", "..", "a\0b"):
        with pytest.raises(NotFound):
            documentation.find(outside, site)


def test_an_installation_without_documentation_says_where_it_is(tmp_path: Path) -> None:
    with pytest.raises(NotFound) as missing:
        documentation.find("", tmp_path)
    assert "build_docs.py" in (missing.value.hint or "")


def test_a_frozen_program_has_its_documentation_beside_it(site: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    program = site.parent / "appliance"
    installed = program / documentation.FOLDER
    installed.parent.mkdir(parents=True)
    site.rename(installed)
    monkeypatch.setattr("sys.executable", str(program / "appliance"))
    monkeypatch.setattr("sys.frozen", True, raising=False)
    assert documentation.find("search") == installed / "reference/cli/search.html"


def test_no_browser_is_opened_where_the_person_would_not_see_it(monkeypatch: pytest.MonkeyPatch, site: Path) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", lambda url: not opened.append(url))
    monkeypatch.setattr("sys.platform", "linux")
    page = site / "index.html"
    assert not documentation.open_in_browser(page, {"DISPLAY": ":0", "SSH_CONNECTION": "a 1 b 2"})
    assert not documentation.open_in_browser(page, {})
    assert not opened
    assert documentation.open_in_browser(page, {"WAYLAND_DISPLAY": "wayland-0"})
    assert opened == [page.as_uri()]
    assert documentation.open_in_browser(page, {"BROWSER": "w3m"})


def test_what_shows_a_page_in_a_terminal(monkeypatch: pytest.MonkeyPatch, site: Path, tmp_path: Path) -> None:
    programs: set[str] = set()
    monkeypatch.setattr("shutil.which", lambda name: name if name in programs else None)
    page = site / "reference/cli/search.html"
    assert documentation.ways_in_terminal(page, tmp_path) == ["appliance help search"]
    programs |= {"w3m", "lynx", "man"}
    manual = tmp_path / "share/man/man1"
    manual.mkdir(parents=True)
    (manual / "appliance-search.1").touch()
    shown = f"'{page}'" if " " in str(page) else str(page)
    assert documentation.ways_in_terminal(page, tmp_path) == [
        f"w3m {shown}", f"man -M {tmp_path}/share/man appliance-search", "appliance help search",
    ]  # fmt: skip
    assert documentation.ways_in_terminal(site / "backup.html", tmp_path)[-1] == "appliance help"


def test_a_browser_that_is_a_snap_may_not_read_a_hidden_folder(site: Path) -> None:
    hidden = site / ".local/index.html"
    assert documentation.may_be_hidden(hidden, snaps=site)
    assert not documentation.may_be_hidden(hidden, snaps=site / "none")
    assert not documentation.may_be_hidden(Path("/opt/share/index.html"), snaps=site)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ('<a href="gone.html">x</a>', "index.html: gone.html does not exist"),
        ('<a href="reference/cli/search.html#no">x</a>', "index.html: reference/cli/search.html#no has no such place"),
        ('<a href="#no">x</a>', "index.html: #no has no such place"),
        ('<a href="../secret">x</a>', "index.html: ../secret does not exist"),
        ('<img src="https://cdn.example/x.png">', "index.html: loads https://cdn.example/x.png"),
        ('<script src="//cdn.example/x.js"></script>', "index.html: loads //cdn.example/x.js"),
        ('<link rel="stylesheet" href="https://fonts.example/x.css">', "index.html: loads https://fonts.example/x.css"),
        ('<pre class="mermaid">x</pre>',
         "index.html: has the class mermaid, for which the theme loads a program from the internet"),
    ],
)  # fmt: skip
def test_a_site_that_is_not_whole_is_refused(site: Path, body: str, problem: str) -> None:
    assert links.problems(site) == []
    (site / "index.html").write_text(body)
    assert links.problems(site) == [problem]


def test_a_stylesheet_loads_nothing_from_elsewhere(site: Path) -> None:
    (site / "x.css").write_text('@import "https://fonts.example/y.css"; a { background: url(data:image/png;base64,x) }')
    assert links.problems(site) == ["x.css: loads https://fonts.example/y.css"]


def test_a_page_loses_its_indents_and_keeps_its_code() -> None:
    page = "<ul>\n\n   <li>a\n   b</li>\n</ul>\n<pre>x\n\n  y</pre>\n\n\n<b>z</b>"
    assert compact(page) == "<ul>\n<li>a\nb</li>\n</ul>\n<pre>x\n\n  y</pre>\n<b>z</b>"
