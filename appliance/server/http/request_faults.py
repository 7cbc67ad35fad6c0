"""Faults of requests in plain words: each names a field, and says what it takes.

pydantic and FastAPI find them. Their own messages speak to programmers of Python ("Input should be a valid
dictionary or object to extract fields from"), and name classes of ours where a body has several forms.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from appliance.near_names import near_names

MAX_REPORTED_FAULTS = 20
"""Invalid fields of a request that are listed one by one."""

MAX_LISTED_FIELDS = 12
"""A request with more fields does not list them for one that it does not know."""

_KEY = "[key]"
"""How pydantic marks that the name of an entry is invalid, and not its value."""


@dataclass(frozen=True, slots=True)
class RequestFault:
    """An invalid place in a request ("body.limit"), and what is wrong with it: a predicate ("must be at least 1"), or a
    sentence of its own."""

    where: str
    message: str

    @property
    def sentence(self) -> str:
        return f"{self.where}{':' if self.message[:1].isupper() else ''} {self.message}."


Found = Mapping[str, Any]
"""A fault as pydantic describes it: its ``type``, ``loc``, ``msg``, ``input`` and ``ctx``."""


def describe(errors: Sequence[Found], body: object) -> tuple[RequestFault, ...]:
    """Describe the faults of a request, the first ``MAX_REPORTED_FAULTS``.

    Args:
        errors: The faults.
        body: The type of the request's body, None without one. If it has several forms, the faults are those of the
            form that comes nearest.
    """
    forms = {form.__name__: form for form in _forms(body)}
    if len(forms) > 1:
        nearest, errors = _nearest_form(errors, forms)
        errors = [{**error, "loc": [part for part in error["loc"] if part not in forms]} for error in errors]
        forms = {nearest: forms[nearest]} if nearest else {}
    return tuple(_fault(error, forms) for error in errors[:MAX_REPORTED_FAULTS])


def unknown_parameters(given: Iterable[str], known: Collection[str]) -> tuple[RequestFault, ...]:
    """Describe the query parameters that a route does not know, the first ``MAX_REPORTED_FAULTS``. Ignored, a misspelt
    ``dry_run`` would delete, and a misspelt filter would count everything."""
    unknown = sorted(set(given) - set(known))
    return tuple(
        RequestFault(f"query.{name}", _unknown(name, sorted(known), "parameter"))
        for name in unknown[:MAX_REPORTED_FAULTS]
    )


def _forms(body: object) -> list[type[BaseModel]]:
    """The models that a body may be."""
    if get_origin(body) is Annotated:
        return _forms(get_args(body)[0])
    if get_origin(body) in (Union, UnionType):
        return [form for one in get_args(body) for form in _forms(one)]
    return [body] if isinstance(body, type) and issubclass(body, BaseModel) else []


def _nearest_form(errors: Sequence[Found], forms: Mapping[str, object]) -> tuple[str, Sequence[Found]]:
    """The form with the fewest faults, "" if they are of none, and these faults."""
    by_form: dict[str, list[Found]] = {}
    for error in errors:
        form = next((str(part) for part in error["loc"] if part in forms), "")
        by_form.setdefault(form, []).append(error)
    return min(by_form.items(), key=lambda item: len(item[1]))


def _fault(error: Found, forms: Mapping[str, type[BaseModel]]) -> RequestFault:
    parts = [str(part) for part in error["loc"]]
    is_key = parts[-1] == _KEY
    where = ".".join(part for part in parts if part != _KEY)
    message = _message(error, forms if len(parts) == 2 else {})
    return RequestFault(where, f"has a name that {message}" if is_key else message)


def _message(error: Found, forms: Mapping[str, type[BaseModel]]) -> str:
    kind, context = str(error["type"]), error.get("ctx", {})
    if kind == "extra_forbidden":
        known = sorted({name for form in forms.values() for name in form.model_fields})
        return _unknown(str(error["loc"][-1]), known, "field")
    if describe_bound := _BOUNDS.get(kind):
        return describe_bound(context) + _given(error.get("input"))
    if kind in _MEANINGS:
        return _MEANINGS[kind]
    for beginning, meaning in _TYPES.items():
        if kind.startswith(beginning):
            return f"must be {meaning}{_given(error.get('input'))}"
    return str(error["msg"]).removeprefix("Value error, ")


def _unknown(name: str, known: Sequence[str], kind: Literal["field", "parameter"]) -> str:
    if near := near_names(name, known):
        return f"is not known; {f'the nearest {kind} is' if len(near) == 1 else 'near are'} {' and '.join(near)}"
    if len(known) == 1:
        return f"is not known; the only {kind} is {known[0]}"
    if 0 < len(known) <= MAX_LISTED_FIELDS:
        return f"is not known; the {kind}s are {', '.join(known)}"
    return "is not known"


def _given(value: object) -> str:
    """What was given, if that is a number. Text may be private, and the caller knows it."""
    return f", not {value}" if isinstance(value, int | float) and len(str(value)) <= MAX_LISTED_FIELDS else ""


def _items(context: Mapping[str, Any], name: str) -> str:
    return f"{context[name]:,} {'item' if context[name] == 1 else 'items'}"


_BOUNDS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "greater_than_equal": lambda context: f"must be at least {context['ge']:,g}",
    "less_than_equal": lambda context: f"must be at most {context['le']:,g}",
    "greater_than": lambda context: f"must be more than {context['gt']:,g}",
    "less_than": lambda context: f"must be less than {context['lt']:,g}",
    "literal_error": lambda context: f"must be one of {context['expected']}",
    "enum": lambda context: f"must be one of {context['expected']}",
    "string_too_short": lambda context: (
        "must not be empty"
        if context["min_length"] == 1
        else f"must have at least {context['min_length']:,} characters"
    ),
    "string_too_long": lambda context: f"must have at most {context['max_length']:,} characters",
    "string_pattern_mismatch": lambda context: _PATTERNS.get(
        context["pattern"], "has a form that it does not take; /openapi.json describes it"
    ),
    "too_short": lambda context: f"must have at least {_items(context, 'min_length')}",
    "too_long": lambda context: f"must have at most {_items(context, 'max_length')}",
}
"""What a fault says, by its type and its bounds."""

_PATTERNS: Mapping[str, str] = {
    r"^\d{4}-\d\d-\d\d$": "must be a day, such as 2026-03-05",
    r"^[^=]+=": "must be KEY=VALUE",
    r"^[^\W_][\w.-]*$": "must be a word of letters, digits, '-', '_' and '.'",
}

_MEANINGS: Mapping[str, str] = {
    "missing": "is missing",
    "int_from_float": "must be a whole number",
    "model_attributes_type": "must be an object",
    "dataclass_type": "must be an object",
    "mapping_type": "must be an object",
}

_TYPES: Mapping[str, str] = {
    "string_": "text",
    "int_": "a whole number",
    "float_": "a number",
    "finite_number": "a number",
    "bool_": "true or false",
    "list_": "a list",
    "tuple_": "a list",
    "set_": "a list",
    "dict_": "an object",
    "model_": "an object",
    "date": "a date or time, such as 2026-02-06T10:30:00+01:00",
}
"""What a field takes, by the beginning of a fault's type."""
