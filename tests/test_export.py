"""Exported models say what the model says, for any number of inputs, and what cannot be exported is refused."""

import numpy as np
import pytest
import torch

from raffia import RaffiaError
from raffia.model.real import Pair, Real
from raffia.model.recording import recorded
from tests.derivatives.cases import CIRCLE, MAPS, MODELS, pairs, trained

SOME = [name for i, name in enumerate(MODELS) if i % 13 == 0 and "carried" not in name]


def test_a_program_of_torch_predicts_for_any_number_of_inputs(tmp_path):
    for model, grid in ((trained(MAPS["fourier 0"], normalize=True), 12),):
        assert model.export(tmp_path / "model.pt2", grid) <= 1e-12
        program = torch.export.load(tmp_path / "model.pt2").module()
        shape = model.at(grid).input_grid.shape
        for n in (1, 2, 64):
            a = pairs(model.feature_map.domain, n, seed=n, shape=shape)[0]
            assert torch.allclose(program(a), model.predict(a), rtol=1e-12, atol=1e-12)


def test_onnx_runtime_predicts_for_any_number_of_inputs(tmp_path):
    runtime = pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'raffia[export]'")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'raffia[export]'")
    model = trained(MAPS["fourier 0"], normalize=True)
    assert model.export(tmp_path / "model.onnx") <= 1e-6
    session = runtime.InferenceSession(tmp_path / "model.onnx", providers=["CPUExecutionProvider"])
    for n in (1, 2, 64):
        a = pairs(CIRCLE, n, seed=n)[0].float()
        found = session.run(None, {session.get_inputs()[0].name: a.numpy()})[0]
        assert found.dtype == np.float32
        assert np.abs(found - model.predict(a.double()).numpy()).max() <= 1e-6


@pytest.mark.slow
@pytest.mark.parametrize("name", SOME)
@pytest.mark.parametrize("suffix", [".pt2", ".onnx"])
def test_models_of_all_kinds_are_exported(name, suffix, tmp_path):
    if suffix == ".onnx":
        pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'raffia[export]'")
    assert MODELS[name]().export(tmp_path / f"model{suffix}") <= {".pt2": 1e-12, ".onnx": 1e-6}[suffix]


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("points", [(6,), (7,), (4, 6), (3, 5, 4)])
def test_transforms_by_matrices_are_transforms(points, norm):
    axes = tuple(range(1, 1 + len(points)))

    def there_and_back(a):
        spectrum = torch.fft.rfftn(a, dim=axes, norm=norm)
        weight = torch.linspace(0, 1, spectrum[0].numel(), dtype=torch.float64).reshape(spectrum.shape[1:])
        return torch.fft.irfftn(spectrum * torch.complex(weight, weight**2), s=points, dim=axes, norm=norm)

    def example(n):
        return torch.randn(n, *points, dtype=torch.float64, generator=torch.Generator().manual_seed(n))

    graph = recorded(there_and_back, example)
    for n in (1, 9):
        assert torch.allclose(graph(example(n)), there_and_back(example(n)), atol=1e-13)
        assert torch.allclose(Real(graph).run(example(n)), there_and_back(example(n)), atol=1e-13)


def test_complex_operations_without_a_rule_are_refused():
    graph = recorded(lambda a: torch.fft.rfft(a).exp().real, lambda n: torch.ones(n, 5, dtype=torch.float64))
    with pytest.raises(RaffiaError, match=r"complex operation aten\.exp"):
        Real(graph).run(torch.ones(2, 5, dtype=torch.float64))
    assert Pair._fields == ("real", "imaginary")


def test_what_depends_on_the_number_of_inputs_in_another_way_is_refused():
    with pytest.raises(RaffiaError, match="how many inputs there are"):
        recorded(lambda a: a * torch.arange(len(a)).double().sum(), lambda n: torch.ones(n, 3, dtype=torch.float64))
    with pytest.raises(RaffiaError, match="other things with other numbers"):
        recorded(lambda a: a * 2 if len(a) > 6 else a.exp(), lambda n: torch.ones(n, 3, dtype=torch.float64))


def test_other_suffixes_and_grids_that_are_interpolated_to_are_refused(tmp_path):
    with pytest.raises(RaffiaError, match=r"export writes \.pt2"):
        trained(MAPS["fourier 0"]).export(tmp_path / "model.txt")
    with pytest.raises(RaffiaError, match="exports do not know"):
        trained(MAPS["scalar 1"]).export(tmp_path / "model.pt2", 11)
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("name", ["carried 2", "carried along", "carried between 2", "carried by a curl"])
def test_what_is_carried_is_carried_by_a_graph_without_complex_numbers(name):
    predict = trained(MAPS[name], 2, coefficients="modal").at().operator.moved(torch.device("cpu"))
    graph = recorded(predict, lambda n: pairs(MAPS[name].domain, n)[0])
    for n in (1, 4):
        a = pairs(MAPS[name].domain, n, seed=1)[0]
        assert torch.allclose(graph(a), predict(a), rtol=1e-12, atol=1e-12)
        assert torch.allclose(Real(graph).run(a), predict(a), rtol=1e-12, atol=1e-12)
