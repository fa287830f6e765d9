import matplotlib
import numpy as np
import pytest
import torch

from raffia import RaffiaError, plotting
from raffia.data import AxisLabel as Label
from raffia.data import SideSchema
from raffia.spaces import Channels, Domain, Mesh, Vectors
from raffia.tuning import History, Trial

LINE, SQUARE, CUBE, NUMBER = Domain(1), Domain(2, periodic=False, extent=(2.0, 1.0)), Domain(3, periodic=False), Domain(0)
GENERATOR = np.random.default_rng(0)
MESHES = [Mesh(torch.from_numpy(GENERATOR.random((80, dim))), domain=Domain(dim, periodic=False)) for dim in (1, 2, 3)]
SAMPLES = {  # a space, the shape of a sample on it, how many inputs are drawn, how many rows of outputs, how many panels in each
    "line": (LINE, (16,), 1, 1, 2),
    "square": (SQUARE, (8, 6), 1, 1, 3),
    "cube": (CUBE, (5, 6, 7), 3, 3, 3),
    "cells": (Domain(1, axes="cells"), (16,), 1, 1, 2),
    "channel": (Domain(2, axes=("periodic", "box")), (8, 6), 1, 1, 3),
    "three kinds of axes": (Domain(3, axes=("periodic", "cells", "left")), (5, 6, 7), 3, 3, 3),
    "mesh 1-D": (MESHES[0], (80,), 1, 1, 2),
    "mesh 2-D": (MESHES[1], (80,), 1, 1, 3),
    "mesh 3-D": (MESHES[2], (80,), 3, 3, 3),
    "vector": (Vectors(), (3,), 1, 1, 2),
    "long vector": (Vectors(60), (60,), 1, 1, 2),
    "number": (NUMBER, (), 1, 1, 2),
    "2 channels": (Channels(LINE, 2), (2, 16), 2, 2, 2),
    "6 channels": (Channels(SQUARE, 6), (6, 8, 6), 6, 6, 3),
    "1 channel": (Channels(SQUARE, 1), (1, 8, 6), 1, 1, 3),
    "channels on a mesh": (Channels(MESHES[2], 2), (2, 80), 2, 2, 3),
}


def test_prediction_draws_input_truth_prediction_and_error():
    a, y, p = np.sin(np.arange(16.0)), np.cos(np.arange(16.0)), np.cos(np.arange(16.0)) + 0.1
    left, right = plotting.prediction(a, y, p).axes
    assert [line.get_label() for line in left.lines] == ["input a", "truth y", "prediction F(a)"]
    assert np.allclose(right.lines[0].get_ydata(), 0.1)
    assert right.get_ylim() == pytest.approx((0, 0.115))
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


@pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")  # garbage of other tests
@pytest.mark.parametrize(
    ("given", "output"), [pair for k in (0, 1, 4) for pair in zip(SAMPLES, np.roll([*SAMPLES], k), strict=True)]
)
def test_pairs_of_spaces_have_their_panels(given, output):  # every space as input and as output, with itself and two others
    (space_in, shape_in, inputs, _, _), (space, shape, _, rows, columns) = SAMPLES[given], SAMPLES[output]
    a, y, p = GENERATOR.random(shape_in), GENERATOR.random(shape), GENERATOR.random(shape)
    figure = plotting.fields(a, y, torch.from_numpy(np.asarray(p)), space_in, space)
    titles = [axes.get_title() for axes in figure.axes]
    assert sum(title.startswith("input a") for title in titles) == inputs
    assert len(titles) == inputs + rows * columns
    assert all(axes.lines or axes.patches or axes.images or axes.collections for axes in figure.axes)


@pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")  # garbage of other tests
@pytest.mark.parametrize("name", ["6 channels", "channels on a mesh", "cube", "vector"])
def test_pictures_can_be_laid_out(name, tmp_path):
    space, shape, *_ = SAMPLES[name]
    y = GENERATOR.random((3, *shape))
    for other in (space, SQUARE):
        a = y[0] if other is space else GENERATOR.random((8, 6))
        plotting.fields(a, y[1], y[2], other, space).savefig(tmp_path / "p.png", dpi=20)
        assert (tmp_path / "p.png").stat().st_size > 1000


