"""The pages of the command line: one for each verb, with its own verbs, and one that lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docs_site.error_pages import exit_codes
from docs_site.markdown import code, fence, prose, table

GUIDES = {
    "ingest": ("formats",), "watch": ("discover",), "context": ("contexts",), "search": ("ranking", "attachments"),
    "stats": ("attachments",), "timeline": ("attachments",), "on-this-day": ("attachments",), "tag": ("attachments",),
    "start-page": ("screen",), "tui": ("screen",), "serve": ("http", "service"), "mcp": ("assistants", "mcp"),
    "tokens": ("http",), "forget": ("forgetting", "custody"), "restore": ("backup",), "recover": ("recovery",),
    "reindex": ("generations",), "index": ("qdrant",), "bench": ("benchmarks",), "verify": ("recovery",),
    "config": ("reference/configuration",), "secrets": ("custody",), "core": ("contexts",),
}  # fmt: skip
"""Pages that say more about a verb than its help. A page of the verb's own name needs no line here."""

LONGEST_OPTION = 32
"""Characters of an option that a phone shows beside what it is."""


def pages(docs: Path) -> dict[str, str]:
    """Every page by its path. ``docs`` is the folder that has the guides."""
    from typer.main import get_command

    from appliance.cli.app import VERBS, app

    program: Any = get_command(app)
    found = {
        f"reference/cli/{name}.md": _page(name, program.commands[name], docs)
        for verbs in VERBS.values()
        for name in verbs
    }
    listed = "".join(
        f"\n## {group}\n\n"
        + table(
            ("verb", "what it does"),
            ((f"[{code(name)}](cli/{name}.md)", _short(program.commands[name])) for name in verbs),
        )
        for group, verbs in VERBS.items()
    )
    found["reference/cli.md"] = (
        "# Command line\n\n"
        "Every verb, made from the program itself. `appliance VERB --help` prints the same; `appliance docs VERB` opens"
        " the page of a verb.\n\n"
        "Data goes to stdout, narration to stderr. `--json` prints one JSON document, `--home DIR` names the memory,"
        f" and the outcome is an [exit code](#exit-codes).\n{listed}\n## Exit codes\n\n{exit_codes()}\n"
        'With `--json`, an error is a document too: `{"error": {"type", "message", "where", "hint"}}`.'
        " The types are those of the [errors](errors.md).\n"
    )
    return found


def _page(name: str, command: Any, docs: Path) -> str:
    parts = [f"# appliance {name}\n", *_described(command, ("appliance", name))]
    for path, inner in _inner(command, ("appliance", name)):
        parts += [f"## {' '.join(path)}\n", *_described(inner, path)]
    guides = [*([name] if (docs / f"{name}.md").exists() else []), *GUIDES.get(name, ())]
    links = [f"[{_title(docs, guide)}](../../{guide}.md)" for guide in guides]
    more = f"More: {', '.join(links)}. " if links else ""
    return "\n".join([*parts, f"{more}[Exit codes](../cli.md#exit-codes)\n"])


def _title(docs: Path, guide: str) -> str:
    path = docs / f"{guide}.md"
    return path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") if path.exists() else guide.rpartition("/")[2]


def _inner(command: Any, path: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for name, inner in getattr(command, "commands", {}).items():
        yield (*path, name), inner
        yield from _inner(inner, (*path, name))


def _described(command: Any, path: tuple[str, ...]) -> Iterator[str]:
    """The help of a command: words, usage, arguments and options, examples."""
    context = command.make_context(path[-1], [], resilient_parsing=True)
    usage = " ".join([*path, *command.collect_usage_pieces(context)])
    words, examples = _parted(command.help or "")
    yield words + "\n"
    yield fence(usage)
    for kind, head in (("argument", "argument"), ("option", "option")):
        records = [
            part.get_help_record(context) for part in command.get_params(context) if part.param_type_name == kind
        ]
        rows = [
            (_named(record[0]), prose(record[1])) for record in records if record and not record[0].startswith("--help")
        ]
        if rows:
            yield table((head, "what it is"), rows)
    if examples:
        yield "Examples:\n"
        yield fence(examples, "sh")


def _named(option: str) -> str:
    """An option with its value. Many choices are code by themselves, so that a line can end between them."""
    name, _, choices = option.partition(" ")
    if len(option) <= LONGEST_OPTION or "|" not in choices:
        return code(option)
    return f"{code(name)} {', '.join(map(code, choices.split('|')))}"


def _parted(text: str) -> tuple[str, str]:
    """The paragraphs of a help text, and its examples."""
    words, examples = [], []
    for block in text.strip().split("\n\n"):
        lines = [line for line in block.splitlines() if line.strip() != "\b"]
        if lines and lines[0].strip() == "Examples:":
            examples += [line.strip() for line in lines[1:]]
        elif block.lstrip().startswith("\b"):
            words.append(fence("\n".join(lines)))
        else:
            words.append(prose("\n".join(line.strip() for line in lines)))
    return "\n\n".join(words), "\n".join(examples)


def _short(command: Any) -> str:
    return str(command.get_short_help_str(200))
