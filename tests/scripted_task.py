"""A task, a script and an adaptive probe for tests of the loop; run as a program it is a run to be killed."""

from __future__ import annotations

import hashlib
import os
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import interp.log
from interp.execute import execute
from interp.models.scripted import Scripted
from interp.probes.deployed import Deployed
from interp.probes.probe import Draw
from interp.probes.silencing import Silencing
from interp.procedure import Decoding, Procedure
from interp.question import Attempt, Kind, Outcome, Question, Reason, Verdict
from interp.run import Run

PLAN = {"model": {"name": "scripted", "layers": 3}, "task": "sums", "seed": 5}
ENVIRONMENT = {"versions": {"torch": "2.13.0"}}
PROCEDURE = Procedure(decoding=Decoding(max_new_tokens=64))
QUESTIONS = tuple(Question(f"q{i:02}", f"{i} + 1 = ?", Kind.NUMBER, (str(i + 1),)) for i in range(13))


@dataclass(frozen=True)
class Sums:
    """Reads an answer by its first word."""

    questions: tuple[Question, ...] = QUESTIONS
    grader: str = "sums-1"

    def grade(self, question: Question, text: str, finish: str) -> Verdict:  # noqa: ARG002
        if not text:
            return Verdict(Outcome.UNREADABLE, Reason.EMPTY)
        word = text.split(maxsplit=1)[0]
        right = word in question.gold
        return Verdict(Outcome.RIGHT if right else Outcome.WRONG, answer=word, span=(0, len(word)))


def answer(text: str, procedure: Procedure, seed: int) -> str:
    """Right in about one case of three; sometimes empty; with line breaks of every kind after the number."""
    digest = hashlib.sha256(f"{text}|{procedure.key}|{seed}".encode()).digest()
    if digest[0] < 16:
        return ""
    return f"{int(text.split(maxsplit=1)[0]) + digest[1] % 3} é\u2028\x85\n\ud83d {digest[2]}"


@dataclass(frozen=True)
class UntilRight:
    """Asks each question again, all of them in rounds, until it is right or was asked four times."""

    procedure: Procedure = PROCEDURE
    name: str = "until-right"
    sees_verdicts: bool = True

    def propose(self, questions: Sequence[Question], history: Sequence[Attempt]) -> list[Draw]:
        asked = {question.id: 0 for question in questions}
        for row in history:
            asked[row.question] = 99 if row.outcome is Outcome.RIGHT else asked[row.question] + 1
        return [Draw(i, n, self.procedure) for i, n in asked.items() if n < 4]


def open_run(path: Path, **changes: object) -> Run:
    return Run.create_or_resume(
        path, **({"plan": PLAN, "questions": QUESTIONS, "environment": ENVIRONMENT} | changes)
    )


def whole_run(path: Path, *, model: Scripted | None = None, batch_size: int = 8) -> list[Attempt]:
    """All three probes, one after the other."""
    model = model or Scripted(answer, n_layers=3)
    probes = (Deployed(PROCEDURE), Silencing(PROCEDURE, 3, ("q01", "q04", "q09")), UntilRight())
    with open_run(path) as run:
        return [row for probe in probes for row in execute(model, Sums(), probe, run, batch_size=batch_size)]


def some_rows(n: int, *, text: str = "3 apples") -> list[Attempt]:
    row = Attempt(
        question="q00",
        question_hash="00",
        probe="deployed",
        draw=0,
        procedure="11",
        interventions=("L1.mlp_out*0",),
        seed=2**62,
        prompt_hash="22",
        text=text,
        tokens=(3, 4),
        finish="stop",
        outcome=Outcome.WRONG,
        reason=None,
        answer="3",
        span=(0, 1),
        grader="sums-1",
        n_prompt_tokens=7,
        n_layer_tokens=27,
    )
    return [replace(row, draw=i, text=f"{text} {i}") for i in range(n)]


def _kill() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def main(path: str, mode: str, number: str, n_bytes: str = "0") -> None:
    """Runs and dies at an answer, or inside a write; or runs slowly; or holds the lock."""
    count = 0

    def script(text: str, procedure: Procedure, seed: int) -> str:
        nonlocal count
        if mode == "answer":
            count += 1
            if count == int(number):
                _kill()
        if mode == "slow":
            time.sleep(float(number))
        return answer(text, procedure, seed)

    def torn_write(handle: int, data: bytes) -> None:
        nonlocal count
        count += 1
        if count == int(number):
            os.write(handle, data[: int(n_bytes)])
            _kill()
        os.write(handle, data)

    if mode == "write":
        interp.log.write_all = torn_write
    if mode == "hold":
        with open_run(Path(path)):
            sys.stdout.write("held\n")
            sys.stdout.flush()
            time.sleep(60)
    whole_run(Path(path), model=Scripted(script, n_layers=3))
    sys.stdout.write(f"torch loaded: {'torch' in sys.modules}\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
