"""Fixtures that more than one folder of tests uses."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from functools import cache
from typing import TYPE_CHECKING

import pytest
from hypothesis import settings

if TYPE_CHECKING:
    from interp.models.backend import Backend

settings.register_profile("same", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None)
settings.load_profile("same")
"""The same examples in every run; `pytest --hypothesis-profile search` looks for new ones."""


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


@pytest.fixture(scope="module")
def one_thread() -> Iterator[None]:
    """One thread is fastest for a tiny model, and gives the same bits in every process."""
    import torch

    n_threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(n_threads)


@pytest.fixture
def call(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Callable[..., tuple[int, str, str]]:
    """Runs `interp` in this process; gives exit code, standard output and standard error."""
    from interp import cli

    def run(*arguments: object) -> tuple[int, str, str]:
        monkeypatch.setattr(sys, "argv", ["interp", *map(str, arguments)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return int(left.value.code or 0), out, err

    return run
