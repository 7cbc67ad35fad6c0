"""Every setting of a home, with its default and its range. A string below a setting says what it means, in its unit."""

from __future__ import annotations

import re
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from appliance.machine_profiles import ProfileName

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every group of settings. A string below a setting says what it means, in its unit."""


DEFAULT_MODEL = "minilm-l6-dialogue-int8"
FORMER_DEFAULT_MODELS = frozenset({"all-minilm-l6-v2-int8"})
"""Homes that were made with one of them keep it, until they are moved."""


MIN_CHUNK_TOKENS = 32
"""A smaller chunk is hardly a sentence, and most of it the author."""


LATE_SUFFIX = "+late"
"""What the name of a model ends with that reads the chunks of a message together, before a number of dimensions."""

JINA_PREFIX = "jina:"
"""What the name of a model begins with that is asked over the network."""

_DIMENSIONS = re.compile(r"/[1-9]\d*$")


class ModelSettings(Section, frozen=True):
    name: str = DEFAULT_MODEL
    """A model that is shipped or imported; "NAME/256" keeps the first 256 numbers of its vectors."""
    dimensions: Annotated[int, Meta(ge=0)] = 0
    """How many numbers of each vector are kept, in new memories and by 'appliance reindex --model'; 0 keeps all. Only
    models that were trained for it (Matryoshka) find as much with fewer."""
    late_chunking: bool = False
    """Whether the chunks of a long message are read together, in new memories and by 'appliance reindex --model'; so is
    "NAME+late". It was measured to find no more with the models that are shipped, and takes twice the time."""
    threads: Annotated[int, Meta(ge=0)] = 0
    """Threads for the model; 0 uses all processors that the process may use."""
    batch: Annotated[int, Meta(ge=0, le=4096)] = 0
    """Texts that are embedded in one step; 0 means 64, which take about 0.2 s on two cores."""
    idle: Annotated[float, Meta(ge=0.0)] = 0.0
    """Seconds without use after which the model leaves the memory of a daemon, about 40 MB; the next use loads it
    again. 0 keeps it."""

    def full_name(self, name: str = "") -> str:
        """The name of a model, by default the configured one, with late chunking and the dimensions that are kept of
        it."""
        name = name or self.name
        found = _DIMENSIONS.search(name)
        base, dimensions = (name[: found.start()], found[0]) if found else (name, "")
        if self.late_chunking and not base.endswith(LATE_SUFFIX):
            base += LATE_SUFFIX
        return base + (dimensions or (f"/{self.dimensions}" if self.dimensions else ""))


_PREFIX = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,63}")


class IndexSettings(Section, frozen=True):
    """Where the index is. Those from ``shards`` to ``graph_from`` apply to collections that are created from now on."""

    url: str = ""
    """A Qdrant server ("https://qdrant.example:6333"), or the nodes of a cluster with commas between them; empty keeps
    the index in the home."""
    api_key: str = ""
    """The server's key; better in APPLIANCE_INDEX_API_KEY than in a file."""
    ca_file: str = ""
    """A file of certificates to trust instead of the system's, for a server with a certificate of your own."""
    timeout: Annotated[float, Meta(ge=0.1, le=600.0)] = 10.0
    """Seconds that an answer of the server may take."""
    prefix: str = "appliance"
    """What the names of this memory's collections on the server begin with."""
    shards: Annotated[int, Meta(ge=1, le=10_000)] = 1
    """Into how many shards a collection is divided."""
    shard_by: Literal["", "user"] = ""
    """user keeps all points of a user in one shard, so that a search asks only this one (a cluster is needed)."""
    replicas: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many nodes have a copy of each shard."""
    write_consistency: Annotated[int, Meta(ge=1, le=100)] = 1
    """How many copies must have acknowledged an update."""
    on_disk: bool = True
    """Whether the server keeps full vectors on disk, and only the quantised ones in memory."""
    quantization: Literal["turbo", "scalar", "binary", "none"] = "turbo"
    """The codes that a search on the server compares first: 4 bits a dimension, 8, 1, or the full vectors."""
    graph_from: Annotated[int, Meta(ge=0)] = 0
    """Points of a segment from which on the server searches by an HNSW graph; 0 for never: results are exact then."""
    ledger: Literal["float16", "int8"] = "float16"
    """How the vectors of new generations are stored: int8 takes half the room, and rounds more."""
    token_vectors: bool = True
    """Whether a vector of each token is kept beside that of the text, to compare question and text word by word: about
    1.4 MB for a thousand messages."""
    search_threads: Annotated[int, Meta(ge=0, le=64)] = 0
    """Threads of the index in the home; 0 uses all processors that the process may use, up to 8."""

    @property
    def urls(self) -> tuple[str, ...]:
        """The nodes of the server; none for an embedded index."""
        return tuple(url.strip().rstrip("/") for url in self.url.split(",") if url.strip())

    def __post_init__(self) -> None:
        for url in self.urls:
            from urllib.parse import urlsplit  # 20 ms, which a home without a server need not pay

            parts = urlsplit(url)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                raise ValueError(f'index.url must be a URL that begins with http:// or https://, not "{url}"')
            if parts.username or parts.password or parts.query or parts.fragment:
                raise ValueError("index.url must not have a user, password or query; set index.api_key for the key")
        if not _PREFIX.fullmatch(self.prefix):
            raise ValueError('index.prefix must be letters, digits, "-" and "_", at most 64 of them')


class ChunkSettings(Section, frozen=True):
    """How long messages are split. A change counts for new messages; 'appliance reindex' splits the others again."""

    tokens: Annotated[int, Meta(ge=0)] = 0
    """The most tokens of a chunk; 0 follows the model: the length that it was trained on, up to 400. Never more than
    the model reads."""
    overlap: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.15
    """How much of a chunk the next one repeats, as a share of its most tokens."""

    def __post_init__(self) -> None:
        if 0 < self.tokens < MIN_CHUNK_TOKENS:
            raise ValueError(f"chunk.tokens must be 0 or at least {MIN_CHUNK_TOKENS}, not {self.tokens}")


class DatabaseSettings(Section, frozen=True):
    """SQLite's page caches. The operating system caches the file as well."""

    cache: Annotated[int, Meta(ge=0, le=65_536)] = 0
    """Megabytes of SQLite's page cache for the connection that writes; 0 means 32, which hold the hot indexes of a
    million messages."""
    reader_cache: Annotated[int, Meta(ge=0, le=65_536)] = 0
    """Megabytes of SQLite's page cache for each connection that reads; 0 means 4. A server reads on up to forty
    threads."""


