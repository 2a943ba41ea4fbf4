"""How long the readings of a large audit take, and how much memory: 10,000 questions, 30 draws each.

Two runs are made up, without a model: `python analyses/speed/big_audit.py FOLDER`. Each question has a chance
of its own to be answered right; wrong answers follow Zipf's law over a dozen. Then, each in a process of its
own: everything that `interp audit` reads and writes, and the comparison; and whether torch was loaded.
"""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import numpy as np

N_QUESTIONS, N_DRAWS, N_TOKENS = 10_000, 30, 8


def main(folder: Path) -> None:
    """Makes the runs, reads them, and prints a row a step."""
    for name, seed, gain in (("before", 0, 0.0), ("after", 1, 0.1)):
        if not (folder / name / "plan.json").exists():
            make(folder / name, seed=seed, gain=gain)
    rows = [measure("audit", str(folder / "before")), measure("audit", str(folder / "after"))]
    rows.append(measure("compare", str(folder / "before"), str(folder / "after"), str(folder / "compared")))
    print(json.dumps(rows, indent=2))


def make(path: Path, *, seed: int, gain: float) -> None:
    """Writes a run with deployed answers and sampled attempts."""
    from dataclasses import asdict

    from interp.probes.probe import Probed
    from interp.procedure import Procedure, draw_seed
    from interp.question import Attempt, Kind, Outcome, Question, TokenScores
    from interp.run import Run

    stream = np.random.default_rng(seed)
    easy = np.random.default_rng(7).beta(0.7, 0.9, N_QUESTIONS)
    questions = [
        Question(
            f"q{i:05}", f"What is {i} + {i % 97}?", Kind.NUMBER, (str(i + i % 97),), subject=f"s{i % 40}"
        )
        for i in range(N_QUESTIONS)
    ]
    plan = {
        "verb": "audit",
        "model": {"name": f"made-up-{seed}", "fingerprint": str(seed), "n_layers": 30},
        "task": {"name": "sums", "description": "Made up.", "binary": False, "grader": "1",
                 "n_questions": N_QUESTIONS, "hash": "0"},
        "procedure": {"key": Procedure().key, **Procedure().to_json()},
        "deployed": {"rule": "first", "n_draws": 1},
        "seed": seed, "clusters": "auto", "batch_size": 248, "warnings": [],
    }  # fmt: skip

    def attempt(i: int, probe: str, draw: int) -> Attempt:
        right = stream.random() < min(1.0, easy[i] + gain)
        wrong = int(stream.zipf(1.6))
        said = i + i % 97 + (0 if right else min(wrong, 12))
        text = f"{said}, since that is the sum."
        numbers = np.round(stream.random((5, N_TOKENS)) * 3, 6).tolist()
        scores = TokenScores(*map(tuple, numbers), start=tuple(range(0, 3 * N_TOKENS, 3)))
        return Attempt(
            question=questions[i].id, question_hash="0", probe=probe, draw=draw, procedure="0",
            interventions=(),
            seed=draw_seed(seed, probe, questions[i].id, draw), prompt_hash="0", text=text,
            tokens=tuple(range(N_TOKENS)), finish="stop", outcome=Outcome.RIGHT if right else Outcome.WRONG,
            reason=None, answer=str(said), span=(0, len(str(said))), grader="1", n_prompt_tokens=47,
            n_layer_tokens=30 * 54, scores=scores,
        )  # fmt: skip

    with Run.create_or_resume(path, plan=plan, questions=questions, environment={}) as run:
        run.append([attempt(i, "deployed", 0) for i in range(N_QUESTIONS)])
        for draw in range(N_DRAWS):
            run.append([attempt(i, "sampling", draw) for i in range(N_QUESTIONS)])
        note = Probed("sampling", f"sampling:{N_DRAWS}", "draws, made up", N_DRAWS)
        run.write_json("probes.json", [asdict(note)])


def measure(step: str, *paths: str) -> dict[str, object]:
    """Seconds and peak memory of a step in a process of its own."""
    done = subprocess.run(
        [sys.executable, __file__, f"--{step}", *paths], check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout)


def step(name: str, paths: list[str]) -> None:
    """Does one step and prints what it took."""
    begin = time.perf_counter()
    if name == "audit":
        from interp.audited import AuditRun
        from interp.jobs.auditing import write_readings
        from interp.run import Run

        with Run.reopen(paths[0]) as run:
            write_readings(AuditRun(run))
    else:
        from interp.jobs.comparing import compare

        compare(paths[0], paths[1:2], out=paths[2])
    used = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
    found = {"step": name, "seconds": round(time.perf_counter() - begin, 1), "peak_gib": round(used, 2)}
    print(json.dumps(found | {"torch loaded": "torch" in sys.modules}))


if __name__ == "__main__":
    if sys.argv[1].startswith("--"):
        step(sys.argv[1].removeprefix("--"), sys.argv[2:])
    else:
        main(Path(sys.argv[1]))
