"""What counts as a secret, and what ordinary talk must not lose."""

from __future__ import annotations

from itertools import pairwise

import pytest

from appliance.secrets.detector import find_in_texts, find_secrets
from appliance.secrets.generic import passes_luhn

# Nothing here opens anything. The parts are joined, so that no scanner of this repository takes them for real.
GITHUB = "ghp_" + "16C7e42F292c6912E7710c838347Ae178B4a"
AWS = "AKIA" + "Q3EGRTWYXZ5ZJ7PM"
STRIPE = "sk_live_" + "4eC39HqLyjWDarjtT1zdp7dc"
OPENAI = (
    "sk-proj-"
    + "a1B2c3D4e5F6g7H8i9J0" * 3
    + "k1L2m3N4o5P6q7"
    + "T3BlbkFJ"
    + "a1B2c3D4e5F6g7H8i9J0" * 3
    + "k1L2m3N4o5P6q7"
)
SHORT_KEY = "sk-proj-" + "Zt4mQ9xL2vB7nK1pR8sW3yD6"
AWS_SECRET = "wJalrXUtnFEMI/K7MDENG/" + "bPxRfiCYzz9pq3Rt7u"
SLACK = "xoxb-" + "263594206564-2343594206574-FGqddMF8t08v8N7Oq4i57vs1"
JWT = (
    "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxMjM0NTY3ODkwIiwibmFtZSI6IkphbmUifQ."
    + "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJVadQssw5c"
)
PRIVATE_KEY = "-----BEGIN RSA PRIVATE KEY-----\n" + "MIIEpAIBAAKCAQEA7bq9\n" * 8 + "-----END RSA PRIVATE KEY-----"
CARD = "4539 1488 0343 6467"


@pytest.mark.parametrize(
    ("text", "kind", "secret"),
    [
        (f"my token is {GITHUB}, keep it", "github-pat", GITHUB),
        (f"export AWS_ACCESS_KEY_ID={AWS}\n", "aws-access-token", AWS),
        (f"stripe: {STRIPE} ", "stripe-access-token", STRIPE),
        (f'"{SLACK}"', "slack-bot-token", SLACK),
        (f"Authorization: {JWT}", "jwt", JWT),
        (f"here:\n{PRIVATE_KEY}\nthanks", "private-key", PRIVATE_KEY),
        (f"The card is {CARD}, valid until 04/29", "card-number", CARD),
        ("Karte 4539148803436467, gültig bis 04/29", "card-number", "4539148803436467"),
        ("amex 3782 822463 10005", "card-number", "3782 822463 10005"),
        ("My wifi password is Tr0ub4dor&3", "password", "Tr0ub4dor&3"),
        ("The password for the bank is: xK9#mmP2!", "password", "xK9#mmP2!"),
        ("Das Passwort lautet Regen7Bogen.", "password", "Regen7Bogen"),
        ("Passwort: `Regen7Bogen`", "password", "Regen7Bogen"),
        ("la contraseña es Luna2031x", "password", "Luna2031x"),
        ("user: clara\npassword: lighthouse", "password", "lighthouse"),
        ('{"password": "c0rrectHorse"}', "password", "c0rrectHorse"),
        ("DB_PASSWORD=s3cr3tPa55", "password", "s3cr3tPa55"),
        ("postgres://admin:Xy7pq91z@db.example.org/app", "password", "Xy7pq91z"),
        ("Die PIN ist 4821", "pin", "4821"),
        ("the pin code: 48213", "pin", "48213"),
        ("API_KEY=f3Zk29sLqP0xYt7Rw1Vb", "api-key", "f3Zk29sLqP0xYt7Rw1Vb"),
        ("api key: 9f86d081884c7d659a2feaa0c55ad015", "api-key", "9f86d081884c7d659a2feaa0c55ad015"),
        ("das Passwort fürs WLAN ist Zx9!kk2pQ", "password", "Zx9!kk2pQ"),
        ("mot de passe : Bonjour2024", "password", "Bonjour2024"),
        ("le mot de passe du wifi est Lune7890", "password", "Lune7890"),
        ("user: ana, pass: Zx9!kk2", "password", "Zx9!kk2"),
        ("Şifrem: Kedi4ever!", "password", "Kedi4ever!"),
        ("הסיסמה: Kelev1234", "password", "Kelev1234"),
        ("パスワードはNeko2024です", "password", "Neko2024"),
        ("密码：Mao12345，不要告诉别人", "password", "Mao12345"),
        ("Пароль от почты: Koshka77", "password", "Koshka77"),
        ("비밀번호는 Goyangi99", "password", "Goyangi99"),
        ("the aws one: key id AKIA…, secret " + AWS_SECRET, "aws-secret-key", AWS_SECRET),
        (f"use {SHORT_KEY} for now", "api-key", SHORT_KEY),
        ("pay with 4111111111111111 visa", "card-number", "4111111111111111"),
        ("curl -H 'X: Bearer f3Zk29sLqP0xYt7Rw1Vb'", "bearer-token", "f3Zk29sLqP0xYt7Rw1Vb"),
    ],
)
def test_a_secret_is_found_where_it_stands(text: str, kind: str, secret: str) -> None:
    assert [(found, text[start:end]) for found, start, end in find_secrets(text)] == [(kind, secret)]


