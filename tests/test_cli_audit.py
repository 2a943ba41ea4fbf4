"""`interp audit`, `interp score` and `interp compare` on the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

pytestmark = pytest.mark.usefixtures("one_thread")

AUDIT = ("audit", "tiny:llama", "--task", "comparison", "--n", "12", "--probe", "sampling:3")

Call = Callable[..., tuple[int, str, str]]


def test_an_audit_is_told_scored_and_compared(call: Call, tmp_path: Path) -> None:
    plain, silenced = tmp_path / "plain", tmp_path / "silenced"
    code, out, err = call(*AUDIT, "--probe", "silencing", "--out", plain)
    assert code == 0
    assert "sampling: 36 to do" in err
    assert "replay sampling" in err or "0 reached" in err
    found = json.loads((plain / "audit.json").read_text())
    assert f"12 questions, {found['realized']:.2f} answered as deployed" in out
    for sentence in found["sentences"]:
        assert sentence.replace("−", "-")[:60].split(" (")[0] in " ".join(out.split())
    assert out.rstrip().endswith(f"Page: {plain / 'index.html'}")

    code, out, _ = call("score", plain)
    assert code == 0
    assert out.splitlines()[0].endswith("attempts read by 2; 0 outcomes differ from the log's.")

    code, _, _ = call(*AUDIT, "--silence", "0", "--edit", "L1.attn_out*0.5", "--out", silenced)
    assert code == 0
    plan = json.loads((silenced / "plan.json").read_text())
    assert plan["procedure"]["interventions"] == ["L0.mlp_out*0", "L1.attn_out*0.5"]

    code, out, err = call("compare", plain, silenced, "--out", tmp_path / "compared")
    assert (code, out) == (2, "")
    assert err.startswith("interp: ")
    assert err.count("\n") == 1
    assert "--allow probes" in err
    code, out, _ = call("compare", plain, silenced, "--out", tmp_path / "compared", "--allow", "probes")
    assert code == 0
    assert f"{plain} -> {silenced}" in " ".join(out.split())
    assert "Not matched, and allowed: probes: silencing only in" in " ".join(out.split())
    assert (tmp_path / "compared" / "index.html").exists()


def test_a_sampled_deployment_and_its_rule_reach_the_run(call: Call, tmp_path: Path) -> None:
    words = (
        "--temperature",
        "0.7",
        "--top-p",
        "0.9",
        "--rule",
        "majority:3",
        "--seed",
        "2",
        "--clusters",
        "none",
    )
    code, _, _ = call(*AUDIT, *words, "--max-new-tokens", "4", "--out", tmp_path)
    assert code == 0
    plan = json.loads((tmp_path / "plan.json").read_text())
    assert plan["deployed"] == {"rule": "majority", "n_draws": 3}
    decoding = plan["procedure"]["decoding"]
    assert (decoding["temperature"], decoding["top_p"], decoding["max_new_tokens"]) == (0.7, 0.9, 4)
    assert (plan["seed"], plan["clusters"]) == (2, "none")


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--rule", "best"), "--rule is first, or majority"),
        (("--rule", "majority:1"), "--rule is first, or majority"),
        (("--rule", "majority:4"), "Greedy draws are all the same"),
        (("--probe", "sample:3"), "no probe 'sample'"),
        (("--probe", "sampling:3,heat=1"), "'heat' is not one of: a number of draws, temperature"),
        (("--probe", "sampling:3,temperature=hot"), "'hot' is no number of temperature"),
        (("--probe", "sampling:3,4"), "n is given twice"),
        (("--probe", "silencing:scope=all"), "scope is one of prompt, decode, both"),
        (("--probe", "silencing:3"), "'3' is not one of: scope"),
        (("--clusters", "topics"), "--clusters is one of auto"),
        (("--edit", "L1.mlp*0"), "'L1.mlp' is not a site"),
        (("--temperature", "-1"), "temperature"),
        (("--top-p", "0.5"), "give a temperature"),
        (("--silence", "7"), "7"),
        (("--route", "0-7"), "7"),
        (("--route", ""), "route"),
        (("--route", "0,,1"), "piece 1 of the route '0,,1'"),
        (("--route", "1-0"), "1-0"),
        (("--route", ",".join(["0"] * 17)), "17"),
        (("--route", "0-1@nowhere"), "@nowhere"),
        (("--probe", "cola"), "cola:32"),
        (("--probe", "random_routes:3,like=cola"), "Name that probe first"),
        (("--probe", "cola:3,reward=gold"), "reward is one of"),
    ],
)
def test_what_cannot_be_audited_is_one_line_and_leaves_nothing(
    call: Call, words: tuple[str, ...], says: str, tmp_path: Path
) -> None:
    code, out, err = call(*AUDIT, *words, "--out", tmp_path / "run")
    assert (code, out) == (2, "")
    assert says in err.splitlines()[-1]
    assert err.splitlines()[-1].startswith("interp: ")
    assert not (tmp_path / "run").exists()


def test_what_is_no_audit_cannot_be_scored_or_compared(call: Call, tmp_path: Path) -> None:
    for words in (("score", tmp_path), ("compare", tmp_path, tmp_path, "--out", tmp_path / "out")):
        code, out, err = call(*words)
        assert (code, out) == (2, "")
        assert "is no run" in err
    assert not (tmp_path / "out").exists()
