"""Dataclasses whose methods are made late are those of the standard library in all that can be seen."""

from __future__ import annotations

import copy
import dataclasses
import inspect
import pickle
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, field
from functools import partial
from typing import Any, ClassVar, Generic, TypeVar, get_type_hints

import pytest

from appliance import lazy_dataclasses

T = TypeVar("T")
Decorator = Callable[..., Any]


class Whole:
    a: int
    b: str = "b"
    kind: ClassVar[str] = "whole"
    _: KW_ONLY
    c: list[int] = field(default_factory=list, compare=False)
    d: str = field(default="d", repr=False)
    e: int = field(init=False, default=5)


class Checked:
    """Words."""

    a: int

    def __post_init__(self) -> None:
        if self.a < 0:
            raise ValueError(self.a)


class OwnMethods:
    a: int

    def __repr__(self) -> str:
        return "own"

    def __eq__(self, other: object) -> bool:
        return True

    def __hash__(self) -> int:
        return 7


class OwnEquality:
    a: int

    def __eq__(self, other: object) -> bool:
        return isinstance(other, OwnEquality)


class Typed(Generic[T]):
    a: int = 1


class Empty:
    pass


CLASSES = [Whole, Checked, OwnMethods, OwnEquality, Typed, Empty]
OPTIONS: list[dict[str, bool]] = [
    {"frozen": True, "slots": True},
    {"frozen": True},
    {"slots": True},
    {},
    {"frozen": True, "slots": True, "eq": False},
    {"frozen": True, "eq": False, "repr": False},
    {"frozen": True, "slots": True, "kw_only": True},
]


def made(decorator: Decorator, cls: type, options: dict[str, bool]) -> Any:
    space = {name: value for name, value in vars(cls).items() if name not in ("__dict__", "__weakref__")}
    bases = tuple(base for base in getattr(cls, "__orig_bases__", ()) if base is not object)
    return decorator(**options)(type(cls)(cls.__name__, (Generic,) if bases else (), dict(space)))


def outcome(act: Callable[[], Any]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        return act()
    except Exception as error:
        return type(error), str(error)


def seen(cls: Any) -> dict[str, Any]:
    """All that can be seen of a dataclass and of its values."""
    shown: dict[str, Any] = {
        "signature": str(inspect.signature(cls)),
        "hints": get_type_hints(cls.__init__),
        "fields": [(one.name, one.type, one.kw_only, one.init) for one in dataclasses.fields(cls)],
        "match": cls.__match_args__,
        "slots": getattr(cls, "__slots__", None),
        "missing": outcome(lambda: cls(nothing=1)),
        "negative": outcome(lambda: cls(a=-1) == cls(a=-1)),
    }
    if (value := outcome(lambda: cls(a=1)) if shown["match"] or cls.__name__ != "Empty" else cls()).__class__ is tuple:
        return {**shown, "refused": value}
    same, other = copy.copy(value), outcome(lambda: dataclasses.replace(value, a=2))
    return {
        **shown,
        "repr": repr(value).partition(" object at ")[0],
        "equal": (value == same, value == other, value != other, value == 1),
        "hash": outcome(lambda: hash(value) == hash(same)) if cls.__eq__ is not object.__eq__ else None,
        "values": dataclasses.asdict(value),
        "deep": dataclasses.asdict(copy.deepcopy(value)),
        # Of a name that is no field, the versions of Python raise different errors for frozen slots.
        "set": [outcome(partial(setattr, value, name, 3)) for name in shown["match"]],
        "delete": [outcome(partial(delattr, value, name)) for name in shown["match"]],
    }


@pytest.mark.parametrize("cls", CLASSES)
def test_a_class_is_the_one_of_the_standard_library(cls: type) -> None:
    for options in OPTIONS:
        assert seen(made(lazy_dataclasses.dataclass, cls, options)) == seen(made(dataclass, cls, options)), options


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Base:
    a: int


@lazy_dataclasses.dataclass(frozen=True, slots=True)
class Derived(Base):
    b: int = 2


class Plain(Derived):
    """Has no fields of its own."""


def test_a_class_that_inherits_makes_its_own_methods_and_those_of_its_base() -> None:
    assert Plain(1) == Plain(1) != Derived(1) and hash(Plain(1)) == hash(Derived(1))
    assert repr(Plain(1)) == "Plain(a=1, b=2)" and repr(Base(3)) == "Base(a=3)"
    assert Derived(1, 3) != Derived(1, 2) and Base(1) != Derived(1)
    assert Base.__init__ is not Derived.__init__ is Plain.__init__
    for value in (Base(1), Plain(1)):
        with pytest.raises(dataclasses.FrozenInstanceError, match="cannot assign to field 'a'"):
            value.a = 2  # type: ignore[misc]


def test_values_are_pickled() -> None:
    assert pickle.loads(pickle.dumps(Derived(1, 4))) == Derived(1, 4)


def test_methods_are_made_when_they_are_looked_up_and_once() -> None:
    cls = made(lazy_dataclasses.dataclass, Whole, {"frozen": True, "slots": True})
    stand_in = vars(cls)["__init__"]
    assert not inspect.isfunction(stand_in) and not inspect.isfunction(vars(cls)["__eq__"])
    assert cls(1).a == 1
    assert inspect.isfunction(vars(cls)["__init__"]) and not inspect.isfunction(vars(cls)["__eq__"])
    # Another thread may have looked it up before.
    assert stand_in.__get__(None, cls) is cls.__init__
    assert inspect.isfunction(cls.__hash__) and inspect.isfunction(vars(cls)["__hash__"])
