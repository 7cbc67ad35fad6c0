"""The command palette: every action of the table that is possible where the person is."""

from __future__ import annotations

from collections.abc import Callable, Coroutine

from textual.command import DiscoveryHit, Hit, Hits, Provider

from appliance_tui.actions import Action, actions


class Palette(Provider):
    """Offers the actions of the screen that was looked at, and those of everywhere."""

    async def discover(self) -> Hits:
        for action in self._possible():
            yield DiscoveryHit(
                f"{action.name}  {self._keys(action)}", self._run(action), action.name, action.help
            )

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for action in self._possible():
            score = max(matcher.match(action.name), matcher.match(action.help))
            if score > 0:
                yield Hit(score, matcher.highlight(action.name), self._run(action), action.name, action.help)

    def _possible(self) -> list[Action]:
        return [*actions(getattr(self.screen, "PLACE", "")), *actions("app")]

    def _keys(self, action: Action) -> str:
        active = self.screen.active_bindings.values()
        return " ".join(
            self.app.get_key_display(one.binding) for one in active if one.binding.id == action.id
        )

    def _run(self, action: Action) -> Callable[[], Coroutine[None, None, None]]:
        namespace = self.app if action.place == "app" else self.screen

        async def run() -> None:
            await self.app.run_action(action.does, namespace)

        return run
