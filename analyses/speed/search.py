"""Times proposals of searches without a model, and prints a table.

    python analyses/speed/search.py            # a few seconds

Every route gets a made-up verdict, one in ten right; 10,000 proposals, 200 a question, 30 layers.
"""

from __future__ import annotations

import time
from dataclasses import replace

from interp.probes.load import load_probe
from interp.probes.load_routes import POLICIES
from interp.probes.setting import Setting
from interp.procedure import Procedure
from interp.question import Attempt, Kind, Outcome, Question

ROW = Attempt("", "", "", 0, "", (), 0, "", "", (), "stop", Outcome.WRONG, None, None, None, "", 1, 1)
N = 10_000


def main() -> None:
    """Prints the table."""
    questions = tuple(Question(f"q{i}", f"What is {i}?", Kind.NUMBER, (str(i),)) for i in range(50))
    setting = Setting(Procedure(), 30, tuple(q.id for q in questions))
    print("| search | proposals | seconds |\n| --- | --- | --- |")
    for name in POLICIES:
        most = 10_000 // len(questions)
        option = "steps" if name in ("dr_llm_walk", "hill_climb") else "simulations"
        line = f"{name}:{most}" + ("" if name == "beam" else f",{option}=400")
        probe = load_probe(line, setting)[0]
        history: list[Attempt] = []
        start = time.perf_counter()
        while len(history) < N and (draws := probe.propose(questions, history)):
            for draw in draws:
                right = sum(map(ord, str(draw.procedure.route))) % 10 == 0
                outcome = Outcome.RIGHT if right else Outcome.WRONG
                history.append(replace(ROW, question=draw.question, draw=draw.draw, outcome=outcome))
        print(f"| {name} | {len(history)} | {time.perf_counter() - start:.2f} |")


if __name__ == "__main__":
    main()
