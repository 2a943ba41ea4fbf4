"""Writes the Inspect logs of this folder with inspect-ai itself: `python write_inspect.py OUT`.

The mock model of that package answers sums and choices in three epochs: right, wrong, unread, cut and failed.
"""

from __future__ import annotations

import contextlib
import hashlib
import sys
import tempfile
from pathlib import Path

SUMS = [(2, 3), (4, 4), (7, 5), (9, 8), (6, 0)]
LONG = "Let me think about it. " * 12


def draw(question: str, epoch: int, n: int) -> int:
    """A number below n by a hash of question and epoch."""
    return hashlib.sha256(f"{question} {epoch}".encode()).digest()[0] % n


def write(out: Path) -> None:
    """Runs Inspect on three tasks and leaves their logs in `out`."""
    from inspect_ai import Task, eval  # noqa: A004
    from inspect_ai.dataset import Sample
    from inspect_ai.log import read_eval_log, write_eval_log
    from inspect_ai.model import GenerateConfig, ModelOutput, ModelUsage, get_model
    from inspect_ai.scorer import choice, includes, pattern
    from inspect_ai.solver import generate, multiple_choice, solver, system_message

    asked: dict[str, int] = {}

    def reply(messages, tools, tool_choice, config) -> ModelOutput:
        question = messages[-1].text
        epoch = asked[question] = asked.get(question, 0) + 1
        if "ANSWER: $LETTER" in question:
            letter = "ABCD"[draw(question, epoch, 4)]
            unread = {("Spain", 2): "I cannot say.", ("Italy", 3): ""}
            country = "Spain" if "Spain" in question else "Italy"
            text = unread.get((country, epoch), f"ANSWER: {letter}")
            return used(ModelOutput.from_content("mockllm/model", text))
        a, b = (int(word) for word in question.split() if word.isdigit())
        texts = [
            f"The answer is {a + b}.",
            f"The answer is {a + b + 1}.",
            LONG,
            f"{LONG} The answer is {a + b}.",
        ]
        kind = draw(question, epoch, 4)
        stop = "max_tokens" if kind == 2 else "stop"
        return used(ModelOutput.from_content("mockllm/model", texts[kind], stop_reason=stop))

    def used(output: ModelOutput) -> ModelOutput:
        output.usage = ModelUsage(input_tokens=21, output_tokens=7, total_tokens=28)
        return output

    @solver
    def fails_on(a: int):
        async def solve(state, generate):
            if f" {a} + " in state.input_text and state.epoch == 2:
                raise RuntimeError("the server went away")
            return state

        return solve

    sums = [
        Sample(
            input=f"What is {a} + {b} ?", target=str(a + b), id=f"sum-{a}-{b}", metadata={"category": "sums"}
        )
        for a, b in SUMS
    ]
    capitals = [
        Sample(
            input="What is the capital of Italy?",
            choices=["Rome", "Milan", "Turin", "Pisa"],
            target="A",
            id=1,
        ),
        Sample(
            input="What is the capital of Spain?",
            choices=["Cadiz", "Seville", "Bilbao", "Madrid"],
            target="D",
            id=2,
        ),
    ]
    read = pattern(r"answer is (-?\d+)")
    tasks = [
        Task(
            name="sums",
            dataset=sums,
            solver=[system_message("Be short."), fails_on(7), generate()],
            scorer=read,
        ),
        Task(name="two_scorers", dataset=sums[:2], solver=generate(), scorer=[read, includes()]),
        Task(name="capitals", dataset=capitals, solver=multiple_choice(), scorer=choice()),
    ]
    model = get_model(
        "mockllm/model",
        custom_outputs=reply,
        config=GenerateConfig(temperature=0.8, top_p=0.95, max_tokens=64, stop_seqs=["\n\n"]),
    )
    out = out.resolve()
    out.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for task in tasks:
            asked.clear()
            (log,) = eval(
                task,
                model=model,
                epochs=3,
                log_dir=folder,
                max_connections=1,
                max_samples=1,
                fail_on_error=False,
                display="none",
            )
            log = read_eval_log(log.location)
            for sample in log.samples or []:
                # Events and tracebacks are long, and name folders of the machine.
                sample.events, sample.events_data, sample.attachments = [], None, {}
                if sample.error is not None:
                    sample.error.traceback = sample.error.traceback_ansi = ""
            write_eval_log(log, str(out / f"{task.name}.eval"))


if __name__ == "__main__":
    write(Path(sys.argv[1]))
