"""Benchmarks from the hub by name: one file each, with citation, prompt convention, splits and few-shot."""
