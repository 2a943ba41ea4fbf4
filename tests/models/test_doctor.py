"""The doctor: healthy models pass; each way of being broken is found by the check that names it."""

from __future__ import annotations

import dataclasses
import functools

import pytest
import torch

from interp.errors import Unsupported
from interp.models import doctor
from interp.models.checks import Check
from interp.models.doctor import examine
from interp.models.load import wrap
from interp.models.tiny import tiny

FACTS = {"model", "versions", "runs", "architecture", "size", "before a question", "padding side"}
CHECKED = {
    *("additivity", "head", "readout", "logits", "cache", "logits = transformers", "same again"),
    *("tokens = transformers", "padding", "batch invariance", "silencing matters"),
    *("generation prompt", "system text", "beginning token, plain", "beginning token, chat"),
    *("control tokens in questions", "round trip", "end tokens"),
}


def failed(model, **options) -> dict[str, Check]:
    rows = examine(model, **{"backends": (), **options})
    assert {row.name for row in rows if row.passed is None} <= {*FACTS, "chat template"}
    assert all(row.advice for row in rows if row.passed is False)
    assert all("\n" not in row.value for row in rows)
    return {row.name: row for row in rows if row.passed is False}


@pytest.mark.parametrize("name", ["gemma3", "gpt2", "gpt_neox", "llama", "mixtral", "qwen3_next"])
def test_a_healthy_model_passes_every_check(tiny_model, name):
    rows = examine(tiny_model(name), backends=())
    assert {row.name for row in rows} == FACTS | CHECKED
    assert all(row.passed for row in rows if row.name in CHECKED)


@pytest.mark.parametrize("name", ["llama", "gpt2"])
def test_the_other_backends_agree(tiny_model, name):
    *_, lens, nnsight = examine(tiny_model(name))
    assert (lens.name, lens.passed) == ("agrees with lens", True)
    assert (nnsight.name, nnsight.passed) == ("agrees with nnsight", True)


def test_a_backend_that_refuses_is_no_failure_of_the_model(tiny_model):
    (*_, row) = examine(tiny_model("falcon_grouped"), backends=("lens",))
    assert row.passed is None
    assert row.value.startswith("not used: TransformerLens cannot run")


def test_a_backend_with_other_numbers_is_named(tiny_model, monkeypatch):
    model = tiny_model("llama")
    other = dataclasses.replace(tiny("llama", seed=1), name="other")
    monkeypatch.setitem(doctor.BACKENDS, "other", lambda *_: other)
    found = failed(model, backends=("other",))
    assert list(found) == ["agrees with other"]
    assert "Do not mix numbers of other:" in found["agrees with other"].advice

    def broken(*_):
        raise ZeroDivisionError("of its own")

    monkeypatch.setitem(doctor.BACKENDS, "broken", broken)
    assert failed(model, backends=("broken",))["agrees with broken"].value == "ZeroDivisionError: of its own"


def test_a_wrong_row_fails_the_load_checks(tiny_model):
    model = tiny_model("gemma2")
    raw = dataclasses.replace(model, layout=dataclasses.replace(model.layout, mlp_out="mlp"))
    assert list(failed(raw)) == ["additivity"]


def test_a_lost_cache_is_found():
    model = tiny("llama")
    real = model.module.forward

    @functools.wraps(real)
    def forgetful(*args, **kwargs):
        if kwargs.get("past_key_values") is not None and kwargs["input_ids"].shape[1] == 1:
            kwargs["attention_mask"] = kwargs["attention_mask"][:, -1:]
            kwargs["past_key_values"] = None
        return real(*args, **kwargs)

    model.module.forward = forgetful
    found = failed(model)
    assert "cache" in found
    assert found.keys() <= {"cache", "tokens = transformers", "batch invariance"}


def test_a_block_whose_silencing_changes_nothing_is_named():
    model = tiny("llama")
    torch.nn.init.zeros_(model.blocks[2].get_submodule("mlp.down_proj").weight)
    found = failed(model)
    assert list(found) == ["silencing matters"]
    assert "layer [2]" in found["silencing matters"].value


def test_positions_that_count_padding_are_found():
    model = tiny("gpt2")
    real = model.module.forward

    @functools.wraps(real)
    def by_index(*args, **kwargs):
        kwargs.pop("position_ids", None)
        return real(*args, **kwargs)

    model.module.forward = by_index
    assert "padding" in failed(model)


def with_template(template: str | None):
    model = tiny("llama")
    model.tokenizer.chat_template = template
    return wrap(model.module, model.tokenizer, name="broken")


TURNS = "{% for m in messages %}{{ m['role'] }}: {{ m['content'] }}\n{% endfor %}"
BEGUN = "{% if add_generation_prompt %}assistant: {% endif %}"


@pytest.mark.parametrize(
    ("template", "names"),
    [
        (f"<|start|><|start|>{TURNS}{BEGUN}", {"beginning token, chat"}),
        (TURNS, {"generation prompt"}),
        ("{{ messages[-1]['content'] }}" + BEGUN, {"system text"}),
        (TURNS + BEGUN, set()),
    ],
)
def test_what_a_template_does_wrong_is_named(template, names):
    assert failed(with_template(template)).keys() == names


def test_a_template_that_raises_ends_as_a_failed_row():
    found = failed(with_template("{{ raise_exception('no') }}"))
    assert "chat template" in found
    assert "TemplateError: no" in found["chat template"].value


def test_a_model_without_a_template_is_asked_in_plain_text():
    rows = {row.name: row for row in examine(with_template(None), backends=())}
    assert rows["chat template"].value.startswith("none")
    assert not [row for row in rows.values() if row.passed is False]


def test_a_question_that_becomes_a_control_token_is_found(monkeypatch):
    model = tiny("llama")
    real = type(model).render

    def leaking(self, text, prompt):
        rendered = real(self, text.replace("<", "\0"), prompt)
        whole = rendered.text.replace("\0", "<")
        return dataclasses.replace(
            rendered, tokens=tuple(self.tokenizer(whole, add_special_tokens=False).input_ids)
        )

    monkeypatch.setattr(type(model), "render", leaking)
    found = failed(model)
    assert "control tokens in questions" in found
    assert "<|end|>" in found["control tokens in questions"].value


def test_a_check_that_breaks_down_does_not_end_the_examination(monkeypatch):
    def broken(_model):
        raise RuntimeError("no kernel")

    monkeypatch.setattr(doctor, "measure", broken)
    found = failed(tiny("llama"))
    assert found["load checks"].value == "RuntimeError: no kernel"
    assert len(found) == 1

    def refused(_model):
        raise Unsupported("no such thing")

    monkeypatch.setattr(doctor, "measure", refused)
    assert failed(tiny("llama"))["load checks"].value == "no such thing"
