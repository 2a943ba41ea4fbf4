"""Workers in a real Ray cluster on this machine: the same bytes, whatever happens to them."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import flaky_workers
import pytest
from flaky_workers import BATCH_SIZE, Flaky, scripted_run
from planted import planted
from scripted_task import PROCEDURE, QUESTIONS, Sums, answer, open_run

import interp.workers.pool
from interp.errors import BadInput, BadLogits, LoadRefused, Unsupported, WorkersFailed
from interp.execute import execute
from interp.jobs.auditing import AuditPlan, audit
from interp.jobs.localizing import LocalizePlan, localize
from interp.models.load import load
from interp.models.scripted import Scripted
from interp.probes.deployed import Deployed
from interp.question import Attempt
from interp.run import Run
from interp.tasks.load import load_task
from interp.workers.cluster import (
    OBJECT_STORE,
    Workers,
    connected,
    imported_ray,
    n_cpus_here,
    resources,
    room,
    share,
)
from interp.workers.pool import Pool
from interp.workers.worker import Loaded

TESTS = str(Path(__file__).parent)
TWO = Workers(2, cpus=1)
NODE = {"num_gpus": 0, "object_store_memory": OBJECT_STORE, "include_dashboard": False}
pytestmark = pytest.mark.usefixtures("one_thread")


@pytest.fixture(scope="module")
def nodes() -> Iterator[Any]:
    """A cluster of one node, to which a test may add others; its workers find the tests."""
    imported_ray()
    from ray.cluster_utils import Cluster

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", os.pathsep.join(filter(None, (TESTS, os.environ.get("PYTHONPATH")))))
        made = Cluster(initialize_head=True, head_node_args={"num_cpus": 2, **NODE})
        yield made
        made.shutdown()


@pytest.fixture(scope="module")
def cluster(nodes: Any) -> Iterator[str]:
    """Its address; this process is connected to it, and so are the pools of all tests."""
    with connected(Workers(2, nodes.address), on_gpu=False):
        yield nodes.address


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> tuple[list[Attempt], bytes]:
    """The rows and the log of a scripted run of one process."""
    path = tmp_path_factory.mktemp("whole")
    return scripted_run(path, None), log_of(path)


@pytest.fixture
def replaced(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Why workers were replaced, one after the other."""
    reasons: list[str] = []
    replace = Pool._replace

    def noted(pool: Pool, member: Any, work: Any, why: str) -> None:
        reasons.append(why)
        replace(pool, member, work, why)

    monkeypatch.setattr(Pool, "_replace", noted)
    return reasons


def log_of(path: Path) -> bytes:
    return (path / "attempts.jsonl").read_bytes()


def parts_of(path: Path) -> list[str]:
    return sorted(part.name for part in (path / "parts").glob("*")) if (path / "parts").exists() else []


# What they give, and what a loss costs


def test_workers_write_the_log_of_one_process(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes]
) -> None:
    flaky = Flaky(tmp_path, seconds=0.02)
    assert scripted_run(tmp_path / "run", TWO, flaky) == whole[0]
    assert log_of(tmp_path / "run") == whole[1]
    assert not (tmp_path / "run" / "parts").exists()
    assert len(flaky.asked()) == len(whole[0])
    assert len(list(tmp_path.glob("asked-*"))) == 2, "both of them answered"


@pytest.mark.parametrize("trouble", ["killed", "memory", "torch memory"])
def test_a_worker_that_ends_costs_the_batch_it_had(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes], replaced: list[str], trouble: str
) -> None:
    flaky = Flaky(tmp_path, QUESTIONS[6].text, trouble)
    assert scripted_run(tmp_path / "run", TWO, flaky) == whole[0]
    assert log_of(tmp_path / "run") == whole[1]
    assert len(replaced) == 1
    again = [line.split("|")[0] for line, n in Counter(flaky.asked()).items() if n > 1]
    assert again == [question.text for question in QUESTIONS[4:7]], "begun before the trouble, in one batch"


