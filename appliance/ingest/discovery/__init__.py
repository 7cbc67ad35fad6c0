"""Finds the histories of other programs, and exports, on this machine. Nothing is written, anywhere."""
