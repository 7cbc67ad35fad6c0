"""The screen: a terminal UI that speaks only to the engine's client. It is built in a later part."""