def test_a_curve_on_a_mesh_runs_from_left_to_right_through_its_nodes():
    x = np.array([0.7, 0.1, 0.4])
    figure = plotting.fields(x, 2 * x, 3 * x, Mesh(torch.from_numpy(x[:, None]), domain=Domain(1, periodic=False)))
    _, both, error = figure.axes
    for line, slope in zip([*both.lines, *error.lines], (2, 3, 1), strict=True):
        assert line.get_xdata().tolist() == [0.1, 0.4, 0.7]
        assert line.get_ydata() == pytest.approx(slope * np.array([0.1, 0.4, 0.7]))


def test_slices_of_a_cube_pass_through_its_middle_with_extents_on_the_axes():
    space = Domain(3, periodic=False, extent=(1.0, 2.0, 4.0))
    y = GENERATOR.random((5, 7, 9))
    panels = [axes for axes in plotting.fields(y, y, y, space).axes if axes.get_title().startswith("truth")]
    shown = [np.asarray(axes.images[0].get_array()) for axes in panels]
    for image, wanted in zip(shown, (y[:, :, 4], y[:, 3, :], y[2]), strict=True):
        assert np.array_equal(image, wanted.T)
    assert [axes.get_title().split("\n")[1] for axes in panels] == ["x₃ = 2", "x₂ = 1", "x₁ = 0.5"]
    assert [(axes.get_xlabel(), axes.get_xlim(), axes.get_ylabel(), axes.get_ylim()) for axes in panels] == [
        ("x₁", (0, 1), "x₂", (0, 2)),
        ("x₁", (0, 1), "x₃", (0, 4)),
        ("x₂", (0, 2), "x₃", (0, 4)),
    ]


def test_each_channel_shares_a_scale_between_truth_and_prediction_and_the_error_begins_at_zero():
    y = GENERATOR.random((2, 8, 6)) * np.array([1, 100])[:, None, None]
    p = y + 1
    axes = plotting.fields(y, y, p, Channels(SQUARE, 2)).axes[2:]
    for channel in (0, 1):
        truth, guess, error = (panel.images[0] for panel in axes[3 * channel : 3 * channel + 3])
        assert truth.get_clim() == guess.get_clim() == (y[channel].min(), p[channel].max())
        assert error.get_clim() == pytest.approx((0, 1))


def test_triangles_leave_a_hole_open_and_cover_the_rest():
    x = np.stack(np.meshgrid(np.linspace(0, 1, 21), np.linspace(0, 1, 21)), -1).reshape(-1, 2)
    x = x[np.abs(x - 0.5).max(1) > 0.249]  # without a square of side 1/2
    panel = plotting.fields(x[:, 0], x[:, 0], x[:, 0], Mesh(torch.from_numpy(x))).axes[1]
    triangles = panel.collections[0]._triangulation
    corners = x[triangles.get_masked_triangles()]
    middle = corners.mean(1)
    area = np.abs(np.linalg.det(corners[:, 1:] - corners[:, :1])) / 2
    assert not (np.abs(middle - 0.5).max(1) < 0.2).any()
    assert area.sum() == pytest.approx(0.75, abs=0.03)
    assert np.array_equal(np.asarray(panel.collections[0].get_array()), x[:, 0])


def test_points_stretched_beyond_triangles_are_dots():
    x = np.stack(np.meshgrid(np.linspace(0, 1, 30), np.linspace(0, 1e-3, 30)), -1).reshape(-1, 2)
    y = GENERATOR.random(900)
    dots = plotting.fields(y, y, y, Mesh(torch.from_numpy(x))).axes[1].collections[0]
    assert np.array_equal(dots.get_offsets(), x)
    assert np.array_equal(dots.get_array(), y)


def test_dots_of_a_mesh_in_space_are_the_nodes_nearest_to_a_plane():
    y = GENERATOR.random(80)
    nodes = MESHES[2].nodes.numpy()
    dots = plotting.fields(y, y, y, MESHES[2]).axes[3].collections[0]  # the first of the rows is near x₃ = middle
    far = np.abs(nodes[:, 2] - (nodes[:, 2].min() + nodes[:, 2].max()) / 2)
    near = np.sort(np.argsort(far)[:60])
    assert np.array_equal(dots.get_offsets(), nodes[near, :2])
    assert np.array_equal(dots.get_array(), y[near])


