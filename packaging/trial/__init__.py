"""Tries an installed program as a person would who has nothing but it. See packaging/README.md."""
