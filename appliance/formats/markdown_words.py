"""The words for speakers in transcripts, and words that label something else.

Some words name only speakers. A loose word ("Response", "Model") counts for its side only if no better one
occurs; otherwise it is a heading within an answer.
"""

from __future__ import annotations

import re
from typing import Literal

Side = Literal["user", "assistant", "system", "tool"]


def _words(lines: str) -> frozenset[str]:
    return frozenset(word for line in lines.strip().splitlines() for word in line.split("|"))


USER = _words("""
user|you|human|you asked|usuario|usuaria|utilisateur|utilisatrice|benutzer|benutzerin|nutzer|usuário|utente|gebruiker
użytkownik|uživatel|пользователь|користувач|ユーザー|あなた|用户|用戶|使用者|사용자|kullanıcı|người dùng|pengguna
المستخدم|کاربر|משתמש|उपयोगकर्ता
""")
LOOSE_USER = _words("me|prompt|my prompt|your prompt|du|ich|moi|vous|tú|yo|você|eu|tu|io|jij|ik|ty|ja|вы|я|asked")
ASSISTANT = _words("""
assistant|chatgpt|chatgpt response|ai assistant|github copilot|microsoft copilot|claude response|gemini response
asistente|assistente|assistent|asystent|ассистент|помощник|アシスタント|助手|ai助手|어시스턴트|asistan|trợ lý|asisten
المساعد|دستیار
""")
LOOSE_ASSISTANT = _words("""
ai|gpt|claude|gemini|bard|copilot|cursor|agent|model|llm|bot|response|chatbot|grok|deepseek|perplexity|mistral|le chat
llama|qwen|kimi|pi|réponse|antwort|respuesta|resposta|risposta|replied
""")
SYSTEM = _words("system|system prompt|system message|developer")
TOOL = _words("tool|tool call|tool result|tool output|function|thinking|thought process|reasoning|thoughts")

_MODEL = re.compile(r"(?:gpt|claude|gemini|llama|mistral|deepseek|qwen|grok)[- ]?[\w.\- ]*\d[\w.\- ]*", re.IGNORECASE)
_SAID_SUFFIX = re.compile(r"\s+(?:said|says|sagte|dijo|a dit)$", re.IGNORECASE)


def is_numbered_speaker(name: str) -> bool:
    """Whether this is a speaker whose name is not known."""
    return NUMBERED_SPEAKER.fullmatch(name) is not None


def side_of(name: str) -> Side | None:
    """The side that a word names, if it names a speaker."""
    word = _SAID_SUFFIX.sub("", name.strip()).casefold()
    if word in USER or word in LOOSE_USER:
        return "user"
    if word in ASSISTANT or word in LOOSE_ASSISTANT or _MODEL.fullmatch(word):
        return "assistant"
    if word in SYSTEM:
        return "system"
    return "tool" if word in TOOL else None


def is_loose(name: str) -> bool:
    """Whether the word may also name something other than a speaker."""
    word = _SAID_SUFFIX.sub("", name.strip()).casefold()
    return word == name.strip().casefold() and word not in USER and word not in ASSISTANT and not _MODEL.fullmatch(word)


