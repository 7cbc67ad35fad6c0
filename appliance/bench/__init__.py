"""Measuring: recall and latency on a known benchmark's file, and on a person's own history.

``material`` reads conversations with questions, ``recall`` asks them of every system, ``measures`` says how
well the answers were ranked.
"""
