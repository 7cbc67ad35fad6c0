"""The settings: defaults, then ``config.toml`` in the home, then ``APPLIANCE_*`` variables.

A setting that is unknown or of the wrong type is an error that names it and the place it came from;
nothing is ignored silently. Only the composition root reads this; stages get what they need.
msgspec validates, because it costs 30 ms to import where pydantic-settings costs 300.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta

from appliance.errors import ConfigError
from appliance.paths import HOME_VARIABLE, Home

PREFIX = "APPLIANCE_"

Share = Annotated[float, Meta(ge=0.0, le=1.0)]


class Section(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Base of every group of settings."""


class ModelSettings(Section, frozen=True):
    name: str = "all-minilm-l6-v2-int8"
    threads: Annotated[int, Meta(ge=0)] = 0
    """Threads for the model; 0 takes all processors that the process may use."""


class IndexSettings(Section, frozen=True):
    url: str = ""
    """A Qdrant server ("http://127.0.0.1:6333"); empty keeps the index in the home."""
    collection: str = "appliance"


class ChunkSettings(Section, frozen=True):
    overlap: Annotated[float, Meta(ge=0.0, le=0.5)] = 0.15
    """How much of a chunk the next one repeats, as a share of the model's window."""


class SearchSettings(Section, frozen=True):
    limit: Annotated[int, Meta(ge=1, le=1000)] = 10
    profile: str = "evidence"
    """The weights of the ranking: evidence, balanced, or one of your own."""
    without: tuple[str, ...] = ()
    """Legs that never run (dense, own, window, quoted, title, time); in the environment separated like a PATH."""
    per_session: Annotated[int, Meta(ge=0)] = 0
    """At most so many hits of one session; 0 sets no limit."""


class RerankSettings(Section, frozen=True):
    model: str = ""
    """An imported cross-encoder that reads the best hits together with the question; empty leaves it out."""
    top: Annotated[int, Meta(ge=1, le=1000)] = 30
    """How many of the best it reads."""
    budget_ms: Annotated[float, Meta(ge=1.0, le=600_000.0)] = 150.0
    """Milliseconds that a search waits for it; what it has not read by then stays as it was."""


class ContextSettings(Section, frozen=True):
    budget: Annotated[int, Meta(ge=64)] = 8000
    encoding: str = "o200k_base"
    """The encoding, or the name of the assistant's model, that tokens are counted for."""
    preset: Literal["assistant", "support", "tutor", "code"] = "assistant"
    """How the budget is shared out among profile, retrieved memories, summary and recent turns."""
    shares: dict[Literal["profile", "retrieved", "summary", "recent"], Share] = msgspec.field(
        default_factory=dict
    )
    """Shares of your own, for calls that name no preset; the layers that these don't name share the rest as the
    preset has it."""
    auto_recall: bool = True
    """Whether anything but the session's own window is looked up and given."""
    profile: str = "balanced"
    """The weights by which memories are chosen."""
    per_session: Annotated[int, Meta(ge=1)] = 12
    """Memories of one session before others have had their turn."""

    def __post_init__(self) -> None:
        if (total := sum(self.shares.values())) > 1 + 1e-9:
            raise ValueError(f"shares add up to {total:g}: together they may be 1 at most")


class SessionSettings(Section, frozen=True):
    ttl: Annotated[int, Meta(ge=0)] = 0
    """Seconds without a new message after which a conversation made here is deleted; 0 keeps it for ever."""


class WorkingSettings(Section, frozen=True):
    """The working memory of a session that sets none of its own."""

    strategy: Literal["summary_buffer", "buffer_window"] = "summary_buffer"
    budget: Annotated[int, Meta(ge=64)] = 2000
    """Tokens of summary and latest turns together (summary_buffer)."""
    threshold: Share = 0.8
    """From this share of the budget on, the oldest turns are summarised."""
    target: Share = 0.6
    """Down to this share of the budget."""
    keep: Annotated[int, Meta(ge=1)] = 3
    """The latest turns that always stand as they were said."""
    turns: Annotated[int, Meta(ge=1)] = 20
    """How many of the latest turns there are (buffer_window)."""

    def __post_init__(self) -> None:
        if self.target > self.threshold:
            raise ValueError(f"target ({self.target}) is above threshold ({self.threshold})")


