"""One process owns the home, and everything else attaches to it.

How a request travels, and where to read on:

1. ``guard.Guard``, before all else: an id, the Host, the Origin, whose token it is (``tokens``), how many requests
   that one may make, how large a body may be. What may not come in is answered there.
2. ``app.ROUTERS`` finds the handler by method and path; each module of ``routes`` is a group of them.
3. ``routes.base.Route`` decodes the body, ``models`` checks it, and ``idempotency`` does a repeated write once.
4. ``reach.Caller`` turns the names in it into things of the memory, as far as the token reaches.
5. The handler makes one call of ``service.Service.memory``, on a thread of a bounded pool.
6. The value goes out as JSON (``routes.base.answer``) in the shapes that the command line prints (``shapes``); an
   error goes out as a problem, by the one table of ``problems``.

``described`` makes the OpenAPI document of it; docs/http.md shows the routes with examples. ``mcp`` and ``chat`` stand
behind the same guard: the tools of assistants, and the proxy that adds memory to a model's answers.

``daemon`` is the process in which all this runs: ``listen`` opens its sockets, ``logs`` writes down what it does,
``notify`` tells the service manager. Programs of the owner's do not come by HTTP's routes but by ``client``: it calls
the verbs of an engine over the Unix socket (``calls`` lists them, ``line`` asks, ``local`` answers), or is the engine
itself where no daemon runs.
"""
