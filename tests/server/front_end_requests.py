"""Requests as front ends send them: their own prompts, and turns of a person in their wrapping.

The shapes (roles, frames, and the phrases that begin a template) are those of the public sources that each ``source``
names by repository, path and commit (its first twelve digits); all other words are ours.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

OTTER, ANSWER = "My otter is called Lutz.", "That is a good name."


@dataclass(frozen=True)
class FrontEndRequest:
    """A request of a front end. ``kind`` is what it asks for as a task; None for a turn of a person."""

    client: str
    kind: str | None
    source: str
    messages: tuple[tuple[str, str], ...]

    @property
    def id(self) -> str:
        return f"{self.client} {self.kind or 'turn'}"

    @property
    def body(self) -> dict[str, Any]:
        return {"model": "tiny", "messages": [{"role": role, "content": content} for role, content in self.messages]}


OPEN_WEBUI = "open-webui/open-webui backend/open_webui/config.py 00b1c6bcaa3c"
AGENTS = "danny-avila/agents src/utils/title.ts d8751a6ab077"
TITLE_PROMPTS = "danny-avila/LibreChat api/app/clients/prompts/titlePrompts.js 07eda3502c3c"
HISTORY = f"<chat_history>\nUSER: {OTTER}\nASSISTANT: {ANSWER}\n</chat_history>"


def open_webui(kind: str, task: str, output: str, context: str = HISTORY) -> FrontEndRequest:
    """A prompt in the frame of its templates."""
    text = f"### Task:\n{task}\n### Guidelines:\n- Use the language of the chat.\n### Output:\n{output}\n{context}"
    return FrontEndRequest("Open WebUI", kind, OPEN_WEBUI, (("user", text),))


def one(client: str, kind: str, source: str, *messages: tuple[str, str]) -> FrontEndRequest:
    return FrontEndRequest(client, kind, source, messages)


TASKS: tuple[FrontEndRequest, ...] = (
    open_webui("title", "Generate a title for the history.", 'JSON format: { "title": "your title" }'),
    open_webui("tags", "Generate tags for the themes.", 'JSON format: { "tags": ["tag1", "tag2"] }'),
    open_webui("follow_up", "Suggest what the user may ask next.", 'JSON format: { "follow_ups": ["One?"] }'),
    open_webui("search_query", "Say what to search for.", 'Return JSON:\n{\n  "queries": ["query1"]\n}'),
    open_webui("image_prompt", "Describe the image.", 'Return JSON:\n{\n    "prompt": "Words."\n}'),
    open_webui(
        "autocomplete",
        "Continue the text in `<text>`.",
        'JSON: `{ "text": "<your_completion>" }`',
        f"### Context:\n{HISTORY}\n<type>General</type>\n<text>My otter likes</text>\n#### Output:\n",
    ),
    open_webui("title", "Generate a concise, 3-5 word title that sums up the chat history.", "Only the words."),
    open_webui("tags", "Generate 1-3 broad tags for the main themes.", "Words with commas."),
    open_webui("follow_up", "Suggest 3-5 relevant follow-up questions.", "One a line."),
    open_webui("search_query", "Say whether generating search queries is necessary.", "One a line."),
    open_webui("other", "Count the words.", "A number."),
    open_webui("title", "Gib dem Verlauf einen Titel.", 'JSON-Format: { "title": "dein Titel" }'),
    one(
        "Open WebUI",
        "emotion",
        OPEN_WEBUI,
        (
            "user",
            f"Your task is to reflect the speaker's likely facial expression as an emoji.\n\nMessage: ```{OTTER}```",
        ),
    ),
    one(
        "Open WebUI",
        "merge",
        OPEN_WEBUI,
        ("user", f'You have been provided with a set of responses from various models to this: "{OTTER}"\n\n{ANSWER}'),
    ),
    one(
        "Open WebUI",
        "tool_choice",
        OPEN_WEBUI,
        ("system", 'Available Tools: [{"name": "clock"}]\n\nYour task is to choose and return the correct tool(s).'),
        ("user", f'Query: History:\nUSER: """{OTTER}"""\nQuery: {OTTER}'),
    ),
    one(
        "LibreChat",
        "title",
        AGENTS,
        (
            "user",
            "Analyze this conversation and provide:\n1. The language\n2. A concise title (5 words)\n\n"
            f"User: {OTTER}\nAI: {ANSWER}",
        ),
    ),
    one(
        "LibreChat",
        "title",
        AGENTS,
        (
            "user",
            "Provide a concise, 5-word-or-less title for the conversation. Nothing else.\n\nConversation:\n"
            f"User: {OTTER}\nAI: {ANSWER}",
        ),
    ),
    one(
        "LibreChat",
        "title",
        "danny-avila/LibreChat api/server/services/Endpoints/assistants/title.js aad7544ae201",
        (
            "user",
            "Please generate a concise title (40 characters) for a conversation that starts with:\n"
            f"User: {OTTER}\nAssistant: {ANSWER}\n\nTitle:",
        ),
    ),
    one(
        "LibreChat",
        "title",
        TITLE_PROMPTS,
        ("system", f"Write a concise title for this conversation in the given language.\n||>User:\n{OTTER}"),
        ("user", "Language: English"),
    ),
    one(
        "LibreChat",
        "title",
        TITLE_PROMPTS,
        ("system", "In this environment you have tools you can use to generate the conversation title."),
        ("user", f"<conversation>{OTTER}</conversation>"),
    ),
    one(
        "LibreChat",
        "language",
        TITLE_PROMPTS,
        ("system", "Detect the language used in the following text."),
        ("user", OTTER),
    ),
    one(
        "LobeChat",
        "title",
        "lobehub/lobe-chat packages/prompts/src/chains/summaryTitle.ts 2430838d4f45",
        ("system", "You are a professional conversation summarizer. Generate a title.\n\nRules:\n- Maximum 10 words"),
        ("user", f"user: {OTTER}\nassistant: {ANSWER}"),
    ),
    one(
        "LobeChat",
        "summary",
        "lobehub/lobe-chat packages/prompts/src/chains/summaryHistory.ts 50af0e98b004",
        ("system", "You're good at extracting key takeaways from conversations. They stand in <chat_history>."),
        ("user", f"<chat_history>\n<user>{OTTER}</user>\n</chat_history>\n\nPlease summarize the above conversation."),
    ),
    one(
        "LobeChat",
        "translation",
        "lobehub/lobe-chat packages/prompts/src/chains/translate.ts b9634d59cbc0",
        ("system", "You are a professional translator. Translate the input text to de-DE.\n\nRules:\n- No comments"),
        ("user", OTTER),
    ),
    one(
        "Cherry Studio",
        "title",
        "CherryHQ/cherry-studio src/renderer/src/config/prompts.ts 0022087cc020",
        ("system", "You are an assistant skilled in conversation. Summarize it into a title within 10 words."),
        ("user", f'[{{"role":"user","mainText":"{OTTER}"}}]'),
    ),
    one(
        "Cherry Studio",
        "search_query",
        "CherryHQ/cherry-studio src/renderer/src/config/prompts.ts 0022087cc020",
        (
            "user",
            f"\n  You are an AI question rephraser. Rephrase it.\n  <conversation>\n  {OTTER}\n  </conversation>\n"
            "  Follow up question: What is he called?\n  Rephrased question:\n",
        ),
    ),
    one(
        "Cherry Studio",
        "translation",
        "CherryHQ/cherry-studio src/renderer/src/config/prompts.ts 0022087cc020",
        (
            "user",
            "You are a translation expert. Your only task is to translate text into German.\n\n"
            f"<translate_input>\n{OTTER}\n</translate_input>",
        ),
    ),
    one(
        "Jan",
        "title",
        "janhq/jan web-app/src/lib/thread-title-summarizer.ts d459af96ed03",
        ("user", f'Summarize in a 10-word Title. Give the title only. Here is the message: "{OTTER}"'),
    ),
    one(
        "Jan, older",
        "title",
        "janhq/jan web/hooks/useCreateNewThread.ts",
        ("user", f"Summarize in a 10-word title the following conversation:\n\n{OTTER}\n{ANSWER}"),
    ),
    one(
        "Open WebUI, older",
        "title",
        "open-webui/open-webui src/lib/constants.ts of 2024",
        ("user", f"Here is the query:\n{OTTER}\n\nCreate a 3-5 word phrase as a title for the previous query."),
    ),
    one(
        "Open WebUI, older",
        "title",
        "open-webui/open-webui backend/open_webui/config.py of 2024",
        ("user", f"Create a concise, 3-5 word title as a title for the chat history.\n\n{OTTER}"),
    ),
    one(
        "Chatbox, newer",
        "title",
        "the prompt of its releases from 2025 on",
        ("user", f"Based on the chat history, give this conversation a name. Keep it short.\n\n{OTTER}"),
    ),
    one(
        "LobeChat in Chinese",
        "title",
        "lobehub/lobe-chat src/chains/summaryTitle.ts of 2024",
        ("system", "你是一名擅长会话的助理，请写出标题"),
        ("user", OTTER),
    ),
    one(
        "NextChat",
        "title",
        "ChatGPTNextWeb/NextChat app/locales/en.ts 012598fa9eff",
        ("user", OTTER),
        ("assistant", ANSWER),
        ("user", "Please generate a four to five word title summarizing our conversation. No punctuation."),
    ),
    one(
        "NextChat",
        "summary",
        "ChatGPTNextWeb/NextChat app/locales/en.ts 012598fa9eff",
        ("user", OTTER),
        ("assistant", ANSWER),
        ("system", "Summarize the discussion briefly in 200 words to use as a prompt for future context."),
    ),
    one(
        "Chatbox",
        "title",
        "Bin-Huang/chatbox src/renderer/packages/prompts.ts 2a8b1a335bc2",
        ("user", f"Name the conversation based on the chat records.\n\n```\n{OTTER}\n\n---------\n\n{ANSWER}\n```"),
    ),
    one(
        "Continue",
        "title",
        "continuedev/continue core/util/chatDescriber.ts 02f40d04bdb5",
        ("user", f"Given the following... please reply with a short summary of 4-12 words.\n\n{ANSWER}"),
    ),
    one(
        "OpenCode",
        "title",
        "anomalyco/opencode packages/opencode/src/agent/prompt/title.txt 9d3a4f4fee58",
        ("system", "You are a title generator. You write nothing else."),
        ("user", "Generate a title for this conversation:\n"),
        ("user", OTTER),
    ),
    one(
        "Copilot Chat",
        "title",
        "microsoft/vscode-copilot-chat src/extension/prompts/node/panel/title.tsx 050d178e1b69",
        ("system", "You are an expert in crafting pithy titles for conversations. About 8 words."),
        ("user", f"Please write a brief title for the following request:\n\n{OTTER}"),
    ),
    one(
        "SillyTavern",
        "summary",
        "SillyTavern/SillyTavern public/scripts/extensions/memory/index.js a7a7ec051834",
        ("system", "You are Lutz, an otter."),
        ("user", OTTER),
        ("assistant", ANSWER),
        ("system", "Ignore previous instructions. Summarize the most important facts of the story so far."),
    ),
    one(
        "SillyTavern",
        "emotion",
        "SillyTavern/SillyTavern public/scripts/extensions/expressions/index.js b5887960b686",
        ("user", ANSWER),
        ("system", "Ignore previous instructions. Classify the emotion of the last message. One word: joy, anger"),
    ),
    one(
        "Cline",
        "summary",
        "cline/cline src/core/prompts/contextManagement.ts 046531b5f684",
        ("system", "You are a coding agent."),
        ("user", f"<task>\n{OTTER}\n</task>"),
        ("assistant", ANSWER),
        ("user", '<explicit_instructions type="summarize_task">\nWrite all down.\n</explicit_instructions>'),
    ),
    one(
        "Roo Code",
        "summary",
        "RooCodeInc/Roo-Code src/core/condense/index.ts 04fc2a02efef",
        ("system", "Your task is to create a detailed summary of the conversation so far."),
        ("user", f"<task>\n{OTTER}\n</task>"),
        ("assistant", ANSWER),
        ("user", "Summarize the conversation so far, as described in the prompt instructions."),
    ),
    one(
        "an editor",
        "autocomplete",
        "continuedev/continue core/autocomplete/templating, for models that complete around a cursor",
        ("user", "<|fim_prefix|>def otter():\n    <|fim_suffix|>\n<|fim_middle|>"),
    ),
    one(
        "a front end with templates of its own",
        "title",
        "no template is known: an instruction, a limit and a transcript",
        ("system", "Vergib für die Unterhaltung einen Titel. Antworte nur mit höchstens 4 Wörtern."),
        ("user", f"Benutzer: {OTTER}\nAssistent: {ANSWER}"),
    ),
)
"""Prompts of front ends for their own purposes."""


def turn(client: str, source: str, *messages: tuple[str, str]) -> FrontEndRequest:
    return FrontEndRequest(client, None, source, messages)


TURNS: tuple[FrontEndRequest, ...] = (
    turn(
        "Open WebUI with documents",
        OPEN_WEBUI,
        (
            "user",
            "### Task:\nRespond to the user query using the provided context.\n### Output:\nA clear answer.\n"
            f'<context>\n<source id="1">See <chat_history> and "title".</source>\n</context>\n\n{OTTER}',
        ),
    ),
    turn(
        "Cline",
        "cline/cline src/core/task/index.ts",
        ("system", "You are a coding agent."),
        ("user", f"<task>\n{OTTER}\n</task>\n<environment_details>\n# Files\notter.py\n</environment_details>"),
    ),
    turn("LobeChat", "lobehub/lobe-chat", ("system", "You write titles for books. Only titles."), ("user", OTTER)),
    turn("a person", "who asks for a title", ("user", "Give me a title for this conversation, in 5 words or less.")),
    turn(
        "a person",
        "who asks for a title at the end",
        ("user", OTTER),
        ("assistant", ANSWER),
        ("user", "Write a title for our chat, only the title. JSON please."),
    ),
    turn(
        "a person",
        "who pastes a talk",
        ("user", f"User: {OTTER}\nAssistant: {ANSWER}\nWas this conversation polite? I only want a yes or no."),
    ),
    turn("a person", "who quotes a prompt", ("user", 'What does "### Task: <chat_history>" in {"title": 1} mean?')),
    turn("a person", "who summarizes", ("user", f"Summarize the discussion briefly: {OTTER}")),
    turn("a person", "who translates", ("user", f"You are a professional translator? Then translate: {OTTER}")),
    turn(
        "a person",
        "with a system message like a task's, in a conversation that goes on",
        ("system", "You are a title generator. We work on titles for my book together."),
        ("user", OTTER),
        ("assistant", ANSWER),
        ("user", "Now one about otters."),
    ),
)
"""What people say through front ends, also where it looks like a task."""
