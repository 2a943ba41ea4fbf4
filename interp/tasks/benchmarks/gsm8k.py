"""GSM8K: school word problems in two to eight steps.

The test split (1,319 questions) is asked; examples come from the train split (7,473). An answer in the data
is a worked solution with calculator marks (`<<48/2=24>>`) and a last line `#### 72`; the gold is what follows
the hashes, and may have thousands separators. Examples show the solution without the marks and end with
"The answer is 72." Published with 8 examples of worked solutions (chain of thought), and often run with 5.

Layout: dataset openai/gsm8k, main/{train,test}-00000-of-00001.parquet, columns question and answer.

Reference:
    Cobbe et al., "Training Verifiers to Solve Math Word Problems", 2021, arXiv 2110.14168. The 8 examples:
    Wei et al., "Chain-of-Thought Prompting Elicits Reasoning in Large Language Models", 2022,
    arXiv 2201.11903; ours are the first of the train split instead.
"""

from __future__ import annotations

import re

from interp.procedure import Decoding
from interp.question import Kind, Question
from interp.tasks.benchmarks.benchmark import BY_REASONING, RUN_ON, Benchmark
from interp.tasks.benchmarks.row import BenchmarkRow, question_of

_MARK = re.compile(r"<<[^<>]*>>")


def _split(row: BenchmarkRow) -> tuple[str, str]:
    """The worked solution and the gold."""
    solution, hashes, gold = row.text("answer").rpartition("####")
    if not hashes or not gold.strip():
        row.refuse("answer", "gold", 'has no last line "#### NUMBER", which is the gold')
    return _MARK.sub("", solution).strip(), gold.strip()


def _question(row: BenchmarkRow) -> Question:
    gold = _split(row)[1]
    question = Question(f"gsm8k/{row.number}", row.text("question").strip(), Kind.NUMBER, (gold,))
    return question_of(row, question, gold_column="answer")


def _answer(row: BenchmarkRow, _: Question) -> str:
    solution, gold = _split(row)
    return f"{solution}\nThe answer is {gold}."


GSM8K = Benchmark(
    name="gsm8k",
    description="GSM8K: school word problems of several steps, answered with reasoning.",
    repo="openai/gsm8k",
    revision="740312add88f781978c0658806c59bc2815b9866",
    asked=("main/test-00000-of-00001.parquet",),
    shown=("main/train-00000-of-00001.parquet",),
    columns=("question", "answer"),
    question=_question,
    answer=_answer,
    n=1319,
    prompt=BY_REASONING,
    decoding=Decoding(max_new_tokens=512, stop=RUN_ON),
)
"""GSM8K, the test split."""
