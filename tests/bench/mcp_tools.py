"""What the list of MCP tools costs an assistant, in tokens of each conversation.

    python -m tests.bench.mcp_tools

``model`` counts what a client hands to its model: names, descriptions and input schemas, as compact JSON, in tokens of
o200k_base. ``all`` has output schemas, titles and annotations too, which most clients keep to themselves.
"""

from __future__ import annotations

import argparse
import json
from typing import Any

import appliance_models
from appliance.server.mcp.tools import INSTRUCTIONS, TOOLS

TARGET = 3_300
"""Tokens of the list for a model, with the instructions."""


def measured() -> dict[str, Any]:
    encoding = appliance_models.encoding_for("o200k_base")

    def count(value: object) -> int:
        return encoding.count(json.dumps(value, separators=(",", ":"), ensure_ascii=False))

    listed = {name: tool.to_mcp_tool().model_dump(by_alias=True, exclude_none=True) for name, tool in TOOLS.items()}
    seen = {
        name: count({key: tool[key] for key in ("name", "description", "inputSchema")}) for name, tool in listed.items()
    }
    instructions = encoding.count(INSTRUCTIONS)
    return {
        "tools": seen,
        "instructions": instructions,
        "model": sum(seen.values()) + instructions,
        "all": sum(map(count, listed.values())) + instructions,
        "target": TARGET,
    }


def main() -> None:
    argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter).parse_args()
    print(json.dumps(measured(), indent=2))


if __name__ == "__main__":
    main()
