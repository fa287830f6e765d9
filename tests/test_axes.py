"""From a file to a model that predicts on other grids, where the axes of a grid differ."""

import numpy as np
import pytest
import torch

from raffia import Darcy, Domain, FourierFeatures, GaussianField, RandomFeatureModel, ScalarFeatures, data, load, resample
from raffia.data import Dataset
from raffia.spaces import LaplacianBasis
from tests.test_cli import run

CHANNEL = Domain(2, axes=("periodic", "box"), extent=(2.0, 1.0))
SHAPE = {"profile": "matern", "amplitude": 2.0, "tau": 5.0, "bias": 0.5, "activation": "tanh"}


def flow(n, grid, seed=0):
    """A force in a channel, and the velocity that is zero at its walls."""
    f = GaussianField(grid.domain, "neumann", tau=3.0, regularity=3.0, n_modes=20).sample(n, grid, seed)
    return f, by_eigenvalues(1 + f, grid, ("periodic", "dirichlet"), lambda values: 1 / values)


def by_eigenvalues(f, grid, boundary, function):
    """A function of −Δ, by its eigenfunctions on the grid."""
    modes = LaplacianBasis(grid.domain, boundary, grid.size // 2)
    return modes.synthesis(function(modes.eigenvalues) * modes.analysis(f, grid), grid)


def heat(f, grid, time):
    return by_eigenvalues(f, grid, "neumann", lambda values: torch.exp(-time * values))


@pytest.fixture
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    grid = CHANNEL.grid(24, 17)
    a, y = flow(60, grid)
    x, z = (axis.numpy() for axis in grid.axes())
    np.savez("channel.npz", force=a.numpy(), velocity=y.numpy(), x=x, z=z)
    return tmp_path / "channel.npz"


def test_a_channel_is_fitted_inspected_and_predicted_on_a_finer_grid(file, capsys):
    named = ("--input", "force", "--output", "velocity", "--coordinates", "x", "--coordinates", "z")
    code, out, err = run(capsys, "inspect", file, *named, "--figure", "first.png")
    assert (code, err) == (0, "")
    assert "60 × functions on 24×17 points of a domain with axes periodic, box, of extent (2.0, 1.0)" in out
    code, out, err = run(capsys, "fit", file, *named, "--features", 64, "--effort", "quick", "--model", "m.safetensors")
    assert (code, err) == (0, "")
    assert "axis 1 as periodic" in out
    model = load("m.safetensors")
    assert model.trained_.frame.input == CHANNEL
    fine, truth = flow(5, CHANNEL.grid(48, 33), seed=1)
    np.savez("fine.npz", force=fine.numpy())
    assert run(capsys, "predict", "m.safetensors", "fine.npz", "--output", "p.npy")[0] == 0
    predicted = torch.from_numpy(np.load("p.npy"))
    assert predicted.shape == fine.shape
    assert float((predicted - truth).norm() / truth.norm()) < 0.02


def test_a_file_of_test_pairs_is_read_as_that_of_the_training_was(file, capsys):
    """Its axes and lengths are not guessed again: it has no coordinates, and too few pairs to tell."""
    a, y = flow(2, CHANNEL.grid(24, 17), seed=1)
    np.savez("test.npz", force=a.numpy(), velocity=y.numpy())
    words = ("--input", "force", "--output", "velocity", "--coordinates", "x", "--coordinates", "z", "--map", "linear")
    code, out, err = run(capsys, "fit", file, *words, "--test", "test.npz", "--model", "m.safetensors")
    assert (code, err) == (0, "")
    assert "on 2 pairs of the test" in out


def test_axes_are_said_on_the_command_line(file, capsys):
    names = ("--input", "force", "--output", "velocity")
    code, out, _ = run(capsys, "inspect", file, *names, "--axes", "periodic,cells")
    assert code == 0
    assert "points of a domain with axes periodic, cells, of extent" in out
    assert f"raffia fit {file} --input force --output velocity --axes periodic,cells" in out
    code, _, err = run(capsys, "fit", file, *names, "--axes", "periodic,wall")
    assert code == 2
    assert "--axes) needs one of periodic, box, cells, left, right for each of 2 axes" in err


@pytest.mark.filterwarnings("ignore:Darcy is not resolved")
@pytest.mark.parametrize("coefficients", ["ordinary", "modal"])
def test_darcy_flow_without_its_last_rows_is_learnt_and_predicted_on_a_finer_grid(coefficients):
    """As well as with them, up to what is not known beside the end that was left out."""
    fine_a, fine_y = Darcy(fine_points=33).dataset(70, points=33, seed=0)
    errors = {}
    for axes, rows in (("box", slice(None)), ("left", slice(None, -1))):
        domain = Domain(2, axes=axes)
        a, y = (f[:, rows, rows] for f in (fine_a, fine_y))
        features = FourierFeatures(40, domain=domain, **SHAPE)
        model = RandomFeatureModel(features, 30, "auto", coefficients=coefficients, normalize=True)
        model.fit(a[:50, ::2, ::2], y[:50, ::2, ::2])
        assert model.output_grid_.shape == ((17, 17) if axes == "box" else (16, 16))
        errors[axes] = [float(model.errors(a[50:, ::s, ::s], y[50:, ::s, ::s]).mean()) for s in (1, 2)]
    for box, left in zip(errors["box"], errors["left"], strict=True):
        assert left < 1.15 * box


@pytest.mark.parametrize("axes", [("periodic", "box"), ("cells", "cells"), ("periodic", "cells", "box")])
def test_linear_operators_are_learnt_on_every_grid_that_has_the_same_axes(axes):
    domain = Domain(len(axes), axes=axes)
    field = GaussianField(domain, "neumann", tau=3.0, regularity=3.0, n_modes=12)
    grid = domain.grid(*(8, 9, 7)[: len(axes)])
    finer, shared = grid.refined()
    model = RandomFeatureModel(ScalarFeatures(13, law="affine", domain=domain), 40, 1e-12)
    a = field.sample(40, grid, seed=0)
    model.fit(a, heat(a, grid, 1e-2))
    new = field.sample(5, grid, seed=1)
    torch.testing.assert_close(model.predict(new), heat(new, grid, 1e-2), rtol=0, atol=1e-5)
    there = field.sample(5, finer, seed=1)
    torch.testing.assert_close(
        model.predict(there), resample(heat(new, grid, 1e-2), grid, finer, smooth=True), rtol=0, atol=1e-5
    )
    torch.testing.assert_close(there[(..., *shared)], new)


@pytest.mark.parametrize("domain", [CHANNEL, Domain(1, axes="cells"), Domain(3, axes=("left", "right", "periodic"))], ids=str)
def test_a_dataset_with_these_axes_comes_back_as_it_was_written(domain, tmp_path):
    a = torch.rand(3, *(4, 5, 6)[: domain.dim], dtype=torch.float64)
    data.write(tmp_path / "d.npz", Dataset(a, 2 * a, domain))
    again = data.read(tmp_path / "d.npz")
    assert again.domain == domain
    assert torch.equal(again.a, a)
