"""Benchmarks: recall and latency on a public data set, and on a person's own history.

``datasets`` reads conversations with questions, ``recall`` runs every system on them, and ``ir_metrics`` measures the
rankings.
"""
