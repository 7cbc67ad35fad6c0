"""A chat proxy that adds memory.

``route`` is the way of a request; ``turns`` reads what is said, ``following`` finds where in the memory that stands,
``upstream`` asks the model, and ``document`` says for OpenAPI what of it is ours.
"""
