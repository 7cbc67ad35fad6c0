"""A chat proxy that adds memory. ``route`` is the way of a request; ``turns`` reads what is said, ``following`` finds where,
``upstream`` asks the model, ``document`` says for OpenAPI what of it is ours.
"""
