"""Where one thing ends and the next begins: exchanges with an assistant, and topics by a drop in similarity.

Topics are found as TextTiling finds them (Hearst 1997): the means of the vectors on either side of each place are
compared, and a place that lies deep below the similarity on both its sides parts. What all messages have in common is
taken off first: static vectors have much of it. A long silence parts too.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from appliance.moments import microseconds
from appliance.types import Message

Range = tuple[int, int]
"""From an index up to another, without it."""

BLOCK = 6
"""Messages on either side of a place whose means are compared."""

SMALLEST = 4
"""Messages; less is a remark, not a topic."""

LARGEST = 40
"""Messages; a longer stretch is parted at its deepest place."""

SILENCE = 4 * 3600
"""Seconds without a message after which people rarely go on where they left off."""

SMOOTHED = 3
"""Neighbouring places whose similarities are averaged."""

DEVIATIONS = 1.5
"""A place parts from the mean depth plus so many standard deviations on."""


def exchanges(messages: Sequence[Message]) -> list[Range]:
    """What was asked in a row, together with what was answered; in chats with an assistant only."""
    found: list[Range] = []
    start: int | None = None
    answered = False
    for i, message in enumerate(messages):
        if message.role == "user" and (start is None or answered):
            if start is not None:
                found.append((start, i))
            start, answered = i, False
        elif message.role == "assistant":
            answered = True
    if start is not None and answered:
        found.append((start, len(messages)))
    return found


def topics(messages: Sequence[Message], vectors: NDArray[np.float32]) -> list[Range]:
    """Ranges of messages about one thing, one after the other, all of them together everything.

    ``vectors`` is (messages, dimension). None is larger than LARGEST; none is smaller than SMALLEST where there are
    that many.
    """
    count = len(messages)
    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} messages")
    if count == 0:
        return []
    depth = _depths(vectors)
    silent = _silences(messages)
    strength = np.where(silent > SILENCE, 1e3 + silent, depth)
    parts = depth[1:][depth[1:] > 0]
    least = float(parts.mean() + DEVIATIONS * parts.std()) if len(parts) else np.inf
    wanted = [i for i in range(1, count) if silent[i] > SILENCE or (depth[i] > least and depth[i] > 0)]
    bounds = [0, count]
    for place in sorted(wanted, key=lambda i: (-strength[i], i)):
        if min(abs(place - bound) for bound in bounds) >= SMALLEST:
            bounds.append(place)
    return [part for whole in pairwise(sorted(bounds)) for part in _no_larger(whole, strength)]


def _no_larger(whole: Range, strength: NDArray[np.float64]) -> list[Range]:
    start, end = whole
    parts: list[Range] = []
    while end - start > LARGEST:
        places = range(start + SMALLEST, min(start + LARGEST, end - SMALLEST) + 1)
        cut = max(places, key=lambda i: (strength[i], i))
        parts.append((start, cut))
        start = cut
    return [*parts, (start, end)]


def _depths(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """How deep the similarity of both sides lies below the peaks around it, for the place before each message."""
    count = len(vectors)
    own = vectors - vectors.mean(axis=0, dtype=np.float64)
    sums = np.vstack([np.zeros((1, own.shape[1])), np.cumsum(own, axis=0)])
    places = np.arange(count + 1)
    before = sums[places] - sums[np.maximum(places - BLOCK, 0)]
    after = sums[np.minimum(places + BLOCK, count)] - sums[places]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    alike = np.einsum("ij,ij->i", before, after) / np.maximum(norms, 1e-9)
    depths = np.zeros(count)
    inner = alike[1:count]
    if len(inner) >= SMOOTHED:
        padded = np.pad(inner, SMOOTHED // 2, "edge")
        inner = np.convolve(padded, np.full(SMOOTHED, 1 / SMOOTHED), "valid")
        depths[1:] = (_peak(inner) - inner) + (_peak(inner[::-1])[::-1] - inner)
    return depths


def _peak(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The height that is reached when climbing to the left from each place."""
    peaks = values.copy()
    for i in range(1, len(values)):
        if values[i - 1] >= values[i]:
            peaks[i] = peaks[i - 1]
    return peaks


def _silences(messages: Sequence[Message]) -> NDArray[np.float64]:
    """Seconds before each message; 0 where a time is not known."""
    times = [_seconds(message.timestamp) for message in messages]
    gaps = [b - a if a is not None and b is not None else 0.0 for a, b in pairwise(times)]
    return np.array([0.0, *gaps])


def _seconds(timestamp: str | None) -> float | None:
    try:
        return microseconds(datetime.fromisoformat(timestamp)) / 1e6 if timestamp else None
    except ValueError:
        return None
