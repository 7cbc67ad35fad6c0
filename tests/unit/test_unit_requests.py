"""Every request is a frozen value that the engine carries out at its name's path, with the result that it names."""

from __future__ import annotations

import dataclasses
from operator import attrgetter
from typing import Any, get_type_hints

import pytest

from appliance import Appliance, requests, types
from appliance.requests import Request, result_type
from appliance.types import OnProgress
from tests.engines import engine_of

REQUESTS = [
    kind for name in requests.__all__ if isinstance(kind := getattr(requests, name), type) and kind is not Request
]


@pytest.mark.parametrize("kind", REQUESTS, ids=lambda kind: kind.__name__)
def test_a_request_is_frozen(kind: Any) -> None:
    assert dataclasses.is_dataclass(kind)
    with pytest.raises(dataclasses.FrozenInstanceError):
        object.__new__(kind).any = 1  # type: ignore[attr-defined]
    assert issubclass(kind, Request) and kind.__doc__ and kind.name
    assert not hasattr(kind, "__dict__") or "__slots__" in vars(kind)


def test_the_engine_carries_out_every_request_at_its_name(memory: Appliance) -> None:
    engine = engine_of(memory)
    for kind in REQUESTS:
        method = attrgetter(kind.name)(engine)
        hints = get_type_hints(method)
        returned = hints.pop("return")
        assert [*hints.values()] == [kind, OnProgress][: 1 + kind.long_running], kind.name
        assert returned == (type(None) if result_type(kind) is None else result_type(kind)), kind.name


@pytest.mark.parametrize("package", [requests, types], ids=["requests", "types"])
def test_every_public_name_is_loaded_from_its_module(package: Any) -> None:
    assert set(package.__all__) == set(package._MODULE_BY_NAME)
    for name in package.__all__:
        assert getattr(package, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Nothing'"):
        package.Nothing  # noqa: B018
