"""The daemon: one process owns the home, and everything else attaches to it.

How an HTTP request travels, and where to read on:

1. ``access.middleware`` gives it an id and checks the Host, the Origin, the token (``access.tokens``), the rate and the
   size of the body. It answers what it refuses.
2. ``http.app.ROUTERS`` finds the handler by method and path; each module of ``http.routes`` is a group of routes.
3. ``http.routes.base.JsonRoute`` decodes the body, ``http.bodies`` validates it, and ``http.idempotency`` performs a
   repeated write once.
4. ``http.caller`` resolves the ids in it, as far as ``access.policy`` allows.
5. The handler makes one call of the memory, on a thread of a bounded pool.
6. The value goes out as JSON in the shapes of ``http.responses``, an error as a problem by the table in
   ``http.problems``.

``http.openapi`` describes all this; docs/http.md shows the routes with examples. ``mcp`` and ``openai_proxy`` stand
behind the same middleware. ``daemon`` is the process: ``sockets`` opens its sockets, ``logs`` writes its log,
``systemd`` notifies the service manager. The owner's own programs use ``rpc`` over the Unix socket instead of routes.
"""
