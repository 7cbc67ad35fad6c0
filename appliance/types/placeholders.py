"""Placeholders: what a messenger writes where a message has nothing of its own, because it was deleted or its file was
left out of the export ("image omitted", "Diese Nachricht wurde gelöscht."), in the languages of the apps.

Such a text is stored as it is, but says nothing that a person said. This is the one place that knows them.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Collection
from typing import Literal

Placeholder = Literal["deleted", "left out"]


def fold(text: str) -> str:
    """Return a text without case and in composed form: a file that has passed through a Mac may have its accents apart
    (NFD)."""
    return text.casefold() if text.isascii() else unicodedata.normalize("NFC", text.casefold())


def _words(lines: str) -> tuple[str, ...]:
    return tuple(fold(word) for line in lines.strip().splitlines() for word in line.split("|"))


_DELETED = frozenset(
    _words("""
this message was deleted|you deleted this message|message deleted|diese nachricht wurde gelöscht
du hast diese nachricht gelöscht|se eliminó este mensaje|eliminó este mensaje|este mensaje fue eliminado
eliminaste este mensaje|ce message a été supprimé|vous avez supprimé ce message|tu as supprimé ce message
mensagem apagada|esta mensagem foi apagada|você apagou esta mensagem|apagou esta mensagem|apagaste esta mensagem
esta mensagem foi eliminada|esta mensagem foi apagada pelo remetente|questo messaggio è stato eliminato
hai eliminato questo messaggio|dit bericht is verwijderd|je hebt dit bericht verwijderd|u hebt dit bericht verwijderd
данное сообщение удалено|вы удалили данное сообщение|вы удалили это сообщение|это сообщение удалено
це повідомлення було видалено|ви видалили це повідомлення|ta wiadomość została usunięta|usunąłeś(aś) tę wiadomość
usunąłeś(-ęłaś) tę wiadomość|ta wiadomość została skasowana|tato zpráva byla smazána|tato zpráva byla odstraněna
tuto zprávu jste smazal/a|tuto zprávu jste odstranil/a|táto správa bola odstránená|túto správu ste odstránili
ez az üzenet törlésre került|ezt az üzenetet törölted|törölted ezt az üzenetet|acest mesaj a fost șters
ați șters acest mesaj|ai șters acest mesaj|αυτό το μήνυμα διαγράφηκε|διαγράψατε αυτό το μήνυμα|διαγράψατε το μήνυμα
bu mesaj silindi|bu mesajı sildiniz|تم حذف هذه الرسالة|لقد حذفت هذه الرسالة|لقد حذَفت هذه الرسالة|أنت حذفت هذه الرسالة
این پیام حذف شد|این پیام حذف شده است|شما این پیام را حذف کردید|הודעה זו נמחקה|מחקת את ההודעה הזו|מחקת הודעה זו
यह मैसेज डिलीट कर दिया गया है|आपने यह मैसेज डिलीट किया|यह संदेश मिटाया गया|आपने यह संदेश मिटाया|यह मैसेज मिटाया गया
आपने यह मैसेज मिटाया|ข้อความนี้ถูกลบแล้ว|ข้อความนี้ได้ถูกลบ|คุณได้ลบข้อความนี้|คุณลบข้อความนี้|このメッセージは削除されました
このメッセージを削除しました|이 메시지는 삭제되었습니다|이 메시지를 삭제했습니다|삭제한 메시지입니다
삭제된 메시지입니다|此消息已删除|此消息已被删除|这条消息已被删除|您已删除这条消息|您删除了这条消息|此訊息已刪除
您已刪除此訊息|你已刪除此訊息|pesan ini dihapus|pesan ini telah dihapus|anda menghapus pesan ini
anda telah menghapus pesan ini|mesej ini telah dipadam|anda telah memadamkan mesej ini|tin nhắn này đã bị xóa
tin nhắn này đã bị xoá|bạn đã xóa tin nhắn này|bạn đã xoá tin nhắn này|det här meddelandet raderades
detta meddelande raderades|du har tagit bort meddelandet|du raderade det här meddelandet|du raderade detta meddelande
denne besked er blevet slettet|denne besked blev slettet|du har slettet denne besked|du slettede denne besked
denne meldingen ble slettet|du slettet denne meldingen|tämä viesti poistettiin|poistit tämän viestin
ova je poruka izbrisana|izbrisali ste ovu poruku|aquest missatge s'ha suprimit|has suprimit aquest missatge
съобщението беше изтрито|изтрихте това съобщение
""")
)

_LEFT_OUT = frozenset(
    _words("""