def test_bars_are_the_components():
    _, both, error = plotting.fields(np.ones(3), np.array([1.0, 2, 3]), np.array([1.5, 1, 3]), Vectors()).axes
    assert [bar.get_height() for bar in both.patches] == [1, 2, 3, 1.5, 1, 3]
    assert [bar.get_height() for bar in error.patches] == [0.5, 1, 0]


def test_fields_says_the_relative_error_or_what_it_is_told():
    y = np.ones((8, 6))
    assert plotting.fields(y, y, 1.25 * y, SQUARE).get_suptitle() == "relative L² error 0.2500"
    assert plotting.fields(y, 0 * y, 0 * y + 1, SQUARE).get_suptitle() == "L² error 1.41, the truth being zero"
    assert plotting.fields(y, y, y, SQUARE, title="t").get_suptitle() == "t"


@pytest.mark.filterwarnings("error", "ignore::pytest.PytestUnraisableExceptionWarning")  # garbage of other tests
def test_what_is_not_finite_does_not_spoil_the_scale(tmp_path):
    y = GENERATOR.random((8, 6))
    bad = np.where(y > 0.5, np.nan, y)
    figure = plotting.fields(y, y, bad, SQUARE)
    assert figure.axes[1].images[0].get_clim() == (y.min(), y.max())
    plotting.fields(y, y, np.full((8, 6), np.nan), SQUARE).savefig(tmp_path / "p.png", dpi=20)


@pytest.mark.parametrize(
    ("a", "y", "p", "space", "told"),
    [
        (np.ones((2, 16)), np.ones(16), np.ones(16), LINE, r"Pass a\[0\]"),
        (np.ones(16), np.ones(16), np.ones(17), LINE, "one shape"),
        (np.ones((3, 16)), np.ones((3, 16)), np.ones((3, 16)), Channels(LINE, 2), "2 channels"),
        (np.ones(7), np.ones(7), np.ones(7), MESHES[0], "80 values"),
    ],
)
def test_fields_wants_one_sample_on_its_space(a, y, p, space, told):
    with pytest.raises(RaffiaError, match=told):
        plotting.fields(a, y, p, space)


def test_errors_counts_every_sample_and_marks_the_median_and_the_worst():
    values = np.array([0.01, 0.1, 0.02, 0.5, 0.0, np.nan])
    (axes,) = plotting.errors(torch.from_numpy(values)).axes
    assert sum(bar.get_height() for bar in axes.patches) == 5
    assert [line.get_xdata()[0] for line in axes.lines] == [0.02, 0.5]
    assert axes.get_xscale() == "log"
    assert axes.get_title() == "1 errors are not finite"
    assert sum(bar.get_height() for bar in plotting.errors(np.zeros(3)).axes[0].patches) == 3
    with pytest.raises(RaffiaError, match="at least one finite"):
        plotting.errors(np.array([np.inf]))


def test_parity_puts_each_prediction_against_its_truth():
    y, p = GENERATOR.random((20, 3)), GENERATOR.random((20, 3))
    figure = plotting.parity(y, p, ["lift", "drag", "moment"])
    assert [axes.get_title() for axes in figure.axes] == ["lift", "drag", "moment"]
    for i, axes in enumerate(figure.axes):
        diagonal, dots = axes.lines
        assert np.array_equal(*diagonal.get_data())
        assert np.array_equal(dots.get_xydata(), np.stack((y[:, i], p[:, i]), 1))
        assert axes.get_xlim() == axes.get_ylim()
    assert len(plotting.parity(y[:, 0], p[:, 0]).axes) == 1
    assert plotting.parity(np.ones((2, 9)), np.ones((2, 9))).get_suptitle() == "the first 8 of 9 components"
    with pytest.raises(RaffiaError, match="labels"):
        plotting.parity(y, p, ["lift"])
    with pytest.raises(RaffiaError, match="one shape"):
        plotting.parity(y, p[:3])


