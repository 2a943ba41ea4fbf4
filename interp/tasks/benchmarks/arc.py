"""ARC: multiple-choice questions of school science, in a hard set (Challenge) and an easy one.

The test split (1,172 questions of Challenge, 2,376 of Easy) is asked; examples come from the train split.
Most options are labelled A to D, some 1 to 4, and a few questions have three or five: all are labelled A, B,
C, ... here, so that one letter means one place in every question. Published results use 25 examples.

Layout: dataset allenai/ai2_arc, ARC-{Challenge,Easy}/{train,test}-00000-of-00001.parquet, columns id,
question, choices (an object of two lists, text and label) and answerKey.

Reference:
    Clark et al., "Think you have Solved Question Answering? Try ARC, the AI2 Reasoning Challenge", 2018,
    arXiv 1803.05457.
"""

from __future__ import annotations

from interp.question import Question
from interp.tasks.benchmarks.benchmark import BY_LETTER, Benchmark
from interp.tasks.benchmarks.labelled import labelled_question
from interp.tasks.benchmarks.row import BenchmarkRow, stem
from interp.tasks.task import ONE_LINE


def _question(row: BenchmarkRow) -> Question:
    return labelled_question(row, stem(f"arc/{row.text('id')}", row.text("question")))


ARC = Benchmark(
    name="arc",
    description="ARC: school science, four options.",
    repo="allenai/ai2_arc",
    revision="210d026faf9955653af8916fad021475a3f00453",
    asked=("{level}/test-00000-of-00001.parquet",),
    shown=("{level}/train-00000-of-00001.parquet",),
    columns=("id", "question", "choices", "answerKey"),
    question=_question,
    n=1172,
    prompt=BY_LETTER,
    decoding=ONE_LINE,
    own_knobs={"level": ("challenge", "easy")},
    folders={"challenge": "ARC-Challenge", "easy": "ARC-Easy"},
)
"""ARC, the test split of the Challenge set unless the level says otherwise."""
