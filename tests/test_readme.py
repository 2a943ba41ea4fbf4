"""The README's Python runs as it stands, and its pictures and commands exist."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
README = (ROOT / "README.md").read_text()


def test_the_python_examples_run(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, re.DOTALL)
    assert len(blocks) == 5
    names: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, "README.md", "exec"), names)
    out = capsys.readouterr().out
    assert "retention" in out
    assert "The block to silence is MLP 14" in out
    assert "MLP 14 silenced: 3" in out
    assert "MLP 14 patched" in out
    assert "0-13,15-29: " in out
    assert (tmp_path / "runs/readme/index.html").is_file()
    assert (tmp_path / "runs/audit/index.html").is_file()


def test_links_to_files_are_not_broken():
    links = re.findall(r"\]\((?!https?:)([^)#]+)\)", README)
    assert links
    for link in links:
        assert (ROOT / link).exists(), link


@pytest.mark.parametrize("target", ["demo", "test"])
def test_the_commands_are_targets_of_the_makefile(target):
    assert f"make {target}" in README
    assert f"\n{target}:" in (ROOT / "Makefile").read_text()
