"""Adapters: this memory as what other libraries expect of one. Each needs the extra of its name."""
