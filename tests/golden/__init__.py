"""Golden files: what the program says and does, frozen, so that a change of it is seen. See README.md."""
