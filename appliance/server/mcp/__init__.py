"""The memory as an MCP server: nine tools, resources and prompts, over stdio and streamable HTTP.

How a call travels: a transport (``stdio``, ``http``) says whose it is (a Grant) → ``protocol`` checks what was asked
and answers in the protocol's shapes → ``tools`` names the function → ``reading``, ``writing`` ask the memory, through
``reach``, which lets nothing of others by → ``pages`` keeps the answer small → ``words`` says it in text.
"""
