"""Random-weight models of each architecture, for tests and notebooks, and one with a known guilty block."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from interp.errors import UnknownName
from interp.models.load import wrap
from interp.site import Point, Site

if TYPE_CHECKING:
    from jaxtyping import Float
    from torch import Tensor
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
_PLAIN: dict[str, Any] = {k: v for k, v in _GROUPED.items() if k not in ("num_key_value_heads", "head_dim")}
_EXPERTS: dict[str, Any] = {**_GROUPED, "num_experts_per_tok": 2}
_GPT2: dict[str, Any] = {
    "vocab_size": 256 + len(CONTROL),
    "n_embd": D_MODEL,
    "n_layer": N_LAYERS,
    "n_head": N_HEADS,
    "n_positions": N_CONTEXT,
}
_LINEAR: dict[str, Any] = {
    "linear_num_key_heads": 2,
    "linear_num_value_heads": 4,
    "linear_key_head_dim": 8,
    "linear_value_head_dim": 8,
    "layer_types": ["linear_attention", "full_attention"] * (N_LAYERS // 2),
}
_FALCON = {**_PLAIN, "ffn_hidden_size": D_MLP, "bias": True}

ARCHITECTURES: dict[str, tuple[str, dict[str, Any]]] = {
    "bloom": ("bloom", {**_PLAIN, "n_layer": N_LAYERS, "n_head": N_HEADS}),
    "cohere2": ("cohere2", {**_SLIDING, "logit_scale": 0.25}),
    "falcon": ("falcon", _FALCON),
    "falcon_alibi": ("falcon", {**_FALCON, "parallel_attn": False, "multi_query": False, "alibi": True}),
    "falcon_grouped": ("falcon", {**_FALCON, "new_decoder_architecture": True, "num_kv_heads": 2}),
    "gemma2": ("gemma2", {**_SLIDING, "query_pre_attn_scalar": 8}),
    "gemma3": ("gemma3_text", {**_SLIDING, "query_pre_attn_scalar": 8}),
    "gpt2": ("gpt2", _GPT2),
    "gpt_neo": (
        "gpt_neo",
        {
            **{k: v for k, v in _PLAIN.items() if not k.startswith("num_")},
            "num_layers": N_LAYERS,
            "num_heads": N_HEADS,
            "attention_types": [[["global", "local"], N_LAYERS // 2]],
            "window_size": 16,
        },
    ),
    "gpt_neox": ("gpt_neox", _PLAIN),
    "gpt_oss": (
        "gpt_oss",
        {
            **_EXPERTS,
            "sliding_window": 16,
            "num_local_experts": 4,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 150000.0,
                "factor": 4.0,
                "original_max_position_embeddings": N_CONTEXT // 4,
            },
        },
    ),
    "gptj": ("gptj", {**_GPT2, "n_inner": D_MLP, "rotary_dim": 4, "tie_word_embeddings": False}),
    "granite": (
        "granite",
        {
            **_GROUPED,
            "embedding_multiplier": 1.5,
            "residual_multiplier": 0.7,
            "attention_multiplier": 0.3,
            "logits_scaling": 2.0,
        },
    ),
    "llama": ("llama", _GROUPED),
    "mistral": ("mistral", _SLIDING),
    "mixtral": ("mixtral", {**_EXPERTS, "num_local_experts": 4}),
    "mpt": (
        "mpt",
        {
            "vocab_size": 256 + len(CONTROL),
            "d_model": D_MODEL,
            "n_heads": N_HEADS,
            "n_layers": N_LAYERS,
            "max_seq_len": N_CONTEXT,
        },
    ),
    "olmo2": ("olmo2", _GROUPED),
    "olmo3": ("olmo3", _SLIDING),
    "opt": ("opt", {**_PLAIN, "ffn_dim": D_MLP, "word_embed_proj_dim": D_MODEL}),
    "phi3": ("phi3", _GROUPED),
    "qwen2": ("qwen2", _GROUPED),
    "qwen3": ("qwen3", _GROUPED),
    "qwen3_5": ("qwen3_5_text", {**_GROUPED, **_LINEAR}),
    "qwen3_moe": (
        "qwen3_moe",
        {**_EXPERTS, "num_experts": 4, "moe_intermediate_size": 32, "mlp_only_layers": [1]},
    ),
    "qwen3_next": (
        "qwen3_next",
        {
            **_EXPERTS,
            **_LINEAR,
            "num_experts": 4,
            "moe_intermediate_size": 32,
            "shared_expert_intermediate_size": 32,
        },
    ),
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


def plant(model: HooksModel, prompts: Sequence[Sequence[int]], *, layer: int) -> HooksModel:
    """Makes the MLP of one layer, and nothing else, write a wrong answer on about half of some prompts.

    The model is changed in place to answer with small letters that depend on the prompt. The MLP of `layer`
    is replaced by one neuron that fires on about half of the prompts and then writes the letter `z`. So
    silencing that block repairs every answer that the neuron broke, and no other block does.

    Args:
        model: A `tiny:llama`.
        prompts: Token ids of the prompts.
        layer: The guilty layer.

    Returns:
        The same model with its new fingerprint.
    """
    _letters_by_prompt(model, prompts)
    module: Any = model.module
    mid = Site(layer, Point.RESID_MID)
    norm = model.blocks[layer].get_submodule(model.layout.resid_mid)
    reads = [norm(model.forward(p, record=[mid]).activations[mid])[0] for p in prompts]
    wrong = module.lm_head.weight[token_ids(model, "z")[0]]
    mlp: Any = model.blocks[layer].get_submodule(model.layout.mlp)
    with torch.no_grad():
        for projection in (mlp.gate_proj, mlp.up_proj, mlp.down_proj):
            projection.weight.zero_()
        mlp.gate_proj.weight[0] = 100 * _detector(reads)
        mlp.up_proj.weight[0] = mlp.gate_proj.weight[0]
        mlp.down_proj.weight[:, 0] = wrong / wrong.norm()
    return wrap(module, model.tokenizer, name=f"{model.name}+planted:{layer}")


def _letters_by_prompt(model: HooksModel, prompts: Sequence[Sequence[int]]) -> None:
    """Changes the head so that only small letters are answered, and which one depends on the prompt."""
    module: Any = model.module
    last = Site(model.n_layers - 1, Point.RESID_POST)
    final = model.module.get_submodule(model.layout.final_norm)
    read = torch.stack([final(model.forward(p, record=[last]).activations[last])[0, -1] for p in prompts])
    mean = read.mean(0)
    head = module.lm_head.weight
    with torch.no_grad():
        head -= (head @ mean)[:, None] * mean / mean.dot(mean)  # what all prompts share decides nothing
        others = torch.ones(head.shape[0], dtype=torch.bool)
        others[list(token_ids(model, "abcdefghijklmnopqrstuvwxyz"))] = False
        head[others] = 0.0


def _detector(reads: Sequence[Float[Tensor, "pos d_model"]]) -> Float[Tensor, " d_model"]:
    """A direction that is positive at the last position of about half of the prompts, negative elsewhere.

    Least squares; which half is decided by the direction in which the last positions differ most.
    """
    last = torch.stack([read[-1] for read in reads])
    centred = last - last.mean(0)
    side = centred @ torch.linalg.svd(centred).Vh[0]
    others = torch.cat([read[:-1] for read in reads])
    weight = (len(others) / len(last)) ** 0.5
    inputs = torch.cat([last * weight, others])
    targets = torch.cat([torch.where(side > side.median(), 1.0, -1.0) * weight, -torch.ones(len(others))])
    inputs, targets = inputs.double(), targets.double()
    return torch.linalg.solve(inputs.T @ inputs, inputs.T @ targets).float()


def token_ids(model: HooksModel, text: str) -> Sequence[int]:
    """Token ids of a text, one a byte."""
    return tuple(model.tokenizer(text, add_special_tokens=False).input_ids)


def _make_lively(module: Any) -> None:
    """Scales random weights up, so that blocks and attention visibly matter and answers differ."""
    model_type = str(module.config.model_type)
    embedded = D_MODEL**-0.5 if model_type.startswith("gemma") else 1.0  # Gemma scales its embeddings up
    with torch.no_grad():
        for name, weight in module.named_parameters():
            if weight.dim() >= 2:
                is_embedding = any(part in name for part in ("embed", "wte", "wpe"))
                weight.normal_(0.0, embedded if is_embedding else weight.shape[-1] ** -0.5)
            elif "norm" in name or "ln_" in name:
                weight.add_(torch.randn_like(weight) * 0.1)
