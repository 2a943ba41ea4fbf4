"""Measures start-up, loading and the sweep, side by side in one run, and prints the table of README.md.

    python analyses/speed/measure.py            # about four minutes on two cores
    /usr/bin/time -v interp localize smollm2 --task comparison --out RUN    # the whole job: time, peak memory

The plain loop is what one would write by hand: for each block a hook that zeroes the MLP's output, and
transformers' `generate` on all questions. Both give the same text in every row, or the script fails.
"""

from __future__ import annotations

import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch

import interp

N_QUESTIONS, N_REPEATS = 16, 3


def main() -> None:
    """Prints the table."""
    print("| what | median | range |\n| --- | --- | --- |")
    report("`import interp`", started(["-c", "import interp"]))
    report("`interp --help`", started(["-m", "interp", "--help"]))
    interp.load("smollm2")
    loads = [seconds(lambda: interp.load("smollm2")) for _ in range(N_REPEATS)]
    report("second load of smollm2, verified", loads)
    model = interp.load("smollm2")
    task = interp.load_task("comparison", n=N_QUESTIONS)
    pairs = [side_by_side(model, task) for _ in range(N_REPEATS)]
    report(f"sweep, {N_QUESTIONS} questions x {model.n_layers + 1} rows", [ours for ours, _ in pairs])
    report("the same by a plain loop", [plain for _, plain in pairs])
    report("plain loop / ours", [plain / ours for ours, plain in pairs], unit="x")


def side_by_side(model: Any, task: Any) -> tuple[float, float]:
    """Seconds of the package's sweep and of the plain loop; fails if a text differs."""
    texts: dict[str, Any] = {}
    ours = seconds(lambda: texts.update(ours=sweep(model, task)))
    plain = seconds(lambda: texts.update(plain=plain_loop(model, task)))
    if texts["ours"] != texts["plain"]:
        raise SystemExit("the two sweeps do not give the same text")
    return ours, plain


def started(words: list[str]) -> list[float]:
    """Seconds of a new Python process, seven times."""
    command = [sys.executable, *words]
    return [seconds(lambda: subprocess.run(command, capture_output=True, check=True)) for _ in range(7)]


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of a call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def report(name: str, values: list[float], unit: str = "s") -> None:
    """Prints one row of the table."""
    print(
        f"| {name} | {statistics.median(values):.2f} {unit} | {min(values):.2f} to {max(values):.2f} |",
        flush=True,
    )


def sweep(model: Any, task: Any) -> dict[tuple[int, int], str]:
    """Every question with nothing and with each block silenced, by the package: row -1 is the control."""
    rows = [(i, layer) for i in range(len(task.questions)) for layer in range(-1, model.n_layers)]
    requests = []
    for i, layer in rows:
        edits = () if layer < 0 else (interp.silence(layer),)
        requests.append(interp.Request(task.questions[i].text, replace(task.procedure, interventions=edits)))
    return {row: completion.text for row, completion in zip(rows, model.generate(requests), strict=True)}


def plain_loop(model: Any, task: Any) -> dict[tuple[int, int], str]:
    """The same with transformers' generate, one block after the other, all questions in one batch."""
    module, tokenizer, decoding = model.module, model.tokenizer, task.decoding
    prompts = [model.render(question.text, task.prompt).text for question in task.questions]
    inputs = tokenizer(
        prompts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False
    )
    n_prompt = inputs.input_ids.shape[1]
    texts: dict[tuple[int, int], str] = {}
    for layer in range(-1, model.n_layers):
        hook = None
        if layer >= 0:
            hook = module.model.layers[layer].mlp.register_forward_hook(
                lambda _m, _a, out: torch.zeros_like(out)
            )
        out = module.generate(**inputs, max_new_tokens=decoding.max_new_tokens, do_sample=False)
        if hook is not None:
            hook.remove()
        for i, answer in enumerate(tokenizer.batch_decode(out[:, n_prompt:], skip_special_tokens=True)):
            texts[i, layer] = answer.split("\n")[0] if "\n" in decoding.stop else answer
    return texts


if __name__ == "__main__":
    main()
