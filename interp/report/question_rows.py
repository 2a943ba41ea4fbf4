"""Questions as the page lists them: plain JSON, one object a question."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl

from interp.audited import AuditRun

MOST_ANSWERS = 4
"""Different answers of a probe that are shown with a question."""
MOST_CHARACTERS = 8_000_000
"""Characters of answers on a page; the longest are cut."""
LONGEST, SHORTEST = 2000, 80


def audit_rows(audited: AuditRun) -> list[dict[str, Any]]:
    """The questions of an audit, each with its deployed answer and what each probe's attempts said."""
    table = audited.question_table()
    limit = _limit(table.height * (1 + MOST_ANSWERS * len(audited.probes)))
    deployed = _by_question(_shown(audited.deployed, "deployed", limit))
    attempts = [_by_question(_distinct(rows, name, limit)) for name, rows in audited.attempts.items()]
    notes = {name: dict(_notes(audited, name)) for name in audited.probes}
    return [
        _row(row, [row["state"]], [note[row["id"]] for note in notes.values()])
        | {"answers": [a for found in (deployed, *attempts) for a in found.get(row["id"], [])]}
        for row in table.iter_rows(named=True)
    ]


def comparison_rows(pairs: pl.DataFrame, before: AuditRun, after: AuditRun) -> list[dict[str, Any]]:
    """The questions of a comparison, each with both deployed answers."""
    limit = _limit(2 * pairs.height)
    answers = [
        _by_question(_shown(run.deployed, name, limit))
        for run, name in ((before, "before"), (after, "after"))
    ]
    found: list[dict[str, Any]] = []
    for row in pairs.iter_rows(named=True):
        labels = [row["after"], *([row["change"]] if row["change"] != "same" else [])]
        moved = f"{row['before']} → {row['after']}" if row["before"] != row["after"] else row["after"]
        shown = [answer for side in answers for answer in side.get(row["id"], [])]
        found.append(_row(row, labels, [moved]) | {"answers": shown})
    return found


def _row(row: Mapping[str, Any], labels: list[str], notes: list[str]) -> dict[str, Any]:
    base = {name: row[name] for name in ("id", "subject", "text", "gold")}
    return {**base, "labels": labels, "notes": notes}


def _limit(n_answers: int) -> int:
    return max(SHORTEST, min(LONGEST, MOST_CHARACTERS // max(1, n_answers)))


def _notes(audited: AuditRun, name: str) -> Iterable[tuple[str, str]]:
    found = audited.found[name].select("question", "n_right", "n", "confirmed")
    for question, n_right, n, confirmed in found.iter_rows():
        doubt = " (no hit held when made again)" if confirmed is False else ""
        yield question, f"{name}: {n_right} of {n} right{doubt}"


def _shown(rows: pl.DataFrame, by: str, limit: int) -> pl.DataFrame:
    """Answers as the page shows them, their texts cut."""
    cut = pl.col("text").str.len_chars() > limit
    return rows.select(
        "question",
        by=pl.lit(by),
        text=pl.when(cut).then(pl.col("text").str.slice(0, limit) + "…").otherwise("text"),
        span=pl.when(pl.col("span").list.get(1, null_on_oob=True) <= limit).then("span"),
        outcome="outcome",
        reason="reason",
    )


def _distinct(rows: pl.DataFrame, name: str, limit: int) -> pl.DataFrame:
    """The commonest readings of each question, each with its first text and how often it was given."""
    groups = ["question", "outcome", "reason", "answer"]
    size = pl.len().over(groups).alias("n")
    total = pl.len().over("question").alias("of")
    first = rows.with_columns(size, total).unique(groups, keep="first", maintain_order=True)
    top = first.sort("place", "n", descending=[False, True], maintain_order=True)
    top = top.group_by("question", maintain_order=True).head(MOST_ANSWERS)
    return _shown(top, name, limit).with_columns(top["n"], top["of"])


def _by_question(rows: pl.DataFrame) -> dict[str, list[dict[str, Any]]]:
    found: dict[str, list[dict[str, Any]]] = {}
    for row in rows.iter_rows(named=True):
        question = row.pop("question")
        found.setdefault(question, []).append({k: v for k, v in row.items() if v is not None})
    return found