def test_a_batch_that_ends_every_worker_is_named_and_all_else_is_finished(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes], replaced: list[str]
) -> None:
    flaky = Flaky(tmp_path, QUESTIONS[1].text, "killed", n_times=99)
    with pytest.raises(WorkersFailed, match=r"3 workers ended on one batch of 4 rows.*'0 \+ 1 = \?'.*stays"):
        scripted_run(tmp_path / "run", TWO, flaky)
    asked = Counter(line.split("|")[0] for line in flaky.asked())
    assert asked == {q.text: 3 if n < 2 else 1 for n, q in enumerate(QUESTIONS) if n not in (2, 3)}
    assert log_of(tmp_path / "run") == b""
    assert parts_of(tmp_path / "run"), "what others finished waits for its turn"
    assert Run.read(tmp_path / "run").attempts == []
    with open_run(tmp_path / "run") as run:
        assert {question for _, question, _ in run.early} == {question.id for question in QUESTIONS[4:]}
        model = Scripted(answer, n_layers=3)
        execute(model, Sums(), Deployed(PROCEDURE), run, batch_size=BATCH_SIZE)
    assert [[request.text for request in batch] for batch in model.batches] == [
        [question.text for question in QUESTIONS[:4]]
    ]
    assert parts_of(tmp_path / "run") == []
    assert scripted_run(tmp_path / "run", None) == whole[0]
    assert log_of(tmp_path / "run") == whole[1]


def test_a_lost_node_costs_the_batch_in_flight_and_the_others_go_on(
    nodes: Any, cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes], replaced: list[str]
) -> None:
    """Three workers need both nodes; the one on the lost node is waited for in vain."""
    node = nodes.add_node(num_cpus=1, **NODE)
    flaky = Flaky(tmp_path, seconds=0.1)

    class Lose:
        n_heard = 0

        def stage(self, name: str, total: int, done: int) -> None:
            pass

        def rows(self, _attempts: Sequence[Attempt]) -> None:
            self.n_heard += 1
            if self.n_heard == 6:
                nodes.remove_node(node, allow_graceful=False)

    assert scripted_run(tmp_path / "run", Workers(3, cpus=1), flaky, watcher=Lose()) == whole[0]
    assert log_of(tmp_path / "run") == whole[1]
    assert len(replaced) == 1
    again = [line for line, n in Counter(flaky.asked()).items() if n > 1]
    assert len(again) <= BATCH_SIZE
    while len(resources(imported_ray())) > 1:
        time.sleep(0.1)  # the other tests have one node


def test_a_cluster_without_room_for_any_worker_is_told(
    cluster: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(interp.workers.pool, "PATIENCE", 0.1)
    monkeypatch.setattr(interp.workers.pool, "room", lambda *_, **__: 0)
    with pytest.raises(WorkersFailed, match="No node of the cluster has room for a worker any more"):
        scripted_run(tmp_path / "run", TWO, Flaky(tmp_path, seconds=1))


def test_workers_that_end_while_they_load_are_replaced_twice(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes]
) -> None:
    one = Workers(1, cpus=1)
    twice = Flaky(tmp_path, trouble="killed while loading", n_times=2)
    assert scripted_run(tmp_path / "run", one, twice) == whole[0]
    always = Flaky(tmp_path, trouble="killed while loading", n_times=99)
    with pytest.raises(WorkersFailed, match="3 workers in a row ended while they loaded 'scripted'"):
        scripted_run(tmp_path / "other", one, always)


def test_an_error_of_a_worker_is_raised_here_as_it_is(cluster: str, tmp_path: Path) -> None:
    with pytest.raises(BadLogits, match=r"^The logits of row 3 are NaN\.$"):
        scripted_run(tmp_path / "run", TWO, Flaky(tmp_path, QUESTIONS[0].text, "nan"))
    with pytest.raises(ZeroDivisionError, match="a bug"):
        scripted_run(tmp_path / "run", TWO, Flaky(tmp_path, QUESTIONS[0].text, "bug", n_times=2))


def test_a_worker_with_another_model_is_refused(cluster: str, tmp_path: Path) -> None:
    with pytest.raises(LoadRefused, match=r"another 'scripted' than this process: fingerprint is .*, here "):
        scripted_run(tmp_path / "run", TWO, Flaky(tmp_path, name="other"))


# The driver


@pytest.mark.parametrize(("n_rows", "workers"), [(22, TWO), (4, None)], ids=["with workers", "without"])
def test_a_killed_driver_is_started_again(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes], n_rows: int, workers: Workers | None
) -> None:
    out = tmp_path / "run"
    driver = [sys.executable, flaky_workers.__file__, out, tmp_path, cluster, str(n_rows)]
    assert subprocess.run(driver, check=False, capture_output=True).returncode == -signal.SIGKILL
    assert whole[1].startswith(log_of(out))
    with open_run(out) as run:
        finished = {row.key for row in (*run.attempts, *run.early.values())}
    assert n_rows <= len(finished) < len(whole[0])
    (tmp_path / "second").mkdir()
    assert scripted_run(out, workers, Flaky(tmp_path / "second")) == whole[0]
    assert log_of(out) == whole[1]
    assert parts_of(out) == []
    if workers is not None:
        assert len(Flaky(tmp_path / "second").asked()) == len(whole[0]) - len(finished)


