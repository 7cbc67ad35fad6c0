"""Secrets as people write them to each other and to an assistant, and the ordinary talk that resembles them."""

from __future__ import annotations

import pytest

from appliance.secrets.detector import find_secrets

# Nothing here opens anything.
KEY_LINES = "MIIEpAIBAAKCAQEA7bq9Zt4mQ9xL2vB7nK1pR8sW3yD6a1B2c3D4e5F6g7H8i9J0\n" * 3 + "k1L2m3N4o5=="
KEY_BEGIN = "-----BEGIN RSA " + "PRIVATE KEY-----\n"


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        ("my password is hunter2", "password", "hunter2"),
        ("mi clave del banco es Perro1999", "password", "Perro1999"),
        ("la clave de acceso es Perro1999.", "password", "Perro1999"),
        ("Clave: Perro1999!", "password", "Perro1999!"),
        ("the pin of my card is 8351", "pin", "8351"),
        ("my pin for the new phone is 8351.", "pin", "8351"),
        ("die PIN von meiner Karte ist 8351", "pin", "8351"),
        ("el pin de la tarjeta es 8351", "pin", "8351"),
        ("mi clave del cajero es 8351", "pin", "8351"),
        ("Zugangscode: 90412", "access-code", "90412"),
        ("Der Zugangscode zum Büro lautet 90412#", "access-code", "90412"),
        ("the door code is 4711", "access-code", "4711"),
        ("Türcode 4711", "access-code", "4711"),
        ("Your verification code is 682 913.", "access-code", "682 913"),
        ("access code for the garage: B7-2291", "access-code", "B7-2291"),
        ("el código de acceso es 90412", "access-code", "90412"),
        ("le code d'accès est 90412", "access-code", "90412"),
        ("Die Alarmanlage hat den Code 8841", "access-code", "8841"),
        ("the alarm has the code 8841.", "access-code", "8841"),
        ("La alarma tiene el código 8841", "access-code", "8841"),
        ("L'alarme a le code 8841", "access-code", "8841"),
        ("Der Code für die Haustür ist 8841", "access-code", "8841"),
        ("The code for the front door is 8841", "access-code", "8841"),
        ("el código de la caja fuerte es 8841", "access-code", "8841"),
        ("le code de l'immeuble est 88A41", "access-code", "88A41"),
        ("the garage door's code is 8841", "access-code", "8841"),
        ("Use code 8841 for the gate", "access-code", "8841"),
        ("Mit dem Code 8841 öffnet man das Garagentor", "access-code", "8841"),
        ("el código 8841 abre la puerta", "access-code", "8841"),
        ("Tresor: Code 8841", "access-code", "8841"),
        ("Das Fahrradschloss hat den Zahlencode 8841", "access-code", "8841"),
        ("Unser Schließfach hat die PIN 8841", "access-code", "8841"),
        ("Torcode: 8841", "access-code", "8841"),
        ("Der Zahlencode lautet 8841", "access-code", "8841"),
        ("le digicode est 88A41", "access-code", "88A41"),
        ("PUK: 20418839", "access-code", "20418839"),
        ("My new Netflix login: anna@example.org / Sunflower88", "password", "Sunflower88"),
        ("Zugangsdaten: anna, Sonnenblume88", "password", "Sonnenblume88"),
        ("wifi login is guest | Sunflower88", "password", "Sunflower88"),
        ("Mi cuenta: anna@example.org - Girasol88", "password", "Girasol88"),
        ("valid until 04/29, cvc 123", "card-code", "123"),
        ("CVV: 482", "card-code", "482"),
        ("the CVV2 is 4821", "card-code", "4821"),
        ("Prüfnummer der Karte: 482", "card-code", "482"),
        ("IBAN DE89 3704 0044 0532 0130 00", "iban", "DE89 3704 0044 0532 0130 00"),
        ("to NL91ABNA0417164300 please", "iban", "NL91ABNA0417164300"),
        ("GB82 WEST 1234 5698 7654 32", "iban", "GB82 WEST 1234 5698 7654 32"),
        ("my SSN is 219-09-9999", "social-security-number", "219-09-9999"),
        ("social security number: 219 09 9999", "social-security-number", "219 09 9999"),
        ("Sozialversicherungsnummer: 65 170839 J 003", "social-security-number", "65 170839 J 003"),
        (f"here it is\n{KEY_BEGIN}{KEY_LINES}", "private-key", f"{KEY_BEGIN}{KEY_LINES}"),
        (f"{KEY_BEGIN}{KEY_LINES}\n\nthat was it", "private-key", f"{KEY_BEGIN}{KEY_LINES}"),
    ],
)
def test_a_secret_in_talk_is_found_where_it_stands(text: str, kind: str, secret: str) -> None:
    assert [(found, text[start:end]) for found, start, end in find_secrets(text)] == [(kind, secret)]


@pytest.mark.parametrize(
    "text",
    [
        "the key to success is 90 percent patience",
        "I use a password manager with 200 entries",
        "pin the message of 2024 to the top",
        "she pinned 1200 photos to the board",
        "a token budget of 8000 tokens is 2000 too few",
        "la clave del éxito es 1000 horas de trabajo",
        "palabra clave: covid19",
        "la clave es empezar a las 10",
        "the clave rhythm is 3-2 or 2-3",
        "Die Postleitzahl von Graz ist 8010, die Vorwahl 0316",
        "the door panel shows error code 4711",
        "error code 4711 at the door sensor",
        "Die Garage hat die Postleitzahl 8010",
        "the shop's door page answers with code 404",
        "Code 404 heißt, dass die Seite fehlt",
        "the QR code 8841 for the entrance",
        "der Barcode 40170725 auf dem Schloss",
        "Fehlercode 8841 der Alarmanlage",
        "the alarm rang at 7, code review starts at 1030",
        "Tor 3 fiel in Minute 90, Code 112 ist der Notruf",
        "le code postal de la porte est 75018",
        "el código postal del portal es 28013",
        "der Code in der Garage hat 4000 Zeilen",
        "promo code 2024 opens the sale",
        "the code for the door sensor is 300 lines long",
        "the error code is 4711",
        "Postleitzahl und Code: 90412",
        "zip code: 90210, area code 415",
        "promo code: SUMMER2024",
        "the door code was changed in 2024, 12 people know",
        "the access code is on page 12",
        "verification code of the module in line 200",
        "login: see the wiki / section4b",
        "Login: POST /api/v1/login2",
        "the login page is broken since version 3 / build2291",
        "account: 2 rooms, 3 beds",
        "Konto: 4711 / 2024-03-01",
        "der Zugang ist offen, Raum B2291",
        "CVC 2024 in Berlin was a good conference",
        "cvs 123",
        "the cvc of 12 people",
        "DE88 3704 0044 0532 0130 00 has a wrong check digit",
        "part AB12 3456 7890 1234 56",
        "call 219-09-9999 after six",
        "the SSN form has 3 pages",
        f"{KEY_BEGIN.strip()} is how such a file begins",
        f"the file must not begin with {KEY_BEGIN.strip()}",
    ],
)
def test_ordinary_talk_that_resembles_one_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []
