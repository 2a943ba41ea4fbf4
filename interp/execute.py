"""The only loop that asks a model for answers."""

from __future__ import annotations

from collections import ChainMap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal, Protocol

from interp.asker import Asker, Here
from interp.errors import RunMismatch
from interp.models.model import Completion, Model
from interp.parts import Key, merge
from interp.probes.probe import Draw, Probe
from interp.procedure import Decoding, Procedure, Prompt, Request, content_key, draw_seed
from interp.question import Attempt, Outcome, Question, Reason, Verdict
from interp.run import Run

if TYPE_CHECKING:
    from interp.models.model import References


class Graded(Protocol):
    """What the loop needs of a task: its questions, and a grader with a version."""

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions, in order."""
        ...

    @property
    def grader(self) -> str:
        """Version of the grader; it is stored with each verdict."""
        ...

    def grade(self, question: Question, text: str, finish: Literal["stop", "length"], /) -> Verdict:
        """How an answer that ended by "stop" or "length" reads."""
        ...


class Watcher(Protocol):
    """Is told how the loop gets on."""

    def stage(self, name: str, total: int, done: int) -> None:
        """Of `total` draws that a probe has proposed so far, `done` are in the log."""
        ...

    def rows(self, attempts: Sequence[Attempt]) -> None:
        """The rows of one batch, asked now or found in the log."""
        ...


@dataclass(frozen=True)
class _Slot:
    """One draw, ready to be asked."""

    question: Question
    draw: Draw
    key: Key
    seed: int

    @property
    def request(self) -> Request:
        return Request(self.question.text, self.draw.procedure, self.seed)


@dataclass
class _Round:
    """The batches of one proposal, on their way into the log in their order."""

    batches: Sequence[Sequence[_Slot]]
    run: Run
    log: dict[Key, Attempt]
    n_merged: int = 0
    keys: list[list[Key]] = field(init=False)

    def __post_init__(self) -> None:
        self.keys = [[slot.key for slot in batch] for batch in self.batches]

    def missing(self) -> list[Sequence[_Slot]]:
        """The batches that lack a row which no one has finished."""
        known = ChainMap(self.log, dict(self.run.early))
        return [
            b for b, keys in zip(self.batches, self.keys, strict=True) if any(k not in known for k in keys)
        ]

    def take(self, rows: Sequence[Attempt] = (), worker: str = "") -> list[list[Attempt]]:
        """Takes the rows of one batch; gives the batches, old rows included, that this brings into the log.

        A batch whose turn it is goes to the log, and with it those after it that were early; another one
        goes to the part of the worker that answered it.
        """
        early = dict(self.run.early)
        fresh = {row.key: row for row in rows if row.key not in self.log and row.key not in early}
        ready = merge(self.keys[self.n_merged :], self.log, ChainMap(fresh, early))
        if fresh and not ready:
            self.run.keep(worker, [*fresh.values()])
        for batch in ready:
            if batch:
                self.run.append(batch)
                self.log.update((row.key, row) for row in batch)
        merged = self.keys[self.n_merged : self.n_merged + len(ready)]
        self.n_merged += len(ready)
        return [[self.log[key] for key in keys] for keys in merged]


def execute(  # noqa: PLR0913
    model: Model,
    task: Graded,
    probe: Probe,
    run: Run,
    *,
    asker: Asker | None = None,
    references: References | None = None,
    batch_size: int = 64,
    scored: bool = False,
    watcher: Watcher | None = None,
) -> list[Attempt]:
    """Asks what a probe proposes until it proposes nothing, one row a draw.

    It replays from an empty history. A proposal is cut into batches in its order; a batch whose rows are
    all finished is not asked; of a batch that lacks a row all is asked, and what is missing is appended.
    So batches, and with them the numbers, are the same however often the run was interrupted and whoever
    answered, and rows come into the log in the order of the proposal.

    Args:
        model: Says what can be asked; and answers, unless `asker` does.
        task: Holds the questions and reads the answers. A grader that raises makes a row `unreadable`.
        probe: Proposes draws.
        run: Holds the log; it must be open to be written unless every row is in it.
        asker: Has the batches answered, by the same model; None asks `model` here, one after the other.
        references: Vectors of the reference sets that `Mean` words name.
        batch_size: Draws a batch. Part of what decides the last digits of a model's numbers.
        scored: Whether rows hold what the model thought of each token.
        watcher: Is told of every batch, in the order of the log.

    Returns:
        The probe's rows, in the order in which it proposed them.

    Raises:
        RunMismatch: A row of the log was asked another way than the probe proposes; names it.
        QuestionTooLong: A question does not fit; raised before the first batch of a proposal.
        Unsupported: The model cannot do what a procedure asks; raised as early.
        ValueError: The probe proposes a draw twice, or a question that the task lacks, or `batch_size`
            is below 1.
    """
    if batch_size < 1:
        raise ValueError(f"a batch holds at least one draw, got batch_size={batch_size}")
    asker = asker or Here(model)
    log = {row.key: row for row in run.attempts}
    history: list[Attempt] = []

    def told(merged: list[list[Attempt]], total: int) -> None:
        for rows in merged:
            history.extend(rows)
            if watcher is not None:
                watcher.rows(rows)
                watcher.stage(probe.name, total, len(history))

    while draws := list(probe.propose(task.questions, tuple(history))):
        slots = _slots(task, probe, run, draws)
        _check_new(slots, history)
        _check_log(slots, task, ChainMap(log, dict(run.early)))
        one = _Round([slots[i : i + batch_size] for i in range(0, len(slots), batch_size)], run, log)
        missing = one.missing()
        _check_procedures(model, [slot for batch in missing for slot in batch])
        total = len(history) + len(slots)
        if watcher is not None:
            watcher.stage(probe.name, total, len(history))
        told(one.take(), total)
        requests = [[slot.request for slot in batch] for batch in missing]
        for answered in asker.ask(requests, references=references, scored=scored):
            rows = _rows(task, missing[answered.index], answered.completions)
            told(one.take(rows, answered.worker), total)
        run.drop_merged()
    return history


def _slots(task: Graded, probe: Probe, run: Run, draws: Sequence[Draw]) -> list[_Slot]:
    questions = {question.id: question for question in task.questions}
    slots: list[_Slot] = []
    for draw in draws:
        if draw.question not in questions:
            raise ValueError(f"{probe.name} proposes {draw.question!r}, which the task lacks")
        seed = draw_seed(run.seed, draw.seeded_as or probe.name, draw.question, draw.draw)
        key = (probe.name, draw.question, draw.draw)
        slots.append(_Slot(questions[draw.question], draw, key, seed))
    return slots


def _check_new(slots: Sequence[_Slot], history: Sequence[Attempt]) -> None:
    known = {row.key for row in history}
    for slot in slots:
        if slot.key in known:
            raise ValueError(f"{slot.key} was proposed before; a draw is asked once")
        known.add(slot.key)


def _check_log(slots: Sequence[_Slot], task: Graded, log: Mapping[Key, Attempt]) -> None:
    """Refuses rows of the log that were asked or read another way."""
    for slot in slots:
        row = log.get(slot.key)
        if row is None:
            continue
        pairs = {
            "question_hash": (row.question_hash, slot.question.hash),
            "procedure": (row.procedure, slot.draw.procedure.key),
            "seed": (row.seed, slot.seed),
            "grader": (row.grader, task.grader),
        }
        if differs := [f"{name} was {old}, now {new}" for name, (old, new) in pairs.items() if old != new]:
            raise RunMismatch(
                f"The row of probe {row.probe!r}, question {row.question!r}, draw {row.draw} was made "
                f"another way: {'; '.join(differs)}. Write to another directory."
            )


def _check_procedures(model: Model, slots: Sequence[_Slot]) -> None:
    """Shows the model every procedure, and every text once a prompt and decoding."""
    texts: dict[Procedure, list[str]] = {}
    for slot in slots:
        texts.setdefault(slot.draw.procedure, []).append(slot.question.text)
    seen: dict[tuple[Prompt, Decoding], set[str]] = {}
    for procedure, asked in texts.items():
        fits = seen.setdefault((procedure.prompt, procedure.decoding), set())
        fresh = [text for text in dict.fromkeys(asked) if text not in fits]
        model.check_procedure(fresh or asked[:1], procedure)
        fits.update(fresh)


def _rows(task: Graded, batch: Sequence[_Slot], completions: Sequence[Completion]) -> list[Attempt]:
    return [_row(task, slot, completion) for slot, completion in zip(batch, completions, strict=True)]


def _row(task: Graded, slot: _Slot, completion: Completion) -> Attempt:
    verdict = _grade(task, slot.question, completion)
    procedure = slot.draw.procedure
    return Attempt(
        question=slot.question.id,
        question_hash=slot.question.hash,
        probe=slot.key[0],
        draw=slot.draw.draw,
        procedure=procedure.key,
        interventions=tuple(map(str, procedure.interventions)),
        seed=slot.seed,
        prompt_hash=content_key([completion.prompt.text, completion.prompt.tokens]),
        text=completion.text,
        tokens=completion.tokens,
        finish=completion.finish,
        outcome=verdict.outcome,
        reason=verdict.reason,
        answer=verdict.answer,
        span=verdict.span,
        grader=task.grader,
        n_prompt_tokens=len(completion.prompt.tokens),
        n_layer_tokens=completion.n_layer_tokens,
        scores=completion.scores,
        route=procedure.route and str(procedure.route),
        tie_margin=completion.tie_margin,
    )


def _grade(task: Graded, question: Question, completion: Completion) -> Verdict:
    """The grader's verdict; a grader that fails on one answer must not end the run."""
    try:
        return task.grade(question, completion.text, completion.finish)
    except Exception:
        return Verdict(Outcome.UNREADABLE, Reason.ERROR)