def test_an_interrupt_in_the_driver_keeps_what_was_finished(
    cluster: str, tmp_path: Path, whole: tuple[list[Attempt], bytes]
) -> None:
    class Stop:
        def stage(self, _name: str, _total: int, done: int) -> None:
            if done >= 8:
                raise KeyboardInterrupt

        def rows(self, attempts: Sequence[Attempt]) -> None:
            pass

    with pytest.raises(KeyboardInterrupt):
        scripted_run(tmp_path / "run", TWO, Flaky(tmp_path), watcher=Stop())
    assert whole[1].startswith(log_of(tmp_path / "run"))
    assert scripted_run(tmp_path / "run", TWO, Flaky(tmp_path)) == whole[0]
    assert log_of(tmp_path / "run") == whole[1]


def test_a_pool_that_was_left_in_the_middle_is_asked_again(cluster: str, tmp_path: Path) -> None:
    model, flaky = Scripted(answer, n_layers=3), Flaky(tmp_path, seconds=0.02)
    from interp.procedure import Request

    batches = [[Request(question.text, PROCEDURE, 0)] for question in QUESTIONS]
    with Pool(TWO, model, loader=flaky) as pool:
        asked = pool.ask(batches, references=None, scored=False)
        next(asked)
        asked.close()
        found = {a.index: a.completions for a in pool.ask(batches[:5], references=None, scored=False)}
    assert found == {i: list(model.generate(batch)) for i, batch in enumerate(batches[:5])}


# Whole jobs on models with weights


class KillOne:
    """A watcher that kills one worker once a stage has come so far."""

    def __init__(self, stage: str, done: int, patch: pytest.MonkeyPatch) -> None:
        self.place: tuple[str, int] | None = (stage, done)
        self.pids: list[int] = []
        check = Pool._check_copy

        def noted(pool: Pool, loaded: Loaded) -> None:
            self.pids.append(loaded.pid)
            check(pool, loaded)

        patch.setattr(Pool, "_check_copy", noted)

    def stage(self, name: str, _total: int, done: int) -> None:
        if self.place is not None and name == self.place[0] and done >= self.place[1]:
            self.place = None
            os.kill(self.pids[0], signal.SIGKILL)

    def rows(self, attempts: Sequence[Attempt]) -> None:
        pass


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Any, Any]:
    """A planted model from a folder, which workers can load, too, and its task."""
    model, task = planted(1)
    folder = tmp_path_factory.mktemp("planted")
    model.module.save_pretrained(folder)
    model.tokenizer.save_pretrained(folder)
    return load(folder), task


