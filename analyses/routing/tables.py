"""Reads the audits of a plan and writes its tables, and its figures where a Chromium is found.

    python analyses/routing/tables.py analyses/routing/small.toml runs/routing analyses/routing

Asks no model; under a minute.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import polars as pl

from interp.audited import AuditRun
from interp.figures.search_chart import search_chart

WIDTH = 720
KEPT = (
    *("k", "reach", "decoy", "excess", "floor", "confirmed", "n_unconfirmed", "n_new", "first", "majority"),
    "unseen",
)


def main(plan_file: Path, runs: Path, out: Path) -> None:
    """Writes every table as CSV, the figures as PNG, and what the runs were made with."""
    plan = tomllib.loads(plan_file.read_text())
    cases = {case["name"]: AuditRun.read(runs / case["name"]) for case in plan["cases"]}
    contrast = _joined(cases, lambda run: run.contrast(plan["margin"]))
    selectors = _joined(cases, AuditRun.selectors)
    chart = settings(cases, contrast, selectors, null=plan["null"], blind=plan["blind"])
    tables = {
        "reach": _joined(cases, reached),
        "contrast": contrast,
        "selectors": selectors,
        "anytime": _joined(cases, AuditRun.anytime),
        "placement": _joined(cases, AuditRun.placement),
        "settings": chart,
    }
    for name, table in tables.items():
        table.write_csv(out / f"{name}.csv", float_precision=4)
    figures = {"search": search_chart(chart)}
    for name, run in cases.items():
        figures[f"anytime_{name}"] = run.figures.anytime_curve()
        figures[f"placement_{name}"] = run.figures.placement_chart(*plan["placed"])
    for name, figure in figures.items():
        draw(figure, runs / f"{name}.html", out / f"{name}.png")
    (out / "provenance.json").write_text(json.dumps(provenance(plan_file, runs, cases), indent=2) + "\n")


def reached(run: AuditRun) -> pl.DataFrame:
    """One row a probe: its reach at the whole budget, with its controls and costs."""
    rows: list[dict[str, Any]] = []
    for found in run.audit.probes:
        whole = asdict(found)
        low, high = found.excess_interval or (None, None)
        rows.append(
            {"probe": found.probe.name, "sees_verdicts": found.probe.sees_verdicts}
            | {"deployed": run.audit.realized}
            | {name: whole[name] for name in KEPT}
            | dict(zip(("reach_low", "reach_high"), found.reach_interval, strict=True))
            | {"excess_low": low, "excess_high": high}
            | whole["spent"]
        )
    return pl.DataFrame(rows, infer_schema_length=None)


def settings(
    cases: Mapping[str, AuditRun], contrast: pl.DataFrame, selectors: pl.DataFrame, *, null: str, blind: str
) -> pl.DataFrame:
    """One row a case and search, as `search_chart` takes them: against random routes, and chosen blind."""
    deployed = pl.DataFrame(
        {"case": [*cases], "deployed": [run.audit.realized for run in cases.values()]},
        schema={"case": pl.String, "deployed": pl.Float64},
    )
    picks = selectors.filter(selector=blind).select(
        "case", "probe", blind="accuracy", blind_low="difference_low"
    )
    other = picks.filter(probe=null).select("case", blind_other="blind", blind_other_low="blind_low")
    pairs = contrast.filter(other=null, matched="attempts").join(deployed, on="case", maintain_order="left")
    found = pairs.join(picks, left_on=["case", "search"], right_on=["case", "probe"], maintain_order="left")
    return found.join(other, on="case", maintain_order="left")


def draw(figure: go.Figure, page: Path, picture: Path) -> None:
    """Writes a figure as a page, and as a picture where a Chromium is found."""
    figure.write_html(page, default_width=f"{WIDTH}px", config={"displayModeBar": False})
    browser = shutil.which("chromium")
    if browser:
        size = f"{WIDTH + 16},{figure.layout.height + 100}"
        arguments = ("--headless=new", "--no-sandbox", "--hide-scrollbars", f"--window-size={size}")
        subprocess.run(  # the page is ours
            [browser, *arguments, "--virtual-time-budget=4000", f"--screenshot={picture}", page.as_uri()],
            check=True,
            capture_output=True,
        )


def provenance(plan_file: Path, runs: Path, cases: Mapping[str, AuditRun]) -> dict[str, Any]:
    """The plan's hash, the commit that ran it, and each run's environment and hashes."""
    return {
        "plan": plan_file.name,
        "plan_sha256": hashlib.sha256(plan_file.read_bytes()).hexdigest(),
        "commit": (runs / "commit").read_text().strip(),
        "runs": {
            name: {
                "log_sha256": hashlib.sha256((run.path / "attempts.jsonl").read_bytes()).hexdigest(),
                "n_attempts": run.table.height,
                "environment": run.run.environment,
            }
            for name, run in cases.items()
        },
    }


def _joined(cases: Mapping[str, AuditRun], read: Callable[[AuditRun], pl.DataFrame]) -> pl.DataFrame:
    """The same table of every case, with the case's name."""
    tables = [read(run).select(pl.lit(name).alias("case"), pl.all()) for name, run in cases.items()]
    return pl.concat(tables, how="vertical_relaxed")


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
