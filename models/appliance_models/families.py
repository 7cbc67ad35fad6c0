"""What is known of families of models whose folders don't say it: how they pool, and what precedes their texts.

Exports for fastembed or transformers.js leave out the files of sentence-transformers that say so. A wrong pooling or a
missing prefix gives no error, only worse hits.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Family:
    """Models whose name matches ``pattern`` (lower case); ``source`` says where the facts are published."""

    name: str
    pattern: re.Pattern[str]
    pooling: str
    query_prefix: str
    passage_prefix: str
    source: str


def _family(name: str, pattern: str, pooling: str, source: str, query: str = "", passage: str = "") -> Family:
    return Family(name, re.compile(rf"(?<![a-z0-9]){pattern}"), pooling, query, passage, source)


_BGE_QUERY = "Represent this sentence for searching relevant passages: "

# The first that matches counts. Poolings from each model's 1_Pooling/config.json, prefixes from its model card.
FAMILIES = (
    _family("bge-m3", r"bge-m3(?![a-z0-9])", "cls", "model card of BAAI/bge-m3"),
    _family(
        "bge-zh", r"bge-(small|base|large)-zh", "cls", "model card of BAAI/bge-large-zh-v1.5",
        "为这个句子生成表示以用于检索相关文章：",
    ),
    _family("bge-en", r"bge-(small|base|large)-en", "cls", "model card of BAAI/bge-large-en-v1.5", _BGE_QUERY),
    _family(
        "e5-instruct", r"multilingual-e5-large-instruct", "mean",
        "model card of intfloat/multilingual-e5-large-instruct",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery: ",
    ),
    _family(
        "e5", r"(multilingual-)?e5-(small|base|large)", "mean",
        "model cards of intfloat/e5-base-v2, multilingual-e5-base",
        "query: ", "passage: ",
    ),
    _family("gte-v1.5", r"gte-(base|large)-en-v1\.5", "cls", "model card of Alibaba-NLP/gte-base-en-v1.5"),
    _family("gte-multilingual", r"gte-(multilingual|modernbert)-base", "cls", "model cards of Alibaba-NLP/gte-*"),
    _family("gte", r"gte-(tiny|small|base|large)", "mean", "model card of thenlper/gte-base"),
    _family(
        "nomic-embed-text", r"nomic-embed-text", "mean", "model card of nomic-ai/nomic-embed-text-v1.5",
        "search_query: ", "search_document: ",
    ),
    _family("jina-embeddings-v2", r"jina-embeddings-v2", "mean", "model card of jinaai/jina-embeddings-v2-base-en"),
    _family(
        "arctic-embed-v2", r"(snowflake-)?arctic-embed-[ml]-v2", "cls",
        "model card of Snowflake/snowflake-arctic-embed-l-v2.0", "query: ",
    ),
    _family(
        "arctic-embed", r"(snowflake-)?arctic-embed", "cls", "model card of Snowflake/snowflake-arctic-embed-m",
        _BGE_QUERY,
    ),
    _family(
        "mxbai-embed", r"mxbai-embed-(large|xsmall)", "cls", "model card of mixedbread-ai/mxbai-embed-large-v1",
        _BGE_QUERY,
    ),
    _family(
        "qwen3-embedding", r"qwen3-embedding", "last", "model card of Qwen/Qwen3-Embedding-0.6B",
        "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:",
    ),
    _family(
        "multi-qa-mpnet-dot", r"multi-qa-mpnet-base-dot", "cls",
        "model card of sentence-transformers/multi-qa-mpnet-base-dot-v1",
    ),
    _family(
        "sentence-transformers", r"(all|paraphrase|multi-qa)-(multilingual-)?(minilm|mpnet|distilroberta|distilbert)",
        "mean", "model cards of sentence-transformers/all-*, paraphrase-*, multi-qa-*",
    ),
)  # fmt: skip


def find_family(names: Iterable[str]) -> Family | None:
    """The family of a model that has these names, the most telling first; None if it is in none."""
    for name in names:
        for family in FAMILIES:
            if family.pattern.search(name.lower()):
                return family
    return None