def test_localize_with_workers_of_which_one_is_killed(
    cluster: str,
    saved: tuple[Any, Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    replaced: list[str],
) -> None:
    model, task = saved
    plan = LocalizePlan(batch_size=10, max_failures=8, ablation="mean")
    alone = localize(model, task, out=tmp_path / "alone", plan=plan)
    killer = KillOne("silencing", 10, monkeypatch)
    run = localize(model, task, out=tmp_path / "run", plan=plan, workers=TWO, watcher=killer)
    assert replaced == ["its process or node ended (ActorDiedError)"]
    assert log_of(run.path) == log_of(alone.path)
    assert run.localization == alone.localization
    names = {p.relative_to(run.path).as_posix() for p in run.path.rglob("*") if p.is_file()}
    assert names == {p.relative_to(alone.path).as_posix() for p in alone.path.rglob("*") if p.is_file()}
    for name in names - {".lock", "index.html"}:
        assert (run.path / name).read_bytes() == (alone.path / name).read_bytes(), name


def test_audit_with_workers(cluster: str, tmp_path: Path) -> None:
    model, task = load("tiny:llama"), load_task("comparison", n=8)
    plan = AuditPlan(("sampling:4", "silencing", "random_routes:3"), batch_size=9)
    alone = audit(model, task, out=tmp_path / "alone", plan=plan)
    run = audit(model, task, out=tmp_path / "run", plan=plan, workers=TWO)
    assert log_of(run.path) == log_of(alone.path)
    assert run.audit == alone.audit
    assert any(row.scores for row in run.run.attempts)
    assert run.run.environment == alone.run.environment


# The commands, without Ray, and room


def test_the_command_has_a_cluster_of_its_own_and_without_workers_ray_is_not_imported(tmp_path: Path) -> None:
    options = ["audit", "tiny:llama", "--task", "comparison", "--n", "4", "--probe", "sampling:2"]
    mark = f"interp-{os.getpid()}-{time.monotonic_ns()}"
    environment = os.environ | {"INTERP_TEST_MARK": mark}
    command = [sys.executable, "-m", "interp", *options, "--batch-size", "3", "--out", tmp_path / "run"]
    by_two = subprocess.run(
        [*command, "--workers", "2"], env=environment, check=True, capture_output=True, text=True
    )
    limit = time.monotonic() + 20
    while (left := processes_with(mark)) and time.monotonic() < limit:
        time.sleep(0.1)
    assert left == []
    program = "import sys, interp.cli\ntry:\n    interp.cli.main()\nfinally:\n    print('ray' in sys.modules)"
    threads = {"OMP_NUM_THREADS": str(max(1, n_cpus_here() // 2))}
    alone = subprocess.run(
        [sys.executable, "-c", program, *command[3:-1], tmp_path / "alone"],
        env=environment | threads, check=True, capture_output=True, text=True,
    )  # fmt: skip
    assert alone.stdout == by_two.stdout.replace("/run/", "/alone/") + "False\n"
    assert log_of(tmp_path / "run") == log_of(tmp_path / "alone")


def processes_with(mark: str) -> list[int]:
    """Processes that have a word in their environment."""
    found: list[int] = []
    for path in Path("/proc").glob("[0-9]*/environ"):
        try:
            found += [int(path.parent.name)] if mark.encode() in path.read_bytes() else []
        except OSError:
            continue
    return found


def test_without_ray_it_says_what_to_install(
    call: Callable[..., tuple[int, str, str]], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    for verb in ("localize", "audit"):
        code, _, err = call(
            verb, "tiny:llama", "--task", "comparison", "--out", tmp_path / "run", "--workers", 2
        )
        assert code == 2
        assert err.startswith(
            "interp: Workers need ray, which is not installed. Run: pip install 'interp[ray]'"
        )
    with pytest.raises(Unsupported, match=r"interp\[ray\]"):
        audit(load("tiny:llama"), load_task("comparison", n=2), out=tmp_path / "run", workers=TWO)
    assert not (tmp_path / "run").exists()


@pytest.mark.parametrize("address", ["127.0.0.1:1", "nowhere"])
def test_an_address_without_a_cluster_is_refused_at_once(address: str) -> None:
    program = (
        "from interp.workers.cluster import Workers, connected\n"
        f"with connected(Workers(2, {address!r}), on_gpu=False): pass"
    )
    done = subprocess.run([sys.executable, "-c", program], check=False, capture_output=True, text=True)
    assert f"BadInput: There is no Ray cluster to join at '{address}' (" in done.stderr
    assert "`ray start --head`" in done.stderr


def test_an_address_needs_a_number(call: Callable[..., tuple[int, str, str]], tmp_path: Path) -> None:
    options = ("--task", "comparison", "--out", tmp_path / "run", "--ray", "auto")
    code, _, err = call("localize", "tiny:llama", *options)
    assert (code, err) == (2, "interp: --ray auto says where workers run, not how many. Add --workers N.\n")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ({"n": 0}, "At least 1 worker must answer, got 0"),
        ({"cpus": 0}, "at least 1 CPU, got 0"),
        ({"gpus": 2}, "one GPU or a share of one, got gpus=2"),
    ],
)
def test_workers_that_mean_nothing_cannot_be_asked_for(words: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        Workers(**words)


def test_workers_take_equal_shares_of_what_there_is() -> None:
    one = [{"CPU": 16.0, "GPU": 8.0}]
    assert share(one, Workers(8), gpus=1) == 2
    assert share(one, Workers(16), gpus=0.5) == 1
    assert share(one, Workers(5), gpus=0) == 3
    assert share([{"CPU": 8.0}, {"CPU": 4.0}, {}], Workers(3), gpus=0) == 4
    assert room([{"CPU": 8.0, "GPU": 1.0}, {"CPU": 8.0}], cpus=1, gpus=0.3) == 3
    with pytest.raises(BadInput, match=r"9 workers with 1 CPU and 1 GPUs each do not fit.*room for 8"):
        share(one, Workers(9), gpus=1)
    with pytest.raises(BadInput, match=r"2 workers with 9 CPUs and 0 GPUs .*room for 1\. Ask for fewer"):
        share(one, Workers(2, cpus=9), gpus=0)


def test_workers_that_do_not_fit_into_the_cluster_are_refused(cluster: str, tmp_path: Path) -> None:
    model = Scripted(answer)
    with pytest.raises(BadInput, match="do not fit"), Pool(Workers(2, gpus=1), model):
        pass
