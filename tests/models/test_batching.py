"""Which requests run together: by length, by the memory there is, and by halves where memory runs out."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from interp.errors import OutOfMemory
from interp.intervention import silence
from interp.models import backend, memory
from interp.models.backend import Backend
from interp.models.batching import MAX_PADDING, MIN_BUCKET, batches_of, buckets
from interp.procedure import Decoding, Procedure, Prompt, Request
from interp.route import Route

LENGTHS = st.lists(st.integers(1, 400), min_size=1, max_size=120)


@given(LENGTHS)
def test_buckets_hold_every_row_once_in_order_and_part_lengths(lengths: list[int]) -> None:
    found = list(buckets(range(len(lengths)), lengths))
    assert sorted(row for bucket in found for row in bucket) == list(range(len(lengths)))
    assert all(bucket == sorted(bucket) for bucket in found)
    for shorter, longer in pairwise(found):
        assert max(lengths[row] for row in shorter) < min(lengths[row] for row in longer)
        assert min(map(len, (shorter, longer))) >= MIN_BUCKET


@given(LENGTHS.filter(lambda lengths: max(lengths) <= MAX_PADDING * min(lengths)))
def test_lengths_that_are_alike_are_not_parted(lengths: list[int]) -> None:
    assert list(buckets(range(len(lengths)), lengths)) == [list(range(len(lengths)))]


def test_long_prompts_run_apart_from_short_ones_and_from_routes() -> None:
    lengths = [50, 500] * 20
    assert batches_of([None] * 40, lengths, apart=False) == [[*range(0, 40, 2)], [*range(1, 40, 2)]]
    routes = [None, Route.parse("0-2"), Route.parse("1-3")]
    assert batches_of(routes, [50, 500, 5], apart=False) == [[0], [1, 2]]
    assert batches_of(routes, [50, 500, 5], apart=True) == [[0], [1], [2]]


def requests_of(n: int) -> list[Request]:
    """Short and long questions, plain and silenced."""
    prompt, how = Prompt("A system text that all prompts share.", (), "It is "), Decoding(6)
    texts = ("Hi?", "Which number is smaller, 3 or 8, and which of them is it that is larger? " * 3)
    procedures = [Procedure(prompt, how), *(Procedure(prompt, how, (silence(layer),)) for layer in range(3))]
    return [Request(texts[i // 4 % 2], procedures[i % 4], i) for i in range(n)]


def crowded(monkeypatch: pytest.MonkeyPatch, most: int, error: Exception) -> list[int]:
    """Lets no more rows than so many into memory; the sizes that were tried."""
    tried: list[int] = []
    complete = Backend._complete

    def limited(self: Backend, requests: Sequence[Request], *arguments: object, **named: object) -> object:
        tried.append(len(requests))
        if len(requests) > most:
            raise error
        return complete(self, requests, *arguments, **named)  # type: ignore[arg-type]

    monkeypatch.setattr(Backend, "_complete", limited)
    return tried


OUT = (
    torch.OutOfMemoryError("CUDA out of memory."),
    MemoryError(),
    RuntimeError("not enough memory: 8 GB"),
)


@pytest.mark.parametrize("error", OUT, ids=lambda error: type(error).__name__)
def test_where_memory_runs_out_half_is_tried_and_the_rest_goes_on(tiny_model, monkeypatch, error) -> None:
    model, requests = tiny_model("llama"), requests_of(40)
    alone = [next(iter(model.generate([request]))) for request in requests]
    tried = crowded(monkeypatch, 6, error)
    found = list(model.generate(requests))
    assert [c.tokens for c in found] == [c.tokens for c in alone]
    assert tried == [40, 20, 10, 5, 5, 5, 5, 5, 5, 5, 5]


def test_one_request_that_does_not_fit_is_one_clear_error(tiny_model, monkeypatch) -> None:
    tried = crowded(monkeypatch, 0, OUT[0])
    with pytest.raises(OutOfMemory, match=r"one request alone \(\d+ tokens of prompt, up to 6 of answer\)"):
        list(tiny_model("llama").generate(requests_of(3)))
    assert tried == [3, 2, 1]


def test_other_errors_are_not_taken_for_a_lack_of_memory(tiny_model, monkeypatch) -> None:
    tried = crowded(monkeypatch, 0, RuntimeError("shapes do not match"))
    with pytest.raises(RuntimeError, match="shapes"):
        list(tiny_model("llama").generate(requests_of(3)))
    assert tried == [3]


def test_the_batch_follows_the_memory_that_is_there(tiny_model, monkeypatch) -> None:
    model, requests = tiny_model("llama"), requests_of(40)
    whole = [c.tokens for c in model.generate(requests)]
    tried = crowded(monkeypatch, 40, MemoryError())
    n_tokens = max(len(model.render(r.text, r.procedure.prompt).tokens) for r in requests) + 6
    monkeypatch.setattr(memory, "available", lambda _device: 10**9)
    row = 10**9 / memory.rows_that_fit(model, n_tokens)
    monkeypatch.setattr(memory, "available", lambda _device: int(16.5 * row))
    assert [c.tokens for c in model.generate(requests)] == whole
    assert tried[0] == 16
    assert sum(tried) == 40


@settings(max_examples=20)
@given(limit=st.integers(0, 2**40), used=st.integers(0, 2**40), cached=st.integers(0, 2**30))
def test_a_control_group_bounds_what_is_free(tmp_path_factory, limit: int, used: int, cached: int) -> None:
    folder = tmp_path_factory.mktemp("cgroup")
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(f"anon 1\ninactive_file {cached}\n")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(memory, "CGROUP", folder)
        inside = memory.available(torch.device("cpu"))
        (folder / "memory.max").write_text("max\n")
        outside = memory.available(torch.device("cpu"))
    assert 0 <= inside <= max(0, limit - used + cached)
    assert outside > 0


def test_limits_are_those_of_the_package() -> None:
    assert backend.MAX_BATCH == 256
