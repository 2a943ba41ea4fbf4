"""`load("smollm2")`: one table of prefixes, and every model verified before it is handed over."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from interp.errors import BadInput, LoadRefused, Unsupported
from interp.models.layout import Layout, is_unknown, layout_of
from interp.models.source import EMBEDDED, hashes_of, locate, quiet_transformers, refuse_missing

if TYPE_CHECKING:
    from interp.models.backend import Backend
    from interp.models.hooks import HooksModel

DTYPES = ("float32", "bfloat16", "float16")


@dataclass(frozen=True)
class LoadOptions:
    """How a model is loaded.

    Attributes:
        dtype: Number format of the weights: float32, bfloat16 or float16.
        device: Where it runs ("cpu", "cuda", "cuda:1"); None takes a GPU where there is one.
        download: Whether the model hub may be asked.
        allow_pickle: Whether pickled weights are accepted; reading them can run code.
        trust_remote_code: Whether code that comes with the model may run.
        remote: Whether passes run on nnsight's server; `nnsight:` only. The weights are loaded here as well.
    """

    dtype: str = "float32"
    device: str | None = None
    download: bool = False
    allow_pickle: bool = False
    trust_remote_code: bool = False
    remote: bool = False


def load(name: str | Path, options: LoadOptions | None = None) -> Backend:
    """Loads a model and verifies it.

    Args:
        name: `smollm2` (in a package), `tiny:llama` (random weights), a folder, a `.gguf` file, or a hub id
            `owner/model`; with `lens:` or `nnsight:` before it, the same through that library.
        options: Dtype, device, and what is allowed.

    Raises:
        BadInput: There is no such file or folder, or an option has an unknown value.
        LoadRefused: A load check failed, or the weights are pickled.
        UnknownName: The name is of none of these forms.
        Unsupported: The architecture is refused, or unknown and like none that is known, or has no MLP
            blocks.
    """
    from interp.models.verified import verify_once

    model = load_unchecked(name, options)
    verify_once(model.here)
    return model


def load_unchecked(name: str | Path, options: LoadOptions | None = None) -> Backend:
    """Loads a model as `load` does, without the load checks: to examine one that fails them.

    Raises:
        BadInput: As `load`.
        LoadRefused: The weights are pickled or incomplete, or transformers cannot load them.
        UnknownName: As `load`.
        Unsupported: As `load`.
    """
    name, options = str(name), options or LoadOptions()
    if options.dtype not in DTYPES:
        raise BadInput(f"There is no dtype {options.dtype!r}. Use one of: {', '.join(DTYPES)}.")
    if options.device is not None:
        _check_device(options.device)
    backend, _, rest = name.partition(":")
    if options.remote and backend != "nnsight":
        raise BadInput(f"Only the nnsight backend runs remotely. Load nnsight:{name}.")
    if rest and backend in BACKENDS:
        return BACKENDS[backend](_load_plain(rest, options), name, options)
    return _load_plain(name, options)


def model_names() -> list[str]:
    """Names that `load` knows without a file: embedded and tiny models."""
    from interp.models.tiny import ARCHITECTURES

    return [*EMBEDDED, *(f"tiny:{name}" for name in ARCHITECTURES)]


def _as_hooks(model: HooksModel, _name: str, _options: LoadOptions) -> Backend:
    return model


def _as_lens(model: HooksModel, name: str, _options: LoadOptions) -> Backend:
    from interp.models.lens import lens_model

    return lens_model(model, name)


def _as_nnsight(model: HooksModel, name: str, options: LoadOptions) -> Backend:
    from interp.models.nnsight import nnsight_model

    return nnsight_model(model, name, remote=options.remote)


BACKENDS: dict[str, Callable[[HooksModel, str, LoadOptions], Backend]] = {
    "hooks": _as_hooks,
    "lens": _as_lens,
    "nnsight": _as_nnsight,
}
"""What may stand before a model's name and a colon: how a loaded model is read and edited."""


