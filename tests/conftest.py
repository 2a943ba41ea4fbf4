"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from interp.models.backend import Backend


@pytest.fixture(scope="session")
def tiny_model() -> Callable[[str], Backend]:
    """Gives a tiny model by name ("llama", "lens:llama"), the same each time; no test may change it."""
    from interp.models.load import load
    from interp.models.tiny import tiny

    @cache
    def make(name: str) -> Backend:
        backend, colon, architecture = name.rpartition(":")
        return load(f"{backend}:tiny:{architecture}") if colon else tiny(name)

    return make


@pytest.fixture(scope="session")
def smollm2() -> Backend:
    """The embedded model."""
    from interp.models.load import load

    return load("smollm2")
