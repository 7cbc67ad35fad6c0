"""Why a message matched or did not, in plain words: each part of its score as a bar, and in which ways it was found."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import VerticalScroll
from textual.content import Content
from textual.screen import ModalScreen
from textual.widgets import Static

from appliance_tui.actions import bindings
from appliance_tui.frame import KeyFooter
from appliance_tui.list_keys import ListScreen
from appliance_tui.screens.picker import PickerOption, PickerScreen
from appliance_tui.widgets.display_text import one_line, pluralize, render_bar

if TYPE_CHECKING:
    from appliance.client import Appliance
    from appliance.types import Hit, Hits
    from appliance_tui.app import ApplianceApp
    from appliance_tui.search_results import RunQuery, SearchResults

BAR_WIDTH = 20

MIN_VISIBLE_SCORE = 0.005
"""Parts below it would show as 0.00 and are left out."""


class ExplanationScreen(ListScreen[None], ModalScreen[None]):
    """Explains one message. ``why`` and ``score`` are those of a hit, None if the message was not a candidate."""

    CSS_PATH = "explanation.tcss"
    PLACE = "why"
    BINDINGS: ClassVar[list[BindingType]] = [*bindings("why")]

    def __init__(
        self, title: str, description: str | Content, why: Mapping[str, Any] | None, score: float | None
    ) -> None:
        super().__init__()
        self._heading = title
        self._description = description
        self._why = why
        self._score = score

    def compose(self) -> ComposeResult:
        with VerticalScroll(id="why"):
            yield Static(self._description, markup=False, id="why-description")
            if self._why is not None:
                yield Static(Content("\n").join(list(_score_lines(self._why, self._score))), id="why-parts")
        yield KeyFooter()

    def on_mount(self) -> None:
        self.query_one("#why").border_title = one_line(self._heading)


def _score_lines(why: Mapping[str, Any], score: float | None) -> Iterator[Content]:
    parts = {name: part for name, part in why.get("score", {}).items() if abs(part) >= MIN_VISIBLE_SCORE}
    legs: Mapping[str, Mapping[str, Any]] = why.get("legs", {})
    largest = max((abs(part) for part in parts.values()), default=0.0)
    if score is not None:
        yield Content.styled(f"{score:.2f} of 1: how likely it is what you search for", "bold")
        yield Content("")
    yield Content.styled("What gives it its place", "bold")
    for name, part in sorted(parts.items(), key=lambda item: -item[1]):
        colour = "$accent" if part > 0 else "$error"
        yield Content.assemble((_signed_bar(part / largest), colour), f" {part:>6.2f}  {_label(name)}")
    total = sum(why.get("score", {}).values())
    yield Content.assemble(" " * BAR_WIDTH, (f" {total:>6.2f}  together, by which the hits are ordered", "bold"))
    if legs:
        yield Content("")
        yield Content.styled("How it was found", "bold")
    for name, leg in legs.items():
        yield Content(f"by {_label(name)}: {_leg_text(name, leg)}")
    if variants := why.get("variants"):
        yield Content("")
        yield Content(f"{pluralize(len(variants), 'similar message')}: {', '.join(variants)}")


def _signed_bar(share: float) -> str:
    """A bar for a share from -1 to 1; what counts against the hit is a row of "-", which differs without colours."""
    return render_bar(share, BAR_WIDTH) if share > 0 else ("-" * max(1, round(-share * BAR_WIDTH))).ljust(BAR_WIDTH)


def _label(name: str) -> str:
    """What a part of a score or a way to find a message is called."""
    from appliance.types.labels import FEATURE_LABELS

    return FEATURE_LABELS.get(name, name)


def _leg_text(name: str, leg: Mapping[str, Any]) -> str:
    """The place among what was found in one way; only the score for the meaning has a scale that a person knows."""
    rank, score = leg.get("rank"), leg.get("score")
    place = f"number {rank}" if rank is not None else "not among the best"
    return f"{place}, {score:.2f} of 1" if name == "dense" and score is not None else place


async def explain_hit(app: ApplianceApp, hit: Hit, results: SearchResults, run_query: RunQuery[Any]) -> None:
    """Show why a message is a hit: a sentence, and the numbers behind it.

    Raises:
        ApplianceError: as the memory says.
    """
    from appliance.types.reasons import reason

    if not results.spec.query.strip():
        app.notify("It matches the filters. Type words to see why a message is found.", timeout=3)
        return
    own = results.matches.get(hit.message_id)
    known = {word.casefold() for word in own.words} if own is not None else set()
    ids = [turn.id for turn in (*hit.before, *hit.after)]
    near = await run_query(lambda memory: memory.overview.matches(results.spec.query, ids))
    near_words = {word.casefold(): word for found in near for word in found.words}
    missing = [word for folded, word in near_words.items() if folded not in known]
    title, author = f"Why {hit.message_id} is hit {hit.rank}", app.name_of(hit.who)
    description = Content.assemble(
        (one_line(reason(hit.why, hit.author, missing)), "bold"), f"\n\n{author}: {one_line(hit.snippet)}"
    )
    app.push_screen(ExplanationScreen(title, description, hit.why, hit.score))


async def explain_miss(app: ApplianceApp, query: str, arguments: Mapping[str, Any]) -> None:
    """Show why a message that the person names did not match.

    Args:
        arguments: those of ``Appliance.search`` besides the query.

    Raises:
        ApplianceError: as the memory says.
    """
    from appliance.types.reasons import stage_text

    chosen = await app.push_screen_wait(
        PickerScreen("Why not this message?", (), _message_id_option, "The id of a message, such as m345")
    )
    if chosen is None or not query.strip():
        return

    def search(memory: Appliance) -> Hits:
        return memory.search(query, why_not=chosen.value, **arguments)

    explanation = (await app.memory_worker.run_query(search)).why_not
    if explanation is not None:
        app.push_screen(
            ExplanationScreen(stage_text(explanation), explanation.words, explanation.why, explanation.score)
        )


def _message_id_option(text: str) -> list[PickerOption]:
    return [PickerOption("", text.strip(), "as typed")] if text.strip() else []
