"""The commit that this program was built from."""

from __future__ import annotations

from pathlib import Path

from appliance import __version__

PACKAGE = Path(__file__).parent
_SHOWN_DIGITS = 10


def build_commit(package: Path = PACKAGE) -> str | None:
    """The commit that a wheel was built from, or that a clone stands at, in full; None where neither is known."""
    try:
        return (package / "COMMIT").read_text().strip()
    except OSError:
        return _checked_out(package.parent / ".git")


def build_version(package: Path = PACKAGE) -> str:
    """What two processes must agree in to work on one memory: the version, and in an installed program the commit as
    well, as in "0.1.0+0123456789". In a clone, whose files change under what runs, it is the version alone."""
    installed = (package / "COMMIT").is_file()
    commit = build_commit(package) if installed else None
    return f"{__version__}+{commit[:_SHOWN_DIGITS]}" if commit else __version__


def _checked_out(git: Path) -> str | None:
    """The commit of a clone's HEAD, as its files say. git itself may be missing here."""
    try:
        head = (git / "HEAD").read_text().strip()
        if not head.startswith("ref: "):
            return head
        reference = head.removeprefix("ref: ")
        if (git / reference).exists():
            return (git / reference).read_text().strip()
        packed = (git / "packed-refs").read_text().splitlines()
    except OSError:
        return None
    return next((line.partition(" ")[0] for line in packed if line.endswith(f" {reference}")), None)
