"""A chat proxy that adds memory.

``route`` handles the requests, ``turns`` reads what was said, ``threads`` finds the session that a request continues,
``upstream`` calls the model, and ``openapi`` describes the proxy's own headers.
"""
