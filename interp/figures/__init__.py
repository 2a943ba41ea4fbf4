"""Figures: one file each, a function from a polars table to a plotly Figure."""
