"""The page of the configuration: every setting, with its type, default, variable and meaning."""

from __future__ import annotations

import json
from typing import Any

from docs_site.markdown import code, prose, table

OTHER_VARIABLES = {
    "APPLIANCE_HOME": "The folder of the memory, where `--home` names none.",
    "APPLIANCE_BACKUP_PASSPHRASE": "The passphrase of encrypted backups, for scripts.",
    "JINA_API_KEY": "The key of the Jina API.",
    "NO_COLOR": "Any text turns colours off, on the command line and on the screen.",
}
"""Variables that are no settings."""


def pages() -> dict[str, str]:
    """The page by its path."""
    from appliance.setting_descriptions import describe, describe_groups

    settings = describe()
    words = describe_groups()
    parts = [
        "# Configuration\n",
        "Settings come from `config.toml` in the home, and from environment variables, which override the file."
        " `appliance config` lists each with its value and origin, `appliance config NAME` says what it does. An"
        " unknown setting or a wrong value is an error that names it. A daemon reads them again on SIGHUP.\n",
        '```toml\nuser = "ana"\n\n[search]\nlimit = 20\n\n[watch]\nfolders = ["/home/ana/Downloads"]\n```\n',
        "In a variable, a list is separated like a PATH (`:`; on Windows `;`).\n",
    ]
    for group in dict.fromkeys(one.group for one in settings):
        parts += [f"## {group or 'The top of the file'}\n", prose(words.get(group, "")) + "\n"]
        for one in settings:
            if one.group == group:
                variable = code(one.variable) if one.variable else "only in the file"
                parts += [
                    f"### {one.name} {{ #{one.name} }}\n",
                    f"{prose(one.text)}\n",
                    f"{one.values[:1].upper()}{one.values[1:]} · default {code(shown(one.default))} · {variable}\n"
                    "{ .facts }\n",
                ]
    parts += [
        "## Variables that are no settings\n",
        table(("variable", "meaning"), ((code(k), v) for k, v in OTHER_VARIABLES.items())),
    ]
    return {"reference/configuration.md": "\n".join(parts)}


def shown(value: Any) -> str:
    """A default, as the file writes it."""
    return "not set" if value is None else json.dumps(value, ensure_ascii=False)
