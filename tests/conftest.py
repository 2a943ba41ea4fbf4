"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interp.models.hooks import HooksModel


@pytest.fixture(scope="session")
def tiny_model() -> Callable[[str], HooksModel]:
    """Gives a tiny model by architecture, the same object each time; no test may change it."""
    from interp.models.tiny import tiny

    return cache(tiny)


@pytest.fixture(scope="session")
def smollm2() -> HooksModel:
    """The embedded model."""
    from interp.models.load import load

    return load("smollm2")