class SummarySettings(Section, frozen=True):
    every: Annotated[int, Meta(ge=2)] = 12
    """New messages after which a running conversation is summarised anew."""
    silent: Annotated[float, Meta(ge=0.0)] = 600.0
    """Seconds without a new message after which it counts as ended."""


class LlmSettings(Section, frozen=True):
    base_url: str = ""
    """An OpenAI-compatible endpoint of a local model ("http://127.0.0.1:11434/v1"); empty does without."""
    model: str = ""
    api_key: str = ""
    timeout: Annotated[float, Meta(gt=0.0, le=3600.0)] = 60.0
    """Seconds that an answer may take as a whole."""


class WatchSettings(Section, frozen=True):
    folders: tuple[str, ...] = ()
    """Folders that are watched beside the inbox in the home; in the environment separated like a PATH."""
    settle: Annotated[float, Meta(ge=0.0, le=3600.0)] = 2.0
    """Seconds that a file must not have changed before it is read."""
    rescan: Annotated[float, Meta(ge=1.0)] = 600.0
    """Seconds between two looks at everything, because the system's events get lost."""


class ServerSettings(Section, frozen=True):
    """What ``appliance serve`` listens on, and how much it takes at once."""

    host: str = "127.0.0.1"
    """The address; another than a loopback one must also be asked for on the command line."""
    port: Annotated[int, Meta(ge=0, le=65535)] = 7707
    """0 takes a free one; 'appliance status' says which."""
    body: Annotated[int, Meta(ge=1024)] = 16 * 1024 * 1024
    """Bytes that a request may have, but for an upload."""
    upload: Annotated[int, Meta(ge=1024)] = 4 * 1024 * 1024 * 1024
    """Bytes that an uploaded export may have."""
    rate: Annotated[float, Meta(ge=0.0)] = 100.0
    """Requests a second for each token, twice as many in a burst; 0 sets no limit."""


class ProxySettings(Section, frozen=True):
    """What ``/v1/chat/completions`` adds to a chat, and how long it waits for the model at ``llm.base_url``."""

    budget: Annotated[int, Meta(ge=0)] = 2000
    """Tokens of memory that a request is given, unless it says otherwise; 0 gives none."""
    timeout: Annotated[float, Meta(gt=0.0, le=86_400.0)] = 600.0
    """Seconds without a word from the model after which a request is given up; a small machine thinks for minutes."""


class TuiSettings(Section, frozen=True):
    """How ``appliance tui`` looks, and which keys do what."""

    theme: Literal["", "dark", "light", "contrast", "plain"] = ""
    """Empty takes the dark one, or the plain one where NO_COLOR is set."""
    motion: bool = True
    """Whether things may move by themselves: smooth scrolling and the like."""
    keys: dict[str, str | dict[str, str]] = msgspec.field(default_factory=dict)
    """Keys of your own by an action's id, ``"recall.pin" = "ctrl+b"``; without the quotation marks TOML makes a group
    of it, which means the same."""


class ProfileSettings(Section, frozen=True):
    """Weights of a ranking of your own: those of a built-in profile but for the ones given."""

    like: str = "evidence"
    weights: dict[str, float] = msgspec.field(default_factory=dict)


