"""Steps of trajectories by their values: noise is told from motion, and strides are those that noise asks for."""

import numpy as np
import pytest

from raffia.data.pace import FIRM, change, found_stride, noise

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
    assert found_stride(u, "")[0] == 1


def test_states_that_have_nothing_to_do_with_one_another_are_no_reason_for_a_stride():
    u = RNG.standard_normal((8, 80, 64))
    assert found_stride(u, "")[0] == 1


def test_rounding_is_noise_too():
    u = moving(0.0005).round(2)  # waves of height one, which change by 0.003 in a step
    assert noise(u) == pytest.approx(0.01 / np.sqrt(12), rel=0.2)
    assert found_stride(u, "")[0] > 1


def test_the_stride_is_the_least_in_which_states_change_firmly():
    u = moving(0.002) + 0.01 * RNG.standard_normal((8, 80, 64))
    stride, notes = found_stride(u, "as you like")
    off = np.sqrt(2) * noise(u)
    usual = [np.sqrt(np.mean((u[:, s:] - u[:, :-s]) ** 2)) for s in range(1, 20)]
    assert usual[stride - 1] >= FIRM * off > usual[stride - 2]
    assert notes[0].endswith(
        f"pairs are states {stride} steps apart, which change by {usual[stride - 1] / 0.79:.2g}; as you like."
    )


def test_where_none_is_firm_the_largest_that_leaves_four_steps_is_taken():
    u = moving(0.002) + 0.05 * RNG.standard_normal((8, 80, 64))
    assert found_stride(u, "")[0] == 79 // 4


def test_where_no_stride_helps_none_is_taken_and_this_is_said():
    u = moving(1e-5) + 0.1 * RNG.standard_normal((8, 80, 64))
    stride, notes = found_stride(u, "")
    assert stride == 1
    assert "a model may learn little but noise" in notes[0]


def test_changes_are_relative_to_the_size_of_states_about_their_mean():
    u = moving(0.0)[:, :4] * 1.01 ** np.arange(4)[:, None]
    np.testing.assert_allclose(change(1000 + u, 1), 0.01 * 1.01 ** np.arange(3) * 4 / (1.01**4 - 1) * 0.01, rtol=1e-6)
