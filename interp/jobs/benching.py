"""`bench`: the same sweep made by this package and by others, side by side in one run."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING

from interp.bench.benched import Benched, Bounds, Timed
from interp.bench.contender import PLAIN, Contender, Work
from interp.bench.floor import measure_rates
from interp.bench.lens import lens_loop
from interp.bench.nnsight import nnsight_loop
from interp.bench.ours import Ours
from interp.bench.plain import plain_loop
from interp.bench.side_by_side import best_batch, bounds_of, growth_of, side_by_side
from interp.errors import BadInput, InterpError, Unsupported
from interp.jobs.asked import askable, environment_of, whole_batch
from interp.procedure import Decoding, Procedure
from interp.tasks.task import Task

if TYPE_CHECKING:
    from interp.models.backend import Backend

LOOPS: dict[str, Callable[[Backend, int], Contender]] = {
    "transformers": plain_loop,
    "nnsight": nnsight_loop,
    "TransformerLens": lens_loop,
}
"""Loops to be set against, by name."""
SHAPES = ("short", "long", "few-shot")
LONG = "Think step by step. Explain each step at length."
N_SHOTS = 8


@dataclass(frozen=True)
class BenchPlan:
    """What `bench` is asked to do, beside model and task.

    Attributes:
        shapes: Of "short" (the task as it is), "long" (no stop string, asked to explain), and "few-shot" (8
            examples before each question).
        against: Names of the loops to be set against.
        n_questions: Questions of the sweep.
        n_long: Longest answer of the long shape, in tokens.
        repeats: How often each is timed.
        n_passes: Blocks that a loop silences each time; the time is scaled up to all, since its passes share
            nothing. 0 takes all.
    """

    shapes: tuple[str, ...] = SHAPES
    against: tuple[str, ...] = tuple(LOOPS)
    n_questions: int = 48
    n_long: int = 64
    repeats: int = 3
    n_passes: int = 3

    def __post_init__(self) -> None:
        """Refuses unknown names and counts below 1.

        Raises:
            BadInput: There is no such shape or loop, or nothing to time.
        """
        for what, names, known in (("shape", self.shapes, SHAPES), ("loop", self.against, tuple(LOOPS))):
            if unknown := [name for name in names if name not in known]:
                raise BadInput(f"There is no {what} {unknown[0]!r} to bench. Use of: {', '.join(known)}.")
        if not self.shapes:
            raise BadInput(f"Nothing to bench. Name shapes of: {', '.join(SHAPES)}.")
        if min(self.n_questions, self.n_long, self.repeats) < 1 or self.n_passes < 0:
            raise BadInput("Questions, tokens and repeats are 1 or more, and passes 0 or more.")


def bench(
    model: Backend, task: Task, *, plan: BenchPlan | None = None, told: Callable[[str], None] | None = None
) -> Benched:
    """Times the sweep of `localize` against loops over other tools, on the same questions and weights.

    Every answer that a loop gives is compared with ours.

    Args:
        model: A loaded model of the hooks backend.
        task: Questions, eight more than are timed if few-shot prompts are; and how they are asked.
        plan: Shapes, loops, repeats.
        told: Is told what is being timed.

    Raises:
        BadInput: The task has too few questions.
        QuestionTooLong: A question with its examples and answer does not fit; nothing was timed.
        Unsupported: The model is of another backend.
    """
    plan, told = plan or BenchPlan(), told or (lambda _line: None)
    if getattr(model, "backend", "") != "hooks":
        raise Unsupported(f"Only the hooks backend can be timed against others. Load hooks:{model.name}.")
    task, _ = askable(model, task)
    works = [_work(task, plan, shape, model.n_layers) for shape in plan.shapes]
    for work in works:
        model.check_procedure(work.texts, Procedure(work.prompt, work.decoding))
    rates = measure_rates(model.device, model.unembedding.weight.dtype)
    ours = Ours(model, whole_batch(model.n_layers))
    timed: list[Timed] = []
    bounds: list[Bounds] = []
    for work in works:
        batch_size = best_batch(model, work)
        loops = _loops(model, plan.against, batch_size, told)
        timed += side_by_side(work, ours, loops, repeats=plan.repeats, n_passes=plan.n_passes, told=told)
        told(f"{work.name}: what bounds it")
        bounds.append(bounds_of(model, work, ours, batch_size, rates))
    told("growth")
    growth = growth_of(ours, works[0])
    return Benched(tuple(timed), tuple(bounds), growth, asdict(rates), environment_of(model))


def _work(task: Task, plan: BenchPlan, shape: str, n_layers: int) -> Work:
    """The sweep of one shape."""
    n_needed = plan.n_questions + (N_SHOTS if shape == "few-shot" else 0)
    if len(task.questions) < n_needed:
        raise BadInput(
            f"The {shape} sweep needs {n_needed} questions, the task has {len(task.questions)}. Ask for more "
            "with --n, or time fewer with --questions."
        )
    prompt, decoding = task.prompt, task.decoding
    if shape == "long":
        prompt, decoding = replace(prompt, system=LONG, answer_prefix=""), Decoding(plan.n_long)
    if shape == "few-shot":
        shots = task.questions[plan.n_questions : n_needed]
        prompt = replace(prompt, examples=tuple((shot.text, shot.gold[0]) for shot in shots))
    texts = tuple(question.text for question in task.questions[: plan.n_questions])
    return Work(shape, texts, prompt, decoding, (PLAIN, *range(n_layers)))


def _loops(
    model: Backend, names: Sequence[str], batch_size: int, told: Callable[[str], None]
) -> list[tuple[Contender, int]]:
    """The loops that can run this model, each with its batch size."""
    found: list[tuple[Contender, int]] = []
    for name in names:
        try:
            found.append((LOOPS[name](model, batch_size), batch_size))
        except InterpError as error:
            told(f"{name} is left out: {error}")
    return found
