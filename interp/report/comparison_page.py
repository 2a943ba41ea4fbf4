"""The page of a comparison."""

from __future__ import annotations

from pathlib import Path

from interp.compared import ComparedRuns
from interp.readings.comparison import Comparison


def write_comparison_page(folder: Path, pair: ComparedRuns, found: Comparison) -> None:
    """Writes it."""
