"""The vector index: one protocol (``base``), an embedded engine (``edge``) and a server (``remote``)."""
