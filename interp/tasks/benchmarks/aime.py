"""AIME 2024 and AIME 2025: two contests of 15 problems a year, each with a whole number from 0 to 999.

Every problem is asked, so there are no examples. Answers may have leading zeros (033) and are compared as
numbers. With 30 problems a difference of four is 13 points: read the exact test beside it. Reasoning models
write long answers: raise `max_new_tokens` where the context allows.

Layout: dataset HuggingFaceH4/aime_2024, data/train-00000-of-00001.parquet, columns id, problem, solution,
answer, url ("...2024_AIME_I_Problems/Problem_4") and year; dataset opencompass/AIME2025, aime2025-I.jsonl and
aime2025-II.jsonl, fields question and answer.

Reference:
    Mathematical Association of America, "American Invitational Mathematics Examination", 2024 and 2025. The
    problems were chosen for no model; those of 2024 are older than many training sets, and may be in them.
"""

from __future__ import annotations

import re

from interp.procedure import Decoding
from interp.question import Kind, Question
from interp.tasks.benchmarks.benchmark import BOXED, RUN_ON, Benchmark
from interp.tasks.benchmarks.row import BenchmarkRow, question_of

_LONG = Decoding(max_new_tokens=4096, stop=RUN_ON)


def _made(row: BenchmarkRow, *, identity: str, column: str, subject: str) -> Question:
    answer = row.text("answer").strip()
    if re.fullmatch("[0-9]{1,3}", answer) is None:
        row.refuse("answer", "gold", f"expected a whole number from 0 to 999, got {answer[:40]!r}")
    question = Question(identity, row.text(column).strip(), Kind.NUMBER, (answer,), subject=subject)
    return question_of(row, question, gold_column="answer")


def _of_2024(row: BenchmarkRow) -> Question:
    contest = re.search(r"AIME_(II?)_", row.text("url"))
    if contest is None:
        row.refuse("url", "contest", "does not name the contest, AIME_I or AIME_II")
    identity = f"aime2024/{row.whole('id')}"
    return _made(row, identity=identity, column="problem", subject=f"AIME 2024 {contest[1]}")


def _of_2025(row: BenchmarkRow) -> Question:
    contest = row.file.removesuffix(".jsonl").rpartition("-")[2]
    identity = f"aime2025/{contest}-{row.number + 1}"
    return _made(row, identity=identity, column="question", subject=f"AIME 2025 {contest}")


AIME2024 = Benchmark(
    name="aime2024",
    description="AIME 2024, contests I and II: competition problems, answered with reasoning.",
    repo="HuggingFaceH4/aime_2024",
    revision="2fe88a2f1091d5048c0f36abc874fb997b3dd99a",
    asked=("data/train-00000-of-00001.parquet",),
    columns=("id", "problem", "answer", "url"),
    question=_of_2024,
    n=30,
    prompt=BOXED,
    decoding=_LONG,
)
"""AIME 2024, both contests."""

AIME2025 = Benchmark(
    name="aime2025",
    description="AIME 2025, contests I and II: competition problems, answered with reasoning.",
    repo="opencompass/AIME2025",
    revision="a6ad95f611d72cf628a80b58bd0432ef6638f958",
    asked=("aime2025-I.jsonl", "aime2025-II.jsonl"),
    columns=("question", "answer"),
    question=_of_2025,
    n=30,
    prompt=BOXED,
    decoding=_LONG,
)
"""AIME 2025, both contests."""
