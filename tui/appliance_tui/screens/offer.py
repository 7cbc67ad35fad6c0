"""Files that a person named, dropped or pasted: what they are, what reading them would bring, and the question."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from textual import on
from textual.app import ComposeResult
from textual.containers import Vertical, VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Footer, Input, Static

from appliance_tui.actions import bindings
from appliance_tui.paths_given import paths_in
from appliance_tui.widgets.files import report_told
from appliance_tui.widgets.path_line import PathLine
from appliance_tui.widgets.words import one_line, shown
from appliance_tui.working import begin

if TYPE_CHECKING:
    from appliance_tui.app import ApplianceApp
    from appliance_tui.intake import Outcome

LISTED = 12
"""Paths that are named in the question."""

ASKED = (
    "The path of a chat export: a file, a zip, or a folder of them.  → takes the completion, enter goes on."
)


class Offer(ModalScreen[None]):
    """Asks whether files are to be read."""

    CSS_PATH = "offer.tcss"
    PLACE = "offer"
    BINDINGS = [*bindings("offer")]  # noqa: RUF012

    def __init__(self, paths: Sequence[Path] = ()) -> None:
        super().__init__()
        self._paths = list(paths)

    def compose(self) -> ComposeResult:
        with Vertical(id="offer"):
            yield PathLine(id="offer-path")
            with VerticalScroll(id="offer-told", can_focus=True):
                yield Static("", id="offer-text", markup=False)
            yield Footer(show_command_palette=False)

    def on_mount(self) -> None:
        self._write()

    @property
    def _app(self) -> ApplianceApp:
        return cast("ApplianceApp", self.app)

    def _write(self) -> None:
        line = self.query_one(PathLine)
        line.display = not self._paths
        whose = self._app.whose
        self.query_one("#offer").border_title = f"Read into the memory of {one_line(whose)}"
        if not self._paths:
            self._say(Content.styled(ASKED, "$foreground-muted"))
            line.focus()
            return
        self.query_one("#offer-told").focus()
        names = [Content.styled(one_line(str(path)), "bold") for path in self._paths[:LISTED]]
        if len(self._paths) > LISTED:
            names.append(Content(f"and {len(self._paths) - LISTED} more"))
        self._say(
            Content("\n").join(
                [
                    *names,
                    Content.styled(
                        "\nThey are read where they are, and never changed. What is known already is passed over.",
                        "$foreground-muted",
                    ),
                ]
            )
        )

    def _say(self, words: Content) -> None:
        self.query_one("#offer-text", Static).update(words)

    @on(Input.Submitted)
    def _named(self, event: Input.Submitted) -> None:
        event.stop()
        given = event.value.strip()
        path = Path(given).expanduser() if given else None
        found = paths_in(given) or ([path] if path is not None and path.exists() else [])
        if found:
            self._paths = found
            self._write()
            self.refresh_bindings()
        elif given:
            self._say(Content(f"There is no such file: {shown(given)}"))

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Without a path there is nothing to read or to look into yet."""
        return action not in ("read", "preview") or bool(self._paths)

    def action_read(self) -> None:
        """Read them; the inbox shows how it goes."""
        app, paths = self._app, self._paths
        self.dismiss()
        begin(app, partial(taken_in, app, paths))

    def action_preview(self) -> None:
        """Look what reading them would bring."""
        begin(self, self._preview, "preview", anew=True)

    async def _preview(self) -> None:
        self._say(Content(f"Looking into {len(self._paths)} …"))
        outcome = await self._app.intake.read(self._paths, self._app.user, dry=True)
        self._say(preview_told(outcome))


def preview_told(outcome: Outcome) -> Content:
    """What reading would bring."""
    if outcome.error:
        return Content(shown(outcome.error))
    new, known = (sum(getattr(file, name) for file in outcome.files) for name in ("new", "duplicates"))
    files = [
        Content("\n").join([Content.styled(one_line(file.path), "bold"), report_told(file)])
        for file in outcome.files
    ]
    head = Content(f"It would bring {new:,} new messages; {known:,} are known already. Nothing was changed.")
    return Content("\n\n").join([head, *files])


async def taken_in(app: ApplianceApp, paths: Sequence[Path]) -> None:
    """Read files, and say what became of them."""
    outcome = await app.intake.read(paths, app.user)
    if outcome.error:
        app.notify(one_line(outcome.error), title="Not read", severity="error", markup=False)
        return
    new, failed = sum(file.new for file in outcome.files), sum(bool(file.errors) for file in outcome.files)
    words = f"{new:,} new messages from {len(outcome.files)} file{'' if len(outcome.files) == 1 else 's'}"
    more = f"; {failed} had errors, see the inbox (F5)" if failed else ""
    app.notify(words + more, title="Read", severity="warning" if failed else "information", markup=False)
