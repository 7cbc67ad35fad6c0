"""HTTP."""

from __future__ import annotations

from fastapi import FastAPI

from appliance.server import local
from appliance.server.service import Service


def create_app(service: Service) -> FastAPI:
    """The HTTP application of a memory."""
    app = FastAPI()
    app.include_router(local.router(service))
    return app
