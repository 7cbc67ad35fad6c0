"""The terminal UI. It speaks only to the client, on a memory in this process or in a daemon.

``app`` holds screens, themes and banner. ``actions`` is the table of everything a person can do, from which keys,
footer, palette and help are made. ``workers`` calls the memory on threads. ``screens`` consist of ``widgets``.
"""
