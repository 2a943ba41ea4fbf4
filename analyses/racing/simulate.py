"""Races recorded sweeps again and again and compares the names with those of the full sweep.

    python analyses/racing/simulate.py [recorded.parquet ...] [--made] [--n 24] [--seeds 100] [--out FILE]

A seed orders the questions: it chooses at most n failures and n successes, and splits them into halves, as
`localize` does. The probe itself proposes; the recorded verdicts answer; the readings name the best blocks.
A race agrees if it names the very block that the full sweep on the same questions names; among equals both
go by the same rule (the other count, then the lower layer), so a tie that is broken otherwise is an error.
Writes one row a sweep, and one over all; see `COLUMNS`.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl
from made import made_sweeps

from interp.localizers.outcomes import outcome_matrix
from interp.localizers.raced import raced_sweep
from interp.localizers.repair import best_blocks, measure_blocks
from interp.probes.race import RaceRule
from interp.probes.racing import Racing
from interp.probes.silencing import Silencing
from interp.procedure import Procedure
from interp.question import Attempt, FailureSet, Kind, Outcome, Question, seeded_order
from interp.stats import wilson

HERE = Path(__file__).parent
COLUMNS = {
    "sweep": pl.String,
    "seeds": pl.Int64,
    "n_failures": pl.Int64,  # asked
    "n_successes": pl.Int64,
    "same_repair": pl.Float64,  # share of seeds in which the block that repairs most is the full sweep's
    "same_net_gain": pl.Float64,
    "same_both": pl.Float64,
    "tied_repair": pl.Float64,  # share in which it repairs as many, whether or not it is the same
    "rows": pl.Float64,  # rows asked / rows of the full sweep, controls included; mean over seeds
    "rows_most": pl.Float64,
    "n_left": pl.Float64,  # blocks measured in full; mean over seeds
}


@dataclass(frozen=True)
class Sweep:
    """A recorded sweep as rows of a log.

    Attributes:
        name: Its name.
        n_blocks: Number of blocks.
        totals: Failures, successes and questions of the task.
        failures: Ids.
        successes: Ids.
        rows: By question and draw.
    """

    name: str
    n_blocks: int
    totals: tuple[int, int, int]
    failures: tuple[str, ...]
    successes: tuple[str, ...]
    rows: Mapping[tuple[str, int], Attempt]

    @classmethod
    def of(cls, name: str, table: pl.DataFrame) -> Sweep:
        """Reads the part of a table that is one sweep."""
        known = dict(table.select("question", "failure").unique().iter_rows())
        rows = {(i, 0): _attempt(i, 0, right=not failed) for i, failed in known.items()}
        for i, block, right in table.select("question", "block", "right").iter_rows():
            rows[i, block + 1] = _attempt(i, block + 1, right=right)
        first = table.row(0, named=True)
        return cls(
            name,
            table["block"].n_unique(),
            (first["n_failures"], first["n_successes"], first["n_questions"]),
            tuple(sorted(i for i, failed in known.items() if failed)),
            tuple(sorted(i for i, failed in known.items() if not failed)),
            rows,
        )

    def failure_set(self, n: int, seed: int) -> FailureSet:
        """At most n failures and n successes, in the order of the seed."""
        chosen = (tuple(sorted(seeded_order(ids, seed)[:n])) for ids in (self.failures, self.successes))
        return FailureSet("recorded", seed, *chosen, *self.totals)


@dataclass(frozen=True)
class Raced:
    """One race beside the full sweep on the same questions."""

    same_repair: bool
    same_net_gain: bool
    tied_repair: bool
    rows: float
    n_left: int


def race_once(sweep: Sweep, failures: FailureSet, rule: RaceRule) -> Raced:
    """Lets the probe propose until it is done, and compares the names."""
    ids = (*failures.failures, *failures.successes)
    questions = [Question(i, i, Kind.TEXT, (i,)) for i in ids]
    probe = Racing(Silencing(Procedure(), sweep.n_blocks, ids), failures, rule)
    history: list[Attempt] = []
    while draws := probe.propose(questions, history):
        history += [sweep.rows[draw.question, draw.draw] for draw in draws]
    raced = raced_sweep(history, failures, rule)
    everything = [sweep.rows[i, draw] for i in ids for draw in range(sweep.n_blocks + 1)]
    full = measure_blocks(outcome_matrix(everything, failures))
    left = measure_blocks(raced.left)
    best = [full[place] for place in best_blocks(full)]
    named = [left[place] for place in best_blocks(left)]
    return Raced(
        named[0].layer == best[0].layer,
        named[1].layer == best[1].layer,
        named[0].repair.k == best[0].repair.k,
        len(history) / len(everything),
        len(left),
    )


def simulate(sweep: Sweep, *, n: int, seeds: Iterable[int], rule: RaceRule) -> dict[str, object]:
    """One row of the table."""
    sets = [sweep.failure_set(n, seed) for seed in seeds]
    races = [race_once(sweep, failures, rule) for failures in sets]

    def share(flags: Iterable[bool]) -> float:
        return sum(flags) / len(races)

    return {
        "sweep": sweep.name,
        "seeds": len(races),
        "n_failures": len(sets[0].failures),
        "n_successes": len(sets[0].successes),
        "same_repair": share(r.same_repair for r in races),
        "same_net_gain": share(r.same_net_gain for r in races),
        "same_both": share(r.same_repair and r.same_net_gain for r in races),
        "tied_repair": share(r.tied_repair for r in races),
        "rows": sum(r.rows for r in races) / len(races),
        "rows_most": max(r.rows for r in races),
        "n_left": sum(r.n_left for r in races) / len(races),
    }


def overall(rows: pl.DataFrame) -> dict[str, object]:
    """The means over all sweeps, each counting the same."""
    sums = {"seeds": int(rows["seeds"].sum()), "rows_most": rows["rows_most"].max(), "sweep": "all"}
    means = rows.select(pl.col(pl.Float64).exclude("rows_most").mean()).row(0, named=True)
    return {**means, **sums, "n_failures": None, "n_successes": None}


def _attempt(question: str, draw: int, *, right: bool) -> Attempt:
    edits = () if draw == 0 else (f"L{draw - 1}.mlp_out*0",)
    outcome = Outcome.RIGHT if right else Outcome.WRONG
    return Attempt(
        question, "", "silencing", draw, "", edits, 0, "", "", (), "stop", outcome, None, None, None, "", 1, 1
    )


def main() -> None:
    """Reads the tables, races every sweep, writes and prints the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("tables", nargs="*", type=Path)
    parser.add_argument("--made", action="store_true", help="race the made sweeps as well")
    parser.add_argument("--n", type=int, default=24, help="most failures, and most successes")
    parser.add_argument("--seeds", type=int, default=100)
    parser.add_argument("--z", type=float, default=RaceRule().z)
    parser.add_argument("--rounds", type=int, default=RaceRule().n_rounds)
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    rule = RaceRule(n_rounds=asked.rounds, z=asked.z)
    tables = [pl.read_parquet(path) for path in asked.tables] + ([made_sweeps()] if asked.made else [])
    if not tables:
        parser.error("name a recorded table, or --made")
    groups = pl.concat(tables).group_by("sweep", maintain_order=True)
    rows = [
        simulate(Sweep.of(str(name), table), n=asked.n, seeds=range(asked.seeds), rule=rule)
        for (name,), table in groups
    ]
    found = pl.DataFrame(rows, schema=COLUMNS)
    found = pl.concat([found, pl.DataFrame([overall(found)], schema=COLUMNS)])
    with pl.Config(tbl_rows=-1, tbl_cols=-1, float_precision=2, tbl_width_chars=160, fmt_str_lengths=40):
        print(rule, found)
    for name in ("same_repair", "same_net_gain"):
        total = int(found["seeds"][-1])
        k = round(found[name][-1] * total)
        print(f"{name}: {k} of {total}, 95% Wilson interval {wilson(k, total)}")
    if asked.out is not None:
        found.write_csv(asked.out, float_precision=3)


if __name__ == "__main__":
    main()
