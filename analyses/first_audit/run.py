"""Runs the audits and comparisons of plan.toml on the embedded model; writes the tables beside it.

    python analyses/first_audit/run.py runs/first_audit

Started again it goes on where it was. About 12 minutes on two cores.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import polars as pl

import interp
from interp.progress import watch
from interp.readings.running import RunningReach

HERE = Path(__file__).parent
BUDGETS = (1, 2, 4, 8, 16, 30, 32)


def main(out: Path) -> None:
    """Runs every case and comparison, and writes reach.csv, selectors.csv and changes.csv."""
    plan = tomllib.loads((HERE / "plan.toml").read_text())
    model = interp.load(plan["model"])
    reach: list[pl.DataFrame] = []
    selectors: list[pl.DataFrame] = []
    for case in plan["cases"]:
        task = interp.load_task(case["task"], n=case["n"], seed=plan["seed"])
        edits = tuple(map(interp.silence, case.get("silence", ())))
        asked = interp.AuditPlan(
            tuple(case.get("probes", plan["probes"])), interventions=edits, seed=plan["seed"]
        )
        with watch(RunningReach()) as watcher:
            run = interp.audit(model, task, out=out / case["name"], plan=asked, watcher=watcher)
        name = pl.lit(case["name"]).alias("case")
        deployed = pl.lit(run.audit.realized).alias("deployed")
        reach.append(run.reach().filter(pl.col("k").is_in(BUDGETS)).select(name, deployed, pl.all()))
        selectors.append(run.selectors().select(name, pl.all()))
    changes: list[dict[str, object]] = []
    for pair in plan["compared"]:
        compared = interp.compare(
            out / pair["before"],
            [out / pair["after"]],
            out=out / f"{pair['before']}-{pair['after']}",
            allow=pair.get("allow", ()),
        )
        for change in compared.comparisons[0].changes:
            low, high = change.interval
            row = {**vars(change), "low": low, "high": high}
            kept = {k: v for k, v in row.items() if k not in ("before", "after", "interval")}
            shares = {"share_before": change.before, "share_after": change.after}
            changes.append({"before": pair["before"], "after": pair["after"], **kept, **shares})
    for table, rows in (("reach", pl.concat(reach)), ("selectors", pl.concat(selectors))):
        rows.write_csv(HERE / f"{table}.csv", float_precision=4)
    pl.DataFrame(changes).write_csv(HERE / "changes.csv", float_precision=4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
