"""How the pages stand in the site: by what they are for. Every page is in it once."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

Navigation = list[dict[str, Any]]
"""As mkdocs takes it: titles with a page or with a list."""

TUTORIAL = ("tutorial.md",)

GUIDES = {
    "Bring it in": ("discover.md", "attachments.md", "people.md"),
    "Use it": ("screen.md", "assistants.md", "mcp.md", "proxy.md", "integrations.md", "http.md"),
    "Look after it": (
        "service.md", "doctor.md", "storage.md", "users.md", "backup.md", "moving.md", "upgrading.md", "forgetting.md",
        "encryption.md", "archive.md", "recovery.md",
    ),
    "Fit it": ("profiles.md", "models.md", "generations.md", "jina.md", "qdrant.md", "metrics.md"),
}  # fmt: skip

EXPLANATION = ("architecture.md", "ranking.md", "contexts.md", "custody.md", "scale.md", "benchmarks.md")

PROJECT = (
    "project/changelog.md", "versions.md", "project/contributing.md", "project/security.md", "project/packaging.md",
    "project/model-sources.md",
)  # fmt: skip


class NavigationError(Exception):
    """A page is missing or has no place; the message says which."""


def navigation(titles: Mapping[str, str]) -> Navigation:
    """The navigation of a site.

    Args:
        titles: The title of each page, by its path.

    Raises:
        NavigationError: A page has no place here, or a place no page.
    """
    found: Navigation = [
        {"Start": "README.md"},
        {"Tutorial": [_entry(name, titles) for name in TUTORIAL]},
        {"How-to": [{group: [_entry(name, titles) for name in names]} for group, names in GUIDES.items()]},
        {
            "Reference": [
                {"Overview": "reference.md"},
                {"Command line": ["reference/cli.md", *_under("reference/cli/", titles, short="appliance ")]},
                _entry("reference/configuration.md", titles),
                {"HTTP": ["reference/http.md", *_under("reference/http/", titles, short="HTTP: ")]},
                _entry("reference/mcp-tools.md", titles),
                {
                    "Python": [
                        "reference/python.md",
                        "reference/python/appliance.md",
                        *_under("reference/python/", titles, short="Python: ", without="reference/python/appliance.md"),
                    ]
                },
                {"TypeScript": "reference/typescript.md"},
                {"Formats": ["formats.md", *_under("formats/", titles)]},
                _entry("reference/errors.md", titles),
                _entry("glossary.md", titles),
            ]
        },
        {
            "Explanation": [
                *[_entry(name, titles) for name in EXPLANATION],
                {"Decisions": ["decisions/index.md", *_under("decisions/", titles, without="decisions/index.md")]},
            ]
        },
        {"Project": [_entry(name, titles) for name in PROJECT]},
    ]
    placed = list(places(found))
    if missing := [name for name in placed if name not in titles]:
        raise NavigationError(f"The navigation names {missing[0]}, which does not exist.")
    if left := sorted(titles.keys() - set(placed)):
        raise NavigationError(f"{left[0]} has no place in packaging/docs_site/navigation.py.")
    if twice := [name for name in placed if placed.count(name) > 1]:
        raise NavigationError(f"{twice[0]} stands twice in the navigation.")
    return found


def places(navigation: Any) -> Iterator[str]:
    """The paths of a navigation, in its order."""
    if isinstance(navigation, str):
        yield navigation
    else:
        for one in navigation.values() if isinstance(navigation, dict) else navigation:
            yield from places(one)


def _entry(name: str, titles: Mapping[str, str]) -> dict[str, str]:
    return {titles.get(name, name): name}


def _under(folder: str, titles: Mapping[str, str], *, short: str = "", without: str = "") -> list[dict[str, str]]:
    """The pages of a folder by their titles, without what all of these begin with."""
    return [
        {title.removeprefix(short): name}
        for name, title in titles.items()
        if name.startswith(folder) and name != without
    ]
