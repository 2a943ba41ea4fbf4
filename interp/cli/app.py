"""The program that the commands belong to: errors in one line, interruptions with a way to go on."""

from __future__ import annotations

import io
import shlex
import sys
from typing import Any

import typer
from typer.core import TyperGroup

from interp.errors import InterpError


class _Interruptible(TyperGroup):
    """Commands that say how to go on when they are stopped; typer alone would leave without a word."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            print(f"\ninterp: stopped. Nothing is lost; to go on: {_again()}", file=sys.stderr)
            raise SystemExit(130) from None


app = typer.Typer(
    cls=_Interruptible,
    help="What could a model have answered, what does it answer, and which block stands in between?",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)


def main() -> None:
    """Runs the command line."""
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="backslashreplace")  # a terminal may lack the signs of a table
    try:
        app()
    except InterpError as error:
        print(f"interp: {' '.join(str(error).split())}", file=sys.stderr)
        raise SystemExit(2) from None


def _again() -> str:
    return shlex.join(["interp", *sys.argv[1:]])