def _load_plain(name: str, options: LoadOptions) -> HooksModel:
    """A model of the reference backend: a tiny one, or one that has files."""
    kind, _, rest = name.partition(":")
    return _load_tiny(rest, name, options) if rest and kind == "tiny" else _load_named(name, options)


def _load_tiny(rest: str, name: str, options: LoadOptions) -> HooksModel:
    import torch

    from interp.models.tiny import tiny

    model = tiny(rest)
    module: Any = model.module
    module.to(dtype=getattr(torch, options.dtype), device=options.device or "cpu")
    return wrap(module, model.tokenizer, name=name)


def _load_named(name: str, options: LoadOptions) -> HooksModel:
    from interp.models.fit import fitted

    folder = locate(name, download=options.download, allow_pickle=options.allow_pickle)
    module, tokenizer = _from_folder(folder, options)
    hashes = hashes_of(folder)
    if is_unknown(module):
        return fitted(wrap(module, tokenizer, name=name, hashes=hashes, layout=Layout()))
    return wrap(module, tokenizer, name=name, hashes=hashes)


def wrap(
    module: Any,
    tokenizer: Any,
    *,
    name: str,
    hashes: dict[str, str] | None = None,
    layout: Layout | None = None,
) -> HooksModel:
    """A transformers model and its tokenizer as a `HooksModel`; the module is frozen and put into evaluation.

    Args:
        module: A transformers causal language model.
        tokenizer: Its tokenizer.
        name: The name to show.
        hashes: Hashes of its files; without them the weights in memory are hashed.
        layout: Where things live in it; None takes the row of its architecture.

    Raises:
        Unsupported: The architecture is not known, or has no MLP blocks.
    """
    from interp.models.hooks import HooksModel

    layout = layout or layout_of(module)
    module.eval().requires_grad_(False)
    hashes = dict(
        hashes or {"weights": _hash_in_memory(module), "config": _hash_text(module.config.to_json_string())}
    )
    hashes["template"] = _hash_text(str(tokenizer.chat_template))
    fingerprint = _hash_text(repr(sorted({**hashes, "dtype": str(module.dtype)}.items())))
    return HooksModel(name, fingerprint, module, tokenizer, layout, hashes)


def _from_folder(folder: Path, options: LoadOptions) -> tuple[Any, Any]:
    import torch
    from safetensors import SafetensorError
    from transformers import AutoModelForCausalLM, AutoTokenizer

    allowed = {"trust_remote_code": options.trust_remote_code, "local_files_only": True}
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(folder, **allowed)
            module, read = cast(
                "tuple[Any, dict[str, Any]]",
                AutoModelForCausalLM.from_pretrained(
                    folder,
                    dtype=getattr(torch, options.dtype),
                    use_safetensors=None if options.allow_pickle else True,
                    output_loading_info=True,
                    **allowed,
                ),
            )
    except (OSError, RuntimeError, ValueError, KeyError, SafetensorError) as error:
        reason = str(error).strip().splitlines()[0][:200] if str(error).strip() else type(error).__name__
        if "trust_remote_code" in str(error):
            raise Unsupported(
                f"{folder.name!r} brings its own model code, which runs only with --trust-remote-code."
            ) from error
        raise LoadRefused(f"transformers could not load {str(folder)!r}: {reason}") from error
    refuse_missing(folder, read)
    return module.to(device=options.device or _default_device()), tokenizer


def _default_device() -> str:
    import torch

    return "cuda" if torch.cuda.is_available() else "cpu"


def _check_device(device: str) -> None:
    """Refuses a device that is not on this machine.

    Raises:
        BadInput: It is none that torch knows, or torch finds none such here.
    """
    import torch

    try:
        torch.empty(0, device=device)
    except (AssertionError, NotImplementedError, RuntimeError) as error:
        reason = str(error).strip().splitlines()[0][:120]
        raise BadInput(
            f"The device {device!r} cannot be used here ({reason}). Use cpu, or leave it out."
        ) from None


def _hash_text(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _hash_in_memory(module: Any) -> str:
    import torch

    digest = hashlib.sha256()
    for key, tensor in sorted(module.state_dict().items()):
        digest.update(key.encode())
        digest.update(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()[:16]
