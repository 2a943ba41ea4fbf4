"""What could this model have answered, what does it answer, and which block stands in between?

```python
import interp

model = interp.load("smollm2")
task = interp.load_task("comparison", n=40)
run = interp.localize(model, task, out="runs/first")
print(run.localization.headline)
run.repair()                   # polars: one row a block, with its controls
run.figures.block_ranking()    # plotly
```

Names that need torch, polars or plotly are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

from interp.errors import InterpError
from interp.intervention import Mean, Patch, Resample, Scale, Scope, parse_intervention, silence
from interp.procedure import Decoding, Procedure, Prompt, Request, Template
from interp.question import Attempt, FailureSet, Kind, Outcome, Question, Reason, TokenScores, Verdict
from interp.route import Route
from interp.site import Point, Site

if TYPE_CHECKING:
    from interp.audited import AuditRun
    from interp.compared import ComparedRuns
    from interp.jobs.auditing import AuditPlan, audit
    from interp.jobs.comparing import compare
    from interp.jobs.localizing import LocalizePlan, localize
    from interp.jobs.scoring import score
    from interp.localized import LocalizeRun
    from interp.models.export import export
    from interp.models.load import LoadOptions, load
    from interp.tasks.load import load_task

__all__ = [
    "Attempt",
    "AuditPlan",
    "AuditRun",
    "ComparedRuns",
    "Decoding",
    "FailureSet",
    "InterpError",
    "Kind",
    "LoadOptions",
    "LocalizePlan",
    "LocalizeRun",
    "Mean",
    "Outcome",
    "Patch",
    "Point",
    "Procedure",
    "Prompt",
    "Question",
    "Reason",
    "Request",
    "Resample",
    "Route",
    "Scale",
    "Scope",
    "Site",
    "Template",
    "TokenScores",
    "Verdict",
    "audit",
    "compare",
    "export",
    "load",
    "load_task",
    "localize",
    "parse_intervention",
    "score",
    "silence",
]

_LAZY = {
    "AuditPlan": "interp.jobs.auditing",
    "AuditRun": "interp.audited",
    "ComparedRuns": "interp.compared",
    "LoadOptions": "interp.models.load",
    "LocalizePlan": "interp.jobs.localizing",
    "LocalizeRun": "interp.localized",
    "audit": "interp.jobs.auditing",
    "compare": "interp.jobs.comparing",
    "export": "interp.models.export",
    "load": "interp.models.load",
    "load_task": "interp.tasks.load",
    "localize": "interp.jobs.localizing",
    "score": "interp.jobs.scoring",
}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return getattr(importlib.import_module(_LAZY[name]), name)
    raise AttributeError(f"module 'interp' has no attribute {name!r}")
