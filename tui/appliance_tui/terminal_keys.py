"""Keys from the terminal, where escape is also what the sequences of other keys begin with.

Textual takes a key that comes within 100 ms behind escape for one with Alt: a quick person's "esc, w" types a "w". Its
clock also runs only while the terminal is silent. Here a sequence is what comes at once, as terminals send it.
"""

from __future__ import annotations

import os
import re
import selectors
import sys
from codecs import getincrementaldecoder
from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

from textual import constants
from textual._ansi_sequences import ANSI_SEQUENCES_KEYS
from textual._parser import ParseError
from textual._time import get_time
from textual._xterm_parser import XTermParser

if TYPE_CHECKING:
    from textual.driver import Driver
    from textual.message import Message

ESCAPE_SECONDS = 0.03
"""Seconds behind escape within which the rest of a sequence arrives; fewer than a person needs for the next key."""

SILENCE_SECONDS = 0.1
"""Seconds after which the thread that reads looks whether it is to end."""

READ_BYTES = 4096

_ESCAPE_AND_CHARACTER = re.compile(r"\x1b(?=([^\x1b\[O\]]))")
"""Escape in front of a character that begins no sequence of several."""


class KeyParser(XTermParser):
    """Reads keys.

    Args:
        alt_keys: keys with Alt that do something, such as "alt+w": those stay one key.
    """

    def __init__(self, debug: bool = False, alt_keys: Iterable[str] = ()) -> None:
        self._alt_keys = frozenset(alt_keys)
        self._ended_in_escape = False
        super().__init__(debug)

    @property
    def silence_seconds(self) -> float:
        """Seconds to wait for the terminal before ``tick`` is due."""
        if self._timeout_time is None:
            return SILENCE_SECONDS
        return min(max(0.0, self._timeout_time - get_time()), SILENCE_SECONDS)

    def feed(self, data: str) -> Iterator[Message]:
        """As Textual's, but escape ends where its time is over, or a character follows that Alt has no use for."""
        yield from self.tick()
        if self._ended_in_escape and self._timeout_time is not None and self._is_key_of_its_own(data[:1]):
            self._timeout_time = 0.0  # now
            yield from self.tick()
        self._ended_in_escape = data.endswith("\x1b")
        start = 0
        for match in _ESCAPE_AND_CHARACTER.finditer(data):
            if self._is_key_of_its_own(match[1]):
                yield from super().feed(data[start : match.end()])
                self._timeout_time = 0.0  # now
                yield from self.tick()
                start = match.end()
        if start < len(data) or not data:  # "" is the end
            yield from super().feed(data[start:])

    def _is_key_of_its_own(self, character: str) -> bool:
        """Whether a character behind escape neither begins a sequence nor is one with it, nor has a use with Alt."""
        if character in ("", "\x1b", "[", "O", "]") or f"\x1b{character}" in ANSI_SEQUENCES_KEYS:
            return False
        return all(event.key not in self._alt_keys for event in self._sequence_to_key_events(character, alt=True))


def terminal_driver() -> type[Driver] | None:
    """What reads keys on this machine; None where Textual's own does, as on Windows and in a browser."""
    if sys.platform == "win32" or constants.DRIVER is not None:
        return None
    from textual.drivers.linux_driver import LinuxDriver

    class KeyDriver(LinuxDriver):
        """Textual's driver with ``KeyParser``."""

        def run_input_thread(self) -> None:
            """Read keys until the screen ends."""
            keys = (key for keys in self._app._keymap.values() for key in keys.split(","))
            parser = KeyParser(self._debug, (key for key in keys if key.startswith("alt+")))
            decode = getincrementaldecoder("utf-8")("replace").decode

            def read(seconds: float) -> None:
                if selector.select(seconds):
                    received = os.read(self.fileno, READ_BYTES)
                    if not received:  # the terminal is gone; the signal that says so ends the screen
                        self.exit_event.wait(SILENCE_SECONDS)
                    elif text := decode(received):
                        for message in parser.feed(text):
                            self.process_message(message)
                for message in parser.tick():
                    self.process_message(message)

            with selectors.SelectSelector() as selector:
                selector.register(self.fileno, selectors.EVENT_READ)
                while not self.exit_event.is_set():
                    read(parser.silence_seconds)
            with suppress(EOFError, ParseError):
                for _ in parser.feed(""):
                    pass

    if "ESCDELAY" not in os.environ:
        constants.ESCAPE_DELAY = ESCAPE_SECONDS  # type: ignore[misc]  # Textual reads it at each key
    return KeyDriver
