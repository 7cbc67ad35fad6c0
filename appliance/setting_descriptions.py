"""What each setting is: its type, default and variable, and the words that stand below it in ``settings``.

The words are read from the source of ``settings``, so that they are written once: there. ``appliance config NAME`` and
the configuration page of the documentation print them.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import msgspec

from appliance import settings
from appliance.config import environment_variable


@dataclass(frozen=True, slots=True)
class SettingDescription:
    """A setting ("model.name"). ``values`` says in words what it may be. ``variable`` is the environment variable that
    sets it, empty for a table, which only ``config.toml`` can set. ``text`` is one paragraph."""

    name: str
    values: str
    default: Any
    variable: str
    text: str

    @property
    def group(self) -> str:
        """The table of ``config.toml`` that has it, empty for the top."""
        return self.name.rpartition(".")[0]


def describe() -> tuple[SettingDescription, ...]:
    """Every setting, in the order of ``Settings``; of your own profiles, those of one named NAME."""
    return tuple(_describe(settings.Settings, ""))


def describe_groups() -> dict[str, str]:
    """What each table of settings is about, by its name; empty where the settings themselves say it."""
    found = {}
    for field in msgspec.structs.fields(settings.Settings):
        kind = _section(field.type)
        if kind is not None:
            found[field.name] = _paragraph(kind.__doc__) if kind.__doc__ != settings.Section.__doc__ else ""
    found["profiles.NAME"] = _paragraph(settings.ProfileSettings.__doc__)
    return found


def _describe(kind: type[msgspec.Struct], prefix: str) -> Iterator[SettingDescription]:
    for field in msgspec.structs.fields(kind):
        name = prefix + field.name
        if (section := _section(field.type)) is not None:
            yield from _describe(section, f"{name}.")
            continue
        shape = msgspec.inspect.type_info(field.type)
        is_table = isinstance(shape, msgspec.inspect.DictType)
        if isinstance(shape, msgspec.inspect.DictType) and _is_profile(shape.value_type):
            yield from _describe(settings.ProfileSettings, f"{name}.NAME.")
            continue
        default = field.default_factory() if field.default is msgspec.NODEFAULT else field.default
        variable = "" if is_table or ".NAME." in name else environment_variable(name)
        yield SettingDescription(name, _words(shape), default, variable, _texts().get((kind.__name__, field.name), ""))


def _section(kind: Any) -> type[settings.Section] | None:
    return kind if isinstance(kind, type) and issubclass(kind, settings.Section) else None


def _is_profile(shape: msgspec.inspect.Type) -> bool:
    return isinstance(shape, msgspec.inspect.StructType) and shape.cls is settings.ProfileSettings


def _words(shape: msgspec.inspect.Type) -> str:
    """What a value may be, as a person says it."""
    match shape:
        case msgspec.inspect.BoolType():
            return "true or false"
        case msgspec.inspect.IntType() | msgspec.inspect.FloatType():
            kind = "whole number" if isinstance(shape, msgspec.inspect.IntType) else "number"
            return " ".join([kind, *_range(shape)])
        case msgspec.inspect.LiteralType():
            return ", ".join(f'"{value}"' for value in shape.values)
        case msgspec.inspect.VarTupleType():
            return "list of texts"
        case msgspec.inspect.DictType():
            return "table"
        case msgspec.inspect.UnionType():
            return " or ".join(_words(one) for one in shape.types if not isinstance(one, msgspec.inspect.NoneType))
        case _:
            return "text"


def _range(shape: msgspec.inspect.IntType | msgspec.inspect.FloatType) -> Iterator[str]:
    low = f"{shape.ge:g}" if shape.ge is not None else f"more than {shape.gt:g}" if shape.gt is not None else None
    high = f"{shape.le:,.10g}".replace(",", "") if shape.le is not None else None
    if low is not None and high is not None:
        yield f"from {low} to {high}"
    elif low is not None:
        yield f"from {low}"


@cache
def _texts() -> dict[tuple[str, str], str]:
    """The text below each field, by class and field. Without the source, as in a frozen program without it, none."""
    try:
        tree = ast.parse(Path(settings.__file__).with_suffix(".py").read_text(encoding="utf-8"))
    except OSError:
        return {}
    texts = {}
    for kind in tree.body:
        if not isinstance(kind, ast.ClassDef):
            continue
        for field, below in zip(kind.body, kind.body[1:], strict=False):
            if (
                isinstance(field, ast.AnnAssign)
                and isinstance(field.target, ast.Name)
                and isinstance(below, ast.Expr)
                and isinstance(below.value, ast.Constant)
                and isinstance(below.value.value, str)
            ):
                texts[kind.name, field.target.id] = _paragraph(below.value.value)
    return texts


def _paragraph(text: str | None) -> str:
    return " ".join((text or "").split())
