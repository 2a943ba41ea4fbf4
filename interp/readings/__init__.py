"""Readings: pure functions from the log of an audit to its tables."""
