"""A small audit made up in full: questions, a log with every column, and readings of it in plain Python."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from fractions import Fraction
from itertools import combinations

import polars as pl

from interp.log import table_schema
from interp.probes.probe import Probed
from interp.question import Attempt, Kind, Outcome, Question, Reason, TokenScores

PROBE = Probed("sampling", "sampling:5", "made up", 5)
SWEEP = Probed("silencing", "silencing", "made up", 6, n_controls=1, exchangeable=False)


@dataclass(frozen=True)
class Made:
    """Questions and their log."""

    questions: tuple[Question, ...]
    rows: tuple[Attempt, ...]

    @property
    def ids(self) -> list[str]:
        return [question.id for question in self.questions]

    @property
    def table(self) -> pl.DataFrame:
        return table_of(self.rows)

    def of(self, probe: str, question: str) -> list[Attempt]:
        """The attempts of a probe at a question, its controls left out."""
        first = SWEEP.n_controls if probe == SWEEP.name else 0
        found = [row for row in self.rows if (row.probe, row.question) == (probe, question)]
        return sorted((row for row in found if row.draw >= first), key=lambda row: row.draw)


def table_of(rows) -> pl.DataFrame:
    return pl.DataFrame([{"scores": None} | row.to_json() for row in rows], schema=table_schema())


def made(seed: int = 0, n_questions: int = 12, n_draws: int = 5, *, candidates: bool = False) -> Made:
    """An audit drawn at random: deployed answers, `n_draws` samples and a sweep of as many blocks."""
    chance = random.Random(seed)
    questions = tuple(
        Question(
            f"q{i:02}",
            f"What is {i}?",
            Kind.NUMBER,
            (str(i),),
            subject=f"s{i % 3}",
            candidates=(str(i), str(i + 1), str(i + 2)) if candidates else (),
        )
        for i in range(n_questions)
    )
    easy = {question.id: chance.random() for question in questions}
    rows: list[Attempt] = []
    for i, question in enumerate(questions):
        for probe, n in (("deployed", 1), ("sampling", n_draws), ("silencing", n_draws + 1)):
            rows += [attempt(i, question, probe, d, easy[question.id], chance) for d in range(n)]
    return Made(questions, tuple(rows))


def attempt(i: int, question: Question, probe: str, draw: int, easy: float, chance: random.Random) -> Attempt:
    said = i if chance.random() < easy else i + chance.choice((1, 1, 2, 5))
    unreadable = chance.random() < 0.12
    n_tokens = chance.randint(1, 6)
    numbers = [tuple(-chance.random() * 3 for _ in range(n_tokens)) for _ in range(5)]
    text = "" if unreadable else f"{said} " + "ab " * (n_tokens - 1)
    outcome = Outcome.UNREADABLE if unreadable else Outcome.RIGHT if said == i else Outcome.WRONG
    scores = TokenScores(*numbers, start=tuple(range(0, 3 * n_tokens, 3)))
    return Attempt(
        question=question.id,
        question_hash=question.hash,
        probe=probe,
        draw=draw,
        procedure=f"{probe}{draw}" if probe == "silencing" else "0",
        interventions=(f"L{draw - 1}.mlp_out*0",) if probe == "silencing" and draw else (),
        seed=draw,
        prompt_hash="0",
        text=text,
        tokens=tuple(range(n_tokens)),
        finish="stop",
        outcome=outcome,
        reason=Reason.EMPTY if unreadable else None,
        answer=None if unreadable else str(said),
        span=None if unreadable else (0, len(str(said))),
        grader="1",
        n_prompt_tokens=10,
        n_layer_tokens=4 * (9 + n_tokens),
        scores=scores,
    )


def shuffled(audit: Made, seed: int = 1) -> Made:
    """The same audit with the rows of its log in another order."""
    rows = list(audit.rows)
    random.Random(seed).shuffle(rows)
    return replace(audit, rows=tuple(rows))


def voted(rows) -> Fraction:
    """Chance that the commonest answer is right; ties share it; what cannot be read has no vote."""
    counts: dict[str, int] = {}
    for row in rows:
        if row.answer is not None:
            key = "right" if row.outcome is Outcome.RIGHT else row.answer
            counts[key] = counts.get(key, 0) + 1
    most = max(counts.values(), default=0)
    winners = [answer for answer, count in counts.items() if count == most]
    return Fraction(int("right" in winners), len(winners)) if winners else Fraction(0)


def over_subsets(rows, k: int, value) -> float:
    """The mean of a value over all ways to choose k of the rows."""
    found = [Fraction(value(subset)) for subset in combinations(rows, k)]
    return float(sum(found, Fraction(0)) / len(found))
