"""The words that WhatsApp itself writes into an export, in the languages it is mostly used in.

Phrases are patterns, matched without regard to case. What is missing here is not lost: a line is then
kept as what the person said, or as a system line if it has no name.
"""

from __future__ import annotations

import re

AM = (
    "am", "a.m.", "a. m.", "a.m", "a m", "vorm.", "de.", "öö", "sa", "pg", "π.μ.", "πμ", "ص", "ق.ظ", "ق.ظ.",
    "पूर्वाह्न", "পূর্বাহ্ণ", "пр.об.", "пр. об.", "ip.", "fm", "f.h.", "upo", "לפנה״צ", 'לפנה"צ',
    "오전", "午前", "上午", "凌晨", "清晨", "早上", "ก่อนเที่ยง", "e paradites", "dop.", "umaga",
)  # fmt: skip
PM = (
    "pm", "p.m.", "p. m.", "p.m", "p m", "nachm.", "du.", "ös", "ch", "ptg", "μ.μ.", "μμ", "م", "ب.ظ", "ب.ظ.",
    "अपराह्न", "অপরাহ্ণ", "сл.об.", "сл. об.", "ap.", "em", "e.h.", "אחה״צ", 'אחה"צ',
    "오후", "午後", "下午", "中午", "晚上", "หลังเที่ยง", "e pasdites", "odp.", "tanghali", "hapon", "gabi",
)  # fmt: skip

# Between date and time, besides a comma: "15.1.2024 klo 10.30", "15/01/2024 à 10:30", "15.01.24 kl. 10:30".
CLOCK_WORDS = ("klo", "kl.", "kl", "um", "à", "at", "às", "as", "a las", "alle", "ore", "om", "u", "o", "в")


def _any(phrases: str) -> re.Pattern[str]:
    return re.compile("|".join(line for line in phrases.strip().splitlines()), re.IGNORECASE)


# Whole sentences that only the app writes. They also come behind a name, which iOS puts before them.
NOTICE = _any(r"""
messages (?:and calls|to this (?:chat|group)|you send)\b.*(?:end-to-end|secured).*
your security code with .* changed.*|security code changed.*
you're now an admin\.?|you're no longer an admin\.?
.* turned (?:on|off) disappearing messages\..*|.* updated the message timer\..*
.* changed their phone number to a new number\..*|.* changed from \+\d.* to \+\d.*
.* created group ["“].*|.* joined using (?:this|a) group's (?:invite )?link\.?
this (?:chat is with a|business account is|business uses|business works with).*
(?:missed |silenced )?(?:voice|video) call(?:[,.] .*)?$|missed (?:group )?(?:voice|video) call.*
die nachrichten (?:und anrufe )?.*ende-zu-ende-verschlüsselt.*|nachrichten und anrufe sind ende-zu-ende.*
.*sicherheitsnummer .* hat sich geändert.*|verpasster? (?:sprach|video)anruf.*
los mensajes y las llamadas están cifrados de extremo a extremo.*|(?:los )?mensajes .*cifrad[oa]s.*extremo.*
llamada (?:de voz |de video )?perdida.*|cambió el código de seguridad.*|tu código de seguridad con .*
les messages et (?:les )?appels sont chiffrés de bout en bout.*|appel (?:vocal|vidéo) manqué.*
as mensagens e (?:as )?(?:chamadas|ligações) são protegidas com.*|(?:as )?mensagens .*ponta a ponta.*
chamada de (?:voz|vídeo) perdida.*|(?:ligação|chamada) .*perdida.*
i messaggi e le chiamate sono crittografati end-to-end.*|chiamata (?:vocale |video)?persa.*
berichten en (?:gesprekken|oproepen) (?:worden|zijn) .*end-to-end.*|gemist(?:e)? .*(?:oproep|gesprek).*
сообщения и звонки защищены сквозным шифрованием.*|пропущенный (?:аудио|видео)?звонок.*
mesajlar ve aramalar uçtan uca şifrelidir.*|mesajlar ve görüşmeler uçtan uca.*
wiadomości i połączenia są w pełni szyfrowane.*|viestit ja puhelut ovat .*päästä päähän.*
meddelanden och samtal är .*krypterade.*|meldinger og anrop er ende-til-ende.*
beskeder og opkald er .*krypteret.*
メッセージと通話はエンドツーエンド.*|메시지와 (?:통화|전화).*(?:암호화|종단간).*
消息和通话已进行端到端加密.*|訊息和通話.*端對端.*
الرسائل والمكالمات مشفرة.*|संदेश और कॉल .*एन्क्रिप्टेड.*|pesan dan panggilan (?:ter)?enkripsi.*
""")

# Shorter ones, which a person could also write: believed behind the app's own mark, or before a colon.
EVENT = _any(r"""
.*\b(?:added|removed|invited) \S.*|.*\bleft(?: the group)?\.?$|.*\bwas (?:added|removed)\b.*|.*\bjoined\b.*
(?:you|.*) created (?:this |the )?group\b.*|you were added.*|.*\bturned (?:on|off) disappearing messages.*
.*\bchanged (?:the subject|the group|this group|the group's|their phone|to \+).*|.*\bpinned a message\b.*
.*\b(?:deleted|changed) (?:this group's|the group's) (?:icon|description|settings).*
.*\bhat .*(?:hinzugefügt|entfernt|erstellt|geändert|angepinnt|verlassen)\b.*
.*\bwurde (?:hinzugefügt|entfernt)\b.*
.*\b(?:añadió|agregó|eliminó|creó|cambió|salió|fijó)\b.*|.*\bse unió\b.*
.*\ba (?:ajouté|retiré|créé|changé|modifié|quitté|rejoint|épinglé)\b.*
.*\b(?:adicionou|removeu|criou|mudou|alterou|saiu|entrou|fixou)\b.*
.*\bha (?:aggiunto|rimosso|creato|cambiato|modificato|abbandonato|fissato)\b.*
.*\bheeft .*(?:toegevoegd|verwijderd|gemaakt|gewijzigd|verlaten)\b.*
""")

