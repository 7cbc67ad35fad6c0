"""The routes, a module for each group with its ``router``.

A handler takes a validated body and resolved ids, makes one call of the memory and returns a value. It runs on a thread
of a bounded pool.
"""
