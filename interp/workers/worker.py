"""What runs in each worker's process: a model of its own, which answers the batches it is given."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from interp.errors import InterpError
from interp.models.model import Completion, Model
from interp.procedure import Request

if TYPE_CHECKING:
    from interp.models.load import LoadOptions
    from interp.models.model import References

Loader = Callable[[str, "LoadOptions"], Model]
"""Gives the model that a name and options stand for."""


@dataclass(frozen=True)
class Loaded:
    """A worker is ready.

    Attributes:
        fingerprint: Of its model.
        environment: What else decides its model's numbers.
        pid: Its process.
    """

    fingerprint: str
    environment: Mapping[str, str]
    pid: int


@dataclass(frozen=True)
class Trouble:
    """What a worker hands back in place of an answer.

    Attributes:
        error: The kind of error, one of the package's own; None where the memory ran out.
        text: Its message.
    """

    error: type[InterpError] | None
    text: str

    @classmethod
    def of(cls, error: Exception) -> Trouble | None:
        """What to hand back for an error; None for a bug, which keeps its traceback."""
        if isinstance(error, InterpError):
            return cls(type(error), str(error))
        if is_out_of_memory(error):
            return cls(None, f"{type(error).__name__}: {str(error).strip()[:200]}".rstrip(": "))
        return None

    def raised(self) -> InterpError:
        """The same error, to be raised in another process."""
        kind = self.error or InterpError
        error = kind.__new__(kind)
        error.args = (self.text,)
        return error


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory ran out, the machine's or a GPU's."""
    torch = sys.modules.get("torch")
    if isinstance(error, MemoryError) or (torch is not None and isinstance(error, torch.OutOfMemoryError)):
        return True
    return isinstance(error, RuntimeError) and "can't allocate memory" in str(error)


class Worker:
    """Answers batches with a model that it loaded itself; a process of its own, and one batch at a time."""

    def __init__(self) -> None:
        """Starts without a model, so that an error of loading comes back as what it is."""
        self._model: Model | None = None

    def load(self, loader: Loader, name: str, options: LoadOptions, n_threads: int) -> Loaded | Trouble:
        """Loads the model.

        Args:
            loader: Gives the model.
            name: Its name.
            options: How it is loaded.
            n_threads: Threads of a pass on a CPU.
        """
        try:
            self._model = loader(name, options)
        except Exception as error:
            if (trouble := Trouble.of(error)) is None:
                raise
            return trouble
        torch = sys.modules.get("torch")
        if torch is not None:
            torch.set_num_threads(n_threads)
        return Loaded(self._model.fingerprint, dict(self._model.environment), os.getpid())

    def answer(
        self, requests: Sequence[Request], references: References | None, scored: bool
    ) -> list[Completion] | Trouble:
        """Answers one batch."""
        if self._model is None:
            raise RuntimeError("a worker is asked before it has loaded its model")
        try:
            return list(self._model.generate(requests, references=references, scored=scored))
        except Exception as error:
            if (trouble := Trouble.of(error)) is None:
                raise
            return trouble
