"""WhatsApp's own words in many languages: what the app says instead of a message, and what people say like it."""

from __future__ import annotations

import pytest

# language: encrypted, deleted, left out (iOS), left out (Android), a missed call, an attached file (iOS)
WORDS = {
    "en": (
        "Messages and calls are end-to-end encrypted. No one outside of this chat can read them.",
        "This message was deleted.",
        "image omitted",
        "Media omitted",
        "Missed voice call, Tap to call back",
        "attached",
    ),
    "de": (
        "Nachrichten und Anrufe sind Ende-zu-Ende-verschlüsselt. Niemand außerhalb dieses Chats kann sie lesen.",
        "Diese Nachricht wurde gelöscht.",
        "Bild weggelassen",
        "Medien ausgeschlossen",
        "Verpasster Sprachanruf",
        "Anhang",
    ),
    "es": (
        "Los mensajes y las llamadas están cifrados de extremo a extremo. Nadie fuera de este chat puede leerlos.",
        "Se eliminó este mensaje.",
        "imagen omitida",
        "Multimedia omitido",
        "Llamada perdida",
        "adjunto",
    ),
    "fr": (
        "Les messages et les appels sont chiffrés de bout en bout. Aucun tiers ne peut les lire.",
        "Ce message a été supprimé.",
        "image absente",
        "Médias omis",
        "Appel vocal manqué",
        "pièce jointe",
    ),
    "pt_BR": (
        "As mensagens e as chamadas são protegidas com a criptografia de ponta a ponta.",
        "Mensagem apagada",
        "imagem ocultada",
        "Mídia oculta",
        "Chamada de voz perdida",
        "anexado",
    ),
    "pt_PT": (
        "As mensagens e chamadas são encriptadas ponto a ponto. Ninguém fora desta conversa pode ler.",
        "Esta mensagem foi apagada",
        "imagem não revelada",
        "Ficheiro não revelado",
        "Videochamada perdida",
        "anexo",
    ),
    "it": (
        "I messaggi e le chiamate sono crittografati end-to-end. Nessuno può leggerne il contenuto.",
        "Questo messaggio è stato eliminato.",
        "immagine omessa",
        "Media omessi",
        "Chiamata vocale persa",
        "allegato",
    ),
    "nl": (
        "Berichten en gesprekken worden end-to-end versleuteld. Niemand buiten deze chat kan ze lezen.",
        "Dit bericht is verwijderd.",
        "afbeelding weggelaten",
        "Media weggelaten",
        "Gemist spraakgesprek",
        "bijgevoegd",
    ),
    "ru": (
        "Сообщения и звонки защищены сквозным шифрованием. Третьи лица не могут прочитать ваши сообщения.",
        "Данное сообщение удалено.",
        "изображение отсутствует",
        "Без медиафайлов",
        "Пропущенный аудиозвонок",
        "прикреплено",
    ),
    "uk": (
        "Повідомлення й дзвінки захищено наскрізним шифруванням. Прочитати їх не зможе жодна стороння особа.",
        "Це повідомлення було видалено.",
        "зображення відсутнє",
        "Медіа пропущено",
        "Пропущений аудіодзвінок",
        "додано",
    ),
    "pl": (
        "Wiadomości i połączenia są w pełni zaszyfrowane. Nikt spoza czatu nie może ich odczytać.",
        "Ta wiadomość została usunięta.",
        "obraz pominięty",
        "pominięto multimedia",
        "Nieodebrane poł. głosowe",
        "załączono",
    ),
    "cs": (
        "Zprávy a hovory jsou opatřeny koncovým šifrováním. Nikdo ji nemůže sledovat.",
        "Tato zpráva byla smazána",
        "obrázek vynechán",
        "Média vynechána",
        "Zmeškaný hovor",
        "příloha",
    ),
    "sk": (
        "Správy a hovory sú zabezpečené šifrovaním počas celého spojenia.",
        "Táto správa bola odstránená",
        "obrázok vynechaný",
        "Médiá vynechané",
        "Zmeškaný videohovor",
        "príloha",
    ),
    "hu": (
        "Az üzenetek és hívások végpontok közötti titkosítással vannak védve.",
        "Ez az üzenet törlésre került",
        "kép küldése sikertelen",
        "Hiányzó médiafájl",
        "Nem fogadott hanghívás",
        "csatolva",
    ),
    "ro": (
        "Mesajele și apelurile sunt criptate integral. Nicio persoană nu le poate citi.",
        "Acest mesaj a fost șters",
        "Imagine omisă",
        "Conținut media omis",
        "Apel vocal nepreluat",
        "atașare",
    ),
    "el": (
        "Τα μηνύματα και οι κλήσεις κρυπτογραφούνται πλήρως. Κανένας δεν μπορεί να τα διαβάσει.",
        "Αυτό το μήνυμα διαγράφηκε",
        "εικόνα παραλείφθηκε",
        "Εξαίρεση πολυμέσων",
        "Αναπάντητη φωνητική κλήση",
        "επισυνάφθηκε",
    ),
    "tr": (
        "Mesajlar ve aramalar uçtan uca şifrelidir. Hiç kimse okuyamaz.",
        "Bu mesaj silindi",
        "görüntü dahil edilmedi",
        "Medya dahil edilmedi",
        "Cevapsız sesli arama",
        "eklendi",
    ),
    "ar": (
        "الرسائل والمكالمات مشفرة تمامًا بين الطرفين، بحيث لا يستطيع أحد قراءتها.",
        "تم حذف هذه الرسالة",
        "لم يتم إدراج الصورة",
        "تم استبعاد الوسائط",
        "مكالمة صوتية فائتة",
        "المُرفق",
    ),
    "fa": (
        "پیام‌ها و تماس‌ها سرتاسر رمزگذاری شده‌اند. هیچ شخصی نمی‌تواند آنها را بخواند.",
        "این پیام حذف شده است",
        "تصویر حذف شد",
        "پیوست نما/آهنگ حذف شد",
        "تماس صوتی پاسخ داده نشده",
        "پیوست",
    ),
    "he": (
        "ההודעות והשיחות מוצפנות מקצה-לקצה. לאף אחד אין אפשרות לקרוא אותן.",
        "הודעה זו נמחקה",
        "התמונה הושמטה",
        "המדיה לא נכללה",
        "שיחה קולית שלא נענתה",
        "מצורף",
    ),
    "hi": (
        "मैसेजेस और कॉल्स एंड-टू-एंड एन्क्रिप्टेड हैं.",
        "यह मैसेज डिलीट कर दिया गया है",
        "फ़ोटो हटाई गई",
        "मीडिया के बिना",
        "मिस्ड वॉइस कॉल",
        "अटैच किया गया",
    ),
    "th": (
        "ข้อความและการโทรได้รับการเข้ารหัสจากต้นทางถึงปลายทาง",
        "ข้อความนี้ถูกลบแล้ว",
        "วิดีโอถูกลบ",
        "สื่อถูกลบ",
        "สายที่ไม่ได้รับ",
        "แนบ",
    ),
    "ja": (
        "メッセージと通話はエンドツーエンド暗号化されています。",
        "このメッセージは削除されました。",
        "画像は含まれていません",
        "メディアは含まれていません",
        "音声通話不在着信",
        "添付ファイル",
    ),
    "ko": (
        "메시지 및 전화는 종단간 암호화되어 안전합니다.",
        "이 메시지는 삭제되었습니다",
        "이미지 생략됨",
        "미디어 파일을 생략한 대화내용",
        "부재중 전화",
        "첨부됨",
    ),
    "zh_CN": (
        "消息和通话都进行端到端加密。对话之外的任何人都无法读取或收听。",
        "此消息已删除。",
        "照片已忽略",
        "省略多媒体文件",
        "未接语音通话",
        "附件",
    ),
    "zh_TW": (
        "訊息和通話經端對端加密。對話以外的任何人均無法查看。",
        "此訊息已刪除。",
        "圖片已略去",
        "忽略多媒體檔",
        "未接語音通話",
        "附件",
    ),
    "id": (
        "Pesan dan panggilan terenkripsi secara end-to-end. Tidak seorang pun dapat membaca.",
        "Pesan ini dihapus",
        "gambar tidak disertakan",
        "Media tidak disertakan",
        "Panggilan suara tak terjawab",
        "terlampir",
    ),
    "ms": (
        "Mesej dan panggilan disulitkan hujung ke hujung.",
        "Mesej ini telah dipadam",
        "imej tidak dimasukkan",
        "Media disingkirkan",
        "Panggilan suara terlepas",
        "dilampir",
    ),
    "vi": (
        "Tin nhắn và cuộc gọi được mã hóa đầu cuối.",
        "Tin nhắn này đã bị xóa",
        "đã bỏ qua hình ảnh",
        "Bỏ qua Media",
        "Cuộc gọi nhỡ",
        "đính kèm",
    ),
    "sv": (
        "Meddelanden och samtal är komplett krypterade.",
        "Det här meddelandet raderades",
        "bild utesluten",
        "Media har utelämnats",
        "Missat röstsamtal",
        "bifogat",
    ),
    "da": (
        "Beskeder og opkald er end-to-end-krypterede.",
        "Denne besked blev slettet.",
        "billede udeladt",
        "Mediefil udeladt",
        "Ubesvaret taleopkald",
        "vedhæftet",
    ),
    "nb": (
        "Meldinger og samtaler er ende-til-ende-krypterte.",
        "Denne meldingen ble slettet.",
        "bilde utelatt",
        "Uten vedlegg",
        "Tapt taleanrop",
        "vedlagt",
    ),
    "fi": (
        "Viestit ja puhelut salataan täysin.",
        "Tämä viesti poistettiin",
        "ei kuvaa",
        "Media jätetty pois",
        "Vastaamaton äänipuhelu",
        "liite",
    ),
}


