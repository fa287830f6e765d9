"""Steps of trajectories by their values: noise is told from motion, and its size is noted."""

import numpy as np
import pytest

from raffia.data.pace import noise, noise_notes

RNG = np.random.default_rng(0)
X = np.arange(64) / 64


def moving(speed, n=8, states=80):
    """Waves of random phases that go around, so far in a step: (n, states, points)."""
    t = speed * np.arange(states)[:, None]
    phase = RNG.uniform(0, 1, (n, 1, 1))
    return np.sin(2 * np.pi * (X - t + phase)) + 0.5 * np.cos(4 * np.pi * (X - t + 2 * phase))


@pytest.mark.parametrize("sigma", [1e-3, 1e-2, 0.1])
def test_noise_is_measured_through_motion(sigma):
    u = moving(0.002)
    assert noise(u + sigma * RNG.standard_normal(u.shape)) == pytest.approx(sigma, rel=0.05)


@pytest.mark.parametrize("speed", [0.001, 0.02, 0.1, 0.3, 0.45])
def test_motion_however_fast_is_no_noise(speed):
    u = moving(speed)
    assert noise(u) < 1e-3 * u.std()
    assert noise_notes(u, 1) == []


def test_states_that_have_nothing_to_do_with_one_another_are_no_motion():
    assert len(noise_notes(RNG.standard_normal((8, 80, 64)), 1)) == 1


def test_rounding_is_noise_too():
    u = moving(0.0005).round(2)  # waves of height one, which change by 0.003 in a step
    assert noise(u) == pytest.approx(0.01 / np.sqrt(12), rel=0.2)


def test_the_size_of_noise_is_reported_beside_that_of_states():
    u = moving(0.002) + 0.01 * RNG.standard_normal((8, 80, 64))
    (note,) = noise_notes(u, 1)
    assert f"{0.01 / u.std():.1g}" in note
