"""Conversations that are trees: edited prompts and regenerated answers leave side branches.

The links of an export may dangle, run in circles or be missing; every node is given out once all the
same.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Link:
    """A node's place: who it answers, who answers it, and when it was written (seconds)."""

    parent: str | None
    children: Sequence[str] = ()
    time: float | None = None


@dataclass(frozen=True, slots=True)
class Placed:
    """A node in reading order. ``branch``: it is off the path that the person last saw."""

    node: str
    parent: str | None
    branch: bool


def reading_order(links: Mapping[str, Link], current: str | None) -> list[Placed]:
    """Every node once: older branches at their fork, then the path that went on.

    The active path leads from ``current`` up to its root. In a part of the tree that doesn't hold it
    (a link is broken, or nothing says where the conversation stood) it leads from that part's last
    leaf, by time, else by the order of the file. Parts come by the time of their first node.
    """
    if not links:
        return []
    parents = _parents(links)
    children: dict[str, list[str]] = {}
    roots: list[str] = []
    for node in links:
        parent = parents[node]
        if parent is None:
            roots.append(node)
        else:
            children.setdefault(parent, []).append(node)
    position = {node: n for n, node in enumerate(links)}
    for node, below in children.items():
        if len(below) == 1:
            continue
        listed = {child: n for n, child in enumerate(links[node].children)}
        below.sort(key=lambda child: listed.get(child, len(listed)))

    # Most conversations are in one piece, and then need no looking for what belongs together.
    parts = [_part(root, children) for root in roots] if len(roots) > 1 else [list(links)]
    parts.sort(key=lambda part: _first_time(part, links))
    placed: list[Placed] = []
    for part in parts:
        root = part[0] if len(parts) > 1 else roots[0]
        held = links if len(parts) == 1 else set(part)
        leaf = (
            current
            if current is not None and current in held
            else _last_leaf(part, children, links, position)
        )
        active = _path(leaf, parents)
        placed.extend(
            Placed(node, parents[node], node not in active) for node in _part(root, children, last=active)
        )
    return placed


def _parents(links: Mapping[str, Link]) -> dict[str, str | None]:
    """Each node's parent within the tree; circles are opened where they were first entered."""
    parents: dict[str, str | None] = {}
    claimed: dict[str, str] = {}
    for node, link in links.items():
        for child in link.children:
            if child in links and child != node:
                claimed.setdefault(child, node)
    for node, link in links.items():
        known = link.parent if link.parent in links and link.parent != node else claimed.get(node)
        parents[node] = known
    settled: set[str] = set()
    for node in links:
        trail: set[str] = set()
        at: str | None = node
        while at is not None and at not in settled:
            trail.add(at)
            above = parents[at]
            if above in trail:
                parents[at] = None
                above = None
            at = above
        settled |= trail
    return parents


def _part(root: str, children: Mapping[str, list[str]], last: frozenset[str] = frozenset()) -> list[str]:
    """A root and all below it, a parent before its children, the ``last`` child after its siblings."""
    order: list[str] = []
    waiting = [root]
    while waiting:
        node = waiting.pop()
        order.append(node)
        below = children.get(node, ())
        if len(below) < 2:
            waiting.extend(below)
            continue
        active = [child for child in below if child in last]
        waiting.extend(active)
        waiting.extend(child for child in reversed(below) if child not in last)
    return order


def _path(leaf: str, parents: Mapping[str, str | None]) -> frozenset[str]:
    path: set[str] = set()
    at: str | None = leaf
    while at is not None:
        path.add(at)
        at = parents[at]
    return frozenset(path)


def _last_leaf(
    part: Sequence[str],
    children: Mapping[str, list[str]],
    links: Mapping[str, Link],
    position: Mapping[str, int],
) -> str:
    leaves = [node for node in part if node not in children]

    def lateness(node: str) -> tuple[float, int]:
        time = links[node].time
        return (float("-inf") if time is None else time, position[node])

    return max(leaves, key=lateness)


def _first_time(part: Sequence[str], links: Mapping[str, Link]) -> float:
    """The earliest time in a part; parts without any time come first, in the order of the file."""
    return min((time for node in part if (time := links[node].time) is not None), default=float("-inf"))
