"""Who speaks in a transcript, by the word that it uses; and words that label something else.

A word that only speakers are called by decides. A loose one ("Response", "Model") speaks for its side only
where no better word does: elsewhere it is a heading within an answer.
"""

from __future__ import annotations

import re
from typing import Literal

Side = Literal["user", "assistant", "system", "tool"]

_USER = """
user you human you asked usuario usuaria utilisateur utilisatrice benutzer benutzerin nutzer usuário utente
gebruiker użytkownik uživatel пользователь користувач ユーザー あなた 用户 用戶 使用者 사용자 kullanıcı người dùng
pengguna المستخدم کاربر משתמש उपयोगकर्ता
"""
_LOOSE_USER = """
me prompt my prompt your prompt du ich moi vous tú yo você eu tu io jij ik ty ja вы я asked
"""
_ASSISTANT = """
assistant chatgpt chatgpt response ai assistant github copilot microsoft copilot claude response gemini response
asistente assistente assistent asystent ассистент помощник アシスタント 助手 ai助手 어시스턴트 asistan trợ lý
asisten المساعد دستیار
"""
_LOOSE_ASSISTANT = """
ai gpt claude gemini bard copilot cursor agent model llm bot response chatbot grok deepseek perplexity mistral
le chat llama qwen kimi pi réponse antwort respuesta resposta risposta replied
"""
_SYSTEM = "system system prompt system message developer"
_TOOL = "tool tool call tool result tool output function thinking thought process reasoning thoughts"


def _words(lines: str) -> frozenset[str]:
    """The words of a list. A phrase of several words is looked up whole."""
    phrases = {
        "you asked", "người dùng", "my prompt", "your prompt", "chatgpt response", "ai assistant",
        "github copilot", "microsoft copilot", "claude response", "gemini response", "trợ lý", "le chat",
        "system prompt", "system message", "tool call", "tool result", "tool output", "thought process",
    }  # fmt: skip
    rest = " ".join(lines.split())
    found = {phrase for phrase in phrases if re.search(rf"(?:^| ){phrase}(?: |$)", rest)}
    for phrase in sorted(found, key=len, reverse=True):
        rest = rest.replace(phrase, "")
    return frozenset(found | set(rest.split()))


USER = _words(_USER)
LOOSE_USER = _words(_LOOSE_USER)
ASSISTANT = _words(_ASSISTANT)
LOOSE_ASSISTANT = _words(_LOOSE_ASSISTANT)
SYSTEM = _words(_SYSTEM)
TOOL = _words(_TOOL)

_MODEL = re.compile(
    r"(?:gpt|claude|gemini|llama|mistral|deepseek|qwen|grok)[- ]?[\w.\- ]*\d[\w.\- ]*", re.IGNORECASE
)
_SAID = re.compile(r"\s+(?:said|says|sagte|dijo|a dit)$", re.IGNORECASE)


def side_of(name: str) -> Side | None:
    """Whose turn a word begins, if it is a word for somebody's turn."""
    word = _SAID.sub("", name.strip()).casefold()
    if word in USER or word in LOOSE_USER:
        return "user"
    if word in ASSISTANT or word in LOOSE_ASSISTANT or _MODEL.fullmatch(word):
        return "assistant"
    if word in SYSTEM:
        return "system"
    return "tool" if word in TOOL else None


def is_loose(name: str) -> bool:
    """Whether the word also stands for other things than somebody's turn."""
    word = _SAID.sub("", name.strip()).casefold()
    return (
        word == name.strip().casefold()
        and word not in USER
        and word not in ASSISTANT
        and not _MODEL.fullmatch(word)
    )


# A bold label that begins with one of these labels a line: notes, recipes, catalogues, issues, plans.
LABELS = frozenset(
    """
    action actions added address advantages agenda agreed amount answer apply assigned assignee attendees
    attention audience author authors background before benefits
    best blocked blockers bonus bottom break breakfast key main
    budget bug build by calories category caution caveat changed check city class client code coffee company
    complexity conclusion configuration cons constraints contact context cook cooking cost country course cuisine
    danger date day deadline decision decisions default definition deliverable demo dependencies deprecated
    description details difficulty dinner directions disadvantages discussion documentation done due duration email
    end environment error estimate example examples expected explanation fact file files fix fixed follow format
    from function goal goals hint host how id idea ideas impact important info information ingredients input
    install installation instructions issue item items journal keynote keywords label language learned length level
    license link links list location logs lunch manager material materials meeting method methods minutes missing
    motion name names next note notes number objective objectives open option options order organizer output
    overview owner page participants parameters parking pause phone place plan pre prep preparation present price
    priority problem problems product progress project pros purpose question questions reason reference references
    registration related release removed repo requirements resolved resource resources result results returns risk
    risks role room rule scene schedule scope security see server serves servings session setting setup severity
    size skills solution sources speaker speakers stage start status step steps style subject summary supplies
    support tag tags talk target task tasks team temperature term test testing theme time tip tips title to todo
    tools topic topics total type types unit update updates url usage use value verdict version vote warning
    warnings weather welcome what when where who why workshop yield yields
    achtung anmerkung anwesend aufgabe aufgaben beispiel beschluss datum ergebnis ergebnisse frage hinweis ort
    protokoll teilnehmer thema themen titel uhrzeit wichtig zeit ziel zutaten zubereitung
    acuerdos asistentes asunto ejemplo fecha hora ingredientes lugar nota notas objetivo precio preparación
    resultado resumen tema temas tiempo título asistencia
    date durée exemple heure ingrédients lieu objet ordre participants préparation prix remarque résultat sujet
    data descrizione esempio ingredienti luogo ora preparazione prezzo risultato
    """.split()
)

# The small words in names: "Ana de la Cruz".
PARTICLES = frozenset(
    "de da do dos das di del della den der du la le los van von zu zur af av bin ibn al el y e".split()
)

# A line of a log, not of a conversation.
LEVELS = frozenset(
    "trace debug info notice warn warning error critical fatal severe verbose panic stdout stderr".split()
)

# "<b> text" is a piece of a page, not somebody called b.
ELEMENTS = frozenset(
    "a b br code dd div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ol p pre s span strong td th tr u ul".split()
)

TALKING = re.compile(
    r"[?!]|\b(?:i|i'm|i’m|you|we|my|me|your|ok|okay|yes|yeah|no|hi|hey|hello|thanks|thank|sorry|lol|haha"
    r"|ich|du|wir|ja|nein|hallo|danke|je|tu|nous|vous|oui|non|salut|merci|yo|tú|sí|hola|gracias|eu|você|sim|não"
    r"|oi|obrigad[oa]|io|ciao|grazie|ik|jij|hoi|jag|hej|tack|я|ты|да|нет|привет|ben|sen|evet)\b",
    re.IGNORECASE,
)
