"""Random-weight models of each architecture, for tests and notebooks, and one with a known guilty block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from interp.errors import UnknownName
from interp.models.load import wrap

if TYPE_CHECKING:
    from transformers import PreTrainedTokenizerBase

    from interp.models.hooks import HooksModel

N_LAYERS, D_MODEL, N_HEADS, D_MLP, N_CONTEXT = 4, 32, 4, 64, 512
CONTROL = ("<|pad|>", "<|start|>", "<|end|>")
TEMPLATE = (
    "{% for m in messages %}<|start|>{{ m['role'] }}\n{{ m['content'] }}<|end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|start|>assistant\n{% endif %}"
)

_GROUPED: dict[str, Any] = {
    "vocab_size": 256 + len(CONTROL),
    "hidden_size": D_MODEL,
    "intermediate_size": D_MLP,
    "num_hidden_layers": N_LAYERS,
    "num_attention_heads": N_HEADS,
    "num_key_value_heads": 2,
    "head_dim": D_MODEL // N_HEADS,
    "max_position_embeddings": N_CONTEXT,
    "tie_word_embeddings": False,
}
_SLIDING = {**_GROUPED, "sliding_window": 16}

ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "gemma2": ("gemma2", {**_SLIDING, "query_pre_attn_scalar": 8}),
    "gemma3": ("gemma3_text", {**_SLIDING, "query_pre_attn_scalar": 8}),
    "gpt2": (
        "gpt2",
        {
            "vocab_size": 256 + len(CONTROL),
            "n_embd": D_MODEL,
            "n_layer": N_LAYERS,
            "n_head": N_HEADS,
            "n_positions": N_CONTEXT,
        },
    ),
    "gpt_neox": (
        "gpt_neox",
        {k: v for k, v in _GROUPED.items() if k not in ("num_key_value_heads", "head_dim")},
    ),
    "llama": ("llama", _GROUPED),
    "mistral": ("mistral", _SLIDING),
    "olmo2": ("olmo2", _GROUPED),
    "qwen2": ("qwen2", _GROUPED),
    "qwen3": ("qwen3", _GROUPED),
    "smollm3": ("smollm3", _GROUPED),
}
"""Name after `tiny:` -> transformers' model type and the settings of a tiny configuration."""


def tiny(name: str, *, seed: int = 0) -> HooksModel:
    """A model with random weights and a byte tokenizer; the same name and seed give the same weights.

    Args:
        name: An architecture of `ARCHITECTURES`.
        seed: Seed of the weights.

    Raises:
        UnknownName: There is no such architecture.
    """
    from transformers import AutoConfig, AutoModelForCausalLM

    if name not in ARCHITECTURES:
        raise UnknownName("tiny model", name, ARCHITECTURES)
    model_type, settings = ARCHITECTURES[name]
    tokenizer = byte_tokenizer()
    control = {f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")}
    config = AutoConfig.for_model(model_type, **settings, **control)
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        module: Any = AutoModelForCausalLM.from_config(config, dtype=torch.float32)
        _make_lively(module)
    return wrap(module, tokenizer, name=f"tiny:{name}")


def byte_tokenizer() -> PreTrainedTokenizerBase:
    """A tokenizer with one token a byte, three control tokens and a chat template."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    bpe = Tokenizer(models.BPE(vocab={byte: i for i, byte in enumerate(alphabet)}, merges=[]))
    bpe.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    bpe.decoder = decoders.ByteLevel()
    tokenizer: Any = PreTrainedTokenizerFast(
        tokenizer_object=bpe, pad_token=CONTROL[0], bos_token=CONTROL[1], eos_token=CONTROL[2]
    )
    tokenizer.chat_template = TEMPLATE
    return tokenizer


def plant(model: HooksModel, *, layer: int, seed: int = 0) -> HooksModel:
    """A llama-like model in which the MLP of one layer, and nothing else, writes wrong answers.

    Its answers are small letters. The MLP of `layer` gets one neuron that fires on some prompts and then
    writes the letter `z`; with that block silenced it answers as `clean` does.

    Args:
        model: A `tiny:llama`; its weights are changed in place.
        layer: The guilty layer.
        seed: Seed of the neuron's direction.
    """
    letters_only(model)
    module: Any = model.module
    generator = torch.Generator().manual_seed(seed)
    mlp: Any = model.blocks[layer].get_submodule(model.layout.mlp)
    head = module.lm_head.weight
    wrong = head[token_ids(model, "z")[0]]
    with torch.no_grad():
        for projection in (mlp.gate_proj, mlp.up_proj, mlp.down_proj):
            projection.weight.zero_()
        direction = torch.randn(D_MODEL, generator=generator)
        mlp.gate_proj.weight[0] = direction * 4
        mlp.up_proj.weight[0] = direction
        mlp.down_proj.weight[:, 0] = 100 * wrong / wrong.norm()
    return wrap(module, model.tokenizer, name=f"{model.name}+planted:{layer}")


def letters_only(model: HooksModel) -> None:
    """Changes a model's head in place so that it answers with small letters only."""
    module: Any = model.module
    letters = token_ids(model, "abcdefghijklmnopqrstuvwxyz")
    with torch.no_grad():
        others = torch.ones(module.lm_head.weight.shape[0], dtype=torch.bool)
        others[list(letters)] = False
        module.lm_head.weight[others] = 0.0


def token_ids(model: HooksModel, text: str) -> Sequence[int]:
    """Token ids of a text, one a byte."""
    return tuple(model.tokenizer(text, add_special_tokens=False).input_ids)


def _make_lively(module: Any) -> None:
    """Scales random weights up, so that blocks and attention visibly matter and answers differ."""
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if weight.dim() == 2:
                scale = 1.0 if "embed" in name or "wte" in name or "wpe" in name else weight.shape[-1] ** -0.5
                weight.normal_(0.0, scale)
            elif "norm" in name or "ln_" in name:
                weight.add_(torch.randn_like(weight) * 0.1)
