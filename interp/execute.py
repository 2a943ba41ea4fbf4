"""The only loop that asks a model for answers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Literal, Protocol

from interp.errors import RunMismatch
from interp.models.model import Completion, Model
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
    key: tuple[str, str, int]
    seed: int

    @property
    def request(self) -> Request:
        return Request(self.question.text, self.draw.procedure, self.seed)


def execute(  # noqa: PLR0913
    model: Model,
    task: Graded,
    probe: Probe,
    run: Run,
    *,
    references: References | None = None,
    batch_size: int = 64,
    scored: bool = False,
    watcher: Watcher | None = None,
) -> list[Attempt]:
    """Asks what a probe proposes until it proposes nothing, one row a draw.

    It replays from an empty history. A proposal is cut into batches in its order; a batch whose rows are
    all in the log is not asked; of a batch that lacks a row all is asked, and what is missing is appended.
    So batches, and with them the numbers, are the same however often the run was interrupted.

    Args:
        model: Answers.
        task: Holds the questions and reads the answers. A grader that raises makes a row `unreadable`.
        probe: Proposes draws.
        run: Holds the log; it must be open to be written unless every row is in it.
        references: Vectors of the reference sets that `Mean` words name.
        batch_size: Draws a batch. Part of what decides the last digits of a model's numbers.
        scored: Whether rows hold what the model thought of each token.
        watcher: Is told of every batch.

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
    ask = partial(_ask, model, task, references=references, scored=scored)
    log = {row.key: row for row in run.attempts}
    history: list[Attempt] = []
    while draws := list(probe.propose(task.questions, tuple(history))):
        slots = _slots(task, probe, run, draws)
        _check_new(slots, history)
        _check_log(slots, task, log)
        batches = [slots[i : i + batch_size] for i in range(0, len(slots), batch_size)]
        missing = [batch for batch in batches if any(slot.key not in log for slot in batch)]
        _check_procedures(model, [slot for batch in missing for slot in batch])
        total = len(history) + len(slots)
        if watcher is not None:
            watcher.stage(probe.name, total, len(history))
        for batch in batches:
            if any(slot.key not in log for slot in batch):
                rows = [row for row in ask(batch) if row.key not in log]
                run.append(rows)
                log.update((row.key, row) for row in rows)
            rows = [log[slot.key] for slot in batch]
            history.extend(rows)
            if watcher is not None:
                watcher.rows(rows)
                watcher.stage(probe.name, total, len(history))
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


def _check_log(slots: Sequence[_Slot], task: Graded, log: dict[tuple[str, str, int], Attempt]) -> None:
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


def _ask(
    model: Model, task: Graded, batch: Sequence[_Slot], *, references: References | None, scored: bool
) -> list[Attempt]:
    completions = model.generate([slot.request for slot in batch], references=references, scored=scored)
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
