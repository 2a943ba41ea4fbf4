"""How much memory there is, how much a row takes, and whether an error says that it ran out."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil
import torch

if TYPE_CHECKING:
    from interp.models.checkpoint import Checkpoint

SHARE = 0.5
"""Share of the memory left that rows may take; the rest is for passes over prompts, and for others."""
CGROUP = Path("/sys/fs/cgroup")


def rows_that_fit(model: Checkpoint, n_tokens: int) -> int:
    """How many rows of so many tokens, prompt and answer, fit into half of the memory that is left.

    A row takes its keys and values twice, since they are copied when rows leave the batch, its residual
    stream and MLP in the pass over the prompt, and three times its logits in float64.

    Args:
        model: What runs; its weights are in memory already.
        n_tokens: Tokens of the longest row.
    """
    config: Any = model.config.get_text_config()
    n_heads = int(getattr(config, "num_attention_heads", 0) or 1)
    n_kv_heads = int(getattr(config, "num_key_value_heads", 0) or n_heads)
    width = int(getattr(config, "head_dim", 0) or model.d_model // n_heads)
    n_bytes = model.unembedding.weight.element_size()
    kept = 2 * 2 * model.n_layers * n_kv_heads * width
    passing = 8 * model.d_model + 3 * int(getattr(config, "intermediate_size", 0) or 4 * model.d_model)
    row = n_tokens * (kept + passing) * n_bytes + 3 * 8 * model.unembedding.weight.shape[0]
    return max(1, int(SHARE * available(model.device) / row))


def available(device: torch.device) -> int:
    """Bytes that can still be taken on a device: what is free, and what torch or the system would give back.

    On a CPU no more than the control group allows, where there is one.
    """
    if device.type == "cuda":
        free, _ = torch.cuda.mem_get_info(device)
        return free + torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    left = int(psutil.virtual_memory().available)
    try:
        limit = int((CGROUP / "memory.max").read_text())
        used = int((CGROUP / "memory.current").read_text())
        stat = dict(line.split() for line in (CGROUP / "memory.stat").read_text().splitlines())
    except (OSError, ValueError):
        return left
    return min(left, max(0, limit - used + int(stat.get("inactive_file", 0))))


def ran_out(error: BaseException) -> bool:
    """Whether an error says that memory ran out, on whatever device."""
    if isinstance(error, MemoryError | torch.OutOfMemoryError):
        return True
    told = str(error).lower()
    return isinstance(error, RuntimeError) and ("out of memory" in told or "not enough memory" in told)
