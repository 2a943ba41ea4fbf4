"""Measures what hooks cost against plain transformers, side by side in one run, and prints a table.

    python analyses/speed/hooked.py            # about two minutes on two cores

Forward passes with every point recorded, generation without edits, loading, and the peak memory of loading.
"""

from __future__ import annotations

import gc
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import interp
from interp import Decoding, Point, Procedure, Prompt, Request, Site
from interp.models.source import locate

N_REPEATS = 9
PROMPT = Prompt(system="You answer questions.", answer_prefix="The answer is ")


def main() -> None:
    """Prints the table."""
    if len(sys.argv) > 1:
        print(peak(sys.argv[1], Path(sys.argv[2])))
        return
    model, task = interp.load("smollm2"), interp.load_task("comparison", n=16)
    texts = [question.text for question in task.questions]
    print("| what | plain | ours | ours / plain | range |\n| --- | --- | --- | --- | --- |")
    compare("forward, 1 x 47 tokens, 150 sites recorded", *forwards(model, texts[0], 1))
    compare("forward, 1 x 376 tokens, 150 sites recorded", *forwards(model, texts[0], 8))
    compare("generation, 1 prompt, 32 tokens", *generations(model, texts[:1], 32))
    compare("generation, 16 prompts, 8 tokens", *generations(model, texts, 8))
    compare("generation, 16 prompts, 32 tokens", *generations(model, texts, 32))
    folder = locate("smollm2", download=False, allow_pickle=False)
    with tempfile.TemporaryDirectory() as cache:
        os.environ["INTERP_CACHE"] = cache
        plain = seconds(lambda: plain_load(folder))
        first = seconds(lambda: interp.load(folder))
        times = f"{plain:.2f} s | {first:.2f} s | {first / plain:.2f}"
        print(f"| loading, checked the first time | {times} | once |")
        compare("loading, checked before", lambda: plain_load(folder), lambda: interp.load(folder))
    peaks = {who: float(in_child(who, folder)) for who in ("plain", "ours")}
    sizes = f"{peaks['plain']:.2f} | {peaks['ours']:.2f} | {peaks['ours'] / peaks['plain']:.2f}"
    print(f"| peak memory of loading with the checks / size of the weights | {sizes} | once |")


def compare(name: str, plain: Callable[[], object], ours: Callable[[], object]) -> None:
    """Prints one row: medians and the range of the ratio, the two taken in turn."""
    plain(), ours()
    pairs = [(seconds(plain), seconds(ours)) for _ in range(N_REPEATS)]
    ratios = sorted(b / a for a, b in pairs)
    a, b = (statistics.median(times) for times in zip(*pairs, strict=True))
    print(
        f"| {name} | {a:.3f} s | {b:.3f} s | {statistics.median(ratios):.2f} | "
        f"{ratios[1]:.2f} to {ratios[-2]:.2f} |",
        flush=True,
    )


def seconds(work: Callable[[], object]) -> float:
    """Wall-clock time of a call, what earlier ones left behind cleared away."""
    gc.collect()
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def forwards(model: Any, text: str, times: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """A plain forward pass, and one with every point of every layer recorded."""
    tokens = model.render(text, PROMPT).tokens * times
    sites = [Site(layer, point) for layer in range(model.n_layers) for point in Point]
    ids = torch.tensor([tokens])

    def plain() -> object:
        with torch.no_grad():
            return model.module(input_ids=ids, attention_mask=torch.ones_like(ids), use_cache=False)

    return plain, lambda: model.forward(tokens, record=sites)


def generations(model: Any, texts: list[str], n: int) -> tuple[Callable[[], object], Callable[[], object]]:
    """What `generate` of transformers does, and ours; both give the same text, or the script fails."""
    tokenizer = model.tokenizer
    requests = [Request(text, Procedure(PROMPT, Decoding(n))) for text in texts]
    prompts = [model.render(text, PROMPT).text for text in texts]
    inputs = tokenizer(
        prompts, return_tensors="pt", padding=True, padding_side="left", add_special_tokens=False
    )

    def plain() -> object:
        with torch.no_grad():
            return model.module.generate(**inputs, max_new_tokens=n, do_sample=False)

    def ours() -> object:
        return list(model.generate(requests))

    texts_plain = tokenizer.batch_decode(
        plain()[:, inputs.input_ids.shape[1] :],
        skip_special_tokens=True,  # type: ignore[index]
    )
    if texts_plain != [completion.text for completion in ours()]:  # type: ignore[attr-defined]
        raise SystemExit("the two do not give the same text")
    return plain, ours


def plain_load(folder: Path) -> tuple[Any, Any]:
    """What one would write by hand: model and tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32)
    return model, AutoTokenizer.from_pretrained(folder)


def in_child(who: str, folder: Path) -> str:
    """Peak memory of loading in a process of its own."""
    words = [sys.executable, __file__, who, str(folder)]
    return subprocess.run(words, capture_output=True, check=True, text=True).stdout.split()[-1]


def peak(who: str, folder: Path) -> float:
    """Growth of this process's peak memory by loading and one forward pass, in sizes of the weights."""
    import transformers.models.llama.modeling_llama  # noqa: F401

    import interp.models.load

    before = highest()
    if who == "ours":
        module = interp.models.load.load(folder).module
    else:
        module, _ = plain_load(folder)
    with torch.no_grad():
        module(torch.arange(47)[None])  # type: ignore[operator]
    grown = highest() - before
    size = sum(weight.numel() * weight.element_size() for weight in module.parameters())  # type: ignore[union-attr]
    return grown / size


def highest() -> int:
    """Peak memory of this process in bytes, from Linux: what a parent used does not count."""
    (line,) = (
        text for text in Path("/proc/self/status").read_text().splitlines() if text.startswith("VmHWM")
    )
    return int(line.split()[1]) * 1024


if __name__ == "__main__":
    main()