media omitted|medien ausgeschlossen|medien weggelassen|multimedia omitido|archivo omitido|fichier omis|médias omis
média omis|mídia oculta|mídia omitida|ficheiro não revelado|media omesso|media omessi|media weggelaten|без медиафайлов
файл пропущен|медіа пропущено|медіафайл пропущено|pominięto multimedia|pliki pominięto|média vynechána|médiá vynechané
média vynechány|hiányzó médiafájl|conținut media omis|εξαίρεση πολυμέσων|medya dahil edilmedi|medya atlanmış
تم استبعاد الوسائط|پیوست نما/آهنگ حذف شد|מדיה הושמטה|המדיה הוסרה|המדיה לא נכללה|मीडिया के बिना|मीडिया को छोड़ दिया गया
สื่อถูกลบ|メディアは含まれていません|미디어 파일을 생략한 대화내용|미디어 파일 생략됨|省略多媒体文件|媒体文件已忽略
忽略多媒體檔|已略去多媒體檔|media tidak disertakan|media disingkirkan|bỏ qua media|media har utelämnats
media utelämnad|mediefil udeladt|uten vedlegg|media jätetty pois|medijski zapis izostavljen|mitjans omesos|без файл
image omitted|video omitted|audio omitted|sticker omitted|gif omitted|document omitted|contact card omitted
video note omitted|bild weggelassen|video weggelassen|audio weggelassen|sticker weggelassen|gif weggelassen
dokument weggelassen|kontaktkarte ausgelassen|imagen omitida|video omitido|audio omitido|sticker omitido|gif omitido
documento omitido|tarjeta de contacto omitida|image absente|vidéo absente|audio omis|sticker omis|gif retiré
document manquant|fiche contact manquante|imagem ocultada|vídeo omitido|áudio ocultado|figurinha omitida
cartão do contato omitido|imagem não revelada|vídeo não revelado|ficheiro de áudio não revelado|sticker não revelado
gif não revelada|documento não revelado|contacto não revelado|immagine omessa|video omesso|audio omesso
sticker non incluso|gif esclusa|documento omesso|scheda contatto omessa|afbeelding weggelaten|video weggelaten
audio weggelaten|sticker weggelaten|gif weggelaten|document weggelaten|visitekaartje weggelaten
изображение отсутствует|видео отсутствует|аудиофайл отсутствует|стикер не добавлен|gif отсутствует
документ отсутствует|карточка контакта отсутствует|зображення відсутнє|відео відсутнє|аудіо відсутнє
наклейку не додано|gif-анімацію пропущено|документ пропущено|картка контакту відсутня|obraz pominięty|wideo pominięte
audio pominięte|pominięto naklejkę|plik gif pominięty|dokument pominięty|pominięta wizytówka kontaktu|obrázek vynechán
video vynecháno|zvukový soubor vynechán|nálepka vynechána|gif vynechán|dokument vynechán|vizitka vynechána
obrázok vynechaný|video vynechané|zvuk vynechaný|nálepka vynechaná|gif vynechaný|dokument vynechaný
karta kontaktu vynechaná|kép küldése sikertelen|videó kihagyva|hang kihagyása|matrica kihagyva|gif fájl kihagyása
dokumentum kihagyva|névjegykártya kihagyva|imagine omisă|clip video omis|fără audio|gif omis|document omis
carte de vizită contact omisă|εικόνα παραλείφθηκε|βίντεο παραλείφθηκε|ήχος παραλείφθηκε|αυτοκόλλητο παραλήφθηκε
παράληψη gif|έγγραφο παραλείφθηκε|η κάρτα επαφής παραλήφθηκε|görüntü dahil edilmedi|video dahil edilmedi
ses dahil edilmedi|çıkartma dahil edilmedi|gif dahil edilmedi|belge dahil edilmedi|kişi kartı dahil edilmedi
لم يتم إدراج الصورة|لم يتم إدراج الفيديوهات|لم يتم إدراج المقاطع الصوتية|تم حذف الملصقات|لم يتم إدراج صورة gif
لم يتم إدراج المستند|لم يتم إدراج بطاقة جهة اتصال|تصویر حذف شد|ویدیو حذف شد|صدا حذف شد|استیکر حذف شد|gif حذف شد
سند حذف شد|برگ مخاطب حذف شد|התמונה הושמטה|סרטון הווידאו הושמט|קטע קול הושמט|סטיקר הושמט|gif הושמט|מסמך הושמט
כרטיס איש קשר הושמט|फ़ोटो हटाई गई|वीडियो छोड़ा गया|ऑडियो हटाई गयी|स्टिकर छोड़ा गया|gif छोड़ा गया|डॉक्यूमेंट छोड़ा गया
कॉन्टैक्ट कार्ड छोड़ा गया|ไม่มีรูปภาพ|วิดีโอถูกลบ|ไม่มีไฟล์เสียง|ไม่มีสติกเกอร์|ละเว้น gif|ละเว้นเอกสาร|บัตรรายชื่อที่ละเว้น
画像は含まれていません|ビデオは含まれていません|音声は含まれていません|スタンプは含まれていません
gifは含まれていません|ドキュメントは含まれていません|連絡先カードを省略|이미지 생략됨|비디오 생략됨|오디오 생략됨
스티커 제외됨|gif 생략됨|문서 생략됨|연락처 카드 생략됨|照片已忽略|图像已忽略|视频已忽略|音频已忽略|贴图已省略
gif 动态图已被忽略|文档已省略|联系人卡片已忽略|圖片已略去|圖像已省略|影片已略去|影片已省略|音訊已略去|音訊已省略
貼圖已略去|貼圖已忽略|gif 已略去|gif 圖片已被省略|文件已略去|文件已忽略|聯絡人卡片已略去|聯絡人卡片已省略
gambar tidak disertakan|video tidak disertakan|audio tidak disertakan|stiker tidak disertakan|gif tidak disertakan
dokumen tidak disertakan|kartu kontak tidak disertakan|imej tidak dimasukkan|video tidak dimasukkan
audio tidak dimasukkan|pelekat tidak disertakan|gif tidak dimasukkan|dokumen tidak dimasukkan
kad kenalan tidak dimasukkan|đã bỏ qua hình ảnh|đã bỏ video|bỏ qua tệp âm thanh|đã bỏ sticker|đã bỏ qua ảnh gif
đã bỏ qua tài liệu|bỏ qua thẻ liên lạc|bild utesluten|video utesluten|ljud utelslutet|ljud uteslutet|sticker utesluten
gif utesluten|dokument uteslutet|kontaktkort uteslutet|billede udeladt|video udeladt|lyd udeladt|klistermærke udeladt
gif udeladt|dokument udeladt|kontaktkort udeladt|bilde ikke inkludert|bilde utelatt|video utelatt|lyd utelatt
klistremerke utelatt|gif utelatt|utelatt dokument|dokument utelatt|kontaktkort sløyfet|ei kuvaa|videota ei sisällytetä
äänitiedostoa ei sisällytetä|tarraa ei sisällytetty|gif-animaatio jätetty pois|dokumenttia ei sisällytetä
yhteystietokortti jätettiin pois
""")
)
"""Android writes the first few between angle brackets."""

_OTHER_APPS = frozenset(
    _words("""
