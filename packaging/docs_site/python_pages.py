"""The pages of the Python interface: what ``appliance`` exports, with signatures and docstrings."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from typing import Any

from docs_site.markdown import cell, code, docstring, fence, prose, table
from docs_site.signatures import annotation_text, property_type, signature_parts

FOLDER = "reference/python"
LINE = 96
"""A longer signature has a line for each parameter."""


def pages(memory: Any) -> dict[str, str]:
    """Every page by its path.

    Args:
        memory: An open memory: some of its verbs are made when they are first used.
    """
    import appliance

    exported = {name: getattr(appliance, name) for name in sorted(appliance.__all__)}
    resources = {
        name: value for name, value in vars(memory).items()
        if not name.startswith("_") and type(value).__name__ in exported and type(value) is not appliance.Settings
        and not is_dataclass(value)
    }  # fmt: skip
    verbs = {type(value).__name__ for value in resources.values()} | {"Appliance"}
    session = memory.sessions.create(private=True)
    awaited = {name for name in exported if name.startswith("Async")}
    handles = {"Session": session}
    errors = {name for name, one in exported.items() if inspect.isclass(one) and issubclass(one, Exception)}
    types = [
        name
        for name in exported
        if name not in verbs | awaited | errors | {"Session"} and inspect.isclass(exported[name])
    ]
    found = {f"{FOLDER}/appliance.md": _class_page("Appliance", appliance.Appliance, memory)}
    for name, value in resources.items():
        kind = type(value)
        found[f"{FOLDER}/{name}.md"] = _class_page(kind.__name__, kind, value, reached=f"memory.{name}")
    for name, value in handles.items():
        found[f"{FOLDER}/{name.lower()}.md"] = _class_page(name, type(value), value, reached="memory.sessions.get(id)")
    found[f"{FOLDER}/types.md"] = _types_page({name: exported[name] for name in types})
    found[f"{FOLDER}/asyncio.md"] = _async_page({name: exported[name] for name in sorted(awaited)})
    found[f"{FOLDER}.md"] = _index(resources, exported, errors)
    return found


def _index(resources: Mapping[str, Any], exported: Mapping[str, Any], errors: set[str]) -> str:
    import appliance

    rows = [("[`Appliance`](python/appliance.md)", _first(appliance.Appliance))]
    rows += [
        (f"[{code(f'memory.{name}')}](python/{name}.md)", _first(type(value))) for name, value in resources.items()
    ]
    rows += [("[`Session`](python/session.md)", _first(exported["Session"]))]
    return "\n".join(
        [
            "# Python\n",
            docstring(inspect.getdoc(appliance) or ""),
            table(("what", "what it is"), rows),
            "[Types](python/types.md) are what they return, frozen. [asyncio](python/asyncio.md) has the same"
            " verbs, awaited. The [errors](errors.md) that `appliance` exports are"
            f" {', '.join(map(code, sorted(errors)))}.\n",
            "All of it carries types for mypy and editors. `appliance_models` has embedders and tokenizers; it knows"
            " nothing of a memory.\n",
        ]
    )


def _class_page(name: str, kind: type, value: Any, reached: str = "") -> str:
    parts = [f"# {name}\n", docstring(_doc(kind))]
    if reached:
        parts.insert(1, f"Reached as {code(reached)}.\n")
    methods = list(_methods(kind, value))
    parts.append(
        table(("verb", "what it does"), ((f"[{code(one)}](#{one})", _sentence(text)) for one, _, text in methods))
    )
    for one, function, text in methods:
        parts += [f"## {one} {{ #{one} }}\n", fence(signature(one, function), "python"), docstring(text)]
    return "\n".join(parts)


def _methods(kind: type, value: Any) -> Iterator[tuple[str, Any, str]]:
    """The public methods and properties, with their docstrings; what has none is not meant for callers."""
    for name in sorted(name for name in dir(kind) if not name.startswith("_")):
        static = inspect.getattr_static(kind, name)
        if (
            value is kind
            and not isinstance(static, property | classmethod | staticmethod)
            and not inspect.isfunction(static)
        ):
            continue  # a descriptor that wants a value
        member = static if isinstance(static, property) else getattr(value, name)
        text = inspect.getdoc(member)
        if text and (isinstance(member, property) or inspect.isroutine(member)):
            yield name, member, text


def _types_page(kinds: Mapping[str, type]) -> str:
    parts = [
        "# Python: types\n",
        "What the verbs return. They are frozen; times are UTC where the zone is known, ids are text.\n",
    ]
    for name, kind in kinds.items():
        parts += [f"## {name} {{ #{name} }}\n", docstring(_doc(kind))]
        if is_dataclass(kind):
            parts.append(
                table(
                    ("field", "type"), ((code(one.name), code(cell(annotation_text(one.type)))) for one in fields(kind))
                )
            )
        members = [(one, member, text) for one, member, text in _methods(kind, kind) if not _is_field(kind, one)]
        parts.append(
            table(
                ("besides", "what it is"),
                ((code(_shape(one, member)), _sentence(text)) for one, member, text in members),
            )
        )
    return "\n".join(parts)


def _is_field(kind: type, name: str) -> bool:
    return is_dataclass(kind) and name in {one.name for one in fields(kind)}


def _shape(name: str, member: Any) -> str:
    return name if isinstance(member, property) else f"{name}{_short_signature(member)}"


def _short_signature(function: Callable[..., Any]) -> str:
    shape = inspect.signature(function)
    return f"({', '.join(name for name in shape.parameters if name != 'self')})"


def _async_page(kinds: Mapping[str, type]) -> str:
    parts = ["# Python: asyncio\n", docstring(inspect.getdoc(inspect.getmodule(next(iter(kinds.values())))) or "")]
    for name, kind in kinds.items():
        methods = [one for one in dir(kind) if not one.startswith("_")]
        parts += [
            f"## {name} {{ #{name} }}\n",
            docstring(_doc(kind)),
            f"Its members: {', '.join(map(code, methods))}.\n",
        ]
    return "\n".join(parts)


def signature(name: str, member: Any) -> str:
    """A signature as it is written; a long one has a line for each parameter."""
    if isinstance(member, property):
        return f"{name}: {property_type(member)}"
    parts, gives = signature_parts(member)
    parts = [part for part in parts if part != "self"]
    line = f"{name}({', '.join(parts)}){gives}"
    return line if len(line) <= LINE else f"{name}(\n" + "".join(f"    {part},\n" for part in parts) + f"){gives}"


def _doc(kind: type) -> str:
    """The docstring of a class; one that dataclasses have made of the fields is none."""
    text = inspect.getdoc(kind) or ""
    return "" if text.startswith(f"{kind.__name__}(") else text


def _first(kind: type) -> str:
    return _sentence(_doc(kind))


def _sentence(text: str) -> str:
    return prose(" ".join(text.split("\n\n")[0].split()))
