"""The phrases that WhatsApp itself writes into an export, in its most frequent languages.

Most are whole phrases or beginnings of sentences, matched without regard to case. A line with a phrase that is
missing here is not lost: it becomes a message of the person, or of the system if it has no name.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from appliance.types.placeholders import fold


def _words(lines: str) -> tuple[str, ...]:
    return tuple(fold(word) for line in lines.strip().splitlines() for word in line.split("|"))


def written_forms(words: Iterable[str]) -> list[str]:
    """Words with composed letters and with their accents apart, as files have them; longer ones first."""
    forms = {unicodedata.normalize(form, word) for word in words for form in ("NFC", "NFD")}
    return sorted(forms, key=lambda word: (-len(word), word))


AM = _words("""
am|a.m.|a. m.|a.m|a m|vorm.|de.|öö|sa|pg|π.μ.|πμ|ص|ق.ظ|ق.ظ.|पूर्वाह्न|পূর্বাহ্ণ|пр.об.|пр. об.|ip.|fm|f.h.|upo|לפנה״צ|לפנה"צ
오전|午前|上午|凌晨|清晨|早上|ก่อนเที่ยง|e paradites|dop.|umaga|vm.|முற்பகல்|ಪೂರ್ವಾಹ್ನ|ጥዋት|קודם הצהריים|pre podne|priekšp.
priešpiet|дп|πμ.|in the morning|de la mañana|de la madrugada|da manhã|da madrugada|du matin
""")
PM = _words("""
pm|p.m.|p. m.|p.m|p m|nachm.|du.|ös|ch|ptg|μ.μ.|μμ|م|ب.ظ|ب.ظ.|अपराह्न|অপরাহ্ণ|сл.об.|сл. об.|ap.|em|e.h.|אחה״צ|אחה"צ
오후|午後|下午|中午|晚上|หลังเที่ยง|e pasdites|odp.|tanghali|hapon|gabi|nm.|பிற்பகல்|ಅಪರಾಹ್ನ|ከሰዓት|אחר הצהריים|po podne|pop.
pēcp.|popiet|пп|μμ.|in the afternoon|in the evening|de la tarde|del mediodía|da tarde|de l’après-midi|du soir
""")
NIGHT = _words("at night|de la noche|da noite|de la nuit")

# The words between date and time, besides a comma: "15.1.2024 klo 10.30", "15/01/2024 à 10:30", "15.01.24 kl. 10:30".
CLOCK_WORDS = _words("""
klo|kl.|kl|um|à|at|às|as|a las|alle|ore|om|u|o|в|o godz.|v|w|a les|as às|เวลา|lúc|pukul|jam|الساعة
""")


def _alternatives(phrases: str) -> str:
    return "|".join(phrases.strip().splitlines())


def _written(alternatives: str) -> str:
    return "|".join(written_forms([alternatives]))


def _pattern(phrases: str) -> re.Pattern[str]:
    return re.compile(_alternatives(phrases), re.IGNORECASE)


def _phrases_by_prefix(lines: str) -> dict[str, tuple[str, ...]]:
    """Phrases by their first characters, so that a message is compared only with those that it may begin with."""
    found: dict[str, tuple[str, ...]] = {}
    for phrase in _words(lines):
        key = phrase[:_PREFIX_CHARACTERS]
        found[key] = (*found.get(key, ()), phrase)
    return found


_PREFIX_CHARACTERS = 4
_DECOMPOSED_CHARACTERS = 3
"""The most characters that one is written with where its parts stand apart: a Korean syllable."""
_TRAILING_CHARACTERS = " .。!।\u200e\u200f\u200b"

# Beginnings of messages that only the app writes: about encryption, security codes, business accounts.
_BEGINNINGS = _phrases_by_prefix("""
messages and calls are end-to-end encrypted|messages to this chat and calls are now secured
messages to this group are now secured|messages you send to this|messages and calls to this|your security code with
security code changed|you're now an admin|you're no longer an admin|this chat is with a|this business account is
this business uses|this business works with|nachrichten und anrufe sind ende-zu-ende
die nachrichten und anrufe in diesem chat|deine sicherheitsnummer für|nachrichten in diesem chat sowie anrufe
die sicherheitsnummer von|nachrichten, die du in diesem chat|los mensajes y las llamadas están cifrados
los mensajes y llamadas están cifrados|cambió tu código de seguridad|tu código de seguridad con
cambió el código de seguridad|los mensajes en este chat|les messages et les appels sont chiffrés
les messages et appels sont chiffrés|votre code de sécurité avec|les messages envoyés dans cette discussion
as mensagens e as chamadas são protegidas|as mensagens e chamadas são encriptadas|seu código de segurança com
as mensagens e as ligações são protegidas|o seu código de segurança|as mensagens desta conversa
i messaggi e le chiamate sono crittografati|il tuo codice di sicurezza con|i messaggi in questa chat
berichten en gesprekken worden end-to-end|berichten en gesprekken zijn end-to-end|uw beveiligingscode voor
berichten en oproepen zijn end-to-end|je beveiligingscode met|сообщения и звонки защищены сквозным
ваш код безопасности с|сообщения в данном чате|повідомлення й дзвінки захищено наскрізним
повідомлення та дзвінки захищено|код безпеки з контактом|wiadomości i połączenia są w pełni|twój kod zabezpieczeń z
wiadomości w tym czacie|zprávy a hovory jsou opatřeny koncovým|zprávy a hovory jsou koncově|bezpečnostní kód mezi vámi
správy a hovory sú zabezpečené|bezpečnostný kód, ktorý zdieľate|az üzenetek és hívások végpontok közötti
a biztonsági kódod|mesajele și apelurile sunt criptate|codul dvs. de securitate cu
τα μηνύματα και οι κλήσεις κρυπτογραφούνται|τα μηνύματα και οι κλήσεις|ο κωδικός ασφαλείας σας με
mesajlar ve aramalar uçtan uca|mesajlar ve görüşmeler uçtan uca|الرسائل والمكالمات مشفرة|الرسائل والمكالمات مشفّرة
تغيّر رمز أمانك|پیامها و تماسها سرتاسر|پیام‌ها و تماس‌ها سرتاسر|پیام ها و تماس ها|کد امنیتی شما با
ההודעות והשיחות מוצפנות|קוד האבטחה עם|मैसेजेस और कॉल्स एंड-टू-एंड|मैसेज और कॉल एंड-टू-एंड|संदेश और कॉल एंड-टू-एंड
ข้อความและการโทรได้รับการเข้ารหัส|ข้อความและการโทร|รหัสความปลอดภัยของคุณกับ|メッセージと通話はエンドツーエンド
메시지 및 전화는 종단간|메시지와 통화는 종단간|메시지와 전화는 종단간|消息和通话都进行端到端|消息和通话已进行端到端
訊息和通話經端對端|訊息和通話受端對端|訊息已受端對端|訊息與通話受到|pesan dan panggilan terenkripsi
pesan dan panggilan dienkripsi|kode keamanan anda dengan|mesej dan panggilan disulitkan|kod keselamatan anda dengan
tin nhắn và cuộc gọi được mã hóa|tin nhắn và cuộc gọi được mã hoá|mã bảo mật của bạn với|meddelanden och samtal är
din säkerhetskod med|meldinger og samtaler er ende-til-ende|meldinger og anrop er ende-til-ende|sikkerhetskoden med
beskeder og opkald er end-to-end|din sikkerhedskode for|viestit ja puhelut salataan|viestit ja puhelut ovat
turvanumerosi muuttui|poruke i pozivi zaštićeni|els missatges i les trucades estan xifrats
съобщенията и обажданията са
""")

# Missed calls. More text may follow after a comma.
_CALLS = _phrases_by_prefix("""
missed voice call|missed video call|missed group voice call|missed group video call|missed call|silenced voice call
silenced video call|voice call|video call|verpasster sprachanruf|verpasster videoanruf|verpasster gruppenanruf
llamada perdida|llamada de voz perdida|videollamada perdida|llamada de video perdida|appel vocal manqué
appel vidéo manqué|chamada de voz perdida|chamada de vídeo perdida|videochamada perdida|ligação de voz perdida
ligação de vídeo perdida|chiamata vocale persa|videochiamata persa|gemist spraakgesprek|gemist videogesprek
gemiste spraakoproep|gemiste video-oproep|пропущенный аудиозвонок|пропущенный видеозвонок|пропущенный звонок
пропущений аудіодзвінок|пропущений відеодзвінок|nieodebrane połączenie|nieodebrane poł. głosowe|nieodebrane poł. wideo
nieodebrane połączenie głosowe|nieodebrane połączenie wideo|zmeškaný hovor|zmeškaný hlasový hovor|zmeškaný videohovor
nem fogadott hanghívás|nem fogadott videohívás|nem fogadott videóhívás|apel vocal ratat|apel video ratat
apel vocal nepreluat|apel video nepreluat|αναπάντητη φωνητική κλήση|αναπάντητη κλήση|αναπάντητη βιντεοκλήση
cevapsız sesli arama|cevapsız görüntülü arama|مكالمة صوتية فائتة|مكالمة فيديو فائتة|تماس صوتی پاسخ داده نشده
تماس تصویری بی‌پاسخ|تماس تصویری پاسخ داده نشده|שיחה קולית שלא נענתה|שיחת וידאו שלא נענתה|मिस्ड वॉइस कॉल|मिस्ड वीडियो कॉल
वॉइस कॉल मिस हुई|สายที่ไม่ได้รับ|วิดีโอคอลที่ไม่ได้รับ|音声通話不在着信|ビデオ通話不在着信|不在着信|부재중 전화|부재중 영상통화
부재중 음성통화|未接语音通话|未接视频通话|未接語音通話|未接視像通話|未接視訊通話|panggilan suara tak terjawab
panggilan video tak terjawab|panggilan suara terlepas|panggilan video terlepas|cuộc gọi nhỡ|cuộc gọi nhỡ video
cuộc gọi thoại nhỡ|cuộc gọi video nhỡ|missat röstsamtal|missat videosamtal|missat samtal|tapt taleanrop
tapt videoanrop|ubesvaret taleopkald|ubesvaret videoopkald|mistet opkald|vastaamaton äänipuhelu
vastaamaton videopuhelu|propušteni glasovni poziv|propušteni videopoziv|trucada de veu perduda|videotrucada perduda
""")
_CALL_SEPARATORS = (",", ".", "،", "、", "，", "。", " (", "•", " •")

# Sentences that contain a name.
NOTICE = _pattern(r"""
.* turned (?:on|off) disappearing messages\..*|.* updated the message timer\..*
.* changed their phone number to a new number\..*|.* changed from \+\d.* to \+\d.*
.* created group ["“].*|.* joined using (?:this|a) group's (?:invite )?link\.?
.*ile aranızdaki güvenlik kodu değişti.*|.*님과의 보안 코드가 변경되었습니다.*
.*とのセキュリティコードが変更されました.*|.*biztonsági kódja megváltozott.*|.*के लिए आपका सुरक्षा कोड बदल गया.*
""")


def is_notice(text: str) -> bool:
    """Whether only the app begins a message like this; on iOS such a message may carry a person's name."""
    key = fold(text[: _PREFIX_CHARACTERS * _DECOMPOSED_CHARACTERS])[:_PREFIX_CHARACTERS]
    if key not in _BEGINNINGS and key not in _CALLS:
        return False
    lowered = fold(text)
    if lowered.startswith(_BEGINNINGS.get(key, ())):
        return True
    for phrase in _CALLS.get(key, ()):
        if lowered.startswith(phrase):
            rest = lowered[len(phrase) :].rstrip(_TRAILING_CHARACTERS)
            if not rest or rest.startswith(_CALL_SEPARATORS):
                return True
    return False


def is_event(text: str, *, marked: bool) -> bool:
    """Whether this is a sentence of the app that contains a name; short ones count only if ``marked`` by the app."""
    composed = unicodedata.normalize("NFC", text)
    return NOTICE.fullmatch(composed) is not None or (marked and EVENT.fullmatch(composed) is not None)


def is_event_before_colon(text: str) -> bool:
    """Whether the text before the first colon of a line is part of a sentence of the app, and no name."""
    return _EVENT_NOT_NAME.fullmatch(unicodedata.normalize("NFC", text)) is not None


# Shorter sentences, which a person could write too: they count only after the app's own mark.
EVENT = _pattern(r"""
.*\b(?:added|removed|invited) \S.*|.*\bleft(?: the group)?\.?$|.*\bwas (?:added|removed)\b.*|.*\bjoined\b.*
(?:you|.*) created (?:this |the )?group\b.*|you were added.*|.*\bturned (?:on|off) disappearing messages.*
.*\bchanged (?:the subject|the group|this group|the group's|their phone|to \+).*|.*\bpinned a message\b.*
.*\b(?:deleted|changed) (?:this group's|the group's) (?:icon|description|settings).*
.*\bhat .*(?:hinzugefügt|entfernt|erstellt|geändert|angepinnt|verlassen)\b.*|.*\bwurde (?:hinzugefügt|entfernt)\b.*
.*\b(?:añadió|agregó|eliminó|creó|cambió|salió|fijó)\b.*|.*\bse unió\b.*
.*\ba (?:ajouté|retiré|créé|changé|modifié|quitté|rejoint|épinglé)\b.*
.*\b(?:adicionou|removeu|criou|mudou|alterou|saiu|entrou|fixou)\b.*
.*\bha (?:aggiunto|rimosso|creato|cambiato|modificato|abbandonato|fissato)\b.*
.*\bheeft .*(?:toegevoegd|verwijderd|gemaakt|gewijzigd|verlaten)\b.*
.*\b(?:добавил|удалил|создал|покинул|изменил|присоединил|вышел|вышла).*
.*\b(?:додав|додала|видалив|видалила|створив|створила|вийшов|вийшла|змінив|змінила|приєднав|приєдналась).*
.*\b(?:dodał|usunął|usunęła|utworzył|opuścił|zmienił|dołączył).*
.*\b(?:přidal|odebral|vytvořil|opustil|změnil|připojil|pridal|odstránil|zmenil).*
.*\b(?:hozzáadta|eltávolította|létrehozta|kilépett|megváltoztatta|csatlakozott|módosította)\b.*
.*\ba (?:adăugat|eliminat|creat|părăsit|ieșit|schimbat|modificat)\b.*
.*\b(?:πρόσθεσε|προσέθεσε|αφαίρεσε|δημιούργησε|αποχώρησε|άλλαξε)\b.*
.*\b(?:ekledi|çıkardı|oluşturdu|ayrıldı|değiştirdi|katıldı)\b.*
.*\b(?:lade till|har lagt till|tog bort|skapade|lämnade|ändrade|gick med)\b.*
.*\b(?:tilføjede|fjernede|oprettede|forlod|ændrede)\b.*|.*\b(?:la til|fjernet|opprettet|forlot|endret)\b.*
.*\b(?:lisäsi|poisti|loi ryhmän|poistui|vaihtoi|muutti|liittyi)\b.*
.*\b(?:menambahkan|mengeluarkan|membuat grup|keluar|mengubah|bergabung|mencipta|menukar|menambah)\b.*
.*đã (?:thêm|xóa|xoá|tạo|rời|thay đổi|tham gia).*
.*(?:追加しました|削除しました|作成しました|退出しました|退室しました|変更しました|参加しました).*
.*(?:추가했습니다|내보냈습니다|만들었습니다|생성했습니다|나갔습니다|변경했습니다|참여했습니다|참가했습니다).*
.*(?:添加了|移除了|创建了|建立了|退出了|离开了|離開了|已離開|更改了|變更了|加入了|已加入|新增了).*
.*(?:أضاف|أزال|أنشأ|غادر|غيّر|انضم).*|.*(?:اضافه کرد|حذف کرد|ایجاد کرد|ترک کرد|تغییر داد).*
.*(?:הוסיף|הוסיפה|הסיר|הסירה|יצר|יצרה|עזב|עזבה|שינה|שינתה|הצטרף|הצטרפה).*
.*(?:जोड़ा|निकाला|बनाया|छोड़|बदला|बदल दिया).*|.*(?:เพิ่ม|ลบ|สร้างกลุ่ม|ออกจากกลุ่ม|ออกแล้ว|เปลี่ยน).*
""")

_EVENT_NOT_NAME = _pattern(r"""
.*\bcreated (?:the |this )?group\b.*|.*\bchanged (?:the|this) (?:subject|group)\b.*|.*\bchanged the group.*
.*\b(?:added|removed) .* (?:to|from) the (?:group|community)\b.*|messages and calls are end-to-end.*
.*\bhat die gruppe\b.*|.*\bhat den (?:betreff|gruppen\w*)\b.*|.*\bcreó el grupo\b.*|.*\bcambió el asunto\b.*
.*\bcambió (?:la descripción|el ícono|el icono)\b.*|.*\ba créé le groupe\b.*|.*\ba changé (?:le sujet|l'objet)\b.*
.*\bcriou (?:o )?grupo\b.*|.*\bmudou o (?:assunto|nome)\b.*|.*\bha creato il gruppo\b.*|.*\bha cambiato l'oggetto\b.*
""")

_EDITED = _alternatives("""
this message was edited|diese nachricht wurde bearbeitet|se editó este mensaje|este mensaje fue editado
ce message a été modifié|mensagem editada|esta mensagem foi editada|questo messaggio è stato modificato
(?:dit|deze) bericht (?:is|werd) bewerkt|это сообщение было изменено|данное сообщение изменено|сообщение изменено
це повідомлення (?:було )?(?:змінено|відредаговано)|bu mesaj düzenlendi|edytowano tę wiadomość
(?:ta )?wiadomość (?:została )?edytowana?|tato zpráva byla upravena|ezt az üzenetet szerkesztették
az üzenet szerkesztve|acest mesaj a fost editat|το μήνυμα επεξεργάστηκε|επεξεργάστηκε αυτό το μήνυμα
تم تعديل هذه الرسالة|این پیام ویرایش شد(?:ه است)?|הודעה זו נערכה|यह मैसेज (?:एडिट|संपादित) किया गया(?: था| है)?
ข้อความนี้ถูกแก้ไข(?:แล้ว)?|このメッセージは編集(?:されました|済みです)|이 메시지는 수정되었습니다|此消息已(?:被)?编辑
此訊息已(?:被)?編輯|pesan ini (?:telah )?diedit|mesej ini telah diedit|tin nhắn này đã (?:được |bị )?chỉnh sửa
(?:detta|det här) meddelande(?:t)? (?:har )?redigera(?:des|ts)|denne besked (?:er|blev) (?:blevet )?redigeret
denne meldingen ble redigert|tätä viestiä (?:on )?muokattu|viestiä muokattiin
""")
EDITED = re.compile(rf"[ \n]?\u200e?<(?:{_written(_EDITED)})[.。]?>$", re.IGNORECASE)

_ATTACHED = _alternatives("""
attached|angehängt|anhang|adjunto|archivo adjunto|pièce jointe|fichier joint|anexado|anexo|allegato|bijgevoegd|bijlage
прикреплено|вложение|додано|ekli|eklendi|załączono|příloha|príloha|csatolva|atașare|επισυνάφθηκε|المُرفق|مرفق|پیوست
מצורף|अटैच किया गया|แนบ|添付ファイル|첨부됨|附件|terlampir|dilampir|đính kèm|bifogat|bifogad|vedlagt|vedhæftet|liite
liitteenä|priloženo|adjunt
""")
ATTACHED = re.compile(rf"<(?:{_written(_ATTACHED)})\s*[:：]\s*(?P<name>[^<>]+)>", re.IGNORECASE)
_FILE_ATTACHED = _alternatives("""
file attached|datei angehängt|archivo adjunto|archivo adjuntado|fichier joint|arquivo anexado|ficheiro anexado
file allegato|bestand bijgevoegd|файл добавлен|файл додано|dosya ekli|plik w załączniku|załączony plik
soubor byl přiložen|súbor pripojený|fájl csatolva|fișier atașat|συνημμένο αρχείο|الملف مرفق|پیوست شد|קובץ מצורף
फाइल अटैच कर दी गई है|फ़ाइल अटैच की गई|ไฟล์ที่แนบ|添付ファイル有り|添付ファイル|파일 첨부됨|文件附件|附件檔案|檔案已附加
file terlampir|fail dilampirkan|tệp đính kèm|bifogad fil|vedlagt fil|fil vedlagt|fil vedhæftet|liitetiedosto
tiedosto liitteenä|datoteka u privitku|arxiu adjunt|прикачен файл
""")
FILE_ATTACHED = re.compile(
    rf"^[\u200e\u200f]?(?P<name>[^\n/\\<>|\"]{{1,200}}?\.\w{{1,8}})\s\((?:{_written(_FILE_ATTACHED)})\)",
    re.IGNORECASE | re.MULTILINE,
)

# "WhatsApp Chat with Ana.txt", "WhatsApp Chat - Ana.zip" and the same in other languages.
_CHAT_NAME = _alternatives(r"""
whatsapp chat (?:with|mit|met|dengan|med|con|avec)|whatsapp[- ]chat (?:mit|met|med)
chat (?:de|do|di) whatsapp (?:con|com)|chat whatsapp (?:con|dengan|com)|conversa do whatsapp com
discussion whatsapp avec|chats? de whatsapp con|whatsapp sohbeti?:?|чат whatsapp с(?: контактом)?(?=\s)
чат whatsapp (?:із|зі|з)(?: контактом)?(?=\s)|whatsapp chat s(?=\s)|konverzace whatsapp s(?=\s)
conversație whatsapp cu|chat whatsapp cu|συνομιλία whatsapp με|sembang whatsapp dengan|cuộc trò chuyện whatsapp với
chat whatsapp với|محادثة واتساب مع|دردشة واتساب مع|گفتگوی واتساپ با|צ[׳']?אט whatsapp עם|whatsapp-csevegés:?
whatsapp csevegés:?|whatsapp-keskustelu:?|czat whatsapp z(?: użytkownikiem)?|whatsapp-chatt med|whatsapp-chat med
whatsapp (?:chat|discussion|sohbeti|conversa|chatt)\s*[-–]
""")
CHAT_NAME = re.compile(rf"^(?:{_CHAT_NAME})\s*(?P<name>.+)$", re.IGNORECASE)
