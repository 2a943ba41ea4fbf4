"""What is finished before its turn: merged into one order, whoever finished it and when."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scripted_task import open_run, some_rows

from interp.errors import RunDamaged, RunError
from interp.log import Log
from interp.parts import Parts, joined, merge
from interp.run import Run

ROWS = some_rows(12)
KEYS = [row.key for row in ROWS]


def batches_of(sizes: list[int]) -> list[list[tuple[str, str, int]]]:
    bounds = [sum(sizes[:i]) for i in range(len(sizes) + 1)]
    return [KEYS[a:b] for a, b in pairwise(bounds)]


@given(
    sizes=st.lists(st.integers(0, 4), max_size=5).filter(lambda sizes: sum(sizes) <= len(ROWS)),
    owners=st.lists(st.sets(st.integers(0, 3), min_size=1, max_size=3), min_size=5, max_size=5),
    order=st.permutations(range(5)),
    n_logged=st.integers(0, 12),
)
def test_any_split_and_any_order_merge_to_the_same_rows(
    sizes: list[int], owners: list[set[int]], order: list[int], n_logged: int
) -> None:
    batches = batches_of(sizes)
    log = {row.key: row for row in ROWS[: min(n_logged, sum(sizes))]}
    n_merged, merged = 0, list(log.values())
    files: dict[str, list] = {}
    for index in (i for i in order if i < len(batches)):
        for owner in owners[index]:
            files.setdefault(f"worker-{owner}", []).extend(ROWS[KEYS.index(k)] for k in batches[index])
        ready = merge(batches[n_merged:], log, joined(files))
        n_merged += len(ready)
        for rows in ready:
            merged += rows
            log.update((row.key, row) for row in rows)
        assert merged == ROWS[: len(merged)]
    if len({*order} & {*range(len(batches))}) == len(batches):
        assert merged == ROWS[: sum(sizes)]
        assert n_merged == len(batches)


def test_only_whole_batches_are_merged_and_rows_of_others_do_no_harm() -> None:
    batches = [KEYS[0:2], KEYS[2:4], KEYS[4:6]]
    found = {row.key: row for row in (*ROWS[0:3], *ROWS[4:6], ROWS[11])}
    assert merge(batches, {}, found) == [ROWS[0:2]]
    assert merge(batches, {KEYS[3]}, found) == [ROWS[0:2], ROWS[2:3], ROWS[4:6]]
    assert merge(batches, KEYS, {}) == [[], [], []]


def test_parts_with_different_rows_of_one_key_are_refused(tmp_path: Path) -> None:
    other = replace(ROWS[1], text="4 apples")
    with pytest.raises(RunDamaged, match=r"a and b have different rows for \('deployed', 'q00', 1\)"):
        joined({"a": ROWS[0:2], "b": [other]})
    with open_run(tmp_path) as run:
        run.append(ROWS[0:2])
        run.keep("worker-0", ROWS[4:6])
    Log(tmp_path / "parts" / "worker-1.jsonl").open().append([replace(ROWS[5], text="5 pears")])
    with pytest.raises(RunDamaged, match=r"worker-0.*worker-1.*have different rows.*asked again"):
        open_run(tmp_path)
    (tmp_path / "parts" / "worker-1.jsonl").unlink()
    Log(tmp_path / "parts" / "worker-2.jsonl").open().append([other])
    with pytest.raises(RunDamaged, match=r"attempts\.jsonl and .*worker-2"):
        open_run(tmp_path)


def test_what_is_early_is_found_again_and_is_no_part_of_what_a_reader_sees(tmp_path: Path) -> None:
    with open_run(tmp_path) as run:
        run.append(ROWS[0:2])
        run.keep("worker-0", ROWS[4:6])
        run.keep("worker-1", ROWS[6:8])
        run.keep("worker-0", ROWS[8:9])
        assert run.attempts == Run.read(tmp_path).attempts == ROWS[0:2]
        assert run.table().height == 2
    with (tmp_path / "parts" / "worker-1.jsonl").open("a") as file:
        file.write('{"question": "q0')
    assert Run.read(tmp_path).early == {}
    with open_run(tmp_path) as run:
        assert list(run.early.values()) == [*ROWS[4:6], ROWS[8], *ROWS[6:8]]
        run.append(ROWS[6:8])
        run.drop_merged()
        assert [path.name for path in (tmp_path / "parts").iterdir()] == ["worker-0.jsonl"]
        run.append([*ROWS[4:6], ROWS[8]])
        run.drop_merged()
        assert (run.early, (tmp_path / "parts").exists()) == ({}, False)
        run.keep("worker-0", ROWS[10:11])
        assert list(run.early) == [KEYS[10]]


def test_parts_of_a_run_that_is_only_read_cannot_be_written(tmp_path: Path) -> None:
    open_run(tmp_path).close()
    run = Run.read(tmp_path)
    with pytest.raises(RunError, match="reading only"):
        run.keep("worker-0", ROWS[:1])
    run.drop_merged()


def test_a_folder_that_holds_something_else_stays() -> None:
    with tempfile.TemporaryDirectory() as folder:
        (Path(folder) / "parts").mkdir()
        (Path(folder) / "parts" / "notes.txt").write_text("mine")
        Parts(Path(folder) / "parts", Log(Path(folder) / "attempts.jsonl")).drop([])
        assert (Path(folder) / "parts" / "notes.txt").read_text() == "mine"