class IngestSettings(Section, frozen=True):
    """How imports are read."""

    batch: Annotated[int, Meta(ge=0, le=1_000_000)] = 0
    """The most messages of a transaction, which has 2,000 characters for each at most; 0 means 4,000."""
    reader: bool = True
    """Whether a process of its own reads a large file while another one stores, where there are processors for it."""


class AttachmentSettings(Section, frozen=True):
    """The files that messages carry, where an export has them."""

    text: bool = True
    """Whether the text of documents (PDF, office files, HTML, plain text) is read, so that a search finds it."""
    keep: bool = False
    """Whether an import copies the files into the home, so that they open when the export is gone."""


class SearchSettings(Section, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    """Hits of a search that names no number."""
    profile: str = "evidence"
    """The weights of the ranking: evidence, balanced, items, or one of your own."""
    without: tuple[str, ...] = ()
    """Legs that never run (dense, own, window, quoted, title, time, file); in the environment separated like a PATH."""
    per_session: Annotated[int, Meta(ge=0)] = 0
    """Most hits from one session; 0 sets no limit."""


class RerankSettings(Section, frozen=True):
    model: str = ""
    """An imported cross-encoder that reads the best hits together with the question; empty leaves it out."""
    top: Annotated[int, Meta(ge=1, le=1000)] = 30
    """How many of the best hits it reads."""
    budget_ms: Annotated[float, Meta(ge=1.0, le=600_000.0)] = 150.0
    """Milliseconds that a search waits for it; hits that it has not read by then keep their score."""


class ContextSettings(Section, frozen=True):
    budget: Annotated[int, Meta(ge=64)] = 8000
    """Most tokens of a context that names no budget."""
    encoding: str = "o200k_base"
    """The encoding that tokens are counted in, or the name of the assistant's model."""
    preset: Literal["assistant", "support", "tutor", "code"] = "assistant"
    """How profile, retrieved memories, summary and recent turns share the budget."""
    shares: dict[Literal["profile", "retrieved", "summary", "recent"], Share] = msgspec.field(default_factory=dict)
    """Your own shares, for calls that name no preset; the other layers share the rest as in the preset."""
    auto_recall: bool = True
    """Whether a context has memories from beyond the session's own window."""
    profile: str = "balanced"
    """The weights that choose the memories."""
    per_session: Annotated[int, Meta(ge=1)] = 12
    """Most memories from one session while other sessions have any."""
    recall_limit: Annotated[int, Meta(ge=0)] | None = None
    """Most messages of other sessions; without it as many as the budget holds."""
    min_score: Share | None = None
    """Least score of such a message; without it none if the best is no good match, else all."""

    def __post_init__(self) -> None:
        if (total := sum(self.shares.values())) > 1 + 1e-9:
            raise ValueError(f"context.shares must add up to at most 1, not {total:g}")


class SessionSettings(Section, frozen=True):
    ttl: Annotated[int, Meta(ge=0)] = 0
    """Seconds without a new message after which a session started here is deleted; 0 keeps it forever."""


class WorkingSettings(Section, frozen=True):
    """The working memory of a session that sets none of its own."""

    strategy: Literal["summary_buffer", "buffer_window"] = "summary_buffer"
    """summary_buffer keeps the latest turns and a running summary of those before them, buffer_window the latest turns
    alone."""
    budget: Annotated[int, Meta(ge=64)] = 2000
    """Tokens of summary and latest turns together (summary_buffer)."""
    threshold: Share = 0.8
    """The share of the budget at which compaction starts: the oldest turns are summarised."""
    target: Share = 0.6
    """The share of the budget at which compaction stops."""
    keep: Annotated[int, Meta(ge=1)] = 3
    """How many of the latest turns always stay in full."""
    turns: Annotated[int, Meta(ge=1)] = 20
    """How many of the latest turns a window has (buffer_window)."""

    def __post_init__(self) -> None:
        if self.target > self.threshold:
            raise ValueError(f"working.target ({self.target}) must not exceed working.threshold ({self.threshold})")


class SummarySettings(Section, frozen=True):
    every: Annotated[int, Meta(ge=2)] = 12
    """New messages after which an active session is summarised again."""
    silent: Annotated[float, Meta(ge=0.0)] = 600.0
    """Seconds without a new message after which a session counts as ended."""


class ArchiveSettings(Section, frozen=True):
    """Which messages are archived: old ones, unimportant, not pinned, not recalled, and in no active session."""

    automatic: bool = True
    """Whether they are archived in the background, from a week after their import on."""
    days: Annotated[int, Meta(ge=0)] = 90
    """Days since a message was said, and since it was last recalled."""
    importance: Share = 0.5
    """Messages below this importance."""
    active_days: Annotated[int, Meta(ge=0)] = 30
    """Days since its last message in which a session is active."""
    latest: Annotated[int, Meta(ge=1)] = 200
    """How many of the latest messages of an active session are kept."""
    smallest: Annotated[int, Meta(ge=0)] = 5000
    """A memory with fewer messages than this is not archived in the background: it would gain nothing."""
    look: bool = True
    """Whether a search that finds nothing good looks in the archive by itself."""


class LlmSettings(Section, frozen=True):
    base_url: str = ""
    """An OpenAI-compatible endpoint of a local model ("http://127.0.0.1:11434/v1"); empty for none."""
    model: str = ""
    """The name that the endpoint has for the model ("qwen3:8b")."""
    api_key: str = ""
    """The endpoint's key, if it wants one; better in APPLIANCE_LLM_API_KEY than in a file."""
    timeout: Annotated[float, Meta(gt=0.0, le=3600.0)] = 60.0
    """Seconds that a complete answer may take."""


class JinaSettings(Section, frozen=True):
    """The Jina API, asked only if ``model.name`` begins with "jina:" or a reindex has moved the memory to it."""

    url: str = "https://api.jina.ai/v1"
    """The address of the API. Messages and queries are sent there."""
    requests_a_minute: Annotated[int, Meta(ge=0)] = 100
    """Most requests a minute, by default the limit of a free account; 0 sets none. Queries go beside the limits."""
    tokens_a_minute: Annotated[int, Meta(ge=0)] = 100_000
    """Most tokens a minute, by default the limit of a free account; 0 sets none."""
    concurrency: Annotated[int, Meta(ge=1, le=16)] = 1
    """Most requests at once, by default the limit of a free account."""
    timeout: Annotated[float, Meta(gt=0.0, le=3600.0)] = 60.0
    """Seconds that a request of several texts may take."""
    query_timeout: Annotated[float, Meta(gt=0.0, le=60.0)] = 0.7
    """Seconds that the vector of a query may take; without it, a search finds by words."""
    token_cap: Annotated[int, Meta(ge=0)] = 0
    """The most tokens that this memory sends in its life; 0 sets no limit."""
    price_per_million: Annotated[float, Meta(ge=0.0)] = 0.0
    """US dollars for a million tokens, for forecasts; 0 if you do not know it."""


class WatchSettings(Section, frozen=True):
    folders: tuple[str, ...] = ()
    """Folders and files to watch besides the inbox in the home; in the environment separated like a PATH."""
    settle: Annotated[float, Meta(ge=0.0, le=3600.0)] = 2.0
    """Seconds that a file must stay unchanged before it is read."""
    rescan: Annotated[float, Meta(ge=1.0)] = 600.0
    """Seconds between two complete scans, because the system's file events can get lost."""


_HOST = re.compile(r"(?:\[[0-9A-Fa-f:.]+\]|[A-Za-z0-9._-]+)(?::[0-9]{1,5})?")
_ORIGIN = re.compile(r"null|[A-Za-z][A-Za-z0-9+.-]*://[^/\s?#@*]+")


class ServerSettings(Section, frozen=True):
    """What ``appliance serve`` listens on, and how much it accepts at once."""

    host: str = "127.0.0.1"
    """The address; one beyond loopback also needs --beyond-loopback on the command line."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 7707
    """0 takes a free port; 'appliance status' shows which."""
    body: Annotated[int, Meta(ge=1024)] = 16 * 1024 * 1024
    """Largest request in bytes, uploads excepted."""
    upload: Annotated[int, Meta(ge=1024)] = 4 * 1024 * 1024 * 1024
    """Largest uploaded export in bytes."""
    rate: Annotated[float, Meta(ge=0.0)] = 100.0
    """Requests per second for each token, twice as many in a burst; 0 sets no limit."""
    connections: Annotated[int, Meta(ge=1)] = 512
    """Most TCP connections at once; beyond it, those that wait for a request are closed for new ones."""
    connections_per_peer: Annotated[int, Meta(ge=1)] = 256
    """Most of them from one address."""
    readers: Annotated[int, Meta(ge=0, le=64)] | None = None
    """Most processes that carry out searches beside the daemon's own while several run; without a number one less than
    there are processors, at most 4. 0 starts none. Each takes about 45 MB."""
    hosts: tuple[str, ...] = ()
    """Names under which other programs may call the server, besides localhost: "host.docker.internal" for containers,
    the name of a reverse proxy; with a port ("memory.example:443") only at this one."""
    origins: tuple[str, ...] = ()
    """Web pages, extensions and webviews that may call it with a token: "https://chat.example", "app://obsidian.md",
    "chrome-extension://ID"."""

    def __post_init__(self) -> None:
        for host in self.hosts:
            if not _HOST.fullmatch(host):
                raise ValueError(f'server.hosts must be names such as "host.docker.internal", not "{host}"')
        for origin in self.origins:
            if not _ORIGIN.fullmatch(origin):
                hint = "without a path, as a browser sends it in the header Origin"
                raise ValueError(
                    f'server.origins must be origins such as "https://chat.example", not "{origin}" ({hint})'
                )


class ServiceSettings(Section, frozen=True):
    """The daemon as ``appliance service install`` starts it."""

    memory: Annotated[int, Meta(ge=256)] = 2048
    """Megabytes that the service may take; systemd ends it beyond them. Of a million chunks it has 250 of its own;
    imports and summaries take a few hundred more for a while. What it maps from files counts too, and can be dropped at
    any time."""


class PowerSettings(Section, frozen=True):
    """Heavy work in the background, while the machine runs on its battery: embedding more than a few messages,
    summaries, a language model's facts, archiving, optimising the index. What a person asks for is done at once."""

    on_battery: Literal["pause", "run"] = "pause"
    """Whether heavy work of the background waits for mains power (pause) or not (run). Messages are stored, and found
    by their words, meanwhile."""
    low: Annotated[int, Meta(ge=0, le=100)] = 15
    """Percent of the battery below which heavy work waits even with "run"; 0 for never."""


class ProxySettings(Section, frozen=True):
    """What ``/v1/chat/completions`` adds to a chat, and how long it waits for the model at ``llm.base_url``."""

    budget: Annotated[int, Meta(ge=0)] = 2000
    """Tokens of memory added to a request that names no budget; 0 adds none."""
    role: Literal["user", "system", "developer"] = "user"
    """Where memories are put: before the words of the latest message of the user, or into a message with the role of
    the client's instructions, which models obey."""
    timeout: Annotated[float, Meta(gt=0.0, le=86_400.0)] = 600.0
    """Seconds without output from the model after which a request fails; a small machine takes minutes."""
    user_headers: tuple[str, ...] = ("X-Memory-User", "X-OpenWebUI-User-Id")
    """The headers that name the user, with a token that was created with --any-user. The first one that is sent
    counts."""
    session_headers: tuple[str, ...] = ("X-OpenWebUI-Chat-Id",)
    """The headers that name the conversation, after X-Memory-Session."""
    task_headers: tuple[str, ...] = ("X-Memory-Task",)
    """The headers that name a task of the front end, such as a title; "none" means that a person speaks."""


class SecretSettings(Section, frozen=True):
    """Keys, tokens, card numbers and passwords in messages."""

    policy: Literal["keep", "mask", "drop"] = "mask"
    """keep shows them to all callers; mask hides them from assistants and shows them on request; drop never stores
    them."""


class TuiSettings(Section, frozen=True):
    """How ``appliance tui`` looks, and which keys do what."""

    theme: Literal["", "dark", "light", "contrast", "plain"] = ""
    """Empty means dark, or plain where NO_COLOR is set."""
    motion: bool = True
    """Whether the screen animates, as in smooth scrolling."""
    keys: dict[str, str | dict[str, str]] = msgspec.field(default_factory=dict)
    """Your own keys by action, ``"recall.pin" = "ctrl+b"``; the nested table that TOML reads without quotation marks
    means the same."""


class ProfileSettings(Section, frozen=True):
    """Your own scoring profile: the weights of a built-in profile, some of them replaced."""

    like: str = "evidence"
    """The built-in profile whose weights it begins with: evidence, balanced or items."""
    weights: dict[str, float] = msgspec.field(default_factory=dict)
    """Weights in place of those of the profile, by the name of the feature as 'appliance search --explain' shows it."""


class Settings(Section, frozen=True):
    user: str = "me"
    """The user of calls that name none."""
    name: str = ""
    """Your name in your chats, for exports that only say "me"."""
    profile: Literal["auto", ProfileName] = "auto"
    """What other settings are where you set none: those for a tiny machine, a laptop (the defaults) or a workstation;
    auto chooses by the machine's memory and processors."""
    model: ModelSettings = msgspec.field(default_factory=ModelSettings)
    index: IndexSettings = msgspec.field(default_factory=IndexSettings)
    database: DatabaseSettings = msgspec.field(default_factory=DatabaseSettings)
    chunk: ChunkSettings = msgspec.field(default_factory=ChunkSettings)
    ingest: IngestSettings = msgspec.field(default_factory=IngestSettings)
    attachments: AttachmentSettings = msgspec.field(default_factory=AttachmentSettings)
    search: SearchSettings = msgspec.field(default_factory=SearchSettings)
    rerank: RerankSettings = msgspec.field(default_factory=RerankSettings)
    context: ContextSettings = msgspec.field(default_factory=ContextSettings)
    session: SessionSettings = msgspec.field(default_factory=SessionSettings)
    working: WorkingSettings = msgspec.field(default_factory=WorkingSettings)
    summaries: SummarySettings = msgspec.field(default_factory=SummarySettings)
    archive: ArchiveSettings = msgspec.field(default_factory=ArchiveSettings)
    llm: LlmSettings = msgspec.field(default_factory=LlmSettings)
    jina: JinaSettings = msgspec.field(default_factory=JinaSettings)
    server: ServerSettings = msgspec.field(default_factory=ServerSettings)
    service: ServiceSettings = msgspec.field(default_factory=ServiceSettings)
    power: PowerSettings = msgspec.field(default_factory=PowerSettings)
    proxy: ProxySettings = msgspec.field(default_factory=ProxySettings)
    secrets: SecretSettings = msgspec.field(default_factory=SecretSettings)
    watch: WatchSettings = msgspec.field(default_factory=WatchSettings)
    tui: TuiSettings = msgspec.field(default_factory=TuiSettings)
    profiles: dict[str, ProfileSettings] = msgspec.field(default_factory=dict)
