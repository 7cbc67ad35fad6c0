"""The pages of the command line: one for each verb, with its own verbs, and one that lists them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from appliance.cli.reference.commands import Command, Option, read_commands
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
    from appliance.cli.app import VERBS

    verbs = {command.path[0]: command for command in read_commands().commands}
    found = {f"reference/cli/{name}.md": _page(verbs[name], docs) for names in VERBS.values() for name in names}
    listed = "".join(
        f"\n## {group}\n\n"
        + table(("verb", "what it does"), ((f"[{code(name)}](cli/{name}.md)", verbs[name].summary) for name in names))
        for group, names in VERBS.items()
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


def _page(verb: Command, docs: Path) -> str:
    name = verb.path[0]
    parts = [f"# {verb.name}\n", *_described(verb)]
    for inner in [*verb.walk()][1:]:
        parts += [f"## {inner.name}\n", *_described(inner)]
    guides = [*([name] if (docs / f"{name}.md").exists() else []), *GUIDES.get(name, ())]
    links = [f"[{_title(docs, guide)}](../../{guide}.md)" for guide in guides]
    more = f"More: {', '.join(links)}. " if links else ""
    return "\n".join([*parts, f"{more}[Exit codes](../cli.md#exit-codes)\n"])


def _title(docs: Path, guide: str) -> str:
    path = docs / f"{guide}.md"
    return path.read_text(encoding="utf-8").splitlines()[0].lstrip("# ") if path.exists() else guide.rpartition("/")[2]


def _described(command: Command) -> Iterator[str]:
    """The help of a command: words, usage, arguments and options, examples."""
    words, examples = _parted(command.help)
    yield words + "\n"
    yield fence(f"{command.name} {command.usage}")
    arguments = [(one, f"{one.help} [required]" if one.is_required else one.help) for one in command.arguments]
    if described := [(code(one.metavar), prose(help)) for one, help in arguments if one.help]:
        yield table(("argument", "what it is"), described)
    if options := [(_named(one), prose(one.help)) for one in command.options if one.names != ("--help",)]:
        yield table(("option", "what it is"), options)
    if examples:
        yield "Examples:\n"
        yield fence(examples, "sh")


def _named(option: Option) -> str:
    """An option with its value. Many choices are code by themselves, so that a line can end between them."""
    names = option.written()
    whole = f"{names} {option.metavar}".rstrip()
    if len(whole) <= LONGEST_OPTION or "|" not in option.metavar:
        return code(whole)
    return f"{code(names)} {', '.join(map(code, option.metavar.split('|')))}"


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
