"""MMLU: multiple-choice questions of 57 subjects, four options each.

The test split (14,042 questions) is asked; examples come from the dev split, which holds five a subject, in
the order of the file. A task has one prompt, so `shots=5` alone shows one example of each of the first five
subjects; `subject=anatomy,shots=5` is the published convention, five of the subject itself. The gold is the
place of the right option, 0 to 3. The published prompt names the subject in its first line; ours does not.

Layout: dataset cais/mmlu, all/{dev,test}-00000-of-00001.parquet, columns question, subject, choices (list of
text) and answer (integer). The split auxiliary_train is not read.

Reference:
    Hendrycks et al., "Measuring Massive Multitask Language Understanding", 2021, arXiv 2009.03300.
"""

from __future__ import annotations

from interp.question import Question
from interp.tasks.benchmarks.benchmark import BY_LETTER, Benchmark
from interp.tasks.benchmarks.row import BenchmarkRow, choice_question, stem
from interp.tasks.task import ONE_LINE


def _question(row: BenchmarkRow) -> Question:
    above = stem(f"mmlu/{row.number}", row.text("question"), row.text("subject"))
    options, right = row.texts("choices"), row.whole("answer")
    return choice_question(row, above, options=options, right=right, gold_column="answer")


MMLU = Benchmark(
    name="mmlu",
    description="MMLU: school, college and professional knowledge in 57 subjects, four options.",
    repo="cais/mmlu",
    revision="c30699e8356da336a370243923dbaf21066bb9fe",
    asked=("all/test-00000-of-00001.parquet",),
    shown=("all/dev-00000-of-00001.parquet",),
    columns=("question", "subject", "choices", "answer"),
    question=_question,
    n=14042,
    prompt=BY_LETTER,
    decoding=ONE_LINE,
    by_subject=True,
)
"""MMLU, the test split of all subjects."""
