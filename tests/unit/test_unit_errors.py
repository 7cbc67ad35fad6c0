"""The error tree: exit codes as the contract has them, and what an error says."""

from __future__ import annotations

import re

from appliance import errors
from appliance.errors import ApplianceError

CODES = {
    "ApplianceError": 1,
    "InputError": 1,
    "UsageError": 2,
    "ConfigError": 2,
    "StoreError": 3,
    "HomeError": 3,
    "HomeReadOnly": 3,
    "HomeLocked": 3,
    "HomeBusy": 3,
    "DaemonGone": 3,
    "StoreVersion": 3,
    "StoreCorrupt": 3,
    "IncompleteExport": 1,
    "IndexUnavailable": 3,
    "DiskFull": 3,
    "OutOfMemory": 3,
    "NotFound": 4,
    "ModelUnavailable": 5,
    "EmbeddingApiError": 5,
    "EndpointError": 5,
}


def tree(root: type[ApplianceError]) -> list[type[ApplianceError]]:
    return [root, *(below for child in root.__subclasses__() for below in tree(child))]


def test_every_error_ends_with_its_exit_code() -> None:
    here = [kind for kind in tree(ApplianceError) if kind.__module__ == errors.__name__]
    assert {kind.__name__: kind.exit_code for kind in here} == CODES


def test_the_tree_in_the_docstring_is_the_tree() -> None:
    drawn = re.findall(r"(?:├──|└──)?\s*([A-Z]\w+)\s.*\s(\d)$", errors.__doc__ or "", re.MULTILINE)
    expected = {name: str(code) for name, code in CODES.items() if name != "ApplianceError"}
    assert dict(drawn) == expected


def test_an_error_says_what_where_and_what_next() -> None:
    for kind in tree(ApplianceError):  # not parametrised: other modules add their own errors when they are loaded
        error = kind("what happened", where="file.json", hint="what to do")
        assert str(error) == "file.json: what happened"
        assert (error.where, error.hint, error.args) == ("file.json", "what to do", ("what happened",))
        assert str(kind("only what")) == "only what"
