"""Made sweeps, for trying a race where no recorded one is at hand: right or wrong by a known chance.

Six have the repair and retention of each block that the first look measured; which questions they hit is
made up, with what some questions have in common. Three are extremes: one strong block, near-ties, no effect.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import polars as pl
from jaxtyping import Bool
from record import COLUMNS

FIRST_LOOK = Path(__file__).parents[1] / "first_look" / "results.csv"
N_BLOCKS = 30
COMMON = 0.3
"""Share of the variance, on the scale of a latent normal, that the blocks have in common on a question."""


def made_sweeps() -> pl.DataFrame:
    """Every made sweep, in the form of `record.COLUMNS`."""
    tables: list[pl.DataFrame] = []
    looked = pl.read_csv(FIRST_LOOK)
    for (case,), blocks in looked.group_by("case", maintain_order=True):
        rows = blocks.sort("layer")
        sizes = rows["n_failures"][0], rows["n_successes"][0]
        shares = rows["repair"].to_list(), rows["retention"].to_list()
        tables.append(_sweep(f"made like {case}", sizes, shares, seed=len(tables)))
    for name, shares in _extremes().items():
        tables.append(_sweep(name, (40, 40), shares, seed=len(tables)))
    return pl.concat(tables)


def _extremes() -> dict[str, tuple[list[float], list[float]]]:
    strong = [0.05] * N_BLOCKS, [0.95] * N_BLOCKS
    strong[0][14] = 0.8
    ties = [0.1] * N_BLOCKS, [0.95] * N_BLOCKS
    ties[0][10:15] = [0.45, 0.475, 0.5, 0.475, 0.45]
    return {
        "made: one strong block": strong,
        "made: five near-ties": ties,
        "made: no effect": ([0.1] * N_BLOCKS, [0.9] * N_BLOCKS),
    }


def _sweep(
    name: str, sizes: tuple[int, int], shares: tuple[list[float], list[float]], *, seed: int
) -> pl.DataFrame:
    rng = np.random.default_rng(seed)
    rows = [
        (name, "made", name, *sizes, sum(sizes), f"{kind}{q:03}", kind == "failure", block, bool(right))
        for kind, size, share in zip(("failure", "success"), sizes, shares, strict=True)
        for q, answers in enumerate(_answers(share, size, rng))
        for block, right in enumerate(answers)
    ]
    return pl.DataFrame(rows, schema=COLUMNS, orient="row")


def _answers(shares: list[float], n: int, rng: np.random.Generator) -> Bool[np.ndarray, "question block"]:
    """Each block right on its exact share of the questions, the same questions more often than by chance."""
    ease = np.sqrt(COMMON) * rng.standard_normal((n, 1))
    latent = ease + np.sqrt(1 - COMMON) * rng.standard_normal((n, len(shares)))
    place = latent.argsort(axis=0)[::-1].argsort(axis=0)
    return place < np.round(np.array(shares) * n)
