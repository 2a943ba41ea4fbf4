"""Runs the cases of plan.toml on the embedded model and writes results.csv and verdicts.csv beside it.

    python analyses/first_look/run.py runs/first_look

Started again it goes on where it was. A case sweeps over every failure and every success, so no number in
it is extrapolated. About 20 minutes on two cores without AVX-512.
"""

from __future__ import annotations

import sys
import tomllib
from pathlib import Path

import polars as pl

import interp
from interp.localizers.running import RunningRepair
from interp.progress import watch

HERE = Path(__file__).parent
KEPT = ("layer", "n_failures", "repair", "repair_low", "repair_high", "n_successes", "retention")
KEPT_TOO = ("net_gain", "accuracy_after", "position_before", "position_share_before")
METHODS = ("direct", "patching")
KEPT_LAST = ("position_after", "position_share_after")


def main(out: Path) -> None:
    """Runs every case and writes the tables."""
    plan = tomllib.loads((HERE / "plan.toml").read_text())
    model = interp.load(plan["model"])
    tables: list[pl.DataFrame] = []
    verdicts: list[dict[str, object]] = []
    for case in plan["cases"]:
        task = interp.load_task(case["task"], n=case["n"], seed=case["seed"])
        asked = interp.LocalizePlan(max_failures=None, max_successes=case["n"], seed=case["seed"])
        with watch(RunningRepair()) as watcher:
            run = interp.localize(model, task, out=out / case["name"], plan=asked, watcher=watcher)
        found, held_out = run.localization, run.localization.held_out_net_gain
        repair = run.repair().select(*KEPT, *KEPT_TOO, *KEPT_LAST)
        tables.append(repair.select(pl.lit(case["name"]).alias("case"), pl.all()))
        blocks = run.blocks()
        order = {method: blocks.sort(method, descending=True)["layer"].to_list() for method in METHODS}
        ranks = {m: order[m].index(found.best_net_gain.layer) + 1 for m in METHODS}
        agreement = dict(run.agreement().select("method", "spearman").iter_rows())
        verdicts.append(
            {
                "case": case["name"],
                "n": found.n_questions,
                "deployed": found.accuracy_before,
                "finding": str(found.finding),
                "repairs_most": found.best_repair.layer,
                "repair": found.best_repair.repair.value,
                "keeps": found.best_repair.retention.value,
                "gains_most": found.best_net_gain.layer,
                "gain_repair": found.best_net_gain.repair.value,
                "gain_keeps": found.best_net_gain.retention.value,
                "gain_accuracy": found.best_net_gain.accuracy_after,
                "held_out_layers": " ".join(map(str, held_out.layers)),
                "held_out_gain": held_out.net_gain,
                "held_out_gain_low": held_out.net_gain_interval[0],
                "held_out_gain_high": held_out.net_gain_interval[1],
                "p_max_net_gain": found.p_max_net_gain,
                "spearman_direct": agreement["direct"],
                "spearman_patching": agreement["patching"],
                "rank_of_gain_direct": ranks["direct"],
                "rank_of_gain_patching": ranks["patching"],
                "headline": found.headline,
                "fingerprint": model.fingerprint,
            }
        )
        pl.concat(tables).write_csv(HERE / "results.csv", float_precision=4)
        pl.DataFrame(verdicts).write_csv(HERE / "verdicts.csv", float_precision=4)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
