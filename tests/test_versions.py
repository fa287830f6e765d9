"""Model files of earlier versions are read: these were written by the code of their day, with what it predicted."""

from pathlib import Path

import numpy as np
import pytest
import torch

from raffia import Channels, Mesh, Vectors, load
from raffia.model.file import CLASSES

FILES = Path(__file__).parent / "models"


@pytest.fixture(scope="module")
def written():
    return {name: torch.from_numpy(np.asarray(value)) for name, value in np.load(FILES / "version2.npz").items()}


def test_a_file_of_version_2_predicts_what_it_predicted(written):
    model = load(FILES / "version2_circle.safetensors")
    mean, std = model.predict(written["a"], return_std=True)
    torch.testing.assert_close(mean, written["mean"], rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(std, written["std"], rtol=1e-9, atol=1e-14)
    assert (model.ridge_, model.loo_error_) == (float(written["ridge"]), float(written["loo_error"]))


def test_training_goes_on_from_a_file_of_version_2(written):
    model = load(FILES / "version2_circle.safetensors").set_params(ridge=1e-3)
    grown = model.partial_fit(written["more_a"], written["more_y"]).predict(written["a"])
    torch.testing.assert_close(grown, written["grown"], rtol=1e-9, atol=1e-12)


def test_spaces_units_and_names_of_arrays_come_from_a_file_of_version_2(written):
    model = load(FILES / "version2_mesh.safetensors")
    assert isinstance(model.feature_map.domain, Channels)
    assert isinstance(model.feature_map.domain.of, Mesh)
    assert (model.solver, model.output, model.normalize) == (None, Vectors(), True)  # its solver is no more
    torch.testing.assert_close(model.predict(written["b"]), written["z"], rtol=1e-12, atol=1e-14)
    assert (model.schema_.input.names, model.schema_.output.names) == (("u",), ("q",))


@pytest.mark.parametrize("name", ["version2_circle", "version2_mesh"])
def test_what_is_read_is_written_as_version_3_and_predicts_the_same(written, name, tmp_path):
    model = load(FILES / f"{name}.safetensors")
    a = written["a"] if name.endswith("circle") else written["b"]
    model.save(tmp_path / "again.safetensors")
    assert torch.equal(load(tmp_path / "again.safetensors").predict(a), model.predict(a))
    assert b"raffia.features" not in (tmp_path / "again.safetensors").read_bytes()


def test_a_triangular_factor_from_an_older_file_becomes_normal_equations():
    A, y = torch.randn(2, 9, 4, dtype=torch.float64, generator=torch.Generator().manual_seed(0)).split([1, 1])
    factor = torch.linalg.qr(torch.cat([A[0], y[0]], 1), mode="r").R
    equations = CLASSES["TriangularFactor"](factor, 4, 9, False)
    torch.testing.assert_close(equations.gram, A[0].T @ A[0] / 4)
    torch.testing.assert_close(equations.rhs, A[0].T @ y[0])
    torch.testing.assert_close(equations.energy, y.square().sum())
