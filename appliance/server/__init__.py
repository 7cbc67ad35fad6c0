"""One process owns the home, and everything else attaches to it."""
