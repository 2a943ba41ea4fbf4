"""A pool of workers that answers batches; one that ends costs the batch it had, and is replaced."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from interp.asker import Answered
from interp.errors import LoadRefused, WorkersFailed
from interp.models.load import LoadOptions, load
from interp.models.model import Model
from interp.procedure import Request
from interp.workers.cluster import Workers, connected, resources, room, share
from interp.workers.worker import Loaded, Loader, Trouble, Worker, is_out_of_memory

if TYPE_CHECKING:
    from interp.models.model import References

MOST_ENDS = 3
"""Workers that may end on one batch, or in a row while they load."""
PATIENCE = 60.0
"""Seconds without news after which the cluster is asked whether it has room for a worker at all."""
FREE = ("threads", "device")
"""What may differ between a worker's model and this process's: its share of CPUs, the number of its GPU."""


@dataclass
class _Member:
    """One worker, and what it is at.

    Attributes:
        name: Its name; the one that replaces it has it, too.
        actor: Its handle.
        awaited: What it was asked for; None if it is idle.
        batch: The batch that it was given; None while it loads, or if no one waits for the answer.
        loaded: Whether it has its model.
    """

    name: str
    actor: Any
    awaited: Any
    batch: int | None = None
    loaded: bool = False


@dataclass(frozen=True)
class _Work:
    """The batches of one call of `ask`."""

    batches: Sequence[Sequence[Request]]
    references: Any
    scored: bool
    waiting: deque[int]
    n_ends: Counter[int] = field(default_factory=Counter)


class Pool:
    """Workers in a Ray cluster, each with a copy of one model; an `Asker`, open as a context.

    They are started when the first batch is asked, and end with the context.

    Attributes:
        model: The model of this process, of which theirs must be copies.
        workers: How many, and where.
    """

    def __init__(self, workers: Workers, model: Model, *, loader: Loader | None = None) -> None:
        """Starts nothing yet; `loader` gives workers their model, `interp.models.load.load` unless given."""
        self.model = model
        self.workers = workers
        self._loader = loader or load
        kind = model.environment.get("device", "cpu").partition(":")[0]
        self._options = replace(workers.options or LoadOptions(), device=kind)
        self._gpus = workers.gpus if workers.gpus is not None else float(kind == "cuda")
        self._members: list[_Member] = []
        self._n_failed_starts = 0
        self._n_cpus = 1
        self._ray: Any = None
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        """Connects to the cluster.

        Raises:
            BadInput: There is no cluster at the address, or the workers do not fit into it.
            Unsupported: Ray is not installed.
        """
        with ExitStack() as stack:
            self._ray = stack.enter_context(connected(self.workers, on_gpu=self._gpus > 0))
            self._n_cpus = share(resources(self._ray), self.workers, gpus=self._gpus)
            self._stack = stack.pop_all()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for member in self._members:
            self._ray.kill(member.actor)
        self._members.clear()
        self._stack.close()

    @property
    def n_threads(self) -> int | None:
        """Threads of a worker's passes on a CPU; known once the pool is open."""
        return self._n_cpus

    def ask(
        self, batches: Sequence[Sequence[Request]], *, references: References | None, scored: bool
    ) -> Iterator[Answered]:
        """Each batch once, as it is finished; a batch whose worker ended is given to another.

        Raises:
            InterpError: What the model of a worker raised.
            LoadRefused: A worker's model is not a copy of this process's.
            WorkersFailed: One batch ended every worker that took it, or none can be started.
        """
        if not batches:
            return
        shared = self._ray.put(references) if references else None
        work = _Work(batches, shared, scored, deque(range(len(batches))))
        self._members += [self._start(f"worker-{n}") for n in range(len(self._members), self.workers.n)]
        try:
            while work.waiting or any(member.batch is not None for member in self._members):
                self._hand_out(work)
                for member in self._heard():
                    answered = self._settle(member, work)
                    self._hand_out(work)  # before the answer is read and written
                    if answered is not None:
                        yield answered
        finally:
            for member in self._members:
                member.batch = None

    def _start(self, name: str) -> _Member:
        """A new worker, which loads its model."""
        made = self._ray.remote(Worker).options(
            num_cpus=self._n_cpus, num_gpus=self._gpus, max_restarts=0, max_task_retries=0
        )
        actor = made.remote()
        asked = actor.load.remote(self._loader, self.model.name, self._options, self._n_cpus)
        return _Member(name, actor, asked)

    def _hand_out(self, work: _Work) -> None:
        """Gives every idle worker a batch, the first that waits; a last try waits until no other is out."""
        for member in self._members:
            if work.waiting and member.loaded and member.awaited is None:
                last_try = work.n_ends[work.waiting[0]] == MOST_ENDS - 1
                if last_try and any(other.batch is not None for other in self._members):
                    return
                member.batch = work.waiting.popleft()
                requests = work.batches[member.batch]
                member.awaited = member.actor.answer.remote(requests, work.references, work.scored)

    def _heard(self) -> list[_Member]:
        """Workers whose result is there, waited for if need be."""
        awaited = {member.awaited: member for member in self._members if member.awaited is not None}
        ready, _ = self._ray.wait(list(awaited), timeout=PATIENCE)
        if not ready and not room(resources(self._ray), cpus=self._n_cpus, gpus=self._gpus):
            raise WorkersFailed(
                "No node of the cluster has room for a worker any more. What was finished stays: start "
                "nodes, and start the same command again."
            )
        return [awaited[reference] for reference in ready]

    def _settle(self, member: _Member, work: _Work) -> Answered | None:
        """Takes a worker's result: an answer that is waited for, or that it is ready, or that it is gone."""
        result, batch = self._result(member), member.batch
        if isinstance(result, Trouble):
            if result.error is not None:
                raise result.raised()
            self._replace(member, work, result.text)
            return None
        member.awaited = member.batch = None
        if isinstance(result, Loaded):
            self._check_copy(result)
            member.loaded, self._n_failed_starts = True, 0
            return None
        return None if batch is None else Answered(batch, result, member.name)

    def _result(self, member: _Member) -> Any:
        """What a worker gave back; for one that is gone, `Trouble` without an error."""
        errors = self._ray.exceptions
        try:
            return self._ray.get(member.awaited)
        except errors.RayTaskError as error:
            if not is_out_of_memory(error):
                raise  # a bug, with the worker's traceback
            return Trouble(None, "out of memory")
        except errors.RayError as error:
            return Trouble(None, f"its process or node ended ({type(error).__name__})")

    def _replace(self, member: _Member, work: _Work, why: str) -> None:
        """Starts a worker in the place of one that ended, and puts its batch back into the queue.

        Once a batch may have bad luck and is the next one again, since the log waits for it; one that ends a
        second worker is tried last, so that everything else is finished by then.
        """
        if (batch := member.batch) is not None:
            work.n_ends[batch] += 1
            if work.n_ends[batch] >= MOST_ENDS:
                raise WorkersFailed(_ended_on(work.batches[batch], why))
            (work.waiting.appendleft if work.n_ends[batch] == 1 else work.waiting.append)(batch)
        elif not member.loaded:
            self._n_failed_starts += 1
            if self._n_failed_starts >= MOST_ENDS:
                raise WorkersFailed(
                    f"{MOST_ENDS} workers in a row ended while they loaded {self.model.name!r}: {why}. "
                    "Ask for fewer workers, so that each has more memory."
                )
        self._ray.kill(member.actor)
        self._members[self._members.index(member)] = self._start(member.name)

    def _check_copy(self, loaded: Loaded) -> None:
        """Refuses a worker whose model would give other numbers than this process's."""
        here = {"fingerprint": self.model.fingerprint, **self.model.environment}
        there = {"fingerprint": loaded.fingerprint, **loaded.environment}
        names = [name for name in {**here, **there} if name not in FREE and here.get(name) != there.get(name)]
        if names:
            listed = "; ".join(f"{name} is {there.get(name)}, here {here.get(name)}" for name in names)
            raise LoadRefused(
                f"A worker loaded another {self.model.name!r} than this process: {listed}. Workers load by "
                "name, so the name and Workers(options=...) must be those that the model was loaded with, "
                "and the files the same on every node."
            )


def _ended_on(batch: Sequence[Request], why: str) -> str:
    """The message about a batch that no worker survives."""
    texts = [repr(text[:60]) for text in dict.fromkeys(request.text for request in batch)]
    more = f" and {len(texts) - 3} more" if len(texts) > 3 else ""
    return (
        f"{MOST_ENDS} workers ended on one batch of {len(batch)} rows, the last because {why}: questions "
        f"{', '.join(texts[:3])}{more}. What was finished stays. Write to another directory with smaller "
        "batches, or leave the questions out."
    )
