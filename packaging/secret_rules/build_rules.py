"""Turns the rules of gitleaks into ``appliance/secrets/rules.json``, whose expressions Python understands.

    python packaging/secret_rules/build_rules.py gitleaks.toml VERSION

Left out are rules for files by name, for ids and public keys, which are no secrets, and general rules, which take
hashes, identifiers and the passwords of examples for secrets; ``appliance/secrets/generic.py`` has stricter ones.
"""

from __future__ import annotations

import json
import re
import sys
import tomllib
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[2] / "appliance" / "secrets" / "rules.json"

LEFT_OUT = re.compile(
    r"generic-api-key|pkcs12-file|.*-(?:client|access|user-api|api|licen[cs]e)-id|.*-pub(?:lic)?(?:-api)?-key"
    r"|new-relic-browser-api-token|sumologic-access-id|hashicorp-tf-password|kubernetes-secret-yaml|curl-auth-user"
)

KEYWORDS = {"jwt": ["eyj"], "vault-service-token": ["hvs."], "twilio-api-key": ["sk"]}
"""Keywords in place of those that stand in ordinary words ("they"). Old tokens of Vault ("s.…") are not found."""

# Any name may stand before the word of a rule: it is no part of the secret, and looking for it takes time.
_NAME_BEFORE = re.compile(r"^(\(\?i\))?\[\\w\.-\]\{0,50\}\?")


def to_python(expression: str) -> str:
    """An expression of Go in Python's syntax: flags may stand at its beginning only, or hold for a group."""
    expression = expression.replace(r"\z", r"\Z").replace("[[:alnum:]]", "[0-9A-Za-z]")
    expression = _NAME_BEFORE.sub(lambda found: found[1] or "", expression)
    while (at := expression.find("(?i)", 1)) >= 0:
        end = _group_end(expression, at + 4)
        expression = f"{expression[:at]}(?i:{expression[at + 4 : end]}){expression[end:]}"
    re.compile(expression)
    return expression


def _group_end(expression: str, start: int) -> int:
    """Where the group ends within which ``start`` stands, else the end of the expression."""
    depth, in_class, at = 0, False, start
    while at < len(expression):
        letter = expression[at]
        if letter == "\\":
            at += 1
        elif in_class:
            in_class = letter != "]"
        elif letter == "[":
            in_class = True
        elif letter == "(":
            depth += 1
        elif letter == ")":
            depth -= 1
            if depth < 0:
                return at
        at += 1
    return at


def to_rule(rule: dict[str, Any]) -> dict[str, Any]:
    allowed: dict[str, list[str]] = {"secret": [], "match": []}
    for entry in rule.get("allowlists", ()):
        if "paths" not in entry and entry.get("regexTarget") != "line":
            target = "match" if entry.get("regexTarget") == "match" else "secret"
            allowed[target] += [to_python(one) for one in entry.get("regexes", ())]
    return {
        "kind": rule["id"],
        "regex": to_python(rule["regex"]),
        "keywords": KEYWORDS.get(rule["id"], [word.lower() for word in rule["keywords"]]),
        **({"entropy": rule["entropy"]} if rule.get("entropy") else {}),
        **({"group": rule["secretGroup"]} if rule.get("secretGroup") else {}),
        **{f"allowed_{target}": one for target, one in allowed.items() if one},
    }


def main(source: Path, version: str) -> None:
    config = tomllib.loads(source.read_text("utf-8"))
    rules = [to_rule(rule) for rule in config["rules"] if "regex" in rule and not LEFT_OUT.fullmatch(rule["id"])]
    document = {
        "source": f"gitleaks {version}, config/gitleaks.toml",
        "licence": "MIT, see LICENSE.gitleaks",
        "allowed": [to_python(one) for one in config["allowlist"]["regexes"]],
        "stop_words": config["allowlist"]["stopwords"],
        "rules": rules,
    }
    TARGET.write_text(json.dumps(document, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"{len(rules)} of {len(config['rules'])} rules")


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2])
