"""Probes: rules that say which draws to make next."""
