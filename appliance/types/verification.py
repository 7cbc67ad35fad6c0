"""The report of ``verify``."""

from __future__ import annotations

from dataclasses import field

from appliance.lazy_dataclasses import dataclass
from appliance.types.records import InputProblem


@dataclass(slots=True)
class SourceCoverage:
    """The counts of one source.

    Attributes:
        messages: Messages.
        characters: Characters of the messages.
        covered: Characters that chunks cover.
        chunks: Chunks.
        embedded: Chunks that have a vector.
    """

    messages: int = 0
    characters: int = 0
    covered: int = 0
    chunks: int = 0
    embedded: int = 0


@dataclass(frozen=True, slots=True)
class ChunkedOtherwise:
    """Messages that were chunked under other settings than those of now, and would be split otherwise.

    Attributes:
        messages: How many were found.
        is_complete: Whether all messages were looked at.
        command: What chunks them again.
    """

    messages: int
    is_complete: bool
    command: str


@dataclass(slots=True)
class VerifyReport:
    """The counts of what was checked, in total and by source, and the problems found. The check fills it as it runs."""

    checked: dict[str, int] = field(default_factory=dict)
    sources: dict[str, SourceCoverage] = field(default_factory=dict)
    problems: list[InputProblem] = field(default_factory=list)

    def add(self, where: str, message: str) -> None:
        """Add a problem."""
        self.problems.append(InputProblem(where, message))

    def count(self, what: str, number: int = 1) -> None:
        """Count what was checked."""
        self.checked[what] = self.checked.get(what, 0) + number
