"""The man pages and completions of the version in use, where shells and man look for them."""

from __future__ import annotations

import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from .place import IS_WINDOWS, Place

LINKED = ("man/man1", "bash-completion/completions", "zsh/site-functions", "fish/vendor_completions.d")
"""Folders of ``share`` whose files a person's own ``share`` links to."""


def share_of(place: Place) -> Path | None:
    """The folder ``share`` beside the folder of commands; None where the system has none, or that is no ``bin``."""
    return place.commands.with_name("share") if place.commands.name == "bin" and not IS_WINDOWS else None


def link(place: Place) -> Sequence[Path]:
    """Link to the files of the version in use, and no longer to those of another. Returns what is in the way: files of
    others with these names, which are left as they are."""
    unlink(place)
    share, current = share_of(place), place.current()
    in_the_way: list[Path] = []
    if share is None or current is None:
        return in_the_way
    for folder in LINKED:
        for file in sorted((current / "share" / folder).glob("*")):
            path = share / folder / file.name
            if path.is_symlink() or path.exists():
                in_the_way.append(path)
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.symlink_to(file)
    return in_the_way


def described(place: Place) -> Iterator[str]:
    """What links were made, and what else a shell needs to find them."""
    share = share_of(place)
    if share is None or not any(True for _ in _links(place)):
        return
    yield f"Manual pages and completions for bash, fish and zsh are linked in {share}."
    if share != Path.home() / ".local/share":
        yield f"bash and fish find them there with XDG_DATA_DIRS={share}:/usr/local/share:/usr/share."
    if shutil.which("man"):
        yield f"'man appliance' finds them while {place.commands} is in PATH; else: man -M {share}/man appliance"
    if shutil.which("zsh"):
        yield f"zsh finds them with this line in ~/.zshrc, before compinit: fpath+={share}/zsh/site-functions"


def unlink(place: Place) -> None:
    """Remove the links into this installation, and the folders that are empty then."""
    for path in [*_links(place)]:
        path.unlink()
        for folder in list(path.parents)[:2]:
            if folder == share_of(place) or any(folder.iterdir()):
                break
            folder.rmdir()


def _links(place: Place) -> Iterator[Path]:
    share = share_of(place)
    for folder in LINKED if share else ():
        for path in (share / folder).glob("*"):  # type: ignore[operator]
            if path.is_symlink() and path.readlink().is_relative_to(place.versions):
                yield path