def test_true_coordinates_names_and_units_are_on_the_axes_and_latitude_is_upward():
    space = Domain(2, axes=("box", "periodic"), extent=(180.0, 360.0))
    y = GENERATOR.random((7, 8))
    labels = (Label("latitude", "degrees_north", -90.0, 90.0), Label("longitude", "degrees_east", -180.0, 135.0))
    panel = plotting.fields(y, y, y, space, SideSchema(space=space, frame=labels)).axes[1]
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("longitude (°E)", "latitude (°N)")
    assert panel.get_xlim() == pytest.approx((-180, 180))  # the end that is left out is where the first node is again
    assert panel.get_ylim() == pytest.approx((-90, 90))
    assert np.array_equal(np.asarray(panel.images[0].get_array()), y)  # rows are latitudes, the first below
    assert panel.images[0].origin == "lower"
    assert panel.get_box_aspect() == pytest.approx(180 / 360)  # degrees are degrees


def test_stations_are_drawn_with_their_latitude_upward():
    nodes = torch.from_numpy(GENERATOR.random((80, 2)) * [10, 30] + [40, 100])
    labels = (Label("lat", "degrees_north"), Label("lon", "degrees_east"))
    panel = plotting.fields(np.ones(80), np.ones(80), np.ones(80), SideSchema(space=Mesh(nodes), frame=labels)).axes[1]
    triangles = panel.collections[0]._triangulation
    assert np.array_equal(np.stack([triangles.y, triangles.x], 1), nodes.numpy())
    assert (panel.get_xlabel(), panel.get_ylabel()) == ("lon (°E)", "lat (°N)")
    assert 100 < np.mean(panel.get_xlim()) < 130


def test_axes_that_descend_are_drawn_ascending_and_in_place():
    space = Domain(2, periodic=False)
    y = GENERATOR.random((5, 6))
    labels = (Label("x", "m", 0.0, 4.0), Label("y", "m", 50.0, 45.0))
    panel = plotting.fields(y, y, y, space, SideSchema(space=space, frame=labels)).axes[1]
    assert panel.get_ylim() == (45, 50)
    assert tuple(panel.images[0].get_extent()) == (0, 4, 50, 45)  # the first node, at 50, is above
    assert panel.get_box_aspect() == pytest.approx(5 / 4)


def test_axes_in_different_units_have_no_common_scale():
    y = GENERATOR.random((5, 6))
    labels = (Label("x", "m", 0.0, 2.0), Label("t", "s", 0.0, 1.0))
    assert plotting.fields(y, y, y, SideSchema(space=Domain(2, periodic=False), frame=labels)).axes[1].get_box_aspect() == 0.9


def test_a_curve_is_drawn_against_its_true_coordinate_and_a_slice_says_where_it_is():
    y = GENERATOR.random(11)
    _, both, error = plotting.fields(
        y, y, y, SideSchema(space=Domain(1, periodic=False), frame=(Label("z", "m", 5.0, 6.0),))
    ).axes
    assert both.lines[0].get_xdata() == pytest.approx(np.linspace(5, 6, 11))
    assert error.get_xlabel() == "z (m)"
    cube = GENERATOR.random((5, 5, 5))
    labels = tuple(Label(name, "km", 10.0, 14.0) for name in ("u", "v", "w"))
    panels = plotting.fields(cube, cube, cube, SideSchema(space=Domain(3, periodic=False), frame=labels)).axes
    assert [p.get_title().split("\n")[1] for p in panels if p.get_title().startswith("truth")] == [
        "w = 12 km",
        "v = 12 km",
        "u = 12 km",
    ]


def test_channels_and_components_have_their_names_and_curves_their_bands():
    a, y = GENERATOR.random(3), GENERATOR.random((2, 16))
    given = SideSchema(space=Vectors(), names=("Re", "Ma", "α"))
    wanted = SideSchema(space=Channels(LINE, 2), names=("p", "v"))
    figure = plotting.fields(a, y, y + 0.1, given, wanted, widths=[0.5, 0.25])
    given, *panels = figure.axes
    assert [label.get_text() for label in given.get_xticklabels()] == ["Re", "Ma", "α"]
    assert [panel.get_title() for panel in panels[::2]] == ["truth and prediction\np", "truth and prediction\nv"]
    for panel, channel, width in zip(panels[::2], y + 0.1, (0.5, 0.25), strict=True):
        edges = panel.collections[0].get_paths()[0].vertices[:, 1]
        assert edges.min() == pytest.approx(channel.min() - width)
        assert edges.max() == pytest.approx(channel.max() + width)