@pytest.mark.parametrize(
    "text",
    [
        "call me at +49 170 1234567 or 0043 1 5812345 or (555) 010-4477",
        "tel. 4539 148 803",
        "on 2026-02-06 at 14:30:15, 1770374400000 ms, 20260206T143015Z",
        "session 550e8400-e29b-41d4-a716-446655440000 failed",
        "token: 550e8400-e29b-41d4-a716-446655440000",
        "commit 2fd4e1c67a2d28fced849ee1bb76e7391b93eb12",
        "the key is 5d41402abc4b2a76b9719d911017c592",
        "sha256: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        "order 4539-1488-0343-6467",
        "Bestellnummer: 4539 1488 0343 6467",
        "order number 4539148803436467 has shipped",
        "https://example.org/item?id=4539148803436467",
        "4539 1488 0343 6468 is not a card",
        "message 1111 1111 1111 1117",
        "boarding pass: QF7781K2, gate 12",
        "Я забыл пароль вчера в 17:30, встретимся в 2024 году",
        "パスワードを忘れました。2024年にまた",
        "密码学是一门 2024 年的课程",
        "Il mio parola d'ordine è libertà",
        "j'ai changé de mot de passe, voir https://example.org/aide2",
        "on the parola is 12 people",
        "sk-learn-pipeline-with-many-parts is a name",
        "I forgot my password again, the password is wrong",
        "password: string;",
        "password = os.environ['DB_PASSWORD']",
        "password=$(pass show db)",
        "password: ${DB_PASSWORD}",
        "passwords = [row.password1 for row in rows]",
        "if password == other.password2: pass",
        "password = getpass.getpass('Enter 1 password:')",
        "password='password123'",
        "Password: ********",
        "Reset your password: https://example.org/reset?id=123",
        "postgres://user:password@localhost/app",
        "mongodb://<user>:<password>@host",
        "next_page_token: CAUQAA1b2C3d4E5f6G7h8I9",
        "primary key: customer_order_2024_id",
        "the key is in the second drawer on the left side",
        "API_KEY=your_api_key_here_12345",
        "apiKey: process.env.OPENAI_API_KEY_2",
        "access_token = get_access_token_v2(client)",
        "we discussed the secret: nobody_knows_what_happened_2",
        "PIN 10110 Bangkok, the pin code: 560001",
        "pin: 13 on the board",
        "they say hey and okay to ask for a task",
        "AKIA" + "IOSFODNN7EXAMPLE",
        "",
    ],
)
def test_ordinary_talk_is_left_alone(text: str) -> None:
    assert find_secrets(text) == []


def test_many_texts_are_searched_in_one_go_with_the_same_result() -> None:
    texts = ["İstanbul", f"a {GITHUB}", "nothing", "İİİİ my password is Tr0ub4dor&3", f"{CARD}"]
    found = find_in_texts(texts)
    assert sorted(found) == [1, 3, 4]
    assert {number: find_secrets(text) for number, text in enumerate(texts) if find_secrets(text)} == found


def test_a_keyword_in_another_word_does_not_hide_a_key_after_it() -> None:
    filler = "ask for the key and the token of the task; " * 3
    for secret in (
        "SK" + "0123456789abcdef" * 2,
        'api_key\t:= "q8Zt-41xKw9_bVm27Rfh"',
        "Token ist  q8Zt41xKw9bVm27Rfh",
    ):
        assert [kind for kind, _, _ in find_secrets(f"{filler}\n{secret}")] == [
            kind for kind, _, _ in find_secrets(secret)
        ], secret
        assert find_secrets(secret), secret


def test_secrets_do_not_overlap_and_are_in_order() -> None:
    text = f"password: {GITHUB} and token={AWS} and {CARD}"
    found = find_secrets(text)
    assert [text[start:end] for _, start, end in found] == [GITHUB, AWS, CARD]
    assert all(first[2] <= second[1] for first, second in pairwise(found))


def test_the_check_digit_is_that_of_the_standard() -> None:
    assert passes_luhn("79927398713") and not passes_luhn("79927398710")


def test_a_long_text_takes_time_in_proportion() -> None:
    assert find_secrets("password " * 50_000 + "key=" * 50_000 + "://" * 50_000) == []
