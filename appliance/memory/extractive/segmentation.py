"""Where one part of a conversation ends: exchanges with an assistant, and topics by a drop in similarity.

Topics follow TextTiling (Hearst 1997): the mean vectors on either side of each place are compared, and a place
splits the conversation where its similarity lies deep below that of the places around it. What all messages have in
common is subtracted first, because static vectors have much of it. A long silence splits too."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from appliance.timestamps import to_microseconds
from appliance.types import Message

Range = tuple[int, int]  # from an index up to another one, exclusive

BLOCK_MESSAGES = 6  # on either side of a place, whose means are compared
MIN_TOPIC_MESSAGES = 4  # fewer are a remark, not a topic
MAX_TOPIC_MESSAGES = 40  # a longer topic is split at its deepest place
MAX_SILENCE_SECONDS = 4 * 3600  # after a longer silence people rarely go on where they left off
SMOOTHING_WINDOW = 3  # neighbouring places whose similarities are averaged
DEPTH_CUTOFF_DEVIATIONS = 1.5  # standard deviations above the mean depth from which a place splits


def exchanges(messages: Sequence[Message]) -> list[Range]:
    """Return each run of questions together with the answers to it; only conversations with an assistant have any."""
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
    """Return ranges of messages about one thing each, which together cover all messages in order.

    None is larger than ``MAX_TOPIC_MESSAGES``, and none is smaller than ``MIN_TOPIC_MESSAGES`` where there are so
    many.

    Args:
        vectors: (messages, dimension)
    """
    count = len(messages)
    if len(vectors) != count:
        raise ValueError(f"{len(vectors)} vectors for {count} messages")
    if count == 0:
        return []
    depth = _depth_scores(vectors)
    silences = _silences(messages)
    strength = np.where(silences > MAX_SILENCE_SECONDS, 1e3 + silences, depth)
    depths = depth[1:][depth[1:] > 0]
    cutoff = float(depths.mean() + DEPTH_CUTOFF_DEVIATIONS * depths.std()) if len(depths) else np.inf
    boundaries = [i for i in range(1, count) if silences[i] > MAX_SILENCE_SECONDS or depth[i] > max(cutoff, 0.0)]
    bounds = [0, count]
    for boundary in sorted(boundaries, key=lambda i: (-strength[i], i)):
        if min(abs(boundary - bound) for bound in bounds) >= MIN_TOPIC_MESSAGES:
            bounds.append(boundary)
    return [part for whole in pairwise(sorted(bounds)) for part in _split_large(whole, strength)]


def _split_large(segment: Range, strength: NDArray[np.float64]) -> list[Range]:
    start, end = segment
    parts: list[Range] = []
    while end - start > MAX_TOPIC_MESSAGES:
        places = range(start + MIN_TOPIC_MESSAGES, min(start + MAX_TOPIC_MESSAGES, end - MIN_TOPIC_MESSAGES) + 1)
        cut = max(places, key=lambda i: (strength[i], i))
        parts.append((start, cut))
        start = cut
    return [*parts, (start, end)]


def _depth_scores(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """How far the similarity before each message lies below the peaks on both sides."""
    count = len(vectors)
    centered = vectors - vectors.mean(axis=0, dtype=np.float64)
    sums = np.vstack([np.zeros((1, centered.shape[1])), np.cumsum(centered, axis=0)])
    places = np.arange(count + 1)
    before = sums[places] - sums[np.maximum(places - BLOCK_MESSAGES, 0)]
    after = sums[np.minimum(places + BLOCK_MESSAGES, count)] - sums[places]
    norms = np.linalg.norm(before, axis=1) * np.linalg.norm(after, axis=1)
    similarity = np.einsum("ij,ij->i", before, after) / np.maximum(norms, 1e-9)
    depths = np.zeros(count)
    inner = similarity[1:count]
    if len(inner) >= SMOOTHING_WINDOW:
        padded = np.pad(inner, SMOOTHING_WINDOW // 2, "edge")
        inner = np.convolve(padded, np.full(SMOOTHING_WINDOW, 1 / SMOOTHING_WINDOW), "valid")
        depths[1:] = (_peak(inner) - inner) + (_peak(inner[::-1])[::-1] - inner)
    return depths


def _peak(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """The similarity that is reached by climbing to the left from each place."""
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
        return to_microseconds(datetime.fromisoformat(timestamp)) / 1e6 if timestamp else None
    except ValueError:
        return None
