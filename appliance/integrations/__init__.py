"""Adapters: this memory as what other libraries expect of one. Each needs the extra of its name.

All of them speak to the memory by its public methods only, so that they work with one that is open in this process
and with one that a daemon serves.
"""

from __future__ import annotations


def needs(extra: str) -> str:
    """What is said where the library of an adapter is not installed."""
    return f'this adapter needs a library that is not installed: pip install "memory-appliance[{extra}]"'
