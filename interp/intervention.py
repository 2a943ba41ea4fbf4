"""What is changed in a forward pass: frozen words, each with a site and a scope.

`L7.mlp_out*0` silences MLP block 7; `L7.mlp_out*0.5@prompt` halves it on the prompt only;
`L7.mlp_out=mean:3fa9c1` puts the mean over a reference set in its place, `=resample:3fa9c1` what it was on
another question, `=patch:3fa9c1` what it was in another pass. `L7.mlp_out.expert3*0` silences one expert.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import ClassVar

from interp.errors import BadWord
from interp.site import Point, Scope, Site

EDITABLE = (Point.ATTN_OUT, Point.MLP_OUT)


def _check_scope(scope: str) -> None:
    if scope not in set(Scope):
        raise BadWord(f"{scope!r} is not a scope. Use one of: {', '.join(Scope)}.")


def _check_editable(site: Site) -> None:
    if site.point not in EDITABLE:
        raise BadWord(
            f"An intervention acts on a contribution to the residual stream, not on {site}. "
            f"Use one of: {', '.join(EDITABLE)}."
        )


@dataclass(frozen=True)
class Scale:
    """Multiplies a contribution by a factor; factor 0 silences it, factor 1 changes nothing."""

    site: Site
    factor: float
    scope: Scope = Scope.BOTH

    def __post_init__(self) -> None:
        """Refuses sites that are no contributions and factors that are no finite numbers.

        Raises:
            BadWord: The site is a residual stream, the factor is NaN or infinite, or there is no such scope.
        """
        _check_editable(self.site)
        _check_scope(self.scope)
        if not abs(self.factor) < float("inf"):
            raise BadWord(f"The factor of {self.site} must be a finite number, got {self.factor}.")

    def __str__(self) -> str:
        return f"{self.site}*{_number(self.factor)}{_scope_suffix(self.scope)}"


@dataclass(frozen=True)
class _Replace:
    """Puts other tensors in place of a contribution.

    The word names them by a key; they are handed to the model beside the requests, since a word never
    holds a tensor.
    """

    site: Site
    reference: str
    scope: Scope = Scope.BOTH
    kind: ClassVar[str] = ""

    def __post_init__(self) -> None:
        """Refuses sites that are no whole contributions and keys that are no plain words.

        Raises:
            BadWord: The site is a residual stream or an expert, the reference key is not `[0-9a-z]+`, or
                there is no such scope.
        """
        _check_editable(self.site)
        _check_scope(self.scope)
        if self.site.expert is not None:
            raise BadWord(
                f"One expert can be scaled, not replaced, so there is no replacement at {self.site}."
            )
        if not re.fullmatch(r"[0-9a-z]+", self.reference):
            raise BadWord(f"A reference key is made of digits and small letters, got {self.reference!r}.")

    def __str__(self) -> str:
        return f"{self.site}={self.kind}:{self.reference}{_scope_suffix(self.scope)}"


@dataclass(frozen=True)
class Mean(_Replace):
    """Puts the mean contribution over a reference set in place of the contribution.

    The key names one vector a site.
    """

    kind: ClassVar[str] = "mean"


@dataclass(frozen=True)
class Resample(_Replace):
    """Puts what another question's pass wrote in place of the contribution.

    The two prompts are aligned at their ends, so they may differ in length, and new tokens one by one.
    Positions that the other pass lacks keep their own contribution.

    Reference:
        Chan et al., "Causal Scrubbing", 2022, for resampling in place of zero or mean; the alignment is ours.
    """

    kind: ClassVar[str] = "resample"


@dataclass(frozen=True)
class Patch(_Replace):
    """Puts what another pass wrote at the same position in place of the contribution.

    Both prompts must have the same number of tokens. New tokens that the other pass lacks keep their own
    contribution.

    Reference:
        Meng et al., "Locating and Editing Factual Associations in GPT", arXiv 2202.05262 (2022).
    """

    kind: ClassVar[str] = "patch"


Replace = Mean | Resample | Patch
Intervention = Scale | Replace

REPLACEMENTS: dict[str, type[Replace]] = {word.kind: word for word in (Mean, Resample, Patch)}

_LINE = re.compile(
    r"(?P<site>[^*=@]+)(?:\*(?P<factor>[^*=@]+)|=(?P<kind>[a-z]+):(?P<reference>[^*=@]+))(?:@(?P<scope>\w+))?"
)


def parse_intervention(line: str) -> Intervention:
    """Reads the line that an intervention prints.

    Raises:
        BadWord: The line has another form, or names an unknown point or scope.
    """
    match = _LINE.fullmatch(line.strip())
    if match is None or (match["kind"] or "mean") not in REPLACEMENTS:
        raise BadWord(
            f"{line!r} is not an intervention. Write for instance 'L7.mlp_out*0', "
            "'L7.mlp_out*0.5@prompt' or 'L7.mlp_out=mean:3fa9c1' (also resample, patch)."
        )
    scope = match["scope"] or Scope.BOTH
    _check_scope(scope)
    site = Site.parse(match["site"])
    if match["kind"] is not None:
        return REPLACEMENTS[match["kind"]](site, match["reference"], Scope(scope))
    try:
        factor = float(match["factor"])
    except ValueError:
        raise BadWord(f"{match['factor']!r} in {line!r} is not a number.") from None
    return Scale(site, factor, Scope(scope))


def silence(layer: int, scope: Scope = Scope.BOTH, *, expert: int | None = None) -> Scale:
    """The word that silences the MLP block of a layer, or one expert of it."""
    return Scale(Site(layer, Point.MLP_OUT, expert), 0.0, scope)


def _scope_suffix(scope: Scope) -> str:
    return "" if scope is Scope.BOTH else f"@{scope}"


def _number(value: float) -> str:
    value = float(value) + 0.0  # an int is a factor too, and -0.0 is 0
    return f"{value:.0f}" if value.is_integer() else repr(value)
