"""The verbs as functions: each runs what its name says into a run directory, and gives that back to read."""
