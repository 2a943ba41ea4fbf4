"""Runs of `localize` and `audit` that are killed: run as a program they die at one place after the other."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import torch

from interp.jobs.auditing import AuditPlan, audit
from interp.jobs.localizing import LocalizePlan, localize
from interp.models.hooks import HooksModel
from interp.question import Attempt
from interp.tasks.task import Task

LAYER = 1
PLAN = LocalizePlan(batch_size=15, max_failures=12)
"""Three questions a batch, each with its control and four blocks."""

LOCALIZE_PLACES = (
    ("deployed", 0),
    ("deployed", 30),
    ("silencing", 15),
    ("silencing", 60),
    ("attribution", 0),
    ("attribution", 12),
)
"""Where it dies, in this order: stage, and how much of it is done."""

AUDIT_PLAN = AuditPlan(("sampling:3", "silencing"), batch_size=15)
AUDIT_PLACES = (
    ("deployed", 15),
    ("sampling", 0),
    ("sampling", 45),
    ("replay sampling", 0),
    ("silencing", 60),
)
ROUTES_PLAN = AuditPlan(("cola:3", "random_routes:3,like=cola", "greedy:1"), batch_size=7)
ROUTES_PLACES = (
    ("cola", 0),
    ("cola", 21),
    ("replay cola", 0),
    ("random_routes:like=cola", 14),
    ("greedy", 7),
)
JOBS: dict[str, tuple[Callable[..., object], tuple[tuple[str, int], ...]]] = {
    "localize": (partial(localize, plan=PLAN), LOCALIZE_PLACES),
    "audit": (partial(audit, plan=AUDIT_PLAN), AUDIT_PLACES),
    "routes": (partial(audit, plan=ROUTES_PLAN), ROUTES_PLACES),
}


class Killer:
    """A watcher that kills its own process at one place."""

    def __init__(self, stage: str, done: int) -> None:
        self.place = (stage, done)

    def stage(self, name: str, total: int, done: int) -> None:  # noqa: ARG002
        if (name, done) == self.place:
            os.kill(os.getpid(), signal.SIGKILL)

    def rows(self, attempts: Sequence[Attempt]) -> None:
        pass


def killed(
    job: Callable[..., object], model: HooksModel, task: Task, out: Path, place: tuple[str, int]
) -> int:
    """Runs in a process of its own until it is killed there; gives the number of rows in the log."""
    child = os.fork()
    if child == 0:
        try:
            job(model, task, out=out, watcher=Killer(*place))
        finally:
            os._exit(1)
    _, status = os.waitpid(child, 0)
    if not (os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL):
        raise SystemExit(f"not killed at {place}: status {status}")
    log = out / "attempts.jsonl"
    return log.read_bytes().count(b"\n") if log.exists() else 0


def main(pickled: str, out: str, name: str) -> None:
    """Loads model and task, and prints how many rows were in the log at each death."""
    torch.set_num_threads(1)  # a forked process has no threads of its parent
    model, task = torch.load(pickled, weights_only=False)
    job, places = JOBS[name]
    sys.stdout.write(" ".join(str(killed(job, model, task, Path(out), place)) for place in places))


if __name__ == "__main__":
    main(*sys.argv[1:])
