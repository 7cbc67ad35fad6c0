"""The rooms of a memory that is open in this process: what each is made of, when somebody first goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from appliance import paths
from appliance.config import Settings
from appliance.llm import Endpoint
from appliance.rooms import Room
from appliance.serving import Serving
from appliance.store.database import Database
from appliance.upkeep import Background, Events, Gate

if TYPE_CHECKING:
    from appliance.asking import Asking
    from appliance.forgetting import Forgetting
    from appliance.memory.browsing import Browsing
    from appliance.memory.facts import Facts
    from appliance.memory.keeping import Keeping
    from appliance.memory.summaries import Summaries
    from appliance.memory.working import WorkingMemory
    from appliance.taking import Taking


class House:
    """The rooms that need nothing but the stores; conversations ask the verbs too, and are the engine's."""

    home: paths.Home
    settings: Settings
    events: Events
    _database: Database
    _gate: Gate
    _serving: Serving
    _background: Background
    _model: Endpoint | None

    @Room
    def summaries(self) -> Summaries:
        """What was said in short, at three levels."""
        from appliance import summarising

        return summarising.summaries(
            self._database, self._serving, self.settings, self.events.tell, self._model
        )

    @Room
    def facts(self) -> Facts:
        """What is known of the person, as it changed."""
        from appliance.memory import facts

        return facts.Facts(facts.Host(self._database, self.settings.user, self.settings.name))

    @Room
    def keeping(self) -> Keeping:
        """What matters: pins, use, importance."""
        from appliance.memory.keeping import Keeping

        return Keeping(self._database, self._background.wake)

    @Room
    def browsing(self) -> Browsing:
        """What lies there, to look through it on a screen."""
        from appliance.memory.browsing import Browsing

        return Browsing(self.home, self._database, self.settings.user, self.settings.watch.folders)

    @Room
    def forgetting(self) -> Forgetting:
        """What is to go for good, and the proof that it has."""
        from appliance.forgetting import Forgetting

        return Forgetting(self.home, self._database, self._serving, self.settings.user, self.events.tell)

    @Room
    def _working(self) -> WorkingMemory:
        """The windows of the conversations under way."""
        from appliance import summarising, windowing

        return windowing.working_memory(
            self._database, self.settings, self.events.tell, summarising.notes(self._model)
        )

    @Room
    def _taking(self) -> Taking:
        """The way in."""
        from appliance.taking import Taking

        return Taking(
            self.home, self.settings, self._database, self._serving, self._working, self._gate, self.events.tell,
            self._background.wake,
        )  # fmt: skip

    @Room
    def _asking(self) -> Asking:
        """The language model that reads for facts too."""
        from appliance.asking import Asking

        return Asking(self.facts, self._model)
