"""Writes the lm-eval logs of this folder with lm-eval itself: `python write_lm_eval.py OUT`.

A scripted model answers three small tasks over local rows. The samples files stay as lm-eval wrote them;
of the results file beside them the description of the machine is left out.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sys
import tempfile
from pathlib import Path

SUMS = [(2, 3), (4, 4), (7, 5), (9, 8), (6, 0), (12, 13)]
CAPITALS = [
    ("France", ["Lyon", "Paris", "Nice", "Metz"], 1),
    ("Italy", ["Rome", "Milan", "Turin", "Pisa"], 0),
    ("Spain", ["Cadiz", "Bilbao", "Seville", "Madrid"], 3),
]
SUM_TASK = {
    "output_type": "generate_until",
    "doc_to_text": "Question: {{question}}\nAnswer:",
    "doc_to_target": "{{answer}}",
    "test_split": "test",
    "fewshot_split": "train",
    "repeats": 4,
    "generation_kwargs": {
        "until": ["\n\n"],
        "do_sample": True,
        "temperature": 0.7,
        "top_p": 0.9,
        "max_gen_toks": 24,
    },
    "metric_list": [{"metric": "exact_match", "aggregation": "mean", "higher_is_better": True}],
    "metadata": {"version": 1.0},
}
PATTERN = {"function": "regex", "regex_pattern": "answer is (-?[0-9]+)"}
LAST_NUMBER = {"function": "regex", "group_select": -1, "regex_pattern": "(-?[0-9]+)"}
TASKS = {
    # Every repeat is extracted; lm-eval logs the share of repeats that match.
    "sums_each": {"num_fewshot": 2, "filter_list": [{"name": "each", "filter": [PATTERN]}]},
    # The usual shape: two filters, each of which scores the first repeat alone.
    "sums_first": {
        "num_fewshot": 0,
        "filter_list": [
            {"name": "strict-match", "filter": [PATTERN, {"function": "take_first"}]},
            {"name": "flexible-extract", "filter": [LAST_NUMBER, {"function": "take_first"}]},
        ],
    },
}
CHOICE_TASK = {
    "task": "capitals",
    "output_type": "multiple_choice",
    "doc_to_text": "Question: What is the capital of {{country}}?\nAnswer:",
    "doc_to_target": "{{label}}",
    "doc_to_choice": "{{options}}",
    "test_split": "test",
    "num_fewshot": 0,
    "metric_list": [{"metric": "acc"}, {"metric": "acc_norm"}],
    "metadata": {"version": 1.0},
}


def reply(question: str, repeat: int) -> str:
    """What the scripted model says: right, wrong, or nothing that can be read, by a hash."""
    a, b = (int(word) for word in question.split() if word.isdigit())
    draw = hashlib.sha256(f"{a} {b} {repeat}".encode()).digest()[0] % 4
    return [
        f" The answer is {a + b}.",
        f" The answer is {a + b + 1}.",
        f" {a} and {b}: it is {a + b}",
        " Hm.",
    ][draw]


def write(out: Path) -> None:
    """Runs lm-eval on the tasks and leaves its files in `out`."""
    os.environ.setdefault("HF_HUB_OFFLINE", "1")
    import lm_eval
    from lm_eval.api.model import LM
    from lm_eval.loggers import EvaluationTracker
    from lm_eval.tasks import TaskManager

    class Scripted(LM):
        """Answers by `reply`, and prefers the option whose text has the smaller hash."""

        def generate_until(self, requests, **_):
            seen: dict[str, int] = {}
            answers = []
            for request in requests:
                last = request.args[0].rsplit("Question: ", 1)[1].split("\n")[0]
                answers.append(reply(last.rstrip("?"), seen.get(last, 0)))
                seen[last] = seen.get(last, 0) + 1
            return answers

        def loglikelihood(self, requests, **_):
            return [(-1.0 - hashlib.sha256(r.args[1].encode()).digest()[0] / 64, False) for r in requests]

        def loglikelihood_rolling(self, requests, **_):
            raise NotImplementedError

    out = out.resolve()
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        sums = [{"question": f"What is {a} + {b} ?", "answer": str(a + b)} for a, b in SUMS]
        shots = [{"question": f"What is {a} + {a} ?", "answer": str(2 * a)} for a in (1, 3, 5)]
        capitals = [{"country": c, "options": o, "label": label} for c, o, label in CAPITALS]
        for name, rows in (("sums", sums), ("shots", shots), ("capitals", capitals)):
            Path(f"{name}.json").write_text("\n".join(map(json.dumps, rows)))
        local = {
            "dataset_path": "json",
            "dataset_kwargs": {"data_files": {"test": "sums.json", "train": "shots.json"}},
        }
        tasks = [SUM_TASK | local | {"task": name} | own for name, own in TASKS.items()]
        tasks.append(
            CHOICE_TASK
            | {"dataset_path": "json", "dataset_kwargs": {"data_files": {"test": "capitals.json"}}}
        )
        tracker = EvaluationTracker(output_path=str(out))
        tracker.general_config_tracker.log_experiment_args(
            model_source="scripted",
            model_args="pretrained=scripted,seed=1",
            system_instruction=None,
            chat_template=None,
            fewshot_as_multiturn=False,
        )
        results = lm_eval.simple_evaluate(
            Scripted(), tasks=tasks, log_samples=True, task_manager=TaskManager(), bootstrap_iters=0
        )
        samples = results.pop("samples")
        tracker.save_results_aggregated(results=results, samples=samples)
        for name, rows in samples.items():
            tracker.save_results_samples(task_name=name, samples=rows)
    for path in out.glob("*/results_*.json"):
        report = json.loads(path.read_text())
        machine = ("pretty_env_info", "git_hash", "total_evaluation_time_seconds", "start_time", "end_time")
        kept = {key: value for key, value in report.items() if key not in machine}
        path.write_text(json.dumps(kept, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]))
