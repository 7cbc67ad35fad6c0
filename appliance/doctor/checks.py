"""What a check says."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Check:
    """One thing that was looked at.

    Attributes:
        name: What it is.
        ok: Whether there is nothing to do.
        detail: What was found.
        fix: What to do, with a command where there is one, a line for each fault; None if there is nothing to do.
    """

    name: str
    ok: bool
    detail: str
    fix: str | None = None


@dataclass(frozen=True, slots=True)
class Fault:
    """What is wrong, and what to do."""

    detail: str
    fix: str


def passed(name: str, *details: str) -> Check:
    """A check that found nothing wrong; empty details are left out."""
    return Check(name, True, _sentence(details))


def failed(name: str, detail: str, fix: str) -> Check:
    """A check that found something for a person to do."""
    return Check(name, False, detail, fix)


def judged(name: str, details: Iterable[str], faults: Iterable[Fault]) -> Check:
    """A check of several things: it fails with all faults that were found, and then leaves out the rest."""
    if found := list(faults):
        fixes = dict.fromkeys(fault.fix for fault in found)
        return Check(name, False, _sentence(fault.detail for fault in found), "\n".join(fixes))
    return passed(name, *details)


def _sentence(details: Iterable[str]) -> str:
    return "; ".join(filter(None, details))


def size(number: int) -> str:
    """ "24.9 GB", "512 MB"."""
    return f"{number / 1e9:,.1f} GB" if number >= 1e9 else f"{number / 1e6:,.0f} MB"
