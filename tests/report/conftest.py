"""The tables of the figures' tests, and a real browser that opens pages from disk."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "figures"))

BROWSERS = ("chromium", "chromium-browser", "google-chrome")
FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--virtual-time-budget=8000",
    "--window-size=1400,3000",
    "--enable-logging=stderr",
    "--dump-dom",
)


@pytest.fixture(scope="session")
def browser():
    found = next((path for name in BROWSERS if (path := shutil.which(name))), None)
    if found is None and "CI" not in os.environ:
        pytest.skip(f"no browser here to open the page in; install one of {', '.join(BROWSERS)}")
    assert found, f"the tests of the page need a browser; none of {', '.join(BROWSERS)} is installed"
    return found


@pytest.fixture(scope="session")
def visit(browser, tmp_path_factory):
    """Opens a file and gives its final DOM and what the console said."""

    profile = tmp_path_factory.mktemp("profile")

    def open_page(path: Path, *flags: str) -> tuple[str, list[str]]:
        command = [browser, *FLAGS, *flags, f"--user-data-dir={profile}", path.as_uri()]
        done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
        return done.stdout, [line for line in done.stderr.splitlines() if "CONSOLE" in line]

    return open_page
