"""CommonsenseQA: multiple-choice questions of everyday knowledge, five options each.

The golds of the test split are not public, so the validation split (1,221 questions) is asked; examples come
from the train split (9,741). A question's subject is the concept that it was written for: some share one, and
are no independent draws. Published with 7 examples in most later work.

Layout: dataset tau/commonsense_qa, data/{train,validation}-00000-of-00001.parquet, columns id, question,
question_concept, choices (an object of two lists, label and text) and answerKey.

Reference:
    Talmor et al., "CommonsenseQA: A Question Answering Challenge Targeting Commonsense Knowledge", 2019,
    arXiv 1811.00937.
"""

from __future__ import annotations

from interp.question import Question
from interp.tasks.benchmarks.benchmark import BY_LETTER, Benchmark
from interp.tasks.benchmarks.labelled import labelled_question
from interp.tasks.benchmarks.row import BenchmarkRow, stem
from interp.tasks.task import ONE_LINE


def _question(row: BenchmarkRow) -> Question:
    identity, concept = f"commonsense_qa/{row.text('id')}", row.text("question_concept")
    return labelled_question(row, stem(identity, row.text("question"), concept))


COMMONSENSE_QA = Benchmark(
    name="commonsense_qa",
    description="CommonsenseQA: everyday knowledge, five options; the validation split.",
    repo="tau/commonsense_qa",
    revision="94630fe30dad47192a8546eb75f094926d47e155",
    asked=("data/validation-00000-of-00001.parquet",),
    shown=("data/train-00000-of-00001.parquet",),
    columns=("id", "question", "question_concept", "choices", "answerKey"),
    question=_question,
    n=1221,
    prompt=BY_LETTER,
    decoding=ONE_LINE,
)
"""CommonsenseQA, the validation split."""
