"""A scripted model for workers that gets into trouble where it is told; run as a program it is a driver."""

from __future__ import annotations

import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from scripted_task import PROCEDURE, Sums, UntilRight, answer, open_run

from interp.errors import BadLogits
from interp.execute import execute
from interp.models.scripted import Scripted
from interp.probes.deployed import Deployed
from interp.probes.silencing import Silencing
from interp.procedure import Procedure
from interp.question import Attempt
from interp.workers.cluster import Workers
from interp.workers.pool import Pool

BATCH_SIZE = 4
PROBES = (Deployed(PROCEDURE), Silencing(PROCEDURE, 3, ("q01", "q04", "q09")), UntilRight())


@dataclass(frozen=True)
class Flaky:
    """Loads a scripted model that leaves traces, and gets into trouble at one question.

    Attributes:
        folder: Where it leaves a line for each answer, in `asked-<pid>`.
        text: The question at which the trouble is.
        trouble: "killed", "memory", "torch memory", "nan", "bug", or "" for none.
        n_times: How often there is trouble.
        seconds: How long an answer takes.
        name: The name of the model that is loaded, whatever was asked for.
    """

    folder: Path
    text: str = ""
    trouble: str = ""
    n_times: int = 1
    seconds: float = 0.0
    name: str = "scripted"

    def __call__(self, _name: str, _options: Any) -> Scripted:
        if self.trouble == "killed while loading" and self._again():
            os.kill(os.getpid(), signal.SIGKILL)
        return Scripted(self._script, name=self.name, n_layers=3)

    def _script(self, text: str, procedure: Procedure, seed: int) -> str:
        with (self.folder / f"asked-{os.getpid()}").open("a") as file:
            file.write(f"{text}|{procedure.key}|{seed}\n")
        time.sleep(self.seconds)
        if text == self.text and self._again():
            self._get_into_trouble()
        return answer(text, procedure, seed)

    def _again(self) -> bool:
        for n in range(self.n_times):
            try:
                (self.folder / f"trouble-{n}").touch(exist_ok=False)
            except FileExistsError:
                continue
            return True
        return False

    def _get_into_trouble(self) -> None:
        if self.trouble == "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        if self.trouble == "memory":
            raise MemoryError
        if self.trouble == "torch memory":
            import torch

            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 2.00 GiB")
        if self.trouble == "nan":
            raise BadLogits("The logits of row 3 are NaN.")
        if self.trouble == "bug":
            raise ZeroDivisionError("a bug")

    def asked(self) -> list[str]:
        """A line for each answer that was begun, by whichever worker."""
        return [line for path in self.folder.glob("asked-*") for line in path.read_text().splitlines()]


@dataclass
class Killer:
    """A watcher that kills its own process once so many rows are in the log."""

    n_left: int

    def stage(self, name: str, total: int, done: int) -> None:
        pass

    def rows(self, attempts: Sequence[Attempt]) -> None:
        self.n_left -= len(attempts)
        if self.n_left <= 0:
            os.kill(os.getpid(), signal.SIGKILL)


def scripted_run(
    path: Path, workers: Workers | None, flaky: Flaky | None = None, *, watcher: Any = None
) -> list[Attempt]:
    """All three probes, asked by workers or here."""
    model = Scripted(answer, n_layers=3)
    rows: list[Attempt] = []
    with open_run(path) as run:
        if workers is None:
            for probe in PROBES:
                rows += execute(model, Sums(), probe, run, batch_size=BATCH_SIZE, watcher=watcher)
            return rows
        with Pool(workers, model, loader=flaky) as pool:
            for probe in PROBES:
                rows += execute(model, Sums(), probe, run, asker=pool, batch_size=BATCH_SIZE, watcher=watcher)
    return rows


if __name__ == "__main__":
    out, folder, address, n_rows = sys.argv[1:]
    slow = Flaky(Path(folder), seconds=0.02)
    scripted_run(Path(out), Workers(2, address, cpus=1), slow, watcher=Killer(int(n_rows)))
