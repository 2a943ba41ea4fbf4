"""The command line: the verbs of `jobs`, with progress on a terminal and plain lines elsewhere.

The only folder that prints. Errors that the package raises on purpose are one line and exit code 2.
"""

from interp.cli import auditing, benching, importing, localizing, looking, models
from interp.cli.app import app, main

__all__ = ["app", "auditing", "benching", "importing", "localizing", "looking", "main", "models"]
