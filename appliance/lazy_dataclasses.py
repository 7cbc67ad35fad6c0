"""``dataclass`` of the standard library, but for its methods, which are made when they are first used.

The standard library writes and compiles six methods for each frozen dataclass. For the hundreds of classes of this
program that took two fifths of the processor time of a short command, and one process makes or compares values of few
of them. Here a class has its fields at once, and gets a method when it is first looked up: the one that the standard
library makes of the same fields.
"""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dataclasses import dataclass as dataclass
else:

    def dataclass(cls=None, /, **options):
        """Make a class a dataclass. The options are ``eq``, ``frozen``, ``kw_only``, ``repr`` and ``slots`` of the
        standard library. A frozen class may inherit from one that is not, and the other way round."""
        return _dataclass(cls, **options) if cls is not None else lambda decorated: _dataclass(decorated, **options)


def _dataclass(
    cls: type, *, frozen: bool = False, slots: bool = False, eq: bool = True, repr: bool = True, kw_only: bool = False
) -> type:
    own = vars(cls)
    if cls.__doc__ is None:  # the standard library would show the signature, and make the method for it
        cls.__doc__ = cls.__name__
    has_hash = "__hash__" in own and not (own["__hash__"] is None and "__eq__" in own)
    wanted = {"__init__": True, "__repr__": repr, "__eq__": eq, "__hash__": eq and frozen}
    stand_ins = [
        _FirstUse(name, frozen, slots)
        for name, is_wanted in wanted.items()
        if is_wanted and not (has_hash if name == "__hash__" else name in own)
    ]
    for stand_in in stand_ins:
        setattr(cls, stand_in.name, stand_in)
    if eq and not frozen and not has_hash:
        cls.__hash__ = None  # type: ignore[assignment]
    if frozen:
        for method in (_refuse_to_set, _refuse_to_delete, *((_state, _set_state) if slots else ())):
            setattr(cls, _NAMES[method], method)
    made: type = dataclasses.dataclass(init=False, repr=False, eq=False, slots=slots, kw_only=kw_only)(cls)
    for stand_in in stand_ins:  # with slots, the class is another one
        stand_in.owner = made
    return made


class _FirstUse:
    """Stands in for a method of a class until it is first looked up.

    Attributes:
        owner: The class.
    """

    owner: type

    def __init__(self, name: str, frozen: bool, slots: bool) -> None:
        self.name = name
        self._frozen = frozen
        self._slots = slots

    def __get__(self, instance: object | None, owner: type) -> Any:
        method = vars(self.owner)[self.name]
        if method is self:
            method = _method(self.owner, self.name, self._frozen, self._slots)
            setattr(self.owner, self.name, method)
        return method.__get__(instance, owner)


def _method(cls: type, name: str, frozen: bool, slots: bool) -> Any:
    """The method that the standard library makes of the fields of a class."""
    fields = dataclasses.fields(cls)
    space: dict[str, Any] = {
        one.name: dataclasses.field(
            default=one.default, default_factory=one.default_factory, init=one.init, repr=one.repr, hash=one.hash,
            compare=one.compare, metadata=one.metadata, kw_only=one.kw_only,
        )
        for one in fields
    }  # fmt: skip
    space["__annotations__"] = {one.name: one.type for one in fields}
    space |= {"__module__": cls.__module__, "__qualname__": cls.__qualname__, "__doc__": cls.__doc__}
    if hasattr(cls, "__post_init__"):
        space["__post_init__"] = None  # called on the value itself
    made: type = dataclasses.dataclass(
        init=name == "__init__", repr=name == "__repr__", eq=name == "__eq__", unsafe_hash=name == "__hash__",
        frozen=frozen and name == "__init__", slots=slots and name == "__init__",
    )(type(cls.__name__, (), space))  # fmt: skip
    return vars(made)[name]


def _refuse_to_set(self: Any, name: str, value: object) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot assign to field {name!r}")


def _refuse_to_delete(self: Any, name: str) -> None:
    raise dataclasses.FrozenInstanceError(f"cannot delete field {name!r}")


def _state(self: Any) -> list[Any]:
    """The values of the fields, as pickle and copy keep them."""
    return [getattr(self, one.name) for one in dataclasses.fields(self)]


def _set_state(self: Any, state: list[Any]) -> None:
    for one, value in zip(dataclasses.fields(self), state, strict=True):
        object.__setattr__(self, one.name, value)


_NAMES = {
    _refuse_to_set: "__setattr__",
    _refuse_to_delete: "__delattr__",
    _state: "__getstate__",
    _set_state: "__setstate__",
}
