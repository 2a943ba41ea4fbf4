"""The sweep as a loop over nnsight: for each block a traced `generate` in which its MLP writes nothing."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING, Any

import torch

from interp.bench.contender import PLAIN, Inputs, Looped
from interp.bench.plain import greedy
from interp.models.layout import module_path
from interp.site import Point

if TYPE_CHECKING:
    from jaxtyping import Int
    from torch import Tensor

    from interp.models.backend import Backend
    from interp.procedure import Decoding


def nnsight_loop(model: Backend, batch_size: int) -> Looped:
    """What its tutorials show, on a native model of the same weights; edits reach each new token."""
    native = model.nnsight()

    def module_of(layer: int) -> Any:
        path = (
            f"{model.layout.blocks}.{layer}.{module_path(model.blocks[layer], model.layout, Point.MLP_OUT)}"
        )
        envoy = native
        for name in path.split("."):
            envoy = envoy[int(name)] if name.isdigit() else getattr(envoy, name)
        return envoy

    def generate(inputs: Inputs, layer: int, decoding: Decoding) -> Int[Tensor, "batch new"]:
        arguments = greedy(model, decoding)
        if layer == PLAIN:
            with native.generate(inputs.to_dict(), **arguments) as tracer:
                found = tracer.result.save()
        else:
            silenced = module_of(layer)
            with warnings.catch_warnings():
                warnings.filterwarnings("ignore", message=".*was never reached: the loop asked for a step")
                with native.generate(**arguments) as tracer:
                    with tracer.invoke(inputs.to_dict()):
                        for _ in tracer.iter[:]:
                            silenced.output = torch.zeros_like(silenced.output)
                    with tracer.invoke():  # nothing after an unbounded iter runs in the same invoke
                        found = tracer.result.save()
        return found[:, inputs.ids.shape[1] :]

    return Looped("nnsight", model, batch_size, generate)