[photo]|[photos]|[image]|[sticker]|[video]|[voice message]|[file]|[contact]|[写真]|[スタンプ]|[動画]|[ボイスメッセージ]
[ファイル]|[連絡先]|[アルバム]|[圖片]|[貼圖]|[照片]|[影片]|[語音訊息]|[檔案]|[图片]|[表情]|[语音]|[视频]|[文件]|[사진]|[스티커]|[동영상]
""")
)
"""LINE, WeChat and KakaoTalk write the kind of the file between brackets."""

_TRAILING_CHARACTERS = " .。!।\u200e\u200f\u200b"
_AROUND = "<>()‹›＜＞\u2066\u2067\u2068\u2069\u202a\u202c" + _TRAILING_CHARACTERS
_KINDS: dict[str, Placeholder] = {
    **dict.fromkeys(_LEFT_OUT | _OTHER_APPS, "left out"),
    **dict.fromkeys(_DELETED, "deleted"),
}
_BY_ADMIN = "this message was deleted by admin"
MAX_CHARACTERS = max(map(len, _KINDS)) + len(_BY_ADMIN)
"""No placeholder is longer."""

_MEDIA = (
    (
        "video",
        r"vid[eé]o|vídeo|видео|відео|wideo|videó|βίντεο|فيديو|ویدیو|הווידאו|वीडियो|วิดีโอ|ビデオ|動画|비디오|동영상|视频|影片",
    ),
    (
        "audio",
        r"[aáä]udio|аудио|аудіо|zvuk|\bhang\b|ήχος|\bses\b|صوتي|صدا|קטע קול|ऑडियो|เสียง|音声|ボイス|오디오|音频"
        r"|音訊|語音|语音|âm thanh|\bljud\b|\blyd\b|äänitiedosto|voice",
    ),
    (
        "sticker",
        r"sti[ck]+er|стикер|наклейк|naklejk|nálepk|matrica|figurinha|αυτοκόλλητο|çıkartma|ملصق|استیکر|סטיקר|स्टिकर|สติกเกอร์"
        r"|スタンプ|스티커|贴图|貼圖|表情|pelekat|klistermærke|klistremerke|tarra",
    ),
    ("gif", r"\bgif"),
    (
        "document",
        r"do[ck]ument|документ|έγγραφο|belge|مستند|سند|מסמך|डॉक्यूमेंट|เอกสาร|ドキュメント|문서|文档"
        r"|文件|檔案|tài liệu|dokumen",
    ),
    (
        "contact card",
        r"contact|kontakt|tarjeta de|cartão do|visite|névjegy|επαφής|kişi kartı|جهة اتصال|مخاطب|איש קשר|कॉन्टैक्ट|รายชื่อ"
        r"|連絡先|연락처|联系人|聯絡人|kontak|kenalan|liên lạc|yhteystieto|контакт",
    ),
    (
        "image",
        r"image|\bbild\b|bilde|billede|imagen|imagem|immagine|afbeelding|изображение|зображення|obraz|obráz|\bkép\b|imagine"
        r"|εικόνα|görüntü|الصورة|تصویر|התמונה|फ़ोटो|รูปภาพ|画像|写真|이미지|사진|照片|图像|图片|圖片"
        r"|圖像|gambar|imej|hình ảnh|\bkuvaa\b|photo",
    ),
)
"""The words by which the kind of an omitted file is known; the first that occurs counts."""

_WORD = re.compile(r"\w+")


def placeholder_kind(text: str) -> Placeholder | None:
    """Whether a text is an app's placeholder for a deleted message or for a file that was left out."""
    if len(text) > MAX_CHARACTERS:
        return None
    phrase = fold(text.strip(_AROUND))
    return "deleted" if phrase.startswith(_BY_ADMIN) else _KINDS.get(phrase)


def omitted_file(text: str) -> str | None:
    """What file a placeholder stands for: "image", "video", "audio", "sticker", "gif", "document", "contact card", or
    "file" where the app does not say; None if the text stands for none."""
    if placeholder_kind(text) != "left out":
        return None
    folded = fold(text)
    return next((name for name, words in _MEDIA if re.search(words, folded)), "file")


def may_be_meant(words: Collection[str]) -> bool:
    """Whether a placeholder has any of these words, which are in small letters."""
    return any(word in _VOCABULARY for word in words)


_VOCABULARY = frozenset(word for phrase in _KINDS for word in _WORD.findall(phrase))
