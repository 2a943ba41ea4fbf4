"""Tables as an audit and a comparison make them."""

from __future__ import annotations

import math
import random

import polars as pl

STATES = ("realized", "reachable only", "never", "unreadable")
HOSTILE = "<script>alert(1)</script> <b>bold</b> 🦜 %{y} &amp;"


def reach_table(
    probes: dict[str, tuple[float, float | None, float | None]] | None = None,
    *,
    most: int = 32,
    run: str | None = None,
) -> pl.DataFrame:
    """One row a probe and k; a probe is its share right at each try, the decoys' share, and 1 / options."""
    probes = probes or {"sampling": (0.30, 0.2, 0.25)}
    rows = []
    for probe, (share, decoy, chance) in probes.items():
        for k in [k for k in range(1, most + 1) if k <= 8 or k % 4 == 0 or k == most]:
            reach = 0.93 * (1 - (1 - share) ** k)
            rows.append(
                {
                    "probe": probe,
                    "k": k,
                    "reach": reach,
                    "reach_low": max(0.0, reach - 0.06),
                    "reach_high": min(1.0, reach + 0.05),
                    "majority": share if math.log2(k).is_integer() else None,
                    "pass_hat": share**k,
                    "floor": None if chance is None else 1 - (1 - chance) ** k,
                    "decoy": None if decoy is None else 0.92 * (1 - (1 - decoy) ** k),
                }
            )
    floats = ("reach", "reach_low", "reach_high", "majority", "pass_hat", "floor", "decoy")
    schema = {"probe": pl.String, "k": pl.Int64, **dict.fromkeys(floats, pl.Float64)}
    table = pl.DataFrame(rows, schema=schema)
    return table if run is None else table.with_columns(run=pl.lit(run))


def question_table(
    n: int, *, seed: int = 1, weights: tuple[float, ...] = (0.5, 0.3, 0.15, 0.05)
) -> pl.DataFrame:
    """One row a question; the same seed gives the same ids, whatever the weights."""
    chance = random.Random(f"{seed} {weights}")
    rows = []
    for i in range(n):
        state = chance.choices(STATES, weights)[0]
        rate = {"realized": chance.betavariate(4, 2), "reachable only": chance.betavariate(1, 4)}.get(
            state, 0.0
        )
        rows.append(
            {
                "id": f"q{i}",
                "text": f"Which number is smaller, {i} or {i + 3}? "
                + "Think well before you answer. " * (i % 4),
                "gold": str(i),
                "subject": "smaller" if i % 2 else "",
                "state": state,
                "rate": None if i % 50 == 49 else rate,
                "deployed_answer": None
                if state == "unreadable"
                else str(i if state == "realized" else i + 3),
            }
        )
    floats = {"rate": pl.Float64, "deployed_answer": pl.String}
    return pl.DataFrame(rows, schema_overrides=floats)


def pairs_table(n: int = 6, *, seed: int = 3) -> pl.DataFrame:
    """Pairs of runs; the deployed score rises in most, the ceiling in few."""
    chance = random.Random(seed)
    rows = []
    for i in range(n):
        before = chance.uniform(0.2, 0.6)
        ceiling = chance.uniform(before + 0.15, 0.95)
        rows.append(
            {
                "name": f"base {i} to trained {i}",
                "deployed_before": before,
                "deployed_after": min(before + chance.uniform(-0.03, 0.2), ceiling - 0.05),
                "ceiling_before": ceiling,
                "ceiling_after": ceiling + chance.uniform(-0.09, 0.04),
                "k": 32,
                "probe": "sampling",
            }
        )
    return pl.DataFrame(rows)


def flow_table() -> pl.DataFrame:
    """The 4 x 4 table of states before and after: 12 gained, of which 9 were within reach; 3 lost."""
    counts = ((40, 2, 1, 0), (9, 21, 4, 1), (2, 3, 12, 0), (1, 1, 0, 3))
    return pl.DataFrame(
        [
            {"before": before, "after": after, "n": counts[i][j]}
            for i, before in enumerate(STATES)
            for j, after in enumerate(STATES)
        ]
    )


DEFAULT, ORACLE = 0.61, 0.91


def selector_table() -> pl.DataFrame:
    """Selectors of each family, in no order."""
    given = (
        ("majority", "vote", 0.74, 12, 1),
        ("weighted vote", "vote", 0.72, 11, 2),
        ("mean log-probability", "choose", 0.63, 8, 6),
        ("self-certainty", "choose", 0.55, 5, 11),
        ("lowest entropy", "choose", 0.60, 6, 7),
        ("best route of a training split", "trained", 0.79, 15, 2),
        ("random attempt", "control", 0.52, None, None),
    )
    rows = [
        {
            "selector": name,
            "family": family,
            "accuracy": accuracy,
            "low": accuracy - 0.09,
            "high": accuracy + 0.08,
            "recovered": (accuracy - DEFAULT) / (ORACLE - DEFAULT),
            "harm": 0.0 if lost is None else lost / 60,
            "gained": gained,
            "lost": lost,
        }
        for name, family, accuracy, gained, lost in given
    ]
    return pl.DataFrame(rows).sample(fraction=1.0, shuffle=True, seed=5)
