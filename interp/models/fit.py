"""An architecture without a row: known rows whose modules it has are tried, and the load checks decide."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from interp.errors import LoadRefused, Unsupported
from interp.models.checks import failures, measure
from interp.models.layout import LAYOUTS, Layout, Norm, check_modules

if TYPE_CHECKING:
    from torch import nn

    from interp.models.hooks import HooksModel

HOW_TO_ADD = (
    "To add it, write its row in interp/models/layout.py and its tiny model in interp/models/tiny.py."
)


def fitted(model: HooksModel) -> HooksModel:
    """The model under the first known row that fits its modules and passes every load check.

    Rows are tried with each kind of final norm, blocks with a `resid_mid` before parallel ones. Nothing is
    shared between rows of a batch, since no check of names can tell that it may be.

    Args:
        model: A model of an unknown architecture; its layout is ignored.

    Raises:
        LoadRefused: Some row fits the modules, but each fails a load check; the message gives the numbers.
        Unsupported: No row fits the modules.
    """
    architecture = str(model.config.model_type)
    tried: list[str] = []
    for name, row in fitting_rows(model.module):
        candidate = replace(model, layout=row)
        try:
            failed = failures(candidate, measure(candidate))
        except (AssertionError, AttributeError, LookupError, RuntimeError, TypeError, Unsupported) as error:
            tried.append(f"as {name}, {type(error).__name__}: {str(error)[:80]}")
            continue
        if not failed:
            return candidate
        numbers = ", ".join(f"{check} {error:.2g}" for check, error in failed.items())
        tried.append(f"as {name} with norm {row.norm}, {numbers}")
    if not tried:
        raise Unsupported(
            f"The architecture {architecture!r} has no row in interp/models/layout.py, and no row's modules "
            f"are found in it. Known: {', '.join(sorted(LAYOUTS))}. {HOW_TO_ADD}"
        )
    raise LoadRefused(
        f"The architecture {architecture!r} has no row in interp/models/layout.py, and read by a known row "
        f"it fails a load check (relative errors): {'; '.join(tried)}. {HOW_TO_ADD}"
    )


def fitting_rows(module: nn.Module) -> Iterator[tuple[str, Layout]]:
    """Known rows, each once and with each kind of final norm, whose modules and names a model has."""
    config: Any = module.config
    seen: set[Layout] = set()
    for parallel in (False, True):
        for name, known in LAYOUTS.items():
            for norm in Norm:
                row = replace(known, norm=norm, parallel=parallel, forks=False, gaps=False, absent="")
                named = [key for key in (row.logit_scale, row.logit_divisor) if key]
                if (
                    bool(known.parallel) < parallel
                    or row in seen
                    or not all(hasattr(config, n) for n in named)
                ):
                    continue
                seen.add(row)
                try:
                    check_modules(module, row, name)
                except Unsupported:
                    continue
                yield name, row
