"""What is answered at which path: one module a group of routes, each with its ``router``.

A handler is a plain function of a few lines: it takes what ``models`` has checked and what ``reach`` has found, makes
one call of the memory, and answers with a value. It runs on a thread of a bounded pool.
"""
