"""States and probes stay apart for every reader: colour-blind, in grey print, on light and dark pages."""

import itertools

import numpy as np
import pytest

from interp.figures import theme

SEEN_BY = {
    "all": np.eye(3),
    "protanopia": [
        [0.152286, 1.052583, -0.204868],
        [0.114503, 0.786281, 0.099216],
        [-0.003882, -0.048116, 1.051998],
    ],
    "deuteranopia": [
        [0.367322, 0.860646, -0.227968],
        [0.280085, 0.672501, 0.047413],
        [-0.01182, 0.04294, 0.968881],
    ],
    "tritanopia": [
        [1.255528, -0.076749, -0.178779],
        [-0.078411, 0.930809, 0.147602],
        [0.004733, 0.691367, 0.3039],
    ],
}
"""Machado, Oliveira and Fernandes 2009 (doi:10.1109/TVCG.2009.113), severity 1, on linear RGB."""
TO_XYZ = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
WHITE = np.array([0.9505, 1.0, 1.089])
PAGES = {"light": lambda colour: colour, "dark": theme.DARK.__getitem__}


def lab(colour: str, eye: str = "all") -> np.ndarray:
    coded = np.array([int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)])
    linear = np.where(coded <= 0.04045, coded / 12.92, ((coded + 0.055) / 1.055) ** 2.4)
    ratio = TO_XYZ @ np.clip(np.array(SEEN_BY[eye]) @ linear, 0, 1) / WHITE
    f = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * f[1] - 16, 500 * (f[0] - f[1]), 200 * (f[1] - f[2])])


def test_the_conversion_knows_white_black_and_red():
    assert lab("#ffffff") == pytest.approx([100, 0, 0], abs=0.05)
    assert lab("#000000") == pytest.approx([0, 0, 0], abs=0.05)
    assert lab("#ff0000") == pytest.approx([53.24, 80.09, 67.2], abs=0.1)


@pytest.mark.parametrize("page", PAGES)
def test_each_state_keeps_a_stretch_of_lightness_of_its_own(page):
    stretches = sorted(
        sorted(lab(PAGES[page](colour))[0] for colour in (full, pale))
        for full, pale, _ in theme.STATES.values()
    )
    assert all(after[0] - before[1] >= 4.5 for before, after in itertools.pairwise(stretches))


@pytest.mark.parametrize("page", PAGES)
@pytest.mark.parametrize("eye", SEEN_BY)
def test_states_and_probes_differ_for_every_eye(page, eye):
    for group in ([full for full, _, _ in theme.STATES.values()], [line for line, _ in theme.PROBES]):
        for one, other in itertools.combinations(group, 2):
            distance = np.linalg.norm(lab(PAGES[page](one), eye) - lab(PAGES[page](other), eye))
            assert distance >= 12, (one, other)


@pytest.mark.parametrize("page", PAGES)
def test_probes_differ_in_grey(page):
    greys = sorted(lab(PAGES[page](line))[0] for line, _ in theme.PROBES)
    assert all(after - before >= 8 for before, after in itertools.pairwise(greys))


def test_on_either_page_the_better_state_stands_out_more():
    for page, paper in (("light", theme.PAPER), ("dark", theme.DARK[theme.PAPER])):
        contrasts = [abs(lab(PAGES[page](full))[0] - lab(paper)[0]) for full, _, _ in theme.STATES.values()]
        assert contrasts == sorted(contrasts, reverse=True)
