"""What a user sees while a run goes on: plain lines, or a bar where there is a terminal."""

from __future__ import annotations

import io
from dataclasses import replace

import pytest
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn
from scripted_task import some_rows

import interp.progress
from interp.intervention import silence
from interp.localizers.running import RunningRepair
from interp.progress import BarWatcher, PlainWatcher, watch
from interp.question import Attempt, Outcome

ROW = some_rows(1)[0]


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self) -> None:
        self.now = 1000.0

    def monotonic(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(interp.progress, "time", clock)
    return clock


def swept(question: str, outcomes: str) -> list[Attempt]:
    """A control and its blocks; R is right, any other letter is wrong."""
    return [
        replace(
            ROW,
            question=question,
            probe="silencing",
            draw=draw,
            interventions=(str(silence(draw - 1)),) if draw else (),
            outcome=Outcome.RIGHT if letter == "R" else Outcome.WRONG,
        )
        for draw, letter in enumerate(outcomes)
    ]


def test_plain_lines_come_at_the_start_every_ten_seconds_and_at_the_end(clock: Clock) -> None:
    stream = io.StringIO()
    watcher = PlainWatcher(stream, RunningRepair())
    watcher.stage("deployed", 100, 0)
    for done in range(10, 101, 10):
        clock.now += 4
        watcher.stage("deployed", 100, done)
    assert stream.getvalue().splitlines() == [
        "deployed: 100 to do",
        "deployed: 30 of 100, about 28 s left",
        "deployed: 60 of 100, about 16 s left",
        "deployed: 90 of 100, about 4 s left",
        "deployed: 100 of 100",
    ]


def test_the_time_left_follows_the_speed_of_the_last_line(clock: Clock) -> None:
    stream = io.StringIO()
    watcher = PlainWatcher(stream, RunningRepair())
    watcher.stage("deployed", 100, 0)
    clock.now += 10
    watcher.stage("deployed", 100, 50)
    clock.now += 10
    watcher.stage("deployed", 100, 60)
    assert stream.getvalue().splitlines()[1:] == [
        "deployed: 50 of 100, about 10 s left",
        "deployed: 60 of 100, about 40 s left",
    ]


def test_a_stage_that_was_begun_before_says_so_and_a_still_one_gives_no_nonsense(clock: Clock) -> None:
    stream = io.StringIO()
    watcher = PlainWatcher(stream, RunningRepair())
    watcher.stage("silencing", 50, 20)
    clock.now += 10
    watcher.stage("silencing", 50, 20)
    clock.now += 10
    watcher.stage("silencing", 50, 50)
    assert stream.getvalue().splitlines() == [
        "silencing: 50 to do, 20 done before",
        "silencing: 20 of 50, about 300 s left",
        "silencing: 50 of 50",
    ]


def test_the_best_block_so_far_stands_behind(clock: Clock) -> None:
    stream = io.StringIO()
    watcher = PlainWatcher(stream, RunningRepair())
    watcher.stage("deployed", 3, 0)
    watcher.rows([replace(ROW, outcome=Outcome.WRONG)])
    watcher.stage("deployed", 3, 3)
    watcher.stage("silencing", 12, 0)
    watcher.rows(swept("a", "WWRW"))
    clock.now += 10
    watcher.stage("silencing", 12, 4)
    watcher.rows([*swept("b", "WWWR"), *swept("c", "RRRR")])
    watcher.rows(swept("d", "WWWR"))
    watcher.stage("silencing", 12, 12)
    assert stream.getvalue().splitlines() == [
        "deployed: 3 to do",
        "deployed: 3 of 3",
        "silencing: 12 to do",
        "silencing: 4 of 12, about 20 s left; block 1 repairs 1 of 1 so far",
        "silencing: 12 of 12; block 2 repairs 2 of 3 so far",
    ]


def test_each_line_is_flushed_so_that_a_log_file_shows_it_at_once(clock: Clock) -> None:
    class Buffered(io.StringIO):
        flushed = ""

        def flush(self) -> None:
            self.flushed = self.getvalue()

    stream = Buffered()
    PlainWatcher(stream, RunningRepair()).stage("deployed", 5, 0)
    assert stream.flushed == "deployed: 5 to do\n"


def test_a_bar_a_stage_with_the_best_block_beside_it() -> None:
    console = Console(file=io.StringIO(), record=True, width=100, force_terminal=True)
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[best]}"),
    )
    with Progress(*columns, console=console, auto_refresh=False) as progress:
        watcher = BarWatcher(progress, RunningRepair())
        watcher.stage("deployed", 3, 0)
        watcher.stage("deployed", 3, 3)
        watcher.stage("silencing", 8, 0)
        watcher.rows(swept("a", "WWRW"))
        watcher.stage("silencing", 8, 4)
        bars = [(bar.description, bar.completed, bar.total) for bar in progress.tasks]
        assert bars == [("deployed", 3, 3), ("silencing", 4, 8)]
        progress.refresh()
    shown = console.export_text()
    assert "3/3" in shown
    last = [line for line in shown.splitlines() if "silencing" in line][-1]
    assert "4/8" in last
    assert last.rstrip().endswith("block 1 repairs 1 of 1 so far")


def test_a_probe_that_proposes_more_makes_its_bar_longer() -> None:
    with Progress(console=Console(file=io.StringIO()), auto_refresh=False) as progress:
        watcher = BarWatcher(progress, RunningRepair())
        watcher.stage("search", 4, 4)
        watcher.stage("search", 9, 4)
        assert [(bar.completed, bar.total) for bar in progress.tasks] == [(4, 9)]


def test_a_bar_is_drawn_on_a_terminal_and_lines_are_written_elsewhere() -> None:
    plain, terminal = io.StringIO(), Terminal()
    for stream, kind in ((plain, PlainWatcher), (terminal, BarWatcher)):
        with watch(RunningRepair(), stream) as watcher:
            assert type(watcher) is kind
            watcher.stage("silencing", 4, 0)
            watcher.rows(swept("a", "WWRW"))
            watcher.stage("silencing", 4, 4)
    assert plain.getvalue() == "silencing: 4 to do\nsilencing: 4 of 4; block 1 repairs 1 of 1 so far\n"
    assert "4/4" in terminal.getvalue()
    assert "block 1 repairs 1 of 1 so far" in terminal.getvalue()


def test_progress_goes_to_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with watch(RunningRepair()) as watcher:
        watcher.stage("deployed", 2, 0)
    captured = capsys.readouterr()
    assert (captured.out, captured.err) == ("", "deployed: 2 to do\n")


def test_a_bar_is_left_whole_when_the_run_stops_inside() -> None:
    terminal = Terminal()

    def stopped() -> None:
        with watch(RunningRepair(), terminal) as watcher:
            watcher.stage("silencing", 4, 1)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert terminal.getvalue().endswith("\n\x1b[?25h")
