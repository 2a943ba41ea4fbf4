"""Localizers: readings of a silencing log, and attribution on the same failures."""
