"""Exported models say what the model says, for any number of inputs, and what cannot be exported is refused."""

import numpy as np
import pytest
import torch

from raffia import RaffiaError
from raffia.model.program_export import DECOMPOSITIONS, record
from tests.derivatives.cases import CIRCLE, KINDS, MAPS, MODELS, pairs, trained

WAYS = ("False", "True", "function")
EACH = [
    next(row for row in MODELS if row.startswith(f"{name}, normalize={WAYS[i % 3]}"))
    for i, name in enumerate(MAPS)
    if name not in ("additive", "multiplicative")
]
ROWS = [*EACH, "additive, normalize=False", "multiplicative, normalize=False", *list(MODELS)[-4:]]
"""Every map, with one normalisation or another."""
FIRST = [f"{prefix}{name}, normalize=False" for name in KINDS for prefix in ("", "modal ")]
FIRST = [name for name in FIRST if name in MODELS]
"""The first row of each kind of map, with both kinds of coefficients where it takes them."""


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
@pytest.mark.parametrize("name", ROWS)
def test_models_of_every_map_are_exported(name, tmp_path):
    assert MODELS[name]().export(tmp_path / "model.pt2") <= 1e-12


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_models_of_every_kind_are_exported_to_onnx(name, tmp_path):
    pytest.importorskip("onnxruntime", reason="onnxruntime is not installed: pip install 'raffia[export]'")
    pytest.importorskip("onnxscript", reason="onnxscript is not installed: pip install 'raffia[export]'")
    if "galerkin" in name:
        with pytest.raises(RaffiaError, match=r"linalg_solve.*as \.pt2"):
            MODELS[name]().export(tmp_path / "model.onnx")
    else:
        assert MODELS[name]().export(tmp_path / "model.onnx") <= 1e-6


def example(points):
    """Batches of functions on so many points, by their number."""
    return lambda n: torch.randn(n, *points, dtype=torch.float64, generator=torch.Generator().manual_seed(n))


@pytest.mark.parametrize("norm", ["backward", "forward", "ortho"])
@pytest.mark.parametrize("points", [(6,), (7,), (4, 6), (3, 5, 4)])
def test_a_recorded_function_is_the_function_for_any_number_of_rows(points, norm):
    axes = tuple(range(1, 1 + len(points)))

    def there_and_back(a):
        spectrum = torch.fft.rfftn(a, dim=axes, norm=norm)
        weight = torch.linspace(0, 1, spectrum[0].numel(), dtype=torch.float64).reshape(spectrum.shape[1:])
        return torch.fft.irfftn(spectrum * torch.complex(weight, weight**2), s=points, dim=axes, norm=norm)

    graph = record(there_and_back, example(points))
    for n in (1, 9):
        assert torch.allclose(graph(example(points)(n)), there_and_back(example(points)(n)), atol=1e-13)


def test_a_recorded_function_sees_one_row_and_keeps_constants_as_they_are():
    constants = torch.arange(3).double()
    graph = record(lambda a: torch.cat([a * len(a), (constants.exp() @ constants) * a], -1), example((3,)))
    a = example((3,))(4)
    assert torch.allclose(graph(a), torch.cat([a, (constants.exp() @ constants) * a], -1))
    names = {str(node.target) for node in graph.graph.nodes if node.op == "call_function"}
    assert "aten.exp.default" not in names


def test_what_is_computed_from_constants_alone_is_a_constant():
    weights = torch.arange(3).double()

    def function(a):
        b = a * weights
        return b + weights.exp().add_(1)  # after the constants were used

    graph = record(function, example((3,)))
    assert torch.allclose(graph(example((3,))(4)), function(example((3,))(4)))
    assert not [node for node in graph.graph.nodes if "exp" in str(node.target)]


def test_a_function_that_reads_its_values_is_refused():
    with pytest.raises(RaffiaError, match=r"torch\.func\.vmap"):
        record(lambda a: a if a.sum() > 0 else -a, example((3,)))


def test_operations_for_onnx_are_those_of_torch():
    generator = torch.Generator().manual_seed(0)
    x = 30 * torch.randn(500, dtype=torch.float64, generator=generator)
    for operation, exact, bound in (
        (torch.ops.aten.elu.default, torch.nn.functional.elu, 1e-12),
        (torch.ops.aten.softplus.default, torch.nn.functional.softplus, 1e-8),
        (torch.ops.aten.gelu.default, torch.nn.functional.gelu, 1e-5),  # in single precision
    ):
        assert torch.allclose(DECOMPOSITIONS[operation](x), exact(x), rtol=0, atol=bound)
    z, w = (torch.randn(2, 4, 4, dtype=torch.complex128, generator=generator) for _ in range(2))
    calls = {
        torch.ops.aten.unsqueeze.default: (1,),
        torch.ops.aten.expand.default: ((3, 2, 4, 4),),
        torch.ops.aten.select.int: (1, 2),
        torch.ops.aten.constant_pad_nd.default: ((1, 2),),
        torch.ops.aten.index.Tensor: ([None, torch.tensor([3, 1])],),
        torch.ops.aten.select_scatter.default: (w[:, 0], 1, 2),
        torch.ops.aten.slice_scatter.default: (w[:, :2], 1, 1, 3),
        torch.ops.aten.bmm.default: (w,),
        torch.ops.aten.fill.Tensor: (torch.tensor(1.5),),
    }
    for operation, rest in calls.items():
        assert torch.allclose(DECOMPOSITIONS[operation](z, *rest), operation(z, *rest), atol=1e-13)
        if operation != torch.ops.aten.bmm.default:
            assert DECOMPOSITIONS[operation](z.real, *rest) is NotImplemented  # onnxscript has it for real tensors


def test_other_suffixes_are_refused(tmp_path):
    with pytest.raises(RaffiaError, match=r"export writes \.pt2"):
        trained(MAPS["fourier 0"]).export(tmp_path / "model.txt")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(("name", "kind"), [("scalar 1", "ordinary"), ("local 1", "modal")])
def test_a_program_for_another_grid_interpolates_as_the_model_does(name, kind, tmp_path):
    model = trained(MAPS[name], coefficients=kind)
    model.export(tmp_path / "model.pt2", 11)
    program = torch.export.load(tmp_path / "model.pt2").module()
    a = pairs(model.feature_map.domain, 3, seed=1, shape=(11,))[0]
    assert torch.allclose(program(a), model.predict(a), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", ["carried 2", "carried along", "carried between 2", "carried by a curl"])
def test_models_of_carried_features_are_recorded(name):
    predict = trained(MAPS[name], 2, coefficients="modal").at().operator.moved(torch.device("cpu"))
    graph = record(predict, lambda n: pairs(MAPS[name].domain, n)[0])
    for n in (1, 4):
        a = pairs(MAPS[name].domain, n, seed=1)[0]
        assert torch.allclose(graph(a), predict(a), rtol=1e-12, atol=1e-12)
