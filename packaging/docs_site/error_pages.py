"""The page of errors: the tree, what each means, its exit code, and its status over HTTP."""

from __future__ import annotations

import inspect

from docs_site.markdown import code, prose, table

CODES = {
    0: "done",
    1: "done in part, an input that can't be read, or a bug",
    2: "wrong usage or settings",
    3: "the store refuses, or can't do it",
    4: "no such session, message or file",
    5: "a model is missing or damaged, or an endpoint does not answer",
    130: "interrupted; everything committed so far is kept",
}


def exit_codes() -> str:
    return table(("code", "meaning"), ((code(str(number)), meaning) for number, meaning in CODES.items()))


def pages() -> dict[str, str]:
    """The page by its path."""
    from appliance import errors
    from appliance.server.http.problems import STATUSES

    kinds = [
        kind
        for kind in vars(errors).values()
        if inspect.isclass(kind) and issubclass(kind, errors.ApplianceError) and kind.__module__ == errors.__name__
    ]
    statuses = {kind: int(status) for kind, status in STATUSES.items()}
    rows = []
    for kind in kinds:
        status = next((str(statuses[base]) for base in kind.__mro__ if base in statuses), "500")
        parent = "" if kind is errors.ApplianceError else code(kind.__bases__[0].__name__)
        rows.append(
            (code(kind.__name__), parent, prose(inspect.getdoc(kind) or ""), code(str(kind.exit_code)), code(status))
        )
    text = (
        "# Errors and exit codes\n\n"
        "Every error says what happened; `where` names a file and the place in it, `hint` says what to do. The command"
        " line prints all three and exits with the code of the error; over HTTP it is a problem"
        " (`application/problem+json`) with the status; in Python it is raised.\n\n"
        + table(("error", "is a", "meaning", "exit code", "HTTP"), rows)
        + f"\n## Exit codes\n\n{exit_codes()}"
    )
    return {"reference/errors.md": text}
