"""Makes the token tables in ``models/appliance_models/packs/encodings`` from tables that others publish.

    npm pack js-tiktoken@1.0.21 && tar -xzf js-tiktoken-1.0.21.tgz
    PYTHONPATH=models python packaging/token_tables/build_tables.py package/dist/ranks

The npm package js-tiktoken (MIT) carries the tables of tiktoken (MIT) in a form of its own. From it the published
``.tiktoken`` file is put together again, and must have the SHA-256 that tiktoken itself asks for. A folder with the
published files (``o200k_base.tiktoken``) does as well. The format of what is written is in ``encodings.py``; its
SHA-256 is printed, and belongs there.
"""

from __future__ import annotations

import argparse
import base64
import hashlib
import json
from pathlib import Path

import zstandard

from appliance_models.encodings import TABLES, TABLES_FOLDER, table_path

LEVEL = 22
"""zstd's strongest: 846 KB for o200k_base where the published file has 3.6 MB, and the same time to read."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    folder = parser.parse_args().folder
    TABLES_FOLDER.mkdir(exist_ok=True)
    for name, table in TABLES.items():
        published = folder / f"{name}.tiktoken"
        tokens = read_published(published) if published.is_file() else read_js_tiktoken(folder / f"{name}.js")
        digest = hashlib.sha256(published_text(tokens)).hexdigest()
        if digest != table.published_sha256:
            raise SystemExit(f"{folder} does not have the published table {name}: its SHA-256 is {digest}")
        content = bytes(map(len, tokens)) + b"".join(tokens)
        packed = zstandard.ZstdCompressor(LEVEL).compress(content)
        table_path(name).write_bytes(packed)
        print(f"{name}: {len(tokens):,} tokens, {len(packed):,} bytes, SHA-256 {hashlib.sha256(packed).hexdigest()}")


def read_js_tiktoken(path: Path) -> list[bytes]:
    """The tokens by rank: lines of "! FIRST TOKEN TOKEN ...", with tokens in base64 and consecutive ranks."""
    source = path.read_text(encoding="utf-8")
    document = json.loads(source[source.index("{") : source.rindex("}") + 1])
    ranks = {}
    for line in document["bpe_ranks"].split("\n"):
        _, first, *tokens = line.split(" ")
        ranks.update({int(first) + number: base64.b64decode(token) for number, token in enumerate(tokens)})
    return [ranks[rank] for rank in range(len(ranks))]


def read_published(path: Path) -> list[bytes]:
    """The tokens of a .tiktoken file: lines of a token in base64 and its rank."""
    ranks = {int(rank): base64.b64decode(token) for token, rank in map(bytes.split, path.read_bytes().splitlines())}
    return [ranks[rank] for rank in range(len(ranks))]


def published_text(tokens: list[bytes]) -> bytes:
    """The content of the .tiktoken file with these tokens."""
    return b"".join(base64.b64encode(token) + b" %d\n" % rank for rank, token in enumerate(tokens))


if __name__ == "__main__":
    main()
