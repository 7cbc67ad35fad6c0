"""What the OpenAPI document promises holds: schemathesis asks whatever it allows, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from http_calls import application, owner
from schemathesis.core.transport import Response

from appliance import Appliance
from appliance_models import HashEmbedder

BASE = "http://127.0.0.1:7707"

QUICK = 0.02
"""Seconds for which a stream of events is listened to here: it has no end of its own."""

FEW, MANY = 3, 150
"""Examples of each route."""