@pytest.mark.parametrize("language", WORDS)
def test_the_app_s_words_in_every_language(read, language):
    encrypted, deleted, left_out, android, call, attached = WORDS[language]
    ios = (
        f"[31.12.24, 10:00:00] Family: \u200e{encrypted}\n"
        f"[31.12.24, 10:00:01] Ana: \u200e{deleted}\n"
        f"\u200e[31.12.24, 10:00:02] Ana: \u200e{left_out}\n"
        f"\u200e[31.12.24, 10:00:03] Ana: \u200e{call}\n"
        f"\u200e[31.12.24, 10:00:04] Ana: \u200e<{attached}: 00000004-PHOTO-2024-12-31-10-00-04.jpg>\n"
        f"[31.12.24, 10:00:05] Ana: so: {deleted}?\n"
    )
    got = read(ios, name="_chat.txt")
    assert [(m.role, m.author, m.text) for m in got.messages] == [
        ("system", "Family", encrypted),
        ("user", "Ana", deleted),
        ("user", "Ana", left_out),
        ("system", "Ana", call),
        ("user", "Ana", f"<{attached}: 00000004-PHOTO-2024-12-31-10-00-04.jpg>"),
        ("user", "Ana", f"so: {deleted}?"),
    ]
    assert [dict(m.metadata) for m in got.messages] == [
        {},
        {"deleted": True},
        {},
        {},
        {"attachments": [{"name": "00000004-PHOTO-2024-12-31-10-00-04.jpg"}]},
        {},
    ]
    got = read(
        f"31.12.24, 10:00 - {encrypted}\n"
        f"31.12.24, 10:01 - Ana: {deleted}\n"
        f"31.12.24, 10:02 - Ana: <{android}>\n"
        "31.12.24, 10:03 - Ana: \u200b\n",
        name="_chat.txt",
    )
    assert got.roles == ["system", "user", "user", "user"]
    assert got.messages[1].metadata == {"deleted": True}
    assert got.texts[2] == f"<{android}>"
    assert got.problems == []