# Before the first colon of a line without a name: it belongs to a sentence, not to a name.
EVENT_NOT_NAME = _any(r"""
.*\bcreated (?:the |this )?group\b.*|.*\bchanged (?:the|this) (?:subject|group)\b.*|.*\bchanged the group.*
.*\b(?:added|removed) .* (?:to|from) the (?:group|community)\b.*|messages and calls are end-to-end.*
.*\bhat die gruppe\b.*|.*\bhat den (?:betreff|gruppen\w*)\b.*|.*\bcreó el grupo\b.*|.*\bcambió el asunto\b.*
.*\bcambió (?:la descripción|el ícono|el icono)\b.*|.*\ba créé le groupe\b.*
.*\ba changé (?:le sujet|l'objet)\b.*
.*\bcriou (?:o )?grupo\b.*|.*\bmudou o (?:assunto|nome)\b.*|.*\bha creato il gruppo\b.*
.*\bha cambiato l'oggetto\b.*
""")

DELETED = _any(r"""
this message was deleted\.?|you deleted this message\.?|this message was deleted by admin.*
(?:diese nachricht wurde|du hast diese nachricht) gelöscht\.?
(?:se )?eliminó este mensaje\.?|este mensaje fue eliminado\.?|eliminaste este mensaje\.?
ce message a été supprimé\.?|(?:vous avez|tu as) supprimé ce message\.?
(?:esta )?mensagem (?:foi )?apagada\.?|você apagou esta mensagem\.?|esta mensagem foi (?:apagada|eliminada)\.?
questo messaggio è stato eliminato\.?|(?:hai|ha) eliminato questo messaggio\.?
dit bericht is verwijderd\.?|je hebt dit bericht verwijderd\.?|данное сообщение удалено\.?
вы удалили (?:данное|это) сообщение\.?
bu mesaj silindi\.?|bu mesajı sildiniz\.?|ta wiadomość została usunięta\.?|tämä viesti poistettiin\.?
このメッセージは削除されました。?|삭제된 메시지입니다\.?
此消息已(?:被)?删除。?|此訊息已刪除。?|تم حذف هذه الرسالة\.?
""")

EDITED = re.compile(
    r"[ \n]?\u200e?<(?:this message was edited|diese nachricht wurde bearbeitet|se editó este mensaje\.?"
    r"|este mensaje fue editado|ce message a été modifié|mensagem editada|esta mensagem foi editada"
    r"|questo messaggio è stato modificato|(?:dit bericht is|deze bericht is) bewerkt"
    r"|это сообщение было изменено"
    r"|данное сообщение изменено|bu mesaj düzenlendi|edytowano tę wiadomość)\.?>$",
    re.IGNORECASE,
)

ATTACHED = re.compile(
    r"<(?:attached|angehängt|anhang|adjunto|archivo adjunto|pièce jointe|fichier joint|anexado"
    r"|anexo|allegato|bijgevoegd"
    r"|bijlage|прикреплено|вложение|ekli|eklendi|załączono|liitteenä|bifogad|vedlagt"
    r"|vedhæftet)\s*:\s*(?P<name>[^<>]+)>",
    re.IGNORECASE,
)
FILE_ATTACHED = re.compile(
    r"^\u200e?(?P<name>[^\n/\\<>|\"]{1,200}?\.\w{1,8})\s\((?:file attached|datei angehängt"
    r"|archivo adjunto|fichier joint"
    r"|arquivo anexado|ficheiro anexado|file allegato|bestand bijgevoegd|файл добавлен"
    r"|dosya ekli|plik w załączniku"
    r"|tiedosto liitteenä|bifogad fil|fil vedlagt|fil vedhæftet"
    r"|添付ファイル|파일 첨부됨|文件附件|檔案已附加)\)",
    re.IGNORECASE | re.MULTILINE,
)
MEDIA_LEFT_OUT = re.compile(
    r"^<(?:media omitted|medien (?:weggelassen|ausgeschlossen)|multimedia omitido|médias? omis"
    r"|mídia oculta|ficheiro não revelado"
    r"|media omessi|media weggelaten|без медиафайлов|medya dahil edilmedi|pominięto multimedia"
    r"|archivo omitido)>$"
    r"|^(?:image|video|audio|sticker|gif|document|contact card) omitted$",
    re.IGNORECASE,
)

# "WhatsApp Chat with Ana.txt", "WhatsApp Chat - Ana.zip" and the same in other languages.
CHAT_NAME = re.compile(
    r"^(?:"
    r"whatsapp chat (?:with|mit|met|dengan|med|con|avec)|whatsapp[- ]chat (?:mit|met|med)"
    r"|chat (?:de|do|di) whatsapp (?:con|com)|chat whatsapp (?:con|dengan|com)|conversa do whatsapp com"
    r"|discussion whatsapp avec|chats? de whatsapp con|whatsapp sohbeti?:?|чат whatsapp с(?: контактом)?"
    r"|whatsapp-keskustelu:?|czat whatsapp z(?: użytkownikiem)?|whatsapp-chatt med|whatsapp-chat med"
    r"|whatsapp (?:chat|discussion|sohbeti|conversa|chatt)\s*[-–]"
    r")\s*(?P<name>.+)$",
    re.IGNORECASE,
)
