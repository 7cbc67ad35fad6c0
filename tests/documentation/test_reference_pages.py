"""The pages of the reference name all that they are about, and every page of the documentation has its place."""

from __future__ import annotations

import json
import re
from functools import cache
from pathlib import Path

import msgspec
from docs_site import command_pages, error_pages, http_pages, navigation, setting_pages, sources, tool_pages
from docs_site.markdown import docstring, table

from appliance import config, errors
from appliance.cli.app import VERBS
from appliance.server.mcp.tools import TOOLS
from appliance.setting_descriptions import describe, describe_groups
from appliance.settings import Settings

ROOT = Path(__file__).resolve().parents[2]
OPENAPI = json.loads((ROOT / "tests/golden/files/openapi.json").read_text(encoding="utf-8"))


def openapi() -> dict[str, object]:
    """The document as the service gives it: the golden file has a text of several lines as a list of them, and no field
    whose name is that of a figure."""

    def joined(value: object) -> object:
        if isinstance(value, dict):
            return {
                name: "\n".join(one)
                if name == "description" and isinstance(one, list)
                else {"type": "number"}
                if one == f"<{name}>"
                else joined(one)
                for name, one in value.items()
            }
        return [joined(one) for one in value] if isinstance(value, list) else value

    document = joined(OPENAPI)
    assert isinstance(document, dict)
    return document


@cache
def pages_of_commands() -> dict[str, str]:
    return command_pages.pages(sources.DOCS)


@cache
def pages_of_http() -> dict[str, str]:
    return http_pages.pages(openapi())


def test_every_setting_is_described() -> None:
    described = {one.name: one for one in describe()}
    assert config.flatten(msgspec.to_builtins(Settings())).keys() <= described.keys()
    assert {"context.shares", "tui.keys", "profiles.NAME.weights"} <= described.keys()
    assert not [name for name, one in described.items() if not one.text]
    assert described["index.ledger"].values == '"float16", "int8"'
    assert described["working.threshold"].values == "number from 0 to 1"
    assert described["server.readers"].values == "whole number from 0 to 64"
    assert described["context.budget"].variable == "APPLIANCE_CONTEXT_BUDGET"
    assert not described["tui.keys"].variable
    assert describe_groups()["server"].startswith("What ``appliance serve`` listens on")


def test_the_configuration_page_has_every_setting() -> None:
    (page,) = setting_pages.pages().values()
    for one in describe():
        assert f"### {one.name} {{ #{one.name} }}" in page
        assert one.variable in page


def test_the_pages_of_the_command_line_have_every_verb_and_option() -> None:
    pages = pages_of_commands()
    names = [name for verbs in VERBS.values() for name in verbs]
    assert {f"reference/cli/{name}.md" for name in names} | {"reference/cli.md"} == pages.keys()
    assert all(f"](cli/{name}.md)" in pages["reference/cli.md"] for name in names)
    assert "| `--sort score|time` | Best first, or all with" in pages["reference/cli/search.md"]
    assert "| `--role` `user`, `assistant`, `system`, `tool` | Filter" in pages["reference/cli/search.md"]
    assert "\nappliance search KLP-512 -k 3 --explain\n" in pages["reference/cli/search.md"]
    assert "## appliance facts confirm\n" in pages["reference/cli/facts.md"]
    assert "| `130` | interrupted" in pages["reference/cli.md"]


def test_the_pages_of_http_have_every_path_with_a_request_that_fits_it() -> None:
    pages = pages_of_http()
    text = "\n".join(pages.values())
    for path, item in OPENAPI["paths"].items():
        for method in item:
            assert f"## {method.upper()} {path} {{" in text, (method, path)
    for name in OPENAPI["components"]["schemas"]:
        assert f"## {name} {{" in pages["reference/http/types.md"]
    examples = re.findall(r"^curl .*$", text, re.MULTILINE)
    assert len(examples) == sum(len(item) for item in OPENAPI["paths"].values())
    assert not [one for one in examples if "{" in one.partition(" -d ")[0]]
    assert 'curl -s -X PUT -H "$AUTH" "$URL/v1/messages/m1/pin"' in examples


def test_the_page_of_tools_has_every_tool_and_argument() -> None:
    (page,) = tool_pages.pages().values()
    for name, tool in TOOLS.items():
        assert f"## {name} {{" in page
        assert all(f"| `{argument}` |" in page for argument in tool.to_mcp_tool().input_schema["properties"])


def test_the_page_of_errors_has_every_error_and_exit_code() -> None:
    (page,) = error_pages.pages().values()
    kinds = [one for one in vars(errors).values() if isinstance(one, type) and issubclass(one, errors.ApplianceError)]
    assert len(kinds) > 15
    for kind in kinds:
        assert f"| `{kind.__name__}` |" in page
        assert kind.exit_code in error_pages.CODES


def test_every_page_has_its_place() -> None:
    docs = {path.relative_to(sources.DOCS).as_posix() for path in sources.DOCS.rglob("*.md")}
    made = [
        *pages_of_commands(), *pages_of_http(), *setting_pages.pages(), *tool_pages.pages(), *error_pages.pages(),
        "reference/python.md", "reference/python/appliance.md", "decisions/index.md",
    ]  # fmt: skip
    titles = {name: name for name in sorted([*docs, *sources.TAKEN_IN.values(), *made])}
    assert sorted(navigation.places(navigation.navigation(titles))) == sorted(titles)


def test_every_diagram_is_drawn() -> None:
    drawn = {path.name for path in sources.DIAGRAMS.glob("*.svg")}
    assert drawn == sources.diagrams().keys(), "draw them: python packaging/docs_site/draw_diagrams.py"


def test_a_docstring_becomes_markdown() -> None:
    assert docstring(
        """Do it, with ``x`` < y.

        Args:
            one: The first,
                on two lines.
            two, three: Others.

        Raises:
            NotFound: None.
        """
    ) == (
        "Do it, with `x` < y.\n\n\n**Args**\n\n- `one`: The first, on two lines.\n- `two`, `three`: Others.\n\n\n"
        "**Raises**\n\n- `NotFound`: None.\n"
    )
    assert docstring("How:\n\n    call(it)\n\nThen.") == "How:\n\n```python\ncall(it)\n```\n\nThen.\n"
    assert table(("a", "b"), [("x | y", "`p|q`")]) == "| a | b |\n|---|---|\n| x \\| y | `p|q` |\n"
    assert table(("a",), []) == ""
