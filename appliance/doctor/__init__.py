"""``appliance doctor``: what is wrong with a machine, an installation or a home, and what to do about it.

Each module has the checks of one thing, as functions from what was found to a ``Check``; ``examination`` finds it and
puts them in order. Nothing here opens a memory, takes its lock, makes a folder or writes a file. ``airgap`` runs the
program itself in a memory that is thrown away, and watches whether it reaches out.
"""
