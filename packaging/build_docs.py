"""Builds the documentation as a site: a folder of HTML that a browser opens from the disk, without a network.

    python packaging/build_docs.py [FOLDER]                      # by default build/docs/html; checks it too
    python packaging/build_docs.py --browser chromium            # and searches in it, from the disk, without a network

Run it in an environment that has the program. The site's own tools (mkdocs-material, pinned in
``packaging/docs_site/constraints.txt``) are installed into build/docs/tools at the first time. Two builds of one commit
are equal byte for byte.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

from docs_site import links, sources
from docs_site.navigation import NavigationError, navigation

ROOT = Path(__file__).resolve().parents[1]
PARTS = ROOT / "packaging/docs_site"
SITE = ROOT / "build/docs/html"
TOOLS = ROOT / "build/docs/tools"
CONSTRAINTS = PARTS / "constraints.txt"

UNUSED = (
    "**/*.map",
    "assets/javascripts/lunr",
    "sitemap.xml",
    "sitemap.xml.gz",
    "404.html",
    "assets/images/favicon.png",
    "search/search_index.json",
)
"""What mkdocs writes for servers, for debuggers and for the search in other languages. The search from a file has its
index as a script."""

UNUSED_ICONS = tuple(f"material/templates/.icons/{name}/" for name in ("fontawesome", "octicons", "simple"))
"""Thousands of small files, which take longer to unpack than the site to build."""

RUN = "import sys; sys.path.insert(0, sys.argv.pop(1)); from mkdocs.__main__ import cli; cli(prog_name='mkdocs')"
"""Runs mkdocs from a folder, with nothing else than the standard library beside it."""

_VERBATIM = re.compile(r"(<(?:pre|script|style|textarea)\b.*?</(?:pre|script|style|textarea)>)", re.DOTALL)
"""Where line breaks mean something."""

SEARCHED, FOUND = "receipt", "reference/cli/forget"
"""A word, and the beginning of a page that the site's own search is to find by it."""


class BuildError(Exception):
    """The site can't be built, or is not whole; the message says why."""


def build(into: Path) -> None:
    """Build the site into a folder, which is replaced, and check it.

    Raises:
        BuildError: A page or a link is wrong.
    """
    tools = _tools()
    with tempfile.TemporaryDirectory() as text:
        folder = Path(text)
        try:
            titles = sources.write(folder / "pages")
            placed = navigation(titles)
        except (sources.SourceError, NavigationError) as error:
            raise BuildError(str(error)) from error
        shutil.copytree(PARTS / "assets", folder / "pages/assets")
        (folder / "mkdocs.yml").write_text(_settings(folder, placed), encoding="utf-8")
        command = [
            sys.executable,
            "-I",
            "-S",
            "-c",
            RUN,
            str(tools),
            "build",
            "--strict",
            "-f",
            str(folder / "mkdocs.yml"),
        ]
        environment = {**os.environ, "PYTHONHASHSEED": "0", "SOURCE_DATE_EPOCH": "315532800", "TZ": "UTC"}
        ended = subprocess.run(command, env=environment, capture_output=True, text=True, cwd=folder)
        if ended.returncode != 0:
            told = [line for line in (ended.stdout + ended.stderr).splitlines() if not line.startswith("INFO")]
            raise BuildError("\n".join(told))
        site = folder / "site"
        for pattern in UNUSED:
            for unused in sorted(site.glob(pattern)):
                shutil.rmtree(unused) if unused.is_dir() else unused.unlink()
        for path in site.rglob("*"):
            if path.suffix in (".js", ".css"):
                _without_source_map(path)
            elif path.suffix == ".html":
                path.write_text(compact(path.read_text(encoding="utf-8")), encoding="utf-8")
        if wrong := links.problems(site):
            raise BuildError("\n".join(wrong))
        shutil.rmtree(into, ignore_errors=True)
        into.parent.mkdir(parents=True, exist_ok=True)
        shutil.copytree(site, into)


def built_site() -> Path:
    """Build the site in its usual place, for what brings it. Returns its folder."""
    build(SITE)
    return SITE


def _settings(folder: Path, placed: object) -> str:
    text = (PARTS / "site.yml").read_text(encoding="utf-8")
    more = {"docs_dir": str(folder / "pages"), "site_dir": str(folder / "site"), "nav": placed}
    return text + "".join(f"{name}: {json.dumps(value, ensure_ascii=False)}\n" for name, value in more.items())


def compact(page: str) -> str:
    """A page without the indents and empty lines of the theme, which are a quarter of it."""
    parts = _VERBATIM.split(page)
    parts[::2] = [re.sub(r"\s*\n\s*", "\n", part) for part in parts[::2]]
    return "".join(parts)


def _without_source_map(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    path.write_text("".join(line for line in lines if "sourceMappingURL=" not in line), encoding="utf-8")


def _tools() -> Path:
    """The folder that has mkdocs, to import from; it is made when it is not there or its pins have changed."""
    mark = TOOLS / "constraints.txt"
    if mark.exists() and mark.read_bytes() == CONSTRAINTS.read_bytes():
        return TOOLS
    shutil.rmtree(TOOLS, ignore_errors=True)
    with tempfile.TemporaryDirectory() as wheels:
        options = ["-q", "--require-hashes", "--no-deps", "--only-binary", ":all:", "--disable-pip-version-check"]
        command = [sys.executable, "-m", "pip", "download", *options, "-r", str(CONSTRAINTS), "-d", wheels]
        ended = subprocess.run(command, capture_output=True, text=True)
        if ended.returncode != 0:
            raise BuildError(f"The site's tools can't be fetched:\n{ended.stderr}")
        for path in sorted(Path(wheels).glob("*.whl")):
            with zipfile.ZipFile(path) as wheel:
                wheel.extractall(TOOLS, (name for name in wheel.namelist() if not name.startswith(UNUSED_ICONS)))
    shutil.copyfile(CONSTRAINTS, mark)
    return TOOLS


def try_search(site: Path, browser: str) -> None:
    """Search in the site as a reader does: from the disk, in a browser that reaches no network.

    Raises:
        BuildError: The search finds nothing.
    """
    is_possible = subprocess.run(["unshare", "-rn", "true"], capture_output=True).returncode == 0
    with tempfile.TemporaryDirectory() as profile:
        command = [
            *(["unshare", "-rn"] if is_possible else []), browser, "--headless", "--no-sandbox", "--disable-gpu",
            "--no-first-run", f"--user-data-dir={profile}",
            "--virtual-time-budget=15000", "--dump-dom", f"{(site.resolve() / 'index.html').as_uri()}?q={SEARCHED}",
        ]  # fmt: skip
        seen = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    results = seen.partition("md-search-result__list")[2].partition("</ol>")[0]
    if FOUND not in results:
        raise BuildError(f"The search for {SEARCHED!r} does not find {FOUND}; its results are:\n{results[:2000]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("into", type=Path, nargs="?", default=SITE, metavar="FOLDER")
    parser.add_argument("--browser", help="also search in the site with this browser")
    chosen = parser.parse_args()
    try:
        build(chosen.into)
        if chosen.browser:
            try_search(chosen.into, chosen.browser)
    except BuildError as error:
        sys.exit(f"{error}")
    files = [path for path in chosen.into.rglob("*") if path.is_file()]
    print(
        f"{chosen.into / 'index.html'}: {len(files)} files, {sum(path.stat().st_size for path in files) / 1e6:.1f} MB"
    )


if __name__ == "__main__":
    main()
