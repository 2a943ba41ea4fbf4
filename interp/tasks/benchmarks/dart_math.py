"""DART-Math: training problems of MATH with their level of difficulty, the pool of DART's answers.

A training set, asked in searches for routes: the dataset holds many answers of a model to each problem, of
which we read only problem, gold and level, and each problem once. By default a sample of 500 of those whose
gold is one number is asked, drawn by the seed. No part is set aside for examples, so there are none. A model
may have been trained on these very problems: a score here says nothing of new ones.

Layout: dataset hkust-nlp/dart-math-pool-math, data/train-0000{0..4}-of-00005.parquet (about 1 GB in all),
columns query, gt_ans and query_metadata (an object with level, 1 to 5), and others. No commit is pinned.

Reference:
    Tong et al., "DART-Math: Difficulty-Aware Rejection Tuning for Mathematical Problem-Solving", 2024,
    arXiv 2407.13690; the problems: Hendrycks et al., 2021, arXiv 2103.03874.
"""

from __future__ import annotations

import hashlib

from interp.procedure import Decoding
from interp.question import Kind, Question
from interp.tasks.benchmarks.benchmark import BOXED, RUN_ON, Benchmark
from interp.tasks.benchmarks.math_answer import KNOBS, kept, math_question
from interp.tasks.benchmarks.row import BenchmarkRow

_N_FILES = 5


def _question(row: BenchmarkRow) -> Question | None:
    text, level = row.text("query").strip(), str(row.inside("query_metadata").whole("level"))
    question = Question(
        id=f"dart_math/{hashlib.sha256(text.encode()).hexdigest()[:10]}",
        text=text,
        kind=Kind.TEXT,
        gold=(row.text("gt_ans").strip(),),
        subject=f"level {level}",
    )
    return math_question(row, question, gold_column="gt_ans", level=level)


DART_MATH = Benchmark(
    name="dart_math",
    description="DART-Math: training problems of MATH; by default those whose gold is one number.",
    repo="hkust-nlp/dart-math-pool-math",
    revision=None,
    asked=tuple(f"data/train-{i:05d}-of-{_N_FILES:05d}.parquet" for i in range(_N_FILES)),
    columns=("query", "gt_ans", "query_metadata"),
    question=_question,
    n=500,
    is_sampled=True,
    prompt=BOXED,
    decoding=Decoding(max_new_tokens=2048, stop=RUN_ON),
    own_knobs=KNOBS,
    distinct="query",
    kept=kept,
)
"""DART-Math, the pool of MATH problems."""
