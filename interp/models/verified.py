"""Remembers which models have passed the load checks, so that loading one again costs no forward pass."""

from __future__ import annotations

import hashlib
import json
import os
import platform
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from interp.models.checks import verify
from interp.models.source import cache_folder

if TYPE_CHECKING:
    from interp.models.backend import Backend

N_SMALL = 10_000_000
"""Models with fewer parameters are checked each time: it takes an instant."""


def verify_once(model: Backend) -> None:
    """Runs the load checks, unless this very model has passed them on this machine.

    The same means: weights, configuration, tokenizer, dtype, device, attention implementation and layout,
    the code of this package's models, and the versions of what runs them. A failure is not remembered.

    Args:
        model: A model that was just loaded.

    Raises:
        LoadRefused: A check failed.
    """
    if sum(weight.numel() for weight in model.module.parameters()) < N_SMALL:
        verify(model)
        return
    memory = cache_folder() / "verified" / f"{_key(model)}.json"
    if memory.exists():
        return
    errors = verify(model)
    try:
        memory.parent.mkdir(parents=True, exist_ok=True)
        scratch = memory.with_suffix(f".{os.getpid()}")
        scratch.write_text(json.dumps({"model": model.name, "errors": errors}))
        scratch.replace(memory)
    except OSError:
        pass  # without a memory the next load checks again


def _key(model: Backend) -> str:
    environment = sorted((key, value) for key, value in model.environment.items() if key != "threads")
    same = [model.fingerprint, environment, repr(model.layout), _versions(), _code()]
    return hashlib.sha256(json.dumps(same).encode()).hexdigest()[:32]


def _versions() -> list[str]:
    from importlib.metadata import version

    packages = ("torch", "transformers", "transformer-lens", "nnsight")
    return [platform.python_version(), platform.machine(), *(version(package) for package in packages)]


@cache
def _code() -> str:
    digest = hashlib.sha256()
    for file in sorted(Path(__file__).parent.glob("*.py")):
        digest.update(file.read_bytes())
    return digest.hexdigest()