def test_a_pair_shows_every_channel_and_the_triangles_of_a_mesh():
    y = GENERATOR.random((7, 80))
    figure = plotting.pair(GENERATOR.random(16), y, LINE, Channels(MESHES[1], 7))
    titles = [axes.get_title() for axes in figure.axes if axes.get_title()]
    assert titles == ["input a", *(f"output y\nchannel {i}" for i in range(7))]
    assert sum(bool(axes.lines) for axes in figure.axes) == 8  # the edges of triangles are lines


def test_errors_are_drawn_against_every_parameter_along_a_series_and_by_group():
    a, errors = GENERATOR.random((30, 2)), GENERATOR.random(30) + 0.1
    panels = plotting.errors_against_parameters(a, errors, ["Re", "Ma"]).axes
    assert [panel.get_xlabel() for panel in panels] == ["Re", "Ma"]
    for i, panel in enumerate(panels):
        assert np.array_equal(panel.lines[0].get_xydata(), np.stack([a[:, i], errors], 1))
    (along,) = plotting.errors_along(np.arange(30), errors, "row of the file").axes
    dots, medians = along.lines
    assert np.array_equal(dots.get_ydata(), errors)
    assert medians.get_ydata()[0] == pytest.approx(np.median(errors[:3]))
    groups = ["one"] * 10 + ["two"] * 20
    (columns,) = plotting.errors_by_group(groups, np.where(np.arange(30) < 10, 0.1, 1.0)).axes
    assert [label.get_text() for label in columns.get_xticklabels()] == ["two", "one"]  # the worst first


def test_errors_in_time_mark_the_step_at_which_the_correlation_falls():
    left, right = plotting.errors_in_time(np.array([0.1, 0.2, 1e9, np.inf]), np.array([0.99, 0.95, 0.5, 0.0]), 0.9).axes
    assert left.lines[0].get_ydata()[:2].tolist() == [0.1, 0.2]
    assert left.get_ylim()[1] == 1e3  # what is lost does not set the scale
    assert right.get_legend().get_texts()[0].get_text() == "below 0.9 at step 3"
    assert len(plotting.errors_in_time(np.array([0.1, 0.2])).axes) == 1


def test_spectra_of_truth_and_prediction_are_drawn_after_the_first_middle_and_last_step():
    states = torch.randn(2, 10, 16, dtype=torch.float64)
    panels = plotting.spectra(states, 10 * states, LINE).axes
    assert [axes.get_title() for axes in panels] == ["after 1 step", "after 5 steps", "after 9 steps"]
    truth, guess = (line.get_ydata() for line in panels[1].lines)
    np.testing.assert_allclose(guess, 100 * truth)
    lost = plotting.spectra(states, torch.full_like(states, torch.inf), LINE).axes[0]
    assert [text.get_text() for text in lost.texts] == ["prediction above"]


@pytest.mark.parametrize("name", [name for name, (space, *_) in SAMPLES.items() if space.one_channel is space])
def test_a_trajectory_is_drawn_on_every_space(name):
    space, shape, *_ = SAMPLES[name]
    truth = torch.from_numpy(GENERATOR.random((6, *shape)))
    figure = plotting.evolution(truth, truth + 0.5, space)
    figure.canvas.draw()
    panels = [axes for axes in figure.axes if axes.get_label() != "<colorbar>"]
    assert len(panels) == (12 if space.dim > 1 else 3 if space.dim == 1 else min(4, max(1, *shape, 1)))
    if space.dim == 1:
        np.testing.assert_allclose(panels[2].collections[0].get_array(), 0.5)


def test_what_is_lost_does_not_set_the_colours():
    truth = torch.from_numpy(GENERATOR.random((4, 16)))
    *_, error = [axes for axes in plotting.evolution(truth, 1e9 * truth, LINE).axes if axes.get_label() != "<colorbar>"]
    assert error.collections[0].get_clim()[1] <= 2
