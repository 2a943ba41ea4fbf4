"""Measures what grading costs, on the cases of the tests and on long repetitive text, and prints the table.

python analyses/speed/grading.py            # a few seconds
"""

from __future__ import annotations

import json
import statistics
import time
from pathlib import Path
from typing import Literal

from interp.question import Kind, Question
from interp.tasks.grading import grade

CASES = Path(__file__).parents[2] / "tests" / "cases" / "grading.jsonl"
N_REPEATS = 200
UNITS = ("The answer is 12. ", "1,000", "\\boxed{", "B or ", "word ", "\ufdfa")


def main() -> None:
    """Prints the tables."""
    cases = [case for line in CASES.read_text("utf-8").splitlines() if (case := read_case(json.loads(line)))]
    print("| a short answer | cases | median | slowest case |\n| --- | --- | --- | --- |")
    for kind in Kind:
        costs = [milliseconds(*case) for case in cases if case[0].kind is kind]
        print(f"| {kind} | {len(costs)} | {statistics.median(costs):.3f} ms | {max(costs):.3f} ms |")
    print("\n| repeated text, read as a number | 20 kB | 200 kB | ratio |\n| --- | --- | --- | --- |")
    question = Question("q", "", Kind.NUMBER, ("12",))
    for unit in UNITS:
        short, long = (milliseconds(question, unit * (n // len(unit)), "stop") for n in (20_000, 200_000))
        print(f"| `{unit.strip()}` | {short:.2f} ms | {long:.2f} ms | {long / short:.1f} |")


def read_case(row: dict[str, object]) -> tuple[Question, str, Literal["stop", "length"]] | None:
    """Question, text and finish of a case; None of a text longer than a short answer."""
    text, gold = str(row["text"]), row["gold"]
    golds = gold if isinstance(gold, list) else [gold]
    choices, labels = row.get("choices", []), row.get("labels", [])
    assert isinstance(choices, list)
    assert isinstance(labels, list)
    question = Question(
        "q", "", Kind(str(row["kind"])), tuple(map(str, golds)), tuple(choices), tuple(map(str, labels))
    )
    return (
        (question, text, "length" if row.get("finish") == "length" else "stop") if len(text) < 500 else None
    )


def milliseconds(question: Question, text: str, finish: Literal["stop", "length"]) -> float:
    """Median time of one grading in milliseconds; fewer repeats where one takes long."""
    times: list[float] = []
    while len(times) < 3 or (len(times) < N_REPEATS and sum(times) < 200):
        begin = time.perf_counter()
        grade(question, text, finish)
        times.append(1000 * (time.perf_counter() - begin))
    return statistics.median(times)


if __name__ == "__main__":
    main()