class Settings(Section, frozen=True):
    user: str = "me"
    """Whose memories are meant when a call names no user."""
    name: str = ""
    """What you are called in your chats, for exports that only say "me"."""
    model: ModelSettings = msgspec.field(default_factory=ModelSettings)
    index: IndexSettings = msgspec.field(default_factory=IndexSettings)
    chunk: ChunkSettings = msgspec.field(default_factory=ChunkSettings)
    search: SearchSettings = msgspec.field(default_factory=SearchSettings)
    rerank: RerankSettings = msgspec.field(default_factory=RerankSettings)
    context: ContextSettings = msgspec.field(default_factory=ContextSettings)
    session: SessionSettings = msgspec.field(default_factory=SessionSettings)
    working: WorkingSettings = msgspec.field(default_factory=WorkingSettings)
    summaries: SummarySettings = msgspec.field(default_factory=SummarySettings)
    llm: LlmSettings = msgspec.field(default_factory=LlmSettings)
    server: ServerSettings = msgspec.field(default_factory=ServerSettings)
    proxy: ProxySettings = msgspec.field(default_factory=ProxySettings)
    watch: WatchSettings = msgspec.field(default_factory=WatchSettings)
    tui: TuiSettings = msgspec.field(default_factory=TuiSettings)
    profiles: dict[str, ProfileSettings] = msgspec.field(default_factory=dict)


def load(home: Home, environment: Mapping[str, str] | None = None) -> Settings:
    """The effective settings of a home.

    Raises:
        ConfigError: a file that is not TOML, a setting that is unknown or out of range.
    """
    settings, _ = load_with_origins(home, environment)
    return settings


def load_with_origins(
    home: Home, environment: Mapping[str, str] | None = None
) -> tuple[Settings, dict[str, str]]:
    """The effective settings, and for each ("model.name") where its value came from."""
    environment = os.environ if environment is None else environment
    values: dict[str, Any] = {}
    origins = dict.fromkeys(flatten(msgspec.to_builtins(Settings())), "default")
    for origin, layer in (
        (str(home.config), _from_file(home)),
        ("environment", _from_environment(environment)),
    ):
        _check(layer, origin, strict=origin != "environment")
        for name in flatten(layer):
            origins[name] = origin if origin != "environment" else _variable(name)
        _merge(values, layer)
    return _check(values, "settings", strict=False), origins


def flatten(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    """``{"model": {"name": "x"}}`` as ``{"model.name": "x"}``."""
    flat: dict[str, Any] = {}
    for name, value in tree.items():
        if isinstance(value, Mapping):
            flat.update(flatten(value, f"{prefix}{name}."))
        else:
            flat[prefix + name] = value
    return flat


def _from_file(home: Home) -> dict[str, Any]:
    try:
        text = home.config.read_text(encoding="utf-8")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"can't be read ({error})", where=str(home.config)) from error
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise ConfigError(f"not valid TOML: {error}", where=str(home.config)) from error


def _from_environment(environment: Mapping[str, str]) -> dict[str, Any]:
    defaults = flatten(msgspec.to_builtins(Settings()))
    known = {_variable(name): name for name in defaults}
    tree: dict[str, Any] = {}
    for variable, value in environment.items():
        if not variable.startswith(PREFIX) or variable == HOME_VARIABLE:
            continue
        if variable not in known:
            raise ConfigError("no such setting", where=variable, hint="known are " + ", ".join(sorted(known)))
        one: dict[str, Any] = {}
        *groups, leaf = known[variable].split(".")
        node = one
        for group in groups:
            node = node.setdefault(group, {})
        several = isinstance(defaults[known[variable]], list | tuple)
        node[leaf] = value.split(os.pathsep) if several else value
        _check(one, variable, strict=False)
        _merge(tree, one)
    return tree


def _variable(name: str) -> str:
    return PREFIX + name.replace(".", "_").upper()


def _check(values: Mapping[str, Any], origin: str, *, strict: bool) -> Settings:
    """``strict=False`` reads numbers out of text, which is all that the environment has."""
    try:
        return msgspec.convert(values, Settings, strict=strict)
    except msgspec.ValidationError as error:
        raise ConfigError(
            str(error), where=origin, hint="'appliance config' lists every setting with its value"
        ) from error


def _merge(into: dict[str, Any], layer: Mapping[str, Any]) -> None:
    for name, value in layer.items():
        if isinstance(value, Mapping):
            _merge(into.setdefault(name, {}), value)
        else:
            into[name] = value
