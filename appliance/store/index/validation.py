"""Checks all input of an index before it reaches the engine.

An update that the embedded engine refuses stays in its log and may be applied, in part, at the next load, so nothing
that it could refuse may reach it. Each function returns nothing, or raises UsageError.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from typing import TypeGuard

import numpy as np
from numpy.typing import NDArray

from appliance.errors import UsageError
from appliance.store.index.protocol import LEGS, IndexPoint, LegQuery, PointFields
from appliance.types import LEVELS, ROLES, Filters, Scope

# Keys come from SQLite: signed 64 bits.
_LARGEST = 2**63 - 1
# The engines normalise in float32, where the square of a smaller norm is 0, so that they would not normalise it.
_SMALLEST_NORM = 1e-6
_VECTORS_AT_ONCE = 1_000


def check_dimension(dimension: int) -> None:
    if not _is_int(dimension) or not 1 <= dimension <= 65_536:
        raise UsageError(f"The dimension of a vector must be an integer from 1 to 65536, not {dimension!r}.")


def check_points(points: Sequence[IndexPoint], dimension: int) -> None:
    seen: set[int] = set()
    sound: set[object] = set()
    if not _are_vectors_sound([point.vector for point in points], dimension):
        for point in points:
            check_vector(point.vector, dimension, f"point {point.id}")
    for point in points:
        check_id(point.id)
        if point.id in seen:
            raise UsageError(f"Point {point.id} occurs twice in one batch.")
        seen.add(point.id)
        where = f"point {point.id}"
        _check_text(point.own, f"{where}, own")
        _check_text(point.window, f"{where}, window")
        _check_text(point.summary, f"{where}, summary")
        fields = point.fields
        _check_place(fields, where)
        # Most points of a batch have their other fields in common. Types too: a bool is equal to an integer.
        others = _other_fields(fields)
        with suppress(TypeError):  # what has no hash is not valid: the check says so
            if others in sound:
                continue
        _check_fields(fields, where)
        sound.add(others)


def _other_fields(fields: PointFields) -> object:
    """A value that is equal for points that have all fields in common but session and time, with their types."""
    if not isinstance(fields.agents, tuple):
        return object()
    return (
        fields.user_id, fields.namespace, fields.agents, fields.role, fields.source, fields.author, fields.level,
        fields.conversational, type(fields.conversational), fields.withheld, type(fields.withheld),
    )  # fmt: skip


def check_id(id: int) -> None:
    if not _is_int(id) or not 0 < id <= _LARGEST:
        raise UsageError(f"The id of a point must be an integer from 1 to 2**63 - 1, not {id!r}.")


def check_ids(ids: Collection[int]) -> None:
    # A search checks several hundred ids; checking them together takes a tenth of the time.
    if ids and not (set(map(type, ids)) == {int} and min(ids) > 0 and max(ids) <= _LARGEST):
        for id in ids:
            check_id(id)


def check_vector(vector: NDArray[np.float32], dimension: int, where: str) -> None:
    if not isinstance(vector, np.ndarray) or not np.issubdtype(vector.dtype, np.floating):
        raise UsageError(f"{where}: The vector is not an array of floats.")
    if vector.shape != (dimension,):
        raise UsageError(f"{where}: The vector has shape {vector.shape}, but the index has dimension {dimension}.")
    # The sum is infinite or NaN if any element is, so that one pass checks both.
    with np.errstate(over="ignore", invalid="ignore"):
        square = float(np.dot(vector, vector))
    if not np.isfinite(square):
        raise UsageError(f"{where}: The vector has a number that is not finite, or far too large.")
    if square < _SMALLEST_NORM**2:
        raise UsageError(f"{where}: The vector has no length.")


def _are_vectors_sound(vectors: Sequence[NDArray[np.float32]], dimension: int) -> bool:
    """Whether all vectors pass ``check_vector``; checking them together takes a fifth of the time."""
    if not all(type(vector) is np.ndarray and vector.dtype == np.float32 for vector in vectors):
        return False
    if not all(vector.shape == (dimension,) for vector in vectors):
        return False
    for start in range(0, len(vectors), _VECTORS_AT_ONCE):
        block = np.stack(vectors[start : start + _VECTORS_AT_ONCE])
        with np.errstate(over="ignore", invalid="ignore"):
            squares = np.einsum("ij,ij->i", block, block)
        if not (np.isfinite(squares) & (squares >= _SMALLEST_NORM**2)).all():
            return False
    return True


def check_queries(queries: Sequence[LegQuery], dimension: int) -> None:
    for query in queries:
        if query.leg not in LEGS:
            raise UsageError(f"There is no leg {query.leg!r}.", hint=f"The legs are {', '.join(LEGS)}.")
        if query.leg == "dense":
            if query.vector is None:
                raise UsageError("A query of the leg dense needs a vector.")
            check_vector(query.vector, dimension, "dense query")
        elif query.text is None:
            raise UsageError(f"A query of the leg {query.leg} needs a text.")
        else:
            _check_text(query.text, f"{query.leg} query")


def check_search(queries: Sequence[LegQuery], dimension: int, filters: Filters | None, limit: int) -> None:
    check_queries(queries, dimension)
    if not _is_int(limit) or limit < 1:
        raise UsageError(f"The limit must be an integer of at least 1, not {limit!r}.")
    check_filters(filters)


def check_scoring(
    queries: Sequence[LegQuery], dimension: int, ids: Sequence[Collection[int]], scope: Scope | None
) -> None:
    check_queries(queries, dimension)
    for scored in ids:
        check_ids(scored)
    if scope is not None:
        check_scope(scope)


def check_scope(scope: Scope) -> None:
    for name in ("user_id", "namespace", "agent_id"):
        value = getattr(scope, name)
        if name != "agent_id" or value is not None:
            _check_encodable(value, f"scope, {name}")


def check_filters(filters: Filters | None) -> None:
    if filters is None:
        return
    check_scope(filters.scope)
    for role in filters.roles:
        _check_role(role, "filter")
    for level in filters.levels:
        _check_level(level, "filter")
    for source in filters.sources:
        _check_encodable(source, "filter, source")
    for author in (*filters.authors, *(author for author, _ in filters.author_sessions)):
        _check_encodable(author, "filter, author")
    for session in (*(filters.sessions or ()), *(one for _, sessions in filters.author_sessions for one in sessions)):
        _check_signed(session, "filter, a session")
    for name, value in (("session", filters.session), ("since", filters.since), ("until", filters.until)):
        if value is not None:
            _check_signed(value, f"filter, {name}")
    for part in (*filters.ancestor_parts, *filters.exempt_parts):
        _check_signed(part.session, "filter, a session")


def _check_fields(fields: PointFields, where: str) -> None:
    for name in ("user_id", "namespace", "source"):
        _check_encodable(getattr(fields, name), f"{where}, {name}")
    for agent in fields.agents:
        _check_encodable(agent, f"{where}, agents")
    if fields.author is not None:
        _check_encodable(fields.author, f"{where}, author")
    if fields.level is None:
        _check_role(fields.role, where)
    else:
        _check_level(fields.level, where)
        if fields.role != "summary" or fields.conversational:
            raise UsageError(f"{where}: The point of a summary must have the role 'summary' and not be conversational.")
    for name, value in (("talk", fields.conversational), ("withheld", fields.withheld)):
        if not isinstance(value, bool):
            raise UsageError(f"{where}, {name}: {value!r} is not a bool.")


def _check_place(fields: PointFields, where: str) -> None:
    _check_signed(fields.session, f"{where}, session")
    if fields.at is not None:
        _check_signed(fields.at, f"{where}, at")


def _check_role(role: object, where: str) -> None:
    if role not in ROLES:
        raise UsageError(f"{where}: There is no role {role!r}.")


def _check_level(level: object, where: str) -> None:
    if level not in LEVELS:
        raise UsageError(f"{where}: There is no level {level!r}.")


def _check_signed(value: object, where: str) -> None:
    if not _is_int(value) or not -_LARGEST <= value <= _LARGEST:
        raise UsageError(f"{where}: {value!r} is not an integer of 64 bits.")


def _check_text(text: object, where: str) -> None:
    if not isinstance(text, str):
        raise UsageError(f"{where}: The value must be text, not {type(text).__name__}.")


def _check_encodable(text: str, where: str) -> None:
    _check_text(text, where)
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise UsageError(f"{where}: The text is not valid Unicode: {error.reason}.") from None


def _is_int(value: object) -> TypeGuard[int]:
    return isinstance(value, int) and not isinstance(value, bool)
