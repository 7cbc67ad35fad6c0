"""The erasure that a person has confirmed: it goes on when its dialog is closed, and the dialog shows it again."""

from __future__ import annotations

import time
from collections.abc import Collection
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

from appliance.errors import ApplianceError
from appliance.lazy_dataclasses import dataclass
from appliance_tui.actions import first_key
from appliance_tui.erasure import ErasureRequest, ErasureSummary, preview_erasure
from appliance_tui.widgets.display_text import pluralize
from appliance_tui.workers import begin, error_text

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Receipt
    from appliance_tui.app import ApplianceApp

PROGRESS_INTERVAL_SECONDS = 0.1
"""Seconds between two reports of progress: as fast as a person reads."""

CHANGED_NOTICE = "Nothing was erased: the matching messages have changed. Check them again."


@dataclass(frozen=True, slots=True)
class RunningErasure:
    """An erasure and how far it is: steps that are ``done`` and ``pending``, and what it waits for. It has ended when
    it has a ``receipt`` or an ``error``. ``quits`` says that the person has quit, and the screen is to close then."""

    summary: ErasureSummary
    done: int = 0
    pending: int = 0
    waits_for: str = ""
    receipt: Receipt | None = None
    error: str = ""
    quits: bool = False

    @property
    def has_ended(self) -> bool:
        return self.receipt is not None or bool(self.error)

    @property
    def share(self) -> float | None:
        """The share that is done, None before the first step."""
        total = self.done + self.pending
        return self.done / total if total else None

    @property
    def progress_text(self) -> str:
        """What it is doing, in words."""
        if self.waits_for:
            return f"Erasing {self.summary.count_label}, waiting for {self.waits_for} …"
        if self.share == 1:
            return f"Erased {self.summary.description}. Searching every file for traces …"
        return f"Erasing {self.summary.description} …"

    @property
    def bar_text(self) -> str:
        """The same, short enough for the bar of screens."""
        if self.has_ended:
            return ""
        if self.share == 1:
            return "searching for traces"
        return self.short_bar_text

    @property
    def short_bar_text(self) -> str:
        """The same in at most twelve columns, for a narrow bar."""
        if self.has_ended:
            return ""
        return "erasing" if self.share in (None, 1) else f"erasing {self.share:.0%}"


def start_erasure(app: ApplianceApp, summary: ErasureSummary, request: ErasureRequest) -> None:
    """Erase what a preview has shown. ``app.erasure`` has the progress and the outcome."""
    app.erasure = RunningErasure(summary)
    begin(app, partial(_erase, app, summary, request, app.user), "erase")


async def _erase(app: ApplianceApp, summary: ErasureSummary, request: ErasureRequest, user: str | None) -> None:
    state, reported_at = RunningErasure(summary), 0.0
    known: set[str] | None = None  # the receipts before it began

    def report(**changes: int | str) -> None:
        """Called on the thread that erases."""
        nonlocal state, reported_at
        state = replace(state, **changes)  # type: ignore[arg-type]  # the fields of progress
        if state.waits_for or time.monotonic() - reported_at > PROGRESS_INTERVAL_SECONDS:
            reported_at = time.monotonic()
            app.call_later(_show_progress, app, state)

    def work(memory: Appliance) -> Receipt | None:
        nonlocal known
        current = preview_erasure(memory, request, user)
        # New messages of a conversation would be erased unseen.
        if current.keys != summary.keys:
            return None
        known = {receipt.id for receipt in memory.erasure.receipts()}
        return memory.erasure.forget(
            current.preview,
            lambda done, pending: report(done=done, pending=pending, waits_for=""),
            on_wait=lambda waits_for: report(waits_for=waits_for),
        )

    try:
        receipt = await app.memory_worker.run_command(work)
    except ApplianceError as error:
        ended = replace(state, error=error_text(error))
    else:
        ended = replace(state, receipt=receipt, error="" if receipt is not None else CHANGED_NOTICE)
    _end(app, ended)
    if known is not None and ended.error:
        await _look_for_receipt(app, ended, known)


async def _look_for_receipt(app: ApplianceApp, failed: RunningErasure, known: Collection[str]) -> None:
    """Show the receipt of an erasure that was done although its answer was lost: the daemon had stopped meanwhile."""
    with suppress(ApplianceError):  # the app has reported it
        receipts = await app.memory_worker.run_query(lambda memory: memory.erasure.receipts())
        preview = failed.summary.preview
        counts = len(preview.messages), len(preview.sessions), preview.facts
        made = [one for one in receipts if one.id not in known and (one.messages, one.sessions, one.facts) == counts]
        if made and (app.erasure is None or app.erasure.has_ended):
            _end(app, replace(failed, receipt=made[0], error=""))


def _end(app: ApplianceApp, ended: RunningErasure) -> None:
    """Give the outcome to the dialog, or tell it if that is closed."""
    quits, app.erasure = app.erasure is not None and app.erasure.quits, ended
    if quits and not ended.error:
        app.exit()
    if not any(getattr(screen, "PLACE", "") == "forget" for screen in app.screen_stack):
        _notify_of_end(app, ended)
        app.erasure = None


def _show_progress(app: ApplianceApp, state: RunningErasure) -> None:
    if app.erasure is not None and not app.erasure.has_ended:
        app.erasure = replace(state, quits=app.erasure.quits)


def _notify_of_end(app: ApplianceApp, erasure: RunningErasure) -> None:
    """Say how an erasure ended whose dialog was closed."""
    if erasure.receipt is None:
        app.notify_error(erasure.error, timeout=10)
        return
    traces = len(erasure.receipt.proof.traces)
    keys = app._keymap
    found = f" {pluralize(traces, 'trace')} left: see the receipt." if traces else ""
    app.notify(
        f"Erased {erasure.summary.count_label}.{found} {first_key('app.forget', keys)}, then"
        f" {first_key('forget.receipts', keys)} shows the receipt {erasure.receipt.id}.",
        title="Forgotten",
        severity="warning" if traces else "information",
        timeout=10,
        markup=False,
    )
