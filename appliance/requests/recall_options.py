"""What a context recalls from other sessions: the options that a call, a session or the settings give, and their
checks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final, Protocol

from appliance.errors import UsageError
from appliance.lazy_dataclasses import dataclass

AUTO_RECALL: Final = "auto_recall"
RECALL_LIMIT: Final = "recall_limit"
MIN_SCORE: Final = "min_score"
NAMES = (AUTO_RECALL, RECALL_LIMIT, MIN_SCORE)
"""The names of the options of a session, which are the attributes of ``RecallOptions``."""


@dataclass(frozen=True, slots=True)
class RecallOptions:
    """What a context recalls.

    Attributes:
        auto_recall: Whether memories of other sessions are recalled at all; None if another place decides it.
        recall_limit: The most messages of other sessions; None for as many as the budget holds.
        min_score: Their least score, 0 to 1; None for none if the best is not good enough to rely on, else all.
    """

    auto_recall: bool | None = True
    recall_limit: int | None = None
    min_score: float | None = None


class RecallCall(Protocol):
    """A call that may give these options: None leaves one to the session or the settings."""

    @property
    def auto_recall(self) -> bool | None: ...
    @property
    def recall_limit(self) -> int | None: ...
    @property
    def min_score(self) -> float | None: ...


def check(name: str, value: object) -> None:
    """Check the value of an option. None, which leaves it to the next place, and other names pass.

    Raises:
        UsageError: The value is invalid.
    """
    if value is None:
        return
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    if name == AUTO_RECALL and not isinstance(value, bool):
        raise UsageError(f"The option {name} must be true or false, not {value!r}.")
    if name == RECALL_LIMIT and not (is_number and isinstance(value, int) and value >= 0):
        raise UsageError(
            f"The recall limit must be a whole number of messages, not {value!r}.",
            hint="0 recalls no message. Without a limit there are as many as the budget holds.",
        )
    if name == MIN_SCORE and not (is_number and isinstance(value, int | float) and 0 <= value <= 1):
        raise UsageError(f"The minimum score must be 0 to 1, not {value!r}.")


def resolve(call: RecallCall, session_options: Mapping[str, object], defaults: RecallOptions) -> RecallOptions:
    """Return the options of a context: those of the call, else those of its session, else the defaults.

    Raises:
        UsageError: The call gives an invalid value. One that an earlier version stored with a session does not count.
    """
    resolved: dict[str, Any] = {}
    for name in NAMES:
        value = getattr(call, name)
        check(name, value)
        given = (value, _valid(name, session_options.get(name)), getattr(defaults, name))
        resolved[name] = next((one for one in given if one is not None), None)
    return RecallOptions(**resolved)


def _valid(name: str, value: object) -> object:
    try:
        check(name, value)
    except UsageError:
        return None
    return value