# First words of bold labels that name no person: in notes, recipes, catalogues, issues, plans.
LABELS = frozenset(
    """
    action actions added address advantages agenda agreed amount answer apply assigned assignee attendees attention
    audience author authors background before benefits best blocked blockers bonus bottom break breakfast key main
    budget bug build by calories category caution caveat changed check city class client code coffee company complexity
    conclusion configuration cons constraints contact context cook cooking cost country course cuisine danger date day
    deadline decision decisions default definition deliverable demo dependencies deprecated description details
    difficulty dinner directions disadvantages discussion documentation done due duration email end environment error
    estimate example examples expected explanation fact file files fix fixed follow format from function goal goals
    hint host how id idea ideas impact important info information ingredients input install installation instructions
    issue item items journal keynote keywords label language learned length level license link links list location logs
    lunch manager material materials meeting method methods minutes missing motion name names next note notes number
    objective objectives open option options order organizer output overview owner page participants parameters parking
    pause phone place plan pre prep preparation present price priority problem problems product progress project pros
    purpose question questions reason reference references registration related release removed repo requirements
    resolved resource resources result results returns risk risks role room rule scene schedule scope security see
    server serves servings session setting setup severity size skills solution sources speaker speakers stage start
    status step steps style subject summary supplies support tag tags talk target task tasks team temperature term test
    testing theme time tip tips title to todo tools topic topics total type types unit update updates url usage use
    value verdict version vote warning warnings weather welcome what when where who why workshop yield yields achtung
    anmerkung anwesend aufgabe aufgaben beispiel beschluss datum ergebnis ergebnisse frage hinweis ort protokoll
    teilnehmer thema themen titel uhrzeit wichtig zeit ziel zutaten zubereitung acuerdos asistentes asunto ejemplo
    fecha hora ingredientes lugar nota notas objetivo precio preparación resultado resumen tema temas tiempo título
    appendix attempt batch bullet case chapter clause cycle draft episode exercise figure fig grade hour iteration
    kpi lesson line log milestone module month node paragraph part phase point quarter round run sample season section
    set slide sprint stanza table trial variant verse volume vol wave week year
    asistencia date durée exemple heure ingrédients lieu objet ordre participants préparation prix remarque résultat
    sujet data descrizione esempio ingredienti luogo ora preparazione prezzo risultato
    """.split()
)

_NUMBERED = """
speaker|participant|person|interviewer|interviewee|respondent|informant|guest|caller|voice|attendee|panelist|panellist
unknown speaker|subject|sprecher|sprecherin|teilnehmer|teilnehmerin|hablante|participante|orador|intervenant|locuteur
locutor|spreker|deelnemer|talare|rozmówca|говорящий|спикер|участник|話者|参加者|说话人|发言人|화자
"""
NUMBERED_SPEAKER = re.compile(
    rf"(?:{'|'.join(_NUMBERED.split(chr(10))[1:-1])})[ _#-]{{0,2}}(?:\d{{1,3}}|[A-Z])", re.IGNORECASE
)
"""Speakers whose names are not known: "Speaker 1", "SPEAKER_00", "Participant B"."""

HANDLE = re.compile(r"[^\W\d_][\w.-]*\d[\w.-]*")
"""A name of one word with digits: "user42"."""

# Speakers by their part in a conversation. An interviewer speaks only where there is one.
INTERVIEWERS = frozenset("interviewer interviewee moderator facilitator respondent interviewerin moderatorin".split())
RECORDED_ROLES = INTERVIEWERS | frozenset("participant speaker guest host caller teilnehmer gast".split())

# The lower-case words in names: "Ana de la Cruz".
PARTICLES = frozenset(
    "de da do dos das di del della den der du la le los van von zu zur af av bin ibn al el y e".split()
)

# Labels of log lines.
LEVELS = frozenset(
    "trace debug info notice warn warning error critical fatal severe verbose panic stdout stderr".split()
)

# HTML elements: "<b> text" is part of a page, not a message of someone called b.
ELEMENTS = frozenset(
    "a b br code dd div dl dt em h1 h2 h3 h4 h5 h6 hr i img li ol p pre s span strong td th tr u ul".split()
)

CONVERSATIONAL = re.compile(
    r"[?!]|\b(?:i|i'm|i’m|you|we|my|me|your|ok|okay|yes|yeah|no|hi|hey|hello|thanks|thank|sorry|lol|haha"
    r"|ich|du|wir|ja|nein|hallo|danke|je|tu|nous|vous|oui|non|salut|merci|yo|tú|sí|hola|gracias|eu|você|sim|não"
    r"|oi|obrigad[oa]|io|ciao|grazie|ik|jij|hoi|jag|hej|tack|я|ты|да|нет|привет|ben|sen|evet)\b",
    re.IGNORECASE,
)
