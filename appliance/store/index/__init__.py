"""The vector index: one protocol (``protocol``), an embedded engine (``edge``) and a server (``remote``)."""
