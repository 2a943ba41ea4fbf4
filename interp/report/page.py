"""Writes the page of a run: `index.html` and `figures/*.html`, which load nothing from any network."""

from __future__ import annotations

import base64
import hashlib
import html
import json
import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import jinja2
import plotly.graph_objects as go
from markupsafe import Markup
from plotly.offline import get_plotlyjs

from interp.errors import BadInput, RunUnwritable
from interp.figures import theme
from interp.report.content import Example, PageContent, QuestionsContent
from interp.report.rows import HEADINGS, repair_rows

_HERE = Path(__file__).parent
_PADDING = 12


@dataclass(frozen=True)
class Panel:
    """A figure as the page sets it: title and subtitle in HTML, the plot itself as JSON."""

    name: str
    title: str
    subtitle: str
    height: int
    json: Markup


def write_page(folder: Path, content: PageContent | QuestionsContent) -> Path:
    """Writes the page and its figures into a run directory.

    `figures/plotly.min.js` is written once and shared by all pages. Text made by models or taken from data
    is escaped everywhere; a content security policy forbids every load but that file.

    Args:
        folder: The run directory; made if it does not exist.
        content: What the page shows.

    Returns:
        The path of `index.html`.

    Raises:
        BadInput: A figure's name is no plain file name.
        RunUnwritable: A file cannot be written.
    """
    panels = [_panel(name, figure) for name, figure in content.figures.items()]
    environment = _templates()
    files = {folder / "figures" / "plotly.min.js": get_plotlyjs()}
    for panel in panels:
        files[folder / "figures" / f"{panel.name}.html"] = environment.get_template("figure.html").render(
            panel=panel,
            model=content.model,
            task=content.task,
            plotly_js="plotly.min.js",
            **_shared("page.js"),
        )
    files[folder / "index.html"] = environment.get_template(content.template).render(
        page=content,
        sentences=[s for s in content.sentences if s != content.headline],
        left=[p for p in panels if p.name in content.left],
        right=[p for p in panels if p.name not in content.left],
        panels=panels,
        plotly_js="figures/plotly.min.js",
        **_own(content),
    )
    for path, text in files.items():
        _write(path, text)
    return folder / "index.html"


def _own(content: PageContent | QuestionsContent) -> dict[str, Any]:
    """What only a content's own template needs, and its scripts."""
    if isinstance(content, QuestionsContent):
        data = {"rows": content.questions, "filters": content.filters}
        return {"data": _json(data), **_shared("page.js", "questions.js")}
    return {
        "headings": HEADINGS,
        "rows": repair_rows(content.repair),
        "columns": _example_columns(content.examples),
        **_shared("page.js"),
    }


def _panel(name: str, figure: go.Figure) -> Panel:
    """Takes title and subtitle out of a figure, with the room that they took."""
    if re.fullmatch(r"[a-z0-9_]+", name) is None:
        raise BadInput(f"A figure's name is made of small letters, digits and '_', got {name!r}.")
    plain: dict[str, Any] = json.loads(str(figure.to_json()))
    layout: dict[str, Any] = plain["layout"]
    title: dict[str, Any] = layout.pop("title", {})
    margin: dict[str, Any] = layout.setdefault("margin", {})
    height = int(layout.get("height", 450)) - theme.TITLE_MARGIN + _PADDING
    margin["t"] = max(margin.get("t", theme.TITLE_MARGIN) - theme.TITLE_MARGIN, 0) + _PADDING
    layout["height"] = height
    subtitle = title.get("subtitle", {}).get("text", "")
    return Panel(
        name=name,
        title=html.unescape(title.get("text") or name.replace("_", " ").capitalize()),
        subtitle=html.unescape(subtitle),
        height=height,
        json=_json(plain),
    )


def _json(value: object) -> Markup:
    """JSON that can stand inside a script element: nothing in it can close the element or open another."""
    text = json.dumps(value, ensure_ascii=True, allow_nan=False)
    for character in "<>&":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return Markup(text)


def _shared(*scripts: str) -> dict[str, Any]:
    """What all templates need: style, script, the dark palette and the policy that allows that script."""
    script = "\n".join((_HERE / name).read_text(encoding="utf-8") for name in scripts)
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    policy = (
        f"default-src 'none'; script-src 'self' file: 'sha256-{digest}'; "
        "style-src 'unsafe-inline'; img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    return {
        "script": Markup(script),
        "style": Markup((_HERE / "page.css").read_text(encoding="utf-8")),
        "dark": _json(theme.DARK),
        "policy": policy,
    }


def _templates() -> jinja2.Environment:
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["pretty"] = _pretty
    return environment


def _pretty(value: object) -> str:
    """A JSON value for the reader."""
    return json.dumps(value, indent=2, ensure_ascii=False, default=str)


def _example_columns(examples: Iterable[Example]) -> dict[str, list[Example]]:
    """Examples by heading, in order of appearance."""
    columns: dict[str, list[Example]] = {}
    for example in examples:
        columns.setdefault(example.heading, []).append(example)
    return columns


def _write(path: Path, text: str) -> None:
    """Writes a file whole or not at all; bytes that stand already are left alone."""
    data = text.replace("\0", "\ufffd").encode("utf-8", errors="replace")
    temporary = path.with_name(f".{path.name}.part")
    try:
        if path.exists() and path.read_bytes() == data:
            return
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary.write_bytes(data)
        os.replace(temporary, path)
    except OSError as error:
        raise RunUnwritable(
            f"The page's file {path} cannot be written: {error.strerror or error}."
        ) from error
