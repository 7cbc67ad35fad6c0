"""What becomes of errors while the screen is shown: those of the memory are notices, others end it without private
text."""

from __future__ import annotations

from typing import Any

from rich.segment import Segments
from rich.text import Text
from rich.traceback import Traceback
from textual._context import active_message_pump
from textual.app import App
from textual.css.query import NoMatches
from textual.dom import DOMNode
from textual.screen import Screen
from textual.worker import WorkerFailed, get_current_worker

from appliance.errors import ApplianceError
from appliance_tui.upgrades import UPGRADED_NOTICE, FileStates, is_upgraded
from appliance_tui.workers import MemoryWorker, error_text


class ErrorHandlingApp(App[None]):
    """An app on a memory whose errors are notices."""

    memory_worker: MemoryWorker
    program_at_start: FileStates

    def notify_error(self, text: str, timeout: float | None = None) -> None:
        """Show an error as a notification."""
        self.notify(text, severity="error", timeout=timeout, markup=False)

    def _handle_exception(self, error: Exception) -> None:
        """Notify of an error of the memory; let Textual handle any other."""
        cause = error.error if isinstance(error, WorkerFailed) else error
        if isinstance(cause, NoMatches) and self._is_for_a_removed_screen(error):
            return  # an answer that arrived while its screen was being removed
        if isinstance(error, WorkerFailed) and self._tell_of_upgrade(cause):
            return
        if not isinstance(cause, ApplianceError):
            super()._handle_exception(error)
        elif self.memory_worker.is_open:  # else the app exits with that error
            self.notify_error(error_text(cause))

    async def _dispatch_action(self, namespace: DOMNode, action_name: str, params: Any) -> bool:
        """As App._dispatch_action; what fails because the program was upgraded does nothing, and the screen goes on."""
        try:
            return await super()._dispatch_action(namespace, action_name, params)
        except Exception as error:
            if not self._tell_of_upgrade(error):
                raise
            return True

    def _tell_of_upgrade(self, error: BaseException) -> bool:
        """Say that the program was upgraded since it started, if an error is due to that."""
        if isinstance(error, ApplianceError) or not is_upgraded(self.program_at_start):
            return False
        self.notify(UPGRADED_NOTICE, severity="warning", timeout=60, markup=False)
        return True

    def _is_for_a_removed_screen(self, error: Exception) -> bool:
        """Whether the error is of a screen that is closed: its widgets are removed before its workers are cancelled."""
        # A worker runs in the context of the app, so the message pump says nothing about where it belongs.
        pump = get_current_worker().node if isinstance(error, WorkerFailed) else active_message_pump.get(None)
        nodes = pump.ancestors_with_self if isinstance(pump, DOMNode) else []
        return not self.is_running or any(
            node._pruning or (isinstance(node, Screen) and node not in self.screen_stack) for node in nodes
        )

    def _fatal_error(self) -> None:
        """End with a traceback, but not with Textual's: it shows local variables, which hold private messages."""
        self.bell()
        if is_upgraded(self.program_at_start):
            self._exit_renderables.append(Text(f"{UPGRADED_NOTICE} What was imported and changed is stored."))
            self._close_messages_no_wait()
            return
        traceback = Traceback(show_locals=False, width=None)
        self._exit_renderables.append(Segments(self.console.render(traceback, self.console.options)))
        self._close_messages_no_wait()
