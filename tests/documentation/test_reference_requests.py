"""Every request that the reference of HTTP shows is one that the service understands."""

from __future__ import annotations

import re
import shlex
from http import HTTPStatus

import pytest
from docs_site import http_pages

from appliance import Appliance
from tests.http_calls import application, calling, owner

NOT_UNDERSTOOD = {
    HTTPStatus.BAD_REQUEST, HTTPStatus.METHOD_NOT_ALLOWED, HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    HTTPStatus.UNPROCESSABLE_ENTITY, HTTPStatus.INTERNAL_SERVER_ERROR,
}  # fmt: skip
ENDLESS = "/v1/events"
EXPORT = b'{"session_id":"x","role":"user","content":"the otter sleeps"}\n'


def requests(text: str) -> list[tuple[str, str, str | bytes | None]]:
    """Method, path and body of each example."""
    found = []
    for block in re.findall(r"```sh\n(curl .*?)```", text, re.DOTALL):
        words = shlex.split(block.replace("\\\n", " "))
        url = next(word for word in words if word.startswith("$URL")).removeprefix("$URL")
        body = words[words.index("-d") + 1] if "-d" in words else EXPORT if "-T" in words else None
        method = words[words.index("-X") + 1] if "-X" in words else "GET" if body is None else "POST"
        found.append((method, url, body))
    return found


@pytest.mark.slow
def test_every_example_is_understood(memory: Appliance) -> None:
    app = application(memory)
    examples = requests("\n".join(http_pages.pages(app.openapi()).values()))
    assert len(examples) > 70
    refused = []
    with calling(app, owner(memory)) as client:
        for method, url, body in examples:
            if url == ENDLESS:
                continue
            kind = "application/json" if isinstance(body, str) else "application/octet-stream"
            answer = client.request(method, url, content=body, headers={"content-type": kind})
            if answer.status_code in NOT_UNDERSTOOD:
                refused.append((method, url, answer.status_code, answer.text))
    assert not refused
