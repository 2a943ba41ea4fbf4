"""The Ray cluster that workers run in: started here or found at an address, and who has room in it."""

from __future__ import annotations

import math
import os
import socket
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from interp.errors import BadInput, Unsupported

if TYPE_CHECKING:
    from interp.models.load import LoadOptions

OBJECT_STORE = 100 * 2**20
"""Bytes of shared memory of a cluster that is started here; answers are small."""
QUIET = {"RAY_USAGE_STATS_ENABLED": "0", "RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0"}
"""Nothing is sent anywhere, and no advice is printed."""


@dataclass(frozen=True)
class Workers:
    """Who answers beside this process; part of no plan, since the rows do not depend on it.

    Attributes:
        n: Number of workers, each with its own copy of the model.
        address: Of a Ray cluster ("auto", "10.0.0.1:6379"); None starts one on this machine.
        gpus: GPUs of a worker, at most 1; a half puts two workers on one. None is 1 if the model of this
            process is on a GPU, else 0.
        cpus: CPUs of a worker, and threads of its passes on a CPU; None takes an equal share.
        options: How workers load the model: as this process did. None is `LoadOptions()`. They run on the
            kind of device that this process's model is on, whatever is said there.
    """

    n: int = 2
    address: str | None = None
    gpus: float | None = None
    cpus: int | None = None
    options: LoadOptions | None = None

    def __post_init__(self) -> None:
        """Refuses numbers that mean nothing.

        Raises:
            BadInput: There would be no worker, or one without a CPU, or with more than one GPU.
        """
        if self.n < 1:
            raise BadInput(f"At least 1 worker must answer, got {self.n}. Leave workers out to ask here.")
        if self.cpus is not None and self.cpus < 1:
            raise BadInput(f"A worker needs at least 1 CPU, got {self.cpus}.")
        if self.gpus is not None and not 0 <= self.gpus <= 1:
            raise BadInput(f"A worker has its model on one GPU or a share of one, got gpus={self.gpus}.")


def imported_ray() -> Any:
    """The package ray.

    Raises:
        Unsupported: It is not installed.
    """
    for name, value in QUIET.items():
        os.environ.setdefault(name, value)
    try:
        import ray
    except ImportError:
        raise Unsupported(
            "Workers need ray, which is not installed. Run: pip install 'interp[ray]'. "
            "Without --workers everything runs in this process."
        ) from None
    return ray


@contextmanager
def connected(workers: Workers, *, on_gpu: bool) -> Generator[Any]:
    """Ray, connected to a cluster; one that was started here ends with the block.

    A connection that this process has already is used, and stays.

    Raises:
        BadInput: There is no cluster at the address.
        Unsupported: Ray is not installed.
    """
    ray = imported_ray()
    if ray.is_initialized():
        yield ray
        return
    shared = {"log_to_driver": False, "logging_level": "ERROR"}
    if workers.address is None:
        n_cpus = max(n_cpus_here(), workers.n * (workers.cpus or 1))
        room = {"num_cpus": n_cpus, "object_store_memory": OBJECT_STORE} | ({} if on_gpu else {"num_gpus": 0})
        ray.init(address="local", include_dashboard=False, **room, **shared)
    else:
        _join(ray, workers.address, shared)
    try:
        yield ray
    finally:
        ray.shutdown()


def _join(ray: Any, address: str, options: Mapping[str, Any]) -> None:
    """Connects to a cluster that is there; Ray itself would knock for minutes where no one is."""
    host, _, port = address.rpartition(":")
    try:
        if port.isdigit() and "/" not in host:
            socket.create_connection((host.strip("[]"), int(port)), timeout=10).close()
        ray.init(address=address, **options)
    except (OSError, OverflowError, RuntimeError, ValueError) as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0][:160]
        raise BadInput(
            f"There is no Ray cluster to join at {address!r} ({reason}). Start one with `ray start --head` "
            "and name its address, or leave the address out."
        ) from None


def n_cpus_here() -> int:
    """CPUs that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def resources(ray: Any) -> list[Mapping[str, float]]:
    """What each live node of the cluster has."""
    return [node["Resources"] for node in ray.nodes() if node["Alive"]]


def room(nodes: Sequence[Mapping[str, float]], *, cpus: int, gpus: float) -> int:
    """How many workers fit at once.

    Args:
        nodes: What each node has ("CPU", "GPU").
        cpus: CPUs of a worker.
        gpus: GPUs of a worker; less than 1 is a share, and no share spans two GPUs.
    """
    n = 0
    for node in nodes:
        by_cpu = math.floor(node.get("CPU", 0) / cpus)
        by_gpu = math.floor(node.get("GPU", 0)) * math.floor(1 / gpus + 1e-9) if gpus else by_cpu
        n += min(by_cpu, by_gpu)
    return n


def share(nodes: Sequence[Mapping[str, float]], workers: Workers, *, gpus: float) -> int:
    """CPUs of a worker: the most with which all of them fit.

    Raises:
        BadInput: They do not fit, however few CPUs each has.
    """
    most = int(max((node.get("CPU", 0) for node in nodes), default=0))
    asked = [workers.cpus] if workers.cpus else range(most, 0, -1)
    for cpus in asked:
        if room(nodes, cpus=cpus, gpus=gpus) >= workers.n:
            return cpus
    least = workers.cpus or 1
    raise BadInput(
        f"{workers.n} workers with {least} CPU{'s' * (least > 1)} and {gpus:g} GPUs each do not fit: the "
        f"cluster has room for {room(nodes, cpus=least, gpus=gpus)}. Ask for fewer, or add nodes."
    )
