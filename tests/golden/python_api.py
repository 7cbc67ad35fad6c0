"""The public Python interface: names, signatures with annotations as text, fields of values, and the error tree."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from types import ModuleType
from typing import Any

from docs_site.signatures import annotation_text, property_type, signature_parts

import appliance
import appliance_models
from appliance import Appliance, errors
from tests.golden.surroundings import embedder, fixed, written

ONE_LINE = 100
"""A longer signature has a line for each parameter."""


def make() -> Mapping[str, str]:
    """The golden file of the interface."""
    with fixed(hashed=False) as home, Appliance.open(home, worker=False, embedder=embedder()) as memory:
        found = {
            "appliance": _names(appliance),
            "appliance.errors": _errors(),
            "appliance_models": _names(appliance_models),
            "an open memory": _attributes(memory),
            "a private session": _attributes(memory.sessions.create(private=True)),
        }
    return {"python.json": written(found)}


def _names(package: ModuleType) -> dict[str, Any]:
    # What an Appliance has, an open memory says.
    return {
        name: _described(getattr(package, name)) if getattr(package, name) is not Appliance else "an open memory"
        for name in package.__all__
    }


def _described(value: Any) -> Any:
    if inspect.isclass(value):
        return _members(value)
    return _signature(value) if inspect.isroutine(value) else repr(value)


def _members(kind: type) -> dict[str, Any]:
    """What a class has publicly, of its own and inherited from classes of ours. How a conversation is made is not
    public: a memory makes it."""
    found: dict[str, Any] = {"is a": [base.__name__ for base in kind.__mro__[1:-1] if base in _PLAIN]}
    if is_dataclass(kind):
        found |= {field.name: annotation_text(field.type) for field in fields(kind)}
    for base in reversed([base for base in kind.__mro__ if base.__module__.startswith("appliance")]):
        for name, member in vars(base).items():
            if name == "__init__" and not is_dataclass(kind) and _is_made_by_callers(kind):
                found[name] = _signature(member)
            elif not name.startswith("_") and not (is_dataclass(base) and name in found):
                found[name] = _member(member)
    return found


_PLAIN = (list, Exception, appliance.ApplianceError, appliance_models.ModelError)
"""Classes that others rely on being behind one of ours."""


def _is_made_by_callers(kind: Any) -> bool:
    return not getattr(kind, "_is_protocol", False) and not issubclass(kind, appliance.Session)


def _member(member: Any) -> Any:
    if isinstance(member, property):
        return f"property -> {property_type(member)}"
    function = getattr(member, "__func__", member)
    return _signature(function) if inspect.isfunction(function) else "attribute"


def _attributes(memory: object) -> dict[str, Any]:
    """The verbs and properties of an object, and the verbs of each of its attributes."""
    found: dict[str, Any] = {}
    for name in sorted(name for name in dir(memory) if not name.startswith("_")):
        static = inspect.getattr_static(type(memory), name, None)
        if isinstance(static, property):
            found[name] = _member(static)
        elif inspect.isroutine(value := getattr(memory, name)):
            found[name] = _signature(value)
        else:
            verbs = {verb: _signature(getattr(value, verb)) for verb in _verbs(value)}
            found |= {f"{name}.{verb}": signature for verb, signature in verbs.items()} or {name: "attribute"}
    return found


def _verbs(value: Any) -> list[str]:
    """The public methods of a class of ours."""
    if not type(value).__module__.startswith("appliance"):
        return []
    return [
        name
        for name in sorted(dir(type(value)))
        if not name.startswith("_") and inspect.isroutine(getattr(value, name))
    ]


def _errors() -> dict[str, str]:
    return {
        name: f"{kind.__bases__[0].__name__}, exit code {kind.exit_code}"
        for name, kind in vars(errors).items()
        if inspect.isclass(kind) and issubclass(kind, appliance.ApplianceError)
    }


def _signature(function: Callable[..., Any]) -> str | list[str]:
    """A signature as it is written; a long one parameter by parameter."""
    parts, gives = signature_parts(function)
    line = f"({', '.join(parts)}){gives}"
    return line if len(line) <= ONE_LINE else [*parts, gives.strip()]
