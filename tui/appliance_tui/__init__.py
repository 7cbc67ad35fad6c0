"""The screen: a terminal UI that speaks only to the engine's client, on a memory in this process or a daemon's.

``app`` is the frame: screens by name, themes, the banner. ``actions`` is the one table of what can be done, from which
keys, footer, palette and help are made. ``link`` asks the memory on threads; ``scope`` is whose memory is looked at.
``screens`` are what fills the frame, ``widgets`` what they are made of.
"""
