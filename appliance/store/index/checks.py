"""Everything an index is given is checked here, before an engine sees it.

An update that the embedded engine refuses stays in its log and may be applied, in part, at the next load.
So nothing it could refuse may reach it. Each function returns nothing and raises UsageError.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from appliance.errors import UsageError
from appliance.store.index.base import LEGS, Fields, LegQuery, Point
from appliance.types import LEVELS, ROLES, Filters, Scope

# Keys come from SQLite: signed 64 bits.
_LARGEST = 2**63 - 1
# The engines normalise in float32, where the square of a smaller norm vanishes: they would keep the vector as
# it is.
_SMALLEST_NORM = 1e-6


def check_dimension(dimension: int) -> None:
    if not _is_int(dimension) or not 1 <= dimension <= 65_536:
        raise UsageError(f"a vector dimension is an integer from 1 to 65536, not {dimension!r}")


def check_points(points: Sequence[Point], dimension: int) -> None:
    seen: set[int] = set()
    for point in points:
        check_id(point.id)
        if point.id in seen:
            raise UsageError(f"point {point.id} comes twice in one batch")
        seen.add(point.id)
        where = f"point {point.id}"
        check_vector(point.vector, dimension, where)
        _check_text(point.own, f"{where}, own")
        _check_text(point.window, f"{where}, window")
        _check_text(point.gist, f"{where}, gist")
        _check_fields(point.fields, where)


def check_id(id: int) -> None:
    if not _is_int(id) or not 0 < id <= _LARGEST:
        raise UsageError(f"a point id is an integer from 1 to 2**63 - 1, not {id!r}")


def check_ids(ids: Collection[int]) -> None:
    # A search checks some hundred ids: all at once takes a tenth of the time.
    if ids and not (set(map(type, ids)) == {int} and min(ids) > 0 and max(ids) <= _LARGEST):
        for id in ids:
            check_id(id)


def check_vector(vector: NDArray[np.float32], dimension: int, where: str) -> None:
    if not isinstance(vector, np.ndarray) or not np.issubdtype(vector.dtype, np.floating):
        raise UsageError(f"{where}: the vector is not an array of floats")
    if vector.shape != (dimension,):
        raise UsageError(f"{where}: the vector has shape {vector.shape}, the index has dimension {dimension}")
    # The sum is infinite or NaN as soon as one element is: one pass answers both questions.
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.dot(vector, vector))
    if not np.isfinite(square):
        raise UsageError(f"{where}: the vector holds a number that is not finite, or far too large")
    if square < _SMALLEST_NORM**2:
        raise UsageError(f"{where}: the vector has no length")


def check_queries(queries: Sequence[LegQuery], dimension: int) -> None:
    for query in queries:
        if query.leg not in LEGS:
            raise UsageError(f"there is no leg {query.leg!r}; there are {', '.join(LEGS)}")
        if query.leg == "dense":
            if query.vector is None:
                raise UsageError("a dense query needs a vector")
            check_vector(query.vector, dimension, "dense query")
        elif query.text is None:
            raise UsageError(f"a query of the leg {query.leg} needs a text")
        else:
            _check_text(query.text, f"{query.leg} query")


def check_limit(limit: int) -> None:
    if not _is_int(limit) or limit < 1:
        raise UsageError(f"a limit is an integer from 1, not {limit!r}")


def check_scope(scope: Scope) -> None:
    _check_encodable(scope.user_id, "scope, user_id")
    _check_encodable(scope.namespace, "scope, namespace")
    if scope.agent_id is not None:
        _check_encodable(scope.agent_id, "scope, agent_id")


def check_filters(filters: Filters) -> None:
    check_scope(filters.scope)
    for role in filters.roles:
        _check_role(role, "filter")
    for level in filters.levels:
        _check_level(level, "filter")
    for source in filters.sources:
        _check_encodable(source, "filter, source")
    for name, value in (("session", filters.session), ("since", filters.since), ("until", filters.until)):
        if value is not None:
            _check_signed(value, f"filter, {name}")
    for part in (*filters.past, *filters.own):
        _check_signed(part.session, "filter, a session")


def _check_fields(fields: Fields, where: str) -> None:
    _check_encodable(fields.user_id, f"{where}, user_id")
    _check_encodable(fields.namespace, f"{where}, namespace")
    for agent in fields.agents:
        _check_encodable(agent, f"{where}, agents")
    _check_encodable(fields.source, f"{where}, source")
    _check_signed(fields.session, f"{where}, session")
    if fields.level is None:
        _check_role(fields.role, where)
    else:
        _check_level(fields.level, where)
        if fields.role != "summary" or fields.talk:
            raise UsageError(f"{where}: a summary is a point of its own kind, and no talk")
    for name, value in (("talk", fields.talk), ("withheld", fields.withheld)):
        if not isinstance(value, bool):
            raise UsageError(f"{where}, {name}: {value!r} is not a bool")
    if fields.at is not None:
        _check_signed(fields.at, f"{where}, at")


def _check_role(role: object, where: str) -> None:
    if role not in ROLES:
        raise UsageError(f"{where}: there is no role {role!r}")


def _check_level(level: object, where: str) -> None:
    if level not in LEVELS:
        raise UsageError(f"{where}: there is no level {level!r}")


def _check_signed(value: object, where: str) -> None:
    if not _is_int(value) or not -_LARGEST <= value <= _LARGEST:
        raise UsageError(f"{where}: {value!r} is not an integer of 64 bits")


def _check_text(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{where}: {type(text).__name__} is not text")


def _check_encodable(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{where}: {type(text).__name__} is not text")
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{where}: {error.reason}") from None


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
