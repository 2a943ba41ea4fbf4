"""Runs the audits of a plan, each case with all its probes over routes.

    python analyses/routing/run.py analyses/routing/small.toml runs/routing

Started again it goes on where it was. About an hour on two cores for small.toml.
"""

from __future__ import annotations

import subprocess
import sys
import tomllib
from pathlib import Path

import interp
from interp.progress import watch
from interp.readings.running import RunningReach


def main(plan_file: Path, out: Path) -> None:
    """Runs every case of the plan."""
    plan = tomllib.loads(plan_file.read_text())
    out.mkdir(parents=True, exist_ok=True)
    if not (out / "commit").exists():
        told = subprocess.run(["git", "rev-parse", "HEAD"], check=True, capture_output=True, text=True)
        (out / "commit").write_text(told.stdout)
    model = interp.load(plan["model"])
    for case in plan["cases"]:
        task = interp.load_task(case["task"], n=plan["n"], seed=plan["seed"])
        asked = interp.AuditPlan(tuple(plan["probes"]), seed=plan["seed"])
        with watch(RunningReach()) as watcher:
            run = interp.audit(model, task, out=out / case["name"], plan=asked, watcher=watcher)
        print(case["name"], run.path)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
