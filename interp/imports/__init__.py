"""Evaluations made elsewhere, read as questions and attempts: lm-eval and Inspect."""
