"""Public names say what they are, modules say what they do, and none grows without end."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import appliance
import appliance_models
from appliance.errors import ApplianceError

ROOT = Path(__file__).parents[2]
LINES_AT_MOST = 500

MODULES = sorted(
    path for folder in (ROOT / "appliance", ROOT / "models" / "appliance_models") for path in folder.rglob("*.py")
)


def named(path: Path) -> str:
    return str(path.relative_to(ROOT))


def test_a_module_says_what_it_does_and_stays_small() -> None:
    texts = {named(path): path.read_text(encoding="utf-8") for path in MODULES}
    assert len(texts) > 100
    assert not {name: lines for name, text in texts.items() if (lines := len(text.splitlines())) > LINES_AT_MOST}
    assert not [name for name, text in texts.items() if text.strip() and not ast.get_docstring(ast.parse(text))]


def test_no_process_of_ours_imports_from_where_the_person_stands() -> None:
    sources = {path: path.read_text(encoding="utf-8") for path in [*MODULES, *(ROOT / "tui").rglob("*.py")]}
    starts = [line for text in sources.values() for line in text.splitlines() if 'sys.executable, "' in line]
    assert len(starts) > 2
    assert not [line for line in starts if not re.search(r'sys\.executable, "-(P|I)"', line)]


def test_no_pattern_repeats_a_group_possessively() -> None:
    """Before 3.11.5, Python matches such a group wrongly without a word (gh-106052): on Debian 12, whole messages were
    lost. An atomic group around a greedy one, (?>(?:…)*), is the same and right."""
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    sources = [*MODULES, *(ROOT / "tui").rglob("*.py")]
    assert not [named(path) for path in sources if possessive.search(path.read_text(encoding="utf-8"))]


def callables(value: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """A function, or the public methods that a class of ours defines."""
    if inspect.isfunction(value):
        yield value.__name__, value
    elif inspect.isclass(value):
        for name, member in vars(value).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not name.startswith("_") and inspect.isfunction(function):
                yield f"{value.__name__}.{name}", function


@pytest.mark.parametrize("package", [appliance, appliance_models], ids=lambda package: package.__name__)
def test_a_public_name_is_there_with_a_docstring_and_types(package: Any) -> None:
    assert package.__all__
    for name in package.__all__:
        value = getattr(package, name)
        if not callable(value):
            assert isinstance(value, str), name
            continue
        assert (inspect.getdoc(value) or "").strip(), f"{name} has no docstring"
        for called, function in callables(value):
            signature = inspect.signature(function)
            for parameter in signature.parameters.values():
                if parameter.name not in ("self", "cls"):
                    assert parameter.annotation is not parameter.empty, f"{called}: {parameter.name} has no type"
            assert signature.return_annotation is not signature.empty, f"{called} has no return type"


@pytest.mark.parametrize("name", ["Appliance", "Session"])
def test_every_verb_is_documented(name: str) -> None:
    for called, function in callables(getattr(appliance, name)):
        doc = inspect.getdoc(function)
        assert doc or called == "Session.title", f"{called} has no docstring"


def test_the_names_of_the_package_are_the_ones_it_lists() -> None:
    for package in (appliance, appliance_models):
        listed = [name for name in package.__all__ if name != "__version__"]
        assert sorted(listed) == sorted(set(listed))
        for name in listed:
            home = getattr(package, name)
            module = getattr(home, "__module__", None)
            if module is not None:
                assert getattr(importlib.import_module(module), name) is home
        with pytest.raises(AttributeError, match="nothing_like_it"):
            _ = package.nothing_like_it


def test_values_are_frozen() -> None:
    for name in ("Context", "Hit", "IngestReport", "Message", "SessionInfo"):
        value = object.__new__(getattr(appliance, name))
        for field in dataclasses.fields(value):
            with pytest.raises(dataclasses.FrozenInstanceError):
                setattr(value, field.name, None)


# --- errors --------------------------------------------------------------------------------------------------

SPOKEN = [
    path
    for folder in (ROOT / "appliance", ROOT / "tui")
    for path in sorted(folder.rglob("*.py"))
    if "formats" not in path.parts  # the parsers' messages stand in the middle of a report's line
]


def error_names(kind: type[Exception] = ApplianceError) -> Iterator[str]:
    yield kind.__name__
    for lower in kind.__subclasses__():
        yield from error_names(lower)


def literal(node: ast.expr) -> str | None:
    """The text of a string literal, with its placeholders as ``{}``; None of anything else."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    if isinstance(node, ast.JoinedStr):
        return "".join(str(part.value) if isinstance(part, ast.Constant) else "{}" for part in node.values)
    return None


def is_sentence(text: str) -> bool:
    first = text.split()[0]
    return text.endswith((".", "{}")) and not (first.isalpha() and first[0].islower())


def test_an_error_and_its_hint_are_sentences() -> None:
    for module in ("server.http.problems", "server.openai_proxy.upstream", "server.service.plan"):
        importlib.import_module(f"appliance.{module}")  # their errors are subclasses of ours
    kinds = set(error_names())
    seen = 0
    for path in SPOKEN:
        for call in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id in kinds:
                given = [*call.args[:1], *(keyword.value for keyword in call.keywords if keyword.arg == "hint")]
                for text in filter(None, map(literal, given)):
                    seen += 1
                    assert is_sentence(text), f"{named(path)}, line {call.lineno}: {text}"
    assert seen > 100
