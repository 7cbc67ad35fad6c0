"""Adapters for other libraries. Each needs the extra of its name.

They use only the public methods of ``Appliance``, so they work with a memory that is open in this process and with one
that a daemon serves.
"""

from __future__ import annotations


def missing_extra_message(extra: str) -> str:
    """The message of the ImportError if the library of an adapter is not installed."""
    return f'this adapter needs a library that is not installed: pip install ".[{extra}]" in a clone of the repository'
