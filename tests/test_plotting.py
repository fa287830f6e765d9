import matplotlib
import numpy as np
import pytest

from raffia import RaffiaError, plotting
from raffia.tuning import History, Trial


def test_prediction_draws_input_truth_prediction_and_error():
    a, y, p = np.sin(np.arange(16.0)), np.cos(np.arange(16.0)), np.cos(np.arange(16.0)) + 0.1
    left, right = plotting.prediction(a, y, p).axes
    assert [line.get_label() for line in left.lines] == ["input a", "truth y", "prediction F(a)"]
    assert np.allclose(right.lines[0].get_ydata(), 0.1)
    assert "0.14" in left.get_title()


def test_prediction_draws_four_images_in_two_dimensions_with_one_scale_for_truth_and_prediction():
    y = np.random.default_rng(0).random((9, 9))
    figure = plotting.prediction(np.ones((9, 9)), y, y + 0.5)
    images = [axes.images[0] for axes in figure.axes if axes.images]
    assert len(images) == 4
    assert images[1].get_clim() == images[2].get_clim() == (y.min(), (y + 0.5).max())
    assert np.allclose(images[3].get_array(), 0.5)


def test_error_against_resolution_has_one_curve_a_label():
    (axes,) = plotting.error_against_resolution([17, 33, 65], {"trained on 33": [0.05, 0.04, 0.04]}).axes
    assert axes.lines[0].get_ydata().tolist() == [0.05, 0.04, 0.04]
    assert axes.get_ylim() == pytest.approx((0, 0.065))


def test_prediction_wants_one_sample():
    with pytest.raises(RaffiaError, match=r"Pass a\[0\]"):
        plotting.prediction(np.ones((2, 8)), np.ones(8), np.ones(8))


def test_error_against_features_has_one_curve_a_label_and_the_monte_carlo_rate():
    (axes,) = plotting.error_against_features([16, 64, 256], {"n = 100": [0.2, 0.1, 0.06], "n = 500": [0.2, 0.09, 0.05]}).axes
    *curves, rate = axes.lines
    assert [c.get_label() for c in curves] == ["n = 100", "n = 500"]
    x, y = rate.get_data()
    assert np.polyfit(np.log(x), np.log(y), 1)[0] == pytest.approx(-0.5)


def test_bridge_panels_show_every_curve():
    x = np.linspace(0, 1, 20)
    figure = plotting.brownian_bridge(x, np.sin(x), x[::5], np.sin(x[::5]), {f"m = {m}": np.sin(x) for m in (50, 500, 5000)})
    assert [axes.get_title() for axes in figure.axes if axes.lines] == ["m = 50", "m = 500", "m = 5000"]


def test_no_global_state_is_touched():
    before = dict(matplotlib.rcParams)
    plotting.prediction(np.ones(8), np.ones(8), np.ones(8))
    assert dict(matplotlib.rcParams) == before


def test_search_draws_the_steps_and_the_best_trial_so_far_for_each_model_size():
    trials = [Trial({}, 0.5, 10), Trial({}, 0.3, 10), Trial({}, 0.4, 10), Trial({}, 0.2, 40)]
    steps, found = plotting.search(History(trials, curve=[0.6, 0.4])).axes
    assert steps.lines[0].get_ydata().tolist() == [0.6, 0.4]
    assert [list(line.get_ydata()) for line in found.lines] == [[0.5, 0.3, 0.4], [0.5, 0.3, 0.3], [0.2], [0.2]]
    assert len(plotting.search(History(trials)).axes) == 1