def test_there_are_enough_languages():
    assert len(WORDS) > 25


def test_what_people_say_about_calls_is_theirs(read):
    got = read(
        "31/12/2024, 10:00 - Ana: Video call tomorrow?\n"
        "31/12/2024, 10:01 - Ben: Missed voice call yesterday, sorry\n"
        "31/12/2024, 10:02 - Ana: Diese Nachricht wurde gelöscht, warum?\n"
        "31/12/2024, 10:03 - Ben: you turned on disappearing messages. why\n"
    )
    assert got.roles == ["user"] * 4
    assert all(m.metadata == {} for m in got.messages)


@pytest.mark.parametrize(
    "sentence",
    [
        'Ana hat den Betreff von "A: B" zu "C: D" geändert.',
        "Ана создала группу «Семья: все»",
        "アナさんがグループ「家族: みんな」を作成しました。",
        "Ana cambió el asunto de “A: B” a “C: D”.",
    ],
)
def test_a_group_s_name_with_a_colon_is_no_author(read, sentence):
    got = read(f"31.12.24, 10:00 - {sentence}\n31.12.24, 10:01 - Ana: hi\n")
    assert [(m.role, m.author, m.text) for m in got.messages] == [("system", None, sentence), ("user", "Ana", "hi")]


@pytest.mark.parametrize(
    ("name", "title"),
    [
        ("Чат WhatsApp с контактом Оля.txt", "Оля"),
        ("Czat WhatsApp z użytkownikiem Ola.txt", "Ola"),
        ("WhatsApp-chat met Jan.txt", "Jan"),
        ("WhatsApp-chatt med Åsa.txt", "Åsa"),
        ("Chat WhatsApp dengan Budi.txt", "Budi"),
        ("Conversație WhatsApp cu Ion.txt", "Ion"),
        ("WhatsApp Chat sunday.txt", None),
    ],
)
def test_names_of_chats(read, name, title):
    (session,) = read("31.12.24, 10:00 - Ana: x\n", name=name).sessions
    assert (session.external_id == f"whatsapp:{title}") == (title is not None)
