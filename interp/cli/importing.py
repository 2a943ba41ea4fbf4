"""`interp import`: evaluations made by other packages."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from interp.cli.app import app
from interp.cli.auditing import print_audit
from interp.errors import BadInput


@app.command(name="import")
def import_(
    source: Annotated[str, typer.Argument(help="lm-eval or inspect")],
    files: Annotated[list[Path], typer.Argument(help="samples_*.jsonl of an lm-eval run, or an Inspect log")],
    out: Annotated[Path, typer.Option(help="the run directory")],
    filter_: Annotated[
        str | None, typer.Option("--filter", help="lm-eval: which filter's answers to take")
    ] = None,
    metric: Annotated[str | None, typer.Option(help="lm-eval: which metric says right or wrong")] = None,
    scorer: Annotated[str | None, typer.Option(help="inspect: which scorer says right or wrong")] = None,
    threshold: Annotated[float | None, typer.Option(help="scores of at least this are right")] = None,
) -> None:
    """Make a run of the log of another package, to be read, scored and compared."""
    from interp.jobs.importing import import_log

    given = {"filter": filter_, "metric": metric, "scorer": scorer, "threshold": threshold}
    own = {"lm-eval": ("filter", "metric", "threshold"), "inspect": ("scorer", "threshold")}
    options = {name: value for name, value in given.items() if value is not None}
    for name in options:
        if source in own and name not in own[source]:
            raise BadInput(f"--{name} is no option of {source}; it has --{', --'.join(own[source])}.")
    print_audit(import_log(source, files, out=out, options=options))
