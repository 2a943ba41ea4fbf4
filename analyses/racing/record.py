"""Takes from runs of `localize` what a race needs to be simulated: right or wrong, by question and block.

    python analyses/racing/record.py runs/racing/* [--out analyses/racing/recorded.parquet]

A run must be a full sweep, without `--race`. The table has one row a question and block; see `COLUMNS`.
"""

from __future__ import annotations

import argparse
from pathlib import Path

import polars as pl

from interp.localized import LocalizeRun
from interp.question import Outcome

HERE = Path(__file__).parent
COLUMNS = {
    "sweep": pl.String,  # name of the run directory
    "model": pl.String,
    "task": pl.String,
    "n_failures": pl.Int64,  # of the task, before any cap
    "n_successes": pl.Int64,
    "n_questions": pl.Int64,
    "question": pl.String,
    "failure": pl.Boolean,  # a failure or a success of the deployed procedure
    "block": pl.Int64,
    "right": pl.Boolean,  # with that block silenced
}


def record(path: Path) -> pl.DataFrame:
    """The table of one run."""
    localized = LocalizeRun.read(path)
    if localized.race is not None:
        raise SystemExit(f"{path} was raced: blocks are missing in it. Record a run without --race.")
    outcomes, plan, failures = localized.outcomes, localized.run.plan, localized.failure_set
    known = frozenset(failures.failures)
    rows = [
        {
            "sweep": path.name,
            "model": plan["model"]["name"],
            "task": plan["task"]["name"],
            "n_failures": failures.n_failures,
            "n_successes": failures.n_successes,
            "n_questions": failures.n_questions,
            "question": row.question,
            "failure": row.question in known,
            "block": site.layer,
            "right": row.outcome is Outcome.RIGHT,
        }
        for rows in outcomes.silenced
        for site, row in zip(outcomes.sites, rows, strict=True)
    ]
    return pl.DataFrame(rows, schema=COLUMNS)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, default=HERE / "recorded.parquet")
    asked = parser.parse_args()
    table = pl.concat([record(path) for path in asked.runs])
    table.write_parquet(asked.out, compression="zstd")
    print(f"{asked.out}: {table['sweep'].n_unique()} sweeps, {table.height} rows")
