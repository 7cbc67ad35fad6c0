"""What others hold on to: the help of every verb, the OpenAPI document, what MCP lists, and the schema of the store."""

from __future__ import annotations

import re
import sqlite3
from collections.abc import Iterator, Mapping
from contextlib import closing
from pathlib import Path
from typing import Any

from appliance import Appliance
from tests.golden.surroundings import COMMAND, embedder, fixed, normalised, run, without_folders, written
from tests.http_calls import application, calling, given, owner

PROTOCOL = "2025-11-25"
LISTS = ("tools/list", "prompts/list", "resources/list", "resources/templates/list")
HEADERS = {"accept": "application/json, text/event-stream", "mcp-protocol-version": PROTOCOL}


def make_help() -> Mapping[str, str]:
    """``--help`` of the program, of every verb, and of every verb of a verb."""
    with fixed(hashed=True):
        pages = [
            f"$ appliance {' '.join((*verb, '--help'))}\n{without_folders(run(*verb, '--help')[0])}"
            for verb in _verbs(COMMAND)
        ]
    return {"help.txt": "\n".join(pages)}


def _verbs(command: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    yield path
    for name, verb in getattr(command, "commands", {}).items():
        yield from _verbs(verb, (*path, name))


def make_served() -> Mapping[str, str]:
    """The OpenAPI document, and what MCP tells its owner and a reader."""
    with fixed(hashed=True) as home, Appliance.open(home, worker=False, embedder=embedder()) as memory:
        app = application(memory)
        reader = given(memory, "reader", user_id="ana", namespace="", read_only=True)
        with calling(app, owner(memory)) as client:
            mcp = {"owner": _listed(client, {}), "reader": _listed(client, reader)}
        # Of what both are told, once is enough.
        mcp["reader"] = {
            name: one if one != mcp["owner"][name] else "as the owner" for name, one in mcp["reader"].items()
        }
        return {"openapi.json": written(normalised(app.openapi())), "mcp.json": written(normalised(mcp))}


def _listed(client: Any, headers: Mapping[str, str]) -> dict[str, Any]:
    def call(method: str, params: Mapping[str, Any], more: Mapping[str, str]) -> Any:
        body = {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}
        answer = client.post("/mcp", json=body, headers={**HEADERS, **headers, **more})
        assert answer.status_code == 200, (method, answer.text)
        return answer

    hello = {"protocolVersion": PROTOCOL, "capabilities": {}, "clientInfo": {"name": "golden", "version": "0"}}
    begun = call("initialize", hello, {})
    session = {"mcp-session-id": begun.headers["mcp-session-id"]}
    lists = {method: call(method, {}, session).json()["result"] for method in LISTS}
    tools = {tool.pop("name"): tool for tool in lists.pop("tools/list")["tools"]}
    return {"initialize": begun.json()["result"], **lists, "tools": tools}


def make_schema() -> Mapping[str, str]:
    """The tables of a home that has just been made."""
    with fixed(hashed=True) as home:
        Appliance.open(home, worker=False, embedder=embedder()).close()
        (path,) = home.glob("*.db")
        return {"schema.json": written(_schema(path))}


def _schema(path: Path) -> dict[str, Any]:
    """Every table, index, view and trigger; of full text the virtual tables alone, because what is behind them is
    SQLite's own."""
    with closing(sqlite3.connect(path)) as db:
        (version,) = db.execute("PRAGMA user_version").fetchone()
        rows = db.execute(
            "SELECT type, name, tbl_name, sql FROM sqlite_schema WHERE name NOT LIKE 'sqlite\\_%' ESCAPE '\\'"
        ).fetchall()
        virtual = [name for _, name, _, sql in rows if (sql or "").startswith("CREATE VIRTUAL")]
        behind = re.compile(rf"({'|'.join(map(re.escape, virtual))})_(data|idx|content|docsize|config)")
        schema: dict[str, Any] = {"file": path.name, "user_version": version}
        for kind, name, table, sql in rows:
            if not behind.fullmatch(name):
                found = {"sql": " ".join(sql.split()), **({} if table == name else {"of": table})}
                if kind == "table":
                    found["columns"] = _columns(db, name)
                schema.setdefault(kind, {})[name] = found
    return schema


def _columns(db: sqlite3.Connection, table: str) -> list[str]:
    """The columns, each in one line that says the same however the table came to have it."""
    found = db.execute('SELECT name, type, "notnull", dflt_value, pk FROM pragma_table_xinfo(?)', (table,))
    return [
        " ".join(
            [name, kind]
            + ["NOT NULL"] * bool(not_null)
            + [f"DEFAULT {default}"] * (default is not None)
            + [f"PRIMARY KEY {place}"] * bool(place)
        )
        for name, kind, not_null, default, place in found
    ]
