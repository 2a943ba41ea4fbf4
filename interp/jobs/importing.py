"""`import`: an evaluation made elsewhere becomes an audit; no model is asked."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from interp.audited import PROBES, AuditRun
from interp.errors import BadInput, UnknownName
from interp.imports.imported import SAMPLING, Imported
from interp.imports.inspect_log import read_inspect
from interp.imports.lm_eval import read_lm_eval
from interp.jobs.auditing import write_readings
from interp.probes.probe import Probed
from interp.run import Run

SOURCES = ("lm-eval", "inspect")


def import_log(
    source: str, files: Sequence[str | Path], *, out: str | Path, options: dict[str, Any] | None = None
) -> AuditRun:
    """Writes an evaluation made by another package as a run of `audit`, and reads it.

    Repeats or epochs are attempts of a probe "sampling"; the first of them is the deployed answer. Verdicts
    are the log's own; `interp.jobs.scoring.score` reads the answers again by this package's grader.

    Args:
        source: "lm-eval" or "inspect".
        files: Samples files of one lm-eval run, or one Inspect log.
        out: The run directory.
        options: Keywords of `read_lm_eval` or `read_inspect`.

    Raises:
        UnknownName: There is no such source.
        BadInput: A file cannot be read, or what it says is ambiguous without an option.
        RunError: The directory cannot be used.
    """
    if source not in SOURCES:
        raise UnknownName("source of logs", source, SOURCES)
    imported = _read(source, [Path(file) for file in files], options or {})
    plan: dict[str, Any] = {**imported.plan, "clusters": "auto"}
    plan["files"] = [str(file) for file in files]
    draws: int = plan.pop("probes")[SAMPLING]["n_draws"]
    with Run.create_or_resume(
        out, plan=plan, questions=imported.questions, environment=imported.environment
    ) as run:
        known = {row.key for row in run.attempts}
        run.append([row for row in imported.attempts if row.key not in known])
        note = Probed(SAMPLING, f"sampling:{draws}", f"repeats, as {source} logged them", draws)
        run.write_json(PROBES, [asdict(note)])
        audited = AuditRun(run)
        write_readings(audited)
    return audited


def _read(source: str, files: list[Path], options: dict[str, Any]) -> Imported:
    if not files:
        raise BadInput(f"There is no file to import from {source}. Name at least one.")
    if source == "lm-eval":
        return read_lm_eval(files, **options)
    if len(files) > 1:
        raise BadInput(f"An Inspect log is one file, got {len(files)}. Import each into a run of its own.")
    return read_inspect(files[0], **options)
