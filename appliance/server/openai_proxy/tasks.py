"""Task prompts: what a front end asks the model about a conversation for its own purposes, such as a title.

They come through the same endpoint as what a person says, but all that they quote of a person was sent before.
``recognise`` tells them by a header and by their shape: by the frame of a template (``_FRAMED_KINDS``), by phrases of
the templates that the front ends come with (``PATTERNS``), and titles by what every prompt for one has: an instruction,
a limit, and a transcript. docs/proxy.md lists the front ends.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, get_args

from appliance.errors import UsageError

TaskKind = Literal[
    "title", "tags", "follow_up", "search_query", "autocomplete", "summary", "translation", "language", "emotion",
    "image_prompt", "tool_choice", "merge", "other",
]  # fmt: skip
"""What a task prompt asks for. ``merge`` joins the answers of several models into one."""

NO_TASK = "none"
"""The value of the header for what a person says, whatever its shape."""

MAX_CHARACTERS = 6_000
"""How much of a text's beginning, and of its end, is looked at: templates put their instructions there."""

SYSTEM_CHARACTERS = 1_500
"""How far into the system messages a task stands: the system message of a chat may quote anything later on."""


@dataclass(frozen=True, slots=True)
class TaskPattern:
    """Phrases of a template.

    Attributes:
        kind: What it asks for.
        phrases: All of them are in the text, in lower case and with single spaces.
        in_system: Whether they stand in the system messages, else in the latest message.
        at_start: Whether the first phrase begins the text.
    """

    kind: TaskKind
    phrases: tuple[str, ...]
    in_system: bool = False
    at_start: bool = True


PATTERNS: tuple[TaskPattern, ...] = (
    # Open WebUI: other prompts than those with its frame
    TaskPattern("title", ("3-5 word phrase", "as a title for the previous query"), at_start=False),
    TaskPattern("title", ("create a concise, 3-5 word title", "chat history"), at_start=False),
    TaskPattern("emotion", ("your task is to reflect the speaker's likely facial expression", "emoji")),
    TaskPattern("merge", ("you have been provided with a set of responses from various models",)),
    TaskPattern("tool_choice", ("available tools:", "choose and return the correct tool"), in_system=True),
    # LibreChat
    TaskPattern("title", ("analyze this conversation and provide:", "a concise title")),
    TaskPattern("title", ("provide a concise, 5-word-or-less title for the conversation",)),
    TaskPattern("title", ("please generate a concise title", "for a conversation that starts with"), at_start=False),
    TaskPattern("title", ("write a concise title for this conversation in the given language",), in_system=True),
    TaskPattern("title", ("tools you can use to generate the conversation title",), in_system=True, at_start=False),
    TaskPattern("language", ("detect the language used in the following text",), in_system=True),
    # LobeChat, Cherry Studio
    TaskPattern("title", ("you are a professional conversation summarizer", "title"), in_system=True),
    TaskPattern("title", ("you are an assistant skilled in conversation", "into a title"), in_system=True),
    TaskPattern("title", ("擅长会话", "标题"), in_system=True, at_start=False),
    TaskPattern(
        "summary", ("extracting key takeaways from conversations", "<chat_history>"), in_system=True, at_start=False
    ),
    TaskPattern("translation", ("you are a professional translator. translate the input text",), in_system=True),
    TaskPattern("translation", ("you are a translation expert. your only task is to translate", "<translate_input>")),
    TaskPattern("search_query", ("you are an ai question rephraser",), in_system=True),
    TaskPattern("search_query", ("you are an ai question rephraser",)),
    # Jan, NextChat, Chatbox, Continue
    TaskPattern("title", ("summarize in a", "-word title", "give the title only")),
    TaskPattern("title", ("summarize in a", "-word title the following conversation")),
    TaskPattern("title", ("name the conversation based on the chat records",)),
    TaskPattern("title", ("please generate a four to five word title summarizing our conversation",)),
    TaskPattern("title", ("based on the chat history, give this conversation a name",)),
    TaskPattern("summary", ("summarize the discussion briefly in", "to use as a prompt for future context")),
    TaskPattern("title", ("given the following... please reply with a short summary",)),
    # OpenCode, Copilot and the editors that took over its prompt
    TaskPattern("title", ("you are a title generator",), in_system=True),
    TaskPattern("title", ("you are an expert in crafting pithy titles",), in_system=True),
    # SillyTavern
    TaskPattern("summary", ("ignore previous instructions. summarize the most important",)),
    TaskPattern("emotion", ("ignore previous instructions. classify the emotion of the last message",)),
    # Cline, Roo Code and agents that compact their history
    TaskPattern("summary", ('<explicit_instructions type="summarize_task">',)),
    TaskPattern("summary", ("summarize the conversation so far, as described in the prompt instructions",)),
    TaskPattern("summary", ("your task is to create a detailed summary of the conversation so far",)),
    # Code completion by a chat model
    TaskPattern("autocomplete", ("<|fim_prefix|>", "<|fim_suffix|>"), at_start=False),
)
"""Where a front end's prompts have no frame and no transcript. The tests have a request of each."""

_FRAMED_KINDS: tuple[tuple[str, TaskKind], ...] = (
    ('"title"', "title"),
    ('"tags"', "tags"),
    ('"follow_ups"', "follow_up"),
    ('"queries"', "search_query"),
    ('"prompt"', "image_prompt"),
    ('"text"', "autocomplete"),
)
"""The key of the JSON that a template of Open WebUI asks for. It stays in templates that were translated or changed."""

