"""Secrets in texts: keys, tokens, card numbers and passwords, found by rules and hidden from who need not see them.

``detector`` finds them: rules of gitleaks for the tokens of services (``rules.json``), and rules of our own for what
people write in words (``generic``). ``masking`` hides them in a text, or in all texts of a value."""
