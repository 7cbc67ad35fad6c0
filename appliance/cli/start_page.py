"""``start-page``: what is worth a look before anything is searched for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

from appliance.cli import options, output
from appliance.cli.options import option
from appliance.types.labels import waiting_heading, waiting_labels

if TYPE_CHECKING:
    from appliance.types import Message, StartPage

LINE_CHARACTERS = 100
"""Characters of a message that are shown."""


def start_page(
    limit: Annotated[int, option("--limit -k", "N", "Most entries of each list. Default: 5.", min=1)] = 5,
    user: options.User = None,
    namespace: options.Namespace = "",
    reveal: options.Reveal = False,
    home: options.Home = None,
    json: options.Json = False,
) -> None:
    """Show the latest conversations, this day in earlier years, pins and what waits.

    \b
    Examples:
      appliance start-page
      appliance start-page -k 3 --user ana
      appliance start-page --json
    """
    with options.open_to_read(home, "start-page", reveal) as memory:
        page = memory.overview.start_page(user_id=user, namespace=namespace, limit=limit)
    if json:
        output.print_json(page)
    elif not page.sessions:
        output.say("Nothing imported yet. 'appliance discover' lists the histories on this machine.")
    else:
        _print_page(page)


def _print_page(page: StartPage) -> None:
    since = f" since {page.since[:4]}" if page.since else ""
    _print_list(
        f"Last conversations ({output.plural(page.sessions, 'conversation')}{since})",
        [
            f"{(one.session.last_at or '')[:10]:<10}  {output.one_line(one.session.title or one.session.external_id)}"
            f"  {one.session.id}"
            for one in page.recent
        ],
    )
    _print_list("On this day", [f"{one.day[:4]}  {_line(one.messages[0])}" for one in page.on_this_day])
    _print_list(f"Pinned ({page.pinned_count:,})", list(map(_line, page.pinned)))
    _print_list(waiting_heading(page.waiting), list(waiting_labels(page.waiting).values()))
    _print_list("Searches to try", [f"appliance search {_quoted(query)}" for query in page.examples])


def _print_list(head: str, lines: list[str]) -> None:
    if lines:
        output.print_styled(head, "bold")
        for line in lines:
            output.print_line(f"  {line}")
        output.print_line()


def _line(message: Message) -> str:
    text = output.one_line(message.text)
    text = text if len(text) <= LINE_CHARACTERS else text[: LINE_CHARACTERS - 1] + "…"
    return f"{message.who}: {text}  {message.id}"


def _quoted(query: str) -> str:
    import shlex

    return shlex.quote(query)
