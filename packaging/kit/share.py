"""What an installation has under its folder ``share``: documentation, man pages, completions, licences."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path

DOCUMENTATION = "doc/memory-appliance"
SITE = f"{DOCUMENTATION}/html"

_COMPLETIONS: Mapping[str, str] = {
    "appliance.bash": "bash-completion/completions/appliance",
    "_appliance": "zsh/site-functions/_appliance",
    "appliance.fish": "fish/vendor_completions.d/appliance.fish",
}


def built(folder: Path, site_before: Path | None = None) -> Iterator[tuple[str, Path]]:
    """What the scripts of this tree write that make man pages and completions (``build_manual.py``) and the site of the
    documentation (``build_docs.py``).

    Args:
        folder: An empty folder, for what they write.
        site_before: The site, if it was built before.
    """
    if find_spec("build_manual") is not None:
        import_module("build_manual").build(folder / "manual")
        yield from manual(folder / "manual")
    if site_before is None:
        site_before = folder / "site"
        import_module("build_docs").build(site_before)
    yield from tree(site_before, SITE)


def manual(built: Path) -> Iterator[tuple[str, Path]]:
    """The man pages and completions that ``build_manual.py`` wrote into a folder: where they go below ``share``, and
    the files."""
    for page in sorted((built / "man").rglob("*.[1-9]")):
        yield f"man/{page.relative_to(built / 'man').as_posix()}", page
    for name, place in _COMPLETIONS.items():
        yield place, built / "completions" / name


def tree(folder: Path, place: str) -> Iterator[tuple[str, Path]]:
    """All the files of a folder: where they go below ``share``, and the files."""
    for path in sorted(folder.rglob("*")):
        if path.is_file():
            yield f"{place}/{path.relative_to(folder).as_posix()}", path
