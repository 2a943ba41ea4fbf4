"""Small files in the layout of each benchmark's dataset."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import polars as pl

Rows = Sequence[Mapping[str, Any]]


def write(path: Path, rows: Rows) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pl.DataFrame(list(rows), infer_schema_length=None).write_parquet(path)
    else:
        path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


# Rows as the datasets have them


def gsm8k_row(i: int, split: str) -> dict[str, Any]:
    return {
        "question": f"Tom has {i} {split} boxes of 1,000 pens. How many pens?",
        "answer": f"Tom has {i} * 1000 = <<{i}*1000={i}000>>{i},000 pens.\n#### {i},000",
    }


def mmlu_row(subject: str, i: int, split: str) -> dict[str, Any]:
    choices = [f"{subject} {split} option {i} {place}" for place in range(4)]
    return {"question": f" {subject} {split} {i}?", "subject": subject, "choices": choices, "answer": i % 4}


def pro_row(category: str, i: int, split: str) -> dict[str, Any]:
    options = [f"{category} {i} {place}" for place in range(10 if i % 2 else 4)]
    if i % 3 == 0:
        options = [*options[:2], "N/A", *options[2:]]
    place = len(options) - 1
    return {
        "question_id": 100 * len(category) + i,
        "question": f"{category} {split} {i}?",
        "options": options,
        "answer": "ABCDEFGHIJK"[place],
        "answer_index": place,
        "cot_content": f"A: Let's think step by step. {i} it is. The answer is ({'ABCDEFGHIJK'[place]})."
        if split == "validation"
        else "",
        "category": category,
        "src": "made",
    }


def arc_row(i: int, split: str) -> dict[str, Any]:
    labels = ["1", "2", "3", "4"] if i % 3 == 1 else list("ABCDE" if i % 3 == 2 else "ABC")
    return {
        "id": f"{split}_{i}",
        "question": f"Science {split} {i}?",
        "choices": {"text": [f"thing {i} {label}" for label in labels], "label": labels},
        "answerKey": labels[i % len(labels)],
    }


def csqa_row(i: int, split: str) -> dict[str, Any]:
    return {
        "id": f"{split}{i}",
        "question": f"Common {split} {i}?",
        "question_concept": f"concept {i // 2}",
        "choices": {"label": list("ABCDE"), "text": [f"place {i} {p}" for p in range(5)]},
        "answerKey": "ABCDE"[i % 5],
    }


def truthful_row(i: int) -> dict[str, Any]:
    n = 2 + i % 5
    choices = [f"true {i}", *(f"false {i} {p}" for p in range(n - 1))]
    targets = {"choices": choices, "labels": [1] + [0] * (n - 1)}
    return {"question": f"Myth {i}?", "mc1_targets": targets, "mc2_targets": targets}


MATH_ANSWERS = (
    "\\frac{14}{3}",
    "x^2 + 1",
    "90^\\circ",
    "\\$32,\\!348",
    "\\left( 3, \\frac{\\pi}{2} \\right)",
)


def math_row(i: int, answer: str) -> dict[str, Any]:
    return {
        "problem": f"Find it, {i}.",
        "solution": f"It is \\boxed{{{answer}}}.",
        "answer": answer,
        "subject": "Algebra" if i % 2 else "Geometry",
        "level": 1 + i % 5,
        "unique_id": f"test/algebra/{i}.json",
    }


def aime24_row(i: int, answer: str) -> dict[str, Any]:
    contest = "I" if i < 2 else "II"
    return {
        "id": 60 + i,
        "problem": f"Contest problem {i}",
        "solution": "...",
        "answer": answer,
        "url": f"2024_AIME_{contest}_Problems/Problem_{i}",
        "year": "2024",
    }


def dart_rows() -> list[list[dict[str, Any]]]:
    rows = [
        {
            "query": f"Train on {i}.",
            "gt_ans": MATH_ANSWERS[i % 5],
            "response": f"answer {draw}",
            "query_metadata": {"level": 1 + i // 5 % 5, "other": "x"},
        }
        for i in range(20)
        for draw in range(3)
    ]
    return [rows[start : start + 13] for start in range(0, 65, 13)]  # a problem may go on in the next file


def layout() -> dict[str, dict[str, Rows]]:
    """Benchmark to the files of its dataset."""
    one = "-00000-of-00001.parquet"
    subjects = ("anatomy", "astronomy", "virology")
    return {
        "gsm8k": {
            f"main/test{one}": [gsm8k_row(i, "test") for i in range(1, 9)],
            f"main/train{one}": [gsm8k_row(i, "train") for i in range(1, 5)],
        },
        "math500": {"test.jsonl": [math_row(i, answer) for i, answer in enumerate(MATH_ANSWERS)]},
        "mmlu": {
            f"all/test{one}": [mmlu_row(s, i, "test") for s in subjects for i in range(6)],
            f"all/dev{one}": [mmlu_row(s, i, "dev") for s in subjects for i in range(5)],
        },
        "mmlu_pro": {
            f"data/test{one}": [
                pro_row(s, i, "test") for s in ("math", "computer science") for i in range(6)
            ],
            f"data/validation{one}": [pro_row(s, i, "validation") for s in ("math", "law") for i in range(5)],
        },
        "arc": {
            f"ARC-{level}/{split}{one}": [arc_row(i, f"{level} {split}") for i in range(n)]
            for level, n in (("Challenge", 7), ("Easy", 9))
            for split in ("test", "train")
        },
        "commonsense_qa": {
            f"data/validation{one}": [csqa_row(i, "validation") for i in range(8)],
            f"data/train{one}": [csqa_row(i, "train") for i in range(8)],
        },
        "truthfulqa_mc": {f"multiple_choice/validation{one}": [truthful_row(i) for i in range(60)]},
        "aime2024": {f"data/train{one}": [aime24_row(i, a) for i, a in enumerate(("033", "7", "0", "999"))]},
        "aime2025": {
            "aime2025-I.jsonl": [{"question": f"I {i}", "answer": "070"} for i in range(3)],
            "aime2025-II.jsonl": [{"question": f"II {i}", "answer": 5} for i in range(3)],
        },
        "dart_math": {f"data/train-0000{i}-of-00005.parquet": rows for i, rows in enumerate(dart_rows())},
    }


LAYOUT = layout()
"""Benchmark to the files of its dataset, the one that is asked first."""
