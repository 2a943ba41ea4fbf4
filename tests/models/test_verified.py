"""A model that has passed the load checks is not checked again; another one is."""

from __future__ import annotations

import json

import pytest
from safetensors.torch import load_file, save_file

from interp.errors import LoadRefused
from interp.models import verified
from interp.models.load import LoadOptions, load
from interp.models.tiny import tiny


@pytest.fixture
def checked(monkeypatch, tmp_path):
    """Names of the models that the load checks were run on, with a memory of its own."""
    names: list[str] = []
    real = verified.verify

    def verify(model):
        names.append(model.name)
        return real(model)

    monkeypatch.setenv("INTERP_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(verified, "N_SMALL", 0)
    monkeypatch.setattr(verified, "verify", verify)
    return names


@pytest.fixture
def folder(tmp_path):
    model = tiny("llama")
    path = tmp_path / "checkpoint"
    model.module.save_pretrained(path)
    model.tokenizer.save_pretrained(path)
    return path


def test_the_second_load_of_the_same_model_is_not_checked(checked, folder):
    first, second = load(folder), load(folder)
    assert checked == [str(folder)]
    assert first.fingerprint == second.fingerprint
    (memory,) = (folder.parent / "cache" / "verified").iterdir()
    known = json.loads(memory.read_text())
    assert known["model"] == str(folder)
    assert set(known["errors"]) == {"additivity", "head", "readout", "logits", "cache"}


def test_other_weights_dtypes_and_code_are_checked(checked, folder, monkeypatch):
    load(folder)
    load(folder, LoadOptions(dtype="bfloat16"))
    weights = folder / "model.safetensors"
    tensors = load_file(weights)
    tensors["model.norm.weight"] *= 2
    save_file(tensors, weights, metadata={"format": "pt"})
    load(folder)
    assert len(checked) == 3
    monkeypatch.setattr(verified, "_code", lambda: "changed")
    load(folder)
    assert len(checked) == 4


def test_a_failure_is_not_remembered(checked, folder, monkeypatch):
    from transformers.models.llama.modeling_llama import LlamaRMSNorm

    real = LlamaRMSNorm.forward
    monkeypatch.setattr(LlamaRMSNorm, "forward", lambda norm, hidden: real(norm, hidden) + 0.1)
    for _ in range(2):
        with pytest.raises(LoadRefused):
            load(folder)
    assert len(checked) == 2


def test_small_models_are_checked_each_time_and_leave_nothing_behind(checked, monkeypatch, tmp_path):
    monkeypatch.setattr(verified, "N_SMALL", 10_000_000)
    load("tiny:llama")
    load("tiny:llama")
    assert len(checked) == 2
    assert not (tmp_path / "cache").exists()


def test_a_memory_that_cannot_be_written_only_costs_time(checked, folder, monkeypatch, tmp_path):
    blocked = tmp_path / "file"
    blocked.write_text("")
    monkeypatch.setenv("INTERP_CACHE", str(blocked / "below"))
    load(folder)
    load(folder)
    assert len(checked) == 2
