"""Asks before texts are sent to an embedding API: what a rebuild would send, and what that costs."""

from __future__ import annotations

import math
import sys

import typer

from appliance.cli import output
from appliance.errors import EmbeddingApiError, UsageError
from appliance.types import ReindexForecast


def confirm_sending(forecast: ReindexForecast, yes: bool) -> None:
    """Say what a rebuild would send, and ask whether it may, unless nothing is sent or ``yes`` was said.

    Raises:
        UsageError: There is no terminal to ask on, and --yes is not given.
        EmbeddingApiError: It would send more than may be sent.
    """
    if not forecast.address or not forecast.texts:
        return
    summary = describe_sending(forecast)
    if forecast.exceeds_cap:
        left = max(0, forecast.token_cap - forecast.tokens_sent)
        raise EmbeddingApiError(
            f"This would send {summary}. The cap of {forecast.token_cap:,} tokens leaves {left:,}.",
            hint="Raise jina.token_cap in the settings.",
        )
    if yes:
        output.say(f"Sending {summary}.")
        return
    if not sys.stdin.isatty():
        raise UsageError(f"This would send {summary}.", hint="Confirm with --yes.")
    output.say(f"This sends {summary}.")
    typer.confirm("Continue?", abort=True, err=True)


def describe_sending(forecast: ReindexForecast) -> str:
    """ "the text of all messages to https://api.jina.ai/v1: 12,345 texts, about 4.1 M tokens, about $0.08, at least
    41 min". Not all messages, if some have vectors of this model already."""
    parts = [output.plural(forecast.texts, "text"), f"about {format_tokens(forecast.tokens)} tokens"]
    if forecast.price:
        parts.append("less than $0.01" if forecast.price < 0.01 else f"about ${forecast.price:,.2f}")
    if forecast.minutes >= 1:
        parts.append(f"at least {math.floor(forecast.minutes):,} min by the limit of tokens a minute")
    what = "the text of all messages" if forecast.all_messages else "the texts that have no vector of this model yet"
    return f"{what} to {forecast.address}: {', '.join(parts)}"


def format_tokens(tokens: int) -> str:
    """ "950", "12 k" or "4.1 M"."""
    if tokens < 10_000:
        return f"{tokens:,}"
    return f"{tokens / 1_000:,.0f} k" if tokens < 1_000_000 else f"{tokens / 1_000_000:,.1f} M"