_INSTRUCTION_CHARACTERS = 300
"""How far into a framed prompt the words for what it asks stand."""

_FRAMED_WORDS: tuple[tuple[str, TaskKind], ...] = (
    ("title", "title"),
    (" tags", "tags"),
    ("follow-up", "follow_up"),
    ("search quer", "search_query"),
    ("image", "image_prompt"),
    ("autocompletion", "autocomplete"),
)
"""What the templates of Open WebUI ask for in words, where the JSON was left out of them."""

_TITLE_INSTRUCTION = re.compile(
    r"\b(?:title|titel|título|titre|titolo|name (?:the|this))\b.{0,80}\b(?:conversation|chat|thread|discussion|session"
    r"|dialogue?|unterhaltung|gesprächs?|konversation|conversación|conversazione)"
    r"|\b(?:conversation|chat|thread|discussion|unterhaltung|gespräch|conversación)\b.{0,80}"
    r"\b(?:title|titel|título|titre|titolo)\b"
)
_TITLE_LIMIT = re.compile(
    r"\b(?:only|just|nothing else|nur|ausschließlich|solo|únicamente|seulement)\b|\bno (?:punctuation|quot|explanation)"
    r"|\d+[ -](?:words?|characters|wörter|zeichen|palabras|caracteres|mots)|\bwords? or (?:less|fewer)\b|\bjson\b"
)
_TRANSCRIPT = re.compile(
    r"^[ \t]*(?:#+ |\*\*|[\[<\"{]\s*\"?(?:role\"\s*:\s*\")?)?"
    r"(?P<who>user|human|me|assistant|ai|bot|benutzer|usuario|asistente|assistent)\b[\"*\]>]*\s*[:>,]",
    re.IGNORECASE | re.MULTILINE,
)
_ASSISTANTS = frozenset({"assistant", "ai", "bot", "asistente", "assistent"})


@dataclass(frozen=True, slots=True)
class TaskShape:
    """What is looked at of a request: the texts of its system messages and of its latest one, and whether an assistant
    has answered in it."""

    system: str
    latest: str
    has_answer: bool


def recognise(shape: TaskShape, header: str = "") -> TaskKind | None:
    """What a request asks for as a task of the front end; None for what a person says.

    ``header`` names the task. An unknown name is a task of kind "other", since front ends name theirs as they like.
    """
    named = header.strip().lower()
    if named:
        return None if named == NO_TASK else _named_kind(named)
    latest, system = _normalize(shape.latest), _normalize(shape.system[:SYSTEM_CHARACTERS])
    return _framed(latest) or _known(latest, system, shape.has_answer) or _title(shape, system)


def task_header(values: Sequence[str]) -> str:
    """The first header that names a task.

    Raises:
        UsageError: It is too long for a name.
    """
    value = next((value.strip() for value in values if value.strip()), "")
    if len(value) > 100:
        raise UsageError("The name of a task must have at most 100 characters.")
    return value


def _named_kind(name: str) -> TaskKind:
    """The kind of a task by the name that a front end gives it ("title_generation")."""
    name = name.replace("-", "_")
    return next((kind for kind in get_args(TaskKind) if name.startswith(kind) or name.startswith(f"{kind}s")), "other")


def _framed(latest: str) -> TaskKind | None:
    """A template of Open WebUI. That for documents ("<context>") has the frame too, and holds what a person says."""
    if not latest.startswith("### task:") or "<chat_history>" not in latest or "<context>" in latest:
        return None
    instruction = latest.partition("<chat_history>")[0][:_INSTRUCTION_CHARACTERS]
    return next(
        (kind for key, kind in _FRAMED_KINDS if key in latest),
        next((kind for words, kind in _FRAMED_WORDS if words in instruction), "other"),
    )


def _known(latest: str, system: str, has_answer: bool) -> TaskKind | None:
    for pattern in PATTERNS:
        if pattern.in_system and has_answer:
            continue  # a system message of a conversation that goes on
        text = system if pattern.in_system else latest
        begins = text.startswith(pattern.phrases[0]) if pattern.at_start else True
        if begins and all(phrase in text for phrase in pattern.phrases):
            return pattern.kind
    return None


def _title(shape: TaskShape, system: str) -> TaskKind | None:
    """A prompt for a title, in any words: an instruction and a limit, and a transcript of who said what."""
    if shape.has_answer:
        return None
    transcript = {found["who"].lower() for found in _TRANSCRIPT.finditer(_ends(shape.latest))}
    if not transcript & _ASSISTANTS or not transcript - _ASSISTANTS:
        return None
    first = _TRANSCRIPT.search(shape.latest)
    instructions = (system, _normalize(shape.latest[: first.start()] if first else ""), _normalize(shape.latest[-400:]))
    for text in instructions:
        if _TITLE_INSTRUCTION.search(text) and _TITLE_LIMIT.search(text):
            return "title"
    return None


def _ends(text: str) -> str:
    return text if len(text) <= 2 * MAX_CHARACTERS else f"{text[:MAX_CHARACTERS]}\n{text[-MAX_CHARACTERS:]}"


def _normalize(text: str) -> str:
    """The ends of a text in lower case, with single spaces and plain quotation marks."""
    return " ".join(_ends(text).lower().replace("’", "'").split())
