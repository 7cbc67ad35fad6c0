"""Escape and the key behind it are two keys; the sequences that terminals send are one."""

from __future__ import annotations

import pytest
from textual import _parser
from textual.events import Key, Paste

from appliance_tui import terminal_keys
from appliance_tui.terminal_keys import ESCAPE_SECONDS, KeyParser


class Clock:
    """The time of a parser, which a test moves."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr(_parser, "get_time", lambda: self.now)
        monkeypatch.setattr(terminal_keys, "get_time", lambda: self.now)
        monkeypatch.setattr("textual.constants.ESCAPE_DELAY", ESCAPE_SECONDS)

    def read(self, parser: KeyParser, *sent: str | float) -> list[str]:
        """The keys among what is sent, where a number is a pause."""
        keys = []
        for part in (*sent, 1.0):
            if isinstance(part, str):
                messages = list(parser.feed(part))
            else:
                self.now += part
                messages = list(parser.tick()) if part == 1.0 else []
            for message in messages:
                if isinstance(message, Key | Paste):
                    keys.append(message.key if isinstance(message, Key) else f"paste {message.text}")
        return keys


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (("\x1b", 0.035, "w"), ["escape", "w"]),
        (("\x1b", "w", "w"), ["escape", "w", "w"]),
        (("\x1b", 0.06, "f"), ["escape", "f"]),  # together they are an arrow key of some terminals
        (("\x1b", 0.06, "[", 0.06, "["), ["escape", "left_square_bracket", "left_square_bracket"]),
        (("maca\x1bw",), ["m", "a", "c", "a", "escape", "w"]),
        (("\x1b/dog",), ["escape", "slash", "d", "o", "g"]),
        (("\x1bW\x1bw\x1b",), ["escape", "W", "escape", "w", "escape"]),
        (("\x1b\x1b",), ["escape", "escape"]),
        (("\x1b",), ["escape"]),
        (("\x1b\r",), ["escape", "enter"]),
        (("\x1b[A\x1b[B", "\x1b", 0.01, "[A"), ["up", "down", "up"]),
        (("\x1bOP\x1bb",), ["f1", "ctrl+left"]),
        (("\x1b[200~a/b\x1b[201~x",), ["paste a/b", "x"]),
        (("é\x1bä",), ["é", "escape", "ä"]),
    ],
)
def test_escape_and_what_follows(
    sent: tuple[str | float, ...], keys: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert Clock(monkeypatch).read(KeyParser(), *sent) == keys


def test_a_key_with_alt_that_the_settings_name_stays_one(monkeypatch: pytest.MonkeyPatch) -> None:
    assert Clock(monkeypatch).read(KeyParser(alt_keys=["alt+w"]), "\x1bw", 1.0, "\x1bx") == ["alt+w", "escape", "x"]


def test_the_thread_wakes_when_the_time_of_escape_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    clock, parser = Clock(monkeypatch), KeyParser()
    assert parser.silence_seconds > ESCAPE_SECONDS
    list(parser.feed("\x1b"))
    assert parser.silence_seconds == pytest.approx(ESCAPE_SECONDS)
    clock.now += 1
    assert parser.silence_seconds == 0
    assert [message.key for message in parser.tick() if isinstance(message, Key)] == ["escape"]
