"""The memory as an MCP server: fourteen tools, resources and prompts, over stdio and streamable HTTP.

How a call travels: a transport (``stdio``, ``streamable_http``) supplies the caller's grant → ``protocol`` validates
the call → ``tools`` names the handler → ``read_tools``, ``timeline`` and ``write_tools`` ask the memory through
``access`` → ``pagination`` limits the answer → ``rendering`` writes it as text.
"""
