"""The offline kit: one file with the program, all that it needs, and an installer. See packaging/README.md."""
