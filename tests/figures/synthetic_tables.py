"""Tables as a run makes them: 30 blocks, 60 failures; block 2 flips the answers, block 14 repairs them."""

from __future__ import annotations

import math
import random

import polars as pl

N_BLOCKS = 30
N_FAILURES = 60
N_SUCCESSES = 60
TOTALS = (80, 120)
"""Failures and successes of all questions asked."""

PLANTED = {2: (58, 22), 14: (45, 57), 12: (41, 57), 9: (22, 31), 0: (25, 2)}
"""Layer: how many failures it repairs and how many successes it keeps."""


def wilson(k: int, n: int) -> tuple[float, float]:
    z, share = 1.959963984540054, k / n
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + z * z / (4 * n * n))
    return centre - half, centre + half


def net_gain(n_repaired: int, n_kept: int) -> float:
    failures, successes = TOTALS
    gained = n_repaired / N_FAILURES * failures
    return (gained - (1 - n_kept / N_SUCCESSES) * successes) / (failures + successes)


def repair_table(n_blocks: int = N_BLOCKS, seed: int = 1) -> pl.DataFrame:
    """One row a block, sorted as a run sorts it."""
    chance = random.Random(seed)
    rows = []
    for layer in range(n_blocks):
        drawn = (int(60 * chance.betavariate(1, 9)), 60 - int(60 * chance.betavariate(1, 10)))
        repaired, kept = PLANTED.get(layer, drawn)
        repair_low, repair_high = wilson(repaired, N_FAILURES)
        kept_low, kept_high = wilson(kept, N_SUCCESSES)
        gain = net_gain(repaired, kept)
        shift = 0.95 if layer == 2 else 0.5 + 0.1 * chance.random()
        rows.append(
            {
                "layer": layer,
                "site": f"L{layer}.mlp_out",
                "n_failures": N_FAILURES,
                "n_repaired": repaired,
                "repair": repaired / N_FAILURES,
                "repair_low": repair_low,
                "repair_high": repair_high,
                "n_successes": N_SUCCESSES,
                "n_kept": kept,
                "retention": kept / N_SUCCESSES,
                "retention_low": kept_low,
                "retention_high": kept_high,
                "net_gain": gain,
                "accuracy_after": 0.6 + gain,
                "repair_first_half": max(0.0, repaired / 60 - 0.02),
                "repair_second_half": min(1.0, repaired / 60 + 0.02),
                "net_gain_first_half": gain - 0.01,
                "net_gain_second_half": gain + 0.01,
                "answer_before": "8",
                "answer_share_before": 0.24,
                "answer_after": "9" if layer == 2 else "8",
                "answer_share_after": 0.2 + 0.1 * chance.random(),
                "position_before": 0,
                "position_share_before": 0.78,
                "position_after": 1 if layer == 2 else 0,
                "position_share_after": shift,
                "n_unreadable_before": 0,
                "n_unreadable_after": chance.choice([0, 0, 0, 1, 4]),
            }
        )
    return pl.DataFrame(rows).sort("repair", "net_gain", "layer", descending=[True, True, False])


def attribution_blocks(n_blocks: int = N_BLOCKS, seed: int = 2) -> pl.DataFrame:
    """Means over the failures: one row a layer and point; the late MLPs write the given answer."""
    chance = random.Random(seed)
    rows = []
    for layer in range(n_blocks):
        for point in ("attn_out", "mlp_out"):
            late = (layer / n_blocks) ** 3
            direct = chance.gauss(0, 0.15) + late * chance.gauss(-0.4, 1.2)
            patching = chance.gauss(0, 0.25) + (2.0 if layer == 0 else 0)
            if point == "mlp_out" and layer in PLANTED:
                patching += 2.2 * (PLANTED[layer][0] / 60)
                direct -= 0.4 * (layer > 10)
            rows.append({"layer": layer, "point": point, "direct": direct, "patching": patching})
    return pl.DataFrame(rows)


def blocks_table() -> pl.DataFrame:
    """Repair, net gain and what the attributions expect of silencing each MLP, one row a layer."""
    mlp = attribution_blocks().filter(pl.col("point") == "mlp_out").drop("point")
    mlp = mlp.with_columns(-pl.col("direct"))
    return repair_table().select("layer", "repair", "net_gain").join(mlp, on="layer").sort("layer")


def agreement_table() -> pl.DataFrame:
    """How each attribution agrees with the measured repair."""
    return pl.DataFrame(
        {
            "method": ["direct", "patching"],
            "spearman": [0.12, 0.58],
            "overlap_1": [0.0, 0.0],
            "overlap_3": [0.0, 0.67],
            "overlap_5": [0.2, 0.8],
            "n_blocks": [N_BLOCKS, N_BLOCKS],
        }
    )


def lens_layers(n_blocks: int = N_BLOCKS) -> pl.DataFrame:
    """Gold and given over depth: both rise from layer 18, the given answer leads from layer 22."""
    rows = []
    for layer in range(n_blocks + 1):
        rise = 1 / (1 + math.exp(-(layer - 19) / 1.7))
        gold = -12 + 10.6 * rise + (0.9 if 17 <= layer < 22 else 0)
        given = -12.3 + 11.6 * rise
        rows.append(
            {
                "layer": layer,
                "gold_median": gold,
                "gold_low": gold - 1.4,
                "gold_high": min(0.0, gold + 1.1),
                "given_median": given,
                "given_low": given - 1.2,
                "given_high": min(0.0, given + 0.9),
                "gold_first": 0.5
                + (0.3 if 17 <= layer < 22 else 0)
                - 0.5 * (layer >= 22)
                + 0.02 * (layer % 3),
            }
        )
    return pl.DataFrame(rows)
