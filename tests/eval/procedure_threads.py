"""Conversations by other hands, in which procedures are looked for.

Threads of IRC channels, which people untangled by hand, are those of ``jkkummerfeld/irc-disentanglement`` on GitHub
(Kummerfeld et al. 2019; CC BY 4.0); they are read in place, from a clone, and never copied. Each becomes an exchange:
who began it is the user, and the others are the assistant that answers. One who goes on talking says it in one turn.
"""

from __future__ import annotations

import re
import subprocess
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

from appliance.types import Message

_LINE = re.compile(r"^(?:\[\d\d:\d\d(?::\d\d)?\]|\d\d:\d\d) <([^>]+)> (.*)$")
_ADDRESS = re.compile(r"^([^\s:,]{2,20})[:,]+\s*")

MIN_LINES = 3
"""A question, an answer, and how it went."""


RIGHT = frozenset(
    (
        "2005-07-25.train-a:1110 m1-m3",
        "2007-01-29.train-c:1088 m1-m5",
        "2007-02-07.train-c:1148 m7-m9",
        "2009-05-08.train-c:1051 m1-m5",
        "2011-08-17.train-a:1058 m1-m7",
    )
)
"""What was found, read, and judged to be a procedure that worked: the thread, with its first and last turn."""

WRONG = frozenset(
    (
        "2005-07-06_14:1106 m15-m17",  # "give it a shot" is no step
        "2005-07-06_14:1291 m1-m3",  # "got it" says that an answer was understood
        "2006-08-13.train-c:1274 m13-m15",  # settings that are fine are not what was asked for
        "2007-01-29.train-c:992 m3-m5",  # it works elsewhere, and not here
        "2007-07-03.train-a:1534 m9-m11",  # something else helped
        "2008-03-01.train-c:1313 m29-m31",  # understood, not done
        "2008-03-01.train-c:1431 m1-m3",  # done a thousand times, without success
        "beam2/beam2-3 m61-m63",  # an assistant that wants to know more gives no step
    )
)
"""What earlier rules took for one."""


@dataclass(frozen=True, slots=True)
class Thread:
    """A thread with the name of its file and the number of its first line."""

    name: str
    messages: tuple[Message, ...]


def threads(clone: Path) -> Iterator[Thread]:
    """Yield the threads of all annotated logs of a clone, bare or not, in the order of the files.

    Raises:
        OSError: There is no git, or no clone.
        subprocess.CalledProcessError: It is no clone of a repository with such logs.
    """
    names = _git(clone, "ls-tree", "-r", "--name-only", "HEAD", "data").splitlines()
    logs = [
        name for name in names if re.match(r"data/(train|dev|test|new-domains|channel-two)/.*\.annotation\.txt$", name)
    ]
    for name in sorted(logs):
        raw = name.replace(".annotation.txt", ".raw.txt")
        if raw not in names:
            raw = name.replace(".annotation.txt", ".ascii.txt")
        if raw in names:
            lines = _git(clone, "show", f"HEAD:{raw}").split("\n")
            yield from _threads_of(
                name.split("/")[-1].split(".annotation")[0], lines, _git(clone, "show", f"HEAD:{name}")
            )


def _threads_of(name: str, lines: list[str], annotation: str) -> Iterator[Thread]:
    parents = list(range(len(lines)))

    def root(number: int) -> int:
        while parents[number] != number:
            parents[number] = parents[parents[number]]
            number = parents[number]
        return number

    annotated: set[int] = set()
    for link in annotation.splitlines():
        first, second = sorted(int(one) for one in link.split()[:2])
        if second < len(lines):
            annotated |= {first, second}
            parents[root(second)] = root(first)
    members: dict[int, list[int]] = defaultdict(list)
    for number in sorted(annotated):
        members[root(number)].append(number)
    for numbers in members.values():
        said = [(number, match) for number in numbers if (match := _LINE.match(lines[number]))]
        if len(said) >= MIN_LINES and len({match[1] for _, match in said}) > 1:
            yield Thread(f"{name}:{said[0][0]}", tuple(_turns([(match[1], match[2]) for _, match in said])))


def _turns(said: list[tuple[str, str]]) -> Iterator[Message]:
    names = Counter(author.casefold() for author, _ in said)
    asker = said[0][0]
    for number, (is_asker, lines) in enumerate(groupby(said, key=lambda line: line[0] == asker), 1):
        text = "\n".join(_without_address(words, names) for _, words in lines)
        role = "user" if is_asker else "assistant"
        yield Message(f"m{number}", "s1", f"x{number}", role, None, None, text, None, {})


def _without_address(words: str, names: Counter[str]) -> str:
    address = _ADDRESS.match(words)
    return words[address.end() :] if address and address[1].casefold() in names else words


def _git(clone: Path, *arguments: str) -> str:
    command = ["git", "-C", str(clone), *arguments]
    return subprocess.run(command, check=True, capture_output=True).stdout.decode("utf-8", "replace")
