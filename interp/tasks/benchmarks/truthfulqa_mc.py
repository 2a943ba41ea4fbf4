"""TruthfulQA, multiple choice with one right option (MC1): questions that invite a common error.

The only split (validation, 817 questions) is asked, so there are no examples; the six questions and answers
that the paper puts before each question are not used. In the data the right option always stands first, so
the options are put in the order of a hash of question and option: the same in every run, and with the right
one at every place alike. The paper compares the probabilities of whole answers; we ask for a letter.

Layout: dataset truthfulqa/truthful_qa, multiple_choice/validation-00000-of-00001.parquet, columns question,
mc1_targets and mc2_targets (objects of two lists, choices and labels; label 1 is right).

Reference:
    Lin et al., "TruthfulQA: Measuring How Models Mimic Human Falsehoods", 2021, arXiv 2109.07958.
"""

from __future__ import annotations

import hashlib

from interp.question import Question
from interp.tasks.benchmarks.benchmark import BY_LETTER, Benchmark
from interp.tasks.benchmarks.row import BenchmarkRow, choice_question, stem
from interp.tasks.task import ONE_LINE


def _question(row: BenchmarkRow) -> Question:
    text, targets = row.text("question"), row.inside("mc1_targets")
    options, marks = targets.texts("choices"), targets.texts("labels")
    if len(marks) != len(options) or sorted(marks) != ["0"] * (len(options) - 1) + ["1"]:
        targets.refuse("labels", "gold", f"expected one 1 and else 0 for {len(options)} choices, got {marks}")
    order = sorted(range(len(options)), key=lambda i: _digest(text, options[i]))
    shuffled = [options[i] for i in order]
    right = order.index(marks.index("1"))
    above = stem(f"truthfulqa_mc/{row.number}", text)
    return choice_question(row, above, options=shuffled, right=right, gold_column="mc1_targets")


def _digest(text: str, option: str) -> bytes:
    return hashlib.sha256(f"{text}\x00{option}".encode()).digest()


TRUTHFULQA_MC = Benchmark(
    name="truthfulqa_mc",
    description="TruthfulQA, one right option among 2 to 13: questions that invite a common error.",
    repo="truthfulqa/truthful_qa",
    revision="741b8276f2d1982aa3d5b832d3ee81ed3b896490",
    asked=("multiple_choice/validation-00000-of-00001.parquet",),
    columns=("question", "mc1_targets"),
    question=_question,
    n=817,
    prompt=BY_LETTER,
    decoding=ONE_LINE,
)
"""TruthfulQA MC1."""
