"""Exported models say what the model says, for any number of inputs, and what cannot be exported is refused."""

import math

import numpy as np
import pytest
import torch
from typer.testing import CliRunner

from raffia import RaffiaError
from raffia.cli import app
from raffia.model.real import Pair, Real
from raffia.model.recording import recorded
from raffia.model.sizes import design, formula_of
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
ONE_GRID = {
    "carried": "", "scalar vectors": "on grids", "bridge": "on grids", "fourier 6": "on grids",
}  # fmt: skip
"""Rows that cannot be exported for any grid, and words that say why."""


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
        with pytest.raises(RaffiaError, match="solves linear equations"):
            MODELS[name]().export(tmp_path / "model.onnx")
    else:
        assert MODELS[name]().export(tmp_path / "model.onnx") <= 1e-6


def check_on_grids(model, path, shapes):
    program = torch.export.load(path).module()
    for n, shape in enumerate(shapes, 1):
        a = pairs(model.feature_map.domain, n, seed=n, shape=shape)[0]
        wanted = model.predict(a)
        assert torch.allclose(program(a), wanted, rtol=0, atol=1e-12 * float(wanted.abs().max()))
    return program


def test_a_program_for_any_grid_predicts_as_the_model_does_on_each(tmp_path):
    model = trained(MAPS["fourier 0"], normalize=True)
    assert model.export(tmp_path / "model.pt2", "any") <= 1e-12
    program = check_on_grids(model, tmp_path / "model.pt2", [(9,), (10,), (64,), (127,), (1000,)])
    with pytest.raises(AssertionError, match=r"size\(\)\[1\] >= "):
        program(torch.ones(2, 4, dtype=torch.float64))  # too coarse for the waves of the features


def test_a_program_for_any_grid_has_modal_coefficients_too(tmp_path):
    model = trained(MAPS["fourier 0"], coefficients="modal")
    model.export(tmp_path / "model.pt2", "any")
    check_on_grids(model, tmp_path / "model.pt2", [(12,), (13,), (64,), (127,)])


def test_the_command_says_from_which_grid_on_a_program_works(tmp_path):
    trained(MAPS["fourier 3"]).save(tmp_path / "model.safetensors")
    paths = [str(tmp_path / name) for name in ("model.safetensors", "model.pt2")]
    result = CliRunner().invoke(app, ["export", *paths, "--any-grid"])
    assert "grids of 3 × 3 points or more" in result.output
    program = torch.export.load(paths[1]).module()
    assert program(torch.ones(1, 3, 4, dtype=torch.float64)).shape == (1, 3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("name", FIRST)
def test_models_of_every_kind_are_exported_for_any_grid_or_refused(name, tmp_path):
    model = MODELS[name]()
    refused = [words for start, words in ONE_GRID.items() if name.startswith(start)]
    if name.startswith("modal ") and not model.feature_map.domain.region.periodic:
        refused = ["one grid at a time"]  # which functions are interpolated from and to
    if refused:
        with pytest.raises(RaffiaError, match=refused[0]):
            model.export(tmp_path / "model.pt2", "any")
        return
    model.export(tmp_path / "model.pt2", "any")
    channels, dim = model.input_grid_.shape[: -model.feature_map.domain.dim], model.feature_map.domain.dim
    check_on_grids(model, tmp_path / "model.pt2", [(*channels, *(size + i for i in range(dim))) for size in (20, 21, 33)])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fourier", "local", "iterated", "modal fourier"])
@pytest.mark.parametrize("space", [1, 2, 3, 4, 5])
def test_programs_for_any_grid_are_for_axes_of_all_kinds(name, space, tmp_path):
    model, path = MODELS[f"{name} {space}, normalize=False"](), tmp_path / "model.pt2"
    if name == "modal fourier" and space != 2:  # the torus
        with pytest.raises(RaffiaError, match="one grid at a time"):
            model.export(path, "any")
        return
    model.export(path, "any")
    check_on_grids(model, path, [tuple(size + i for i in range(model.feature_map.domain.dim)) for size in (12, 15, 24)])


@pytest.mark.parametrize(
    ("make", "path", "words"),
    [
        (lambda: trained(MAPS["fourier 0"]), "model.onnx", "one grid, which must be named"),
        (lambda: trained(MAPS["fourier 6"]), "model.pt2", "is for inputs on grids"),
        (lambda: trained(MAPS["scalar vectors"]), "model.pt2", "is for inputs on grids"),
        (lambda: trained(MAPS["scalar 1"]), "model.pt2", "one grid at a time"),
    ],
)
def test_what_cannot_be_for_any_grid_is_refused(make, path, words, tmp_path):
    with pytest.raises(RaffiaError, match=words):
        make().export(tmp_path / path, "any")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "law",
    [
        lambda n, p, q: p,
        lambda n, p, q: 3 * (p - 1),
        lambda n, p, q: q // 2 + 1,
        lambda n, p, q: 5 * ((p + 1) // 2),
        lambda n, p, q: 2 * n * (p - 2) * (q // 2 + 1),
        lambda n, p, q: 0.3 / p,
        lambda n, p, q: 2.0 * (p - 1) ** 2,
        lambda n, p, q: math.sqrt(1 / (p * q)),
    ],
)
def test_numbers_that_depend_on_sizes_are_found_as_formulas(law):
    rows = design((5, 20, 31), [(2,), (1, 2), (1, 2)])
    formula = formula_of([law(*row) for row in rows], rows)
    for sizes in ((1, 64, 65), (9, 7, 100)):
        assert formula.at(sizes) == pytest.approx(law(*sizes), rel=1e-13)


@pytest.mark.parametrize(
    "law", [lambda n, p, q: p + q, lambda n, p, q: p**2, lambda n, p, q: math.exp(-p), lambda n, p, q: p % 2]
)
def test_other_numbers_have_no_formula(law):
    rows = design((5, 20, 31), [(2,), (1, 2), (1, 2)])
    assert formula_of([law(*row) for row in rows], rows) is None


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


def test_tensors_that_depend_on_the_number_of_inputs_are_made_of_it():
    graph = recorded(lambda a: a * torch.arange(len(a)).double().sum(), lambda n: torch.ones(n, 3, dtype=torch.float64))
    assert torch.equal(graph(torch.ones(9, 3).double()), torch.full((9, 3), 36.0).double())


def test_what_depends_on_the_number_of_inputs_in_another_way_is_refused():
    with pytest.raises(RaffiaError, match="how many inputs there are"):
        recorded(lambda a: a * math.log(len(a)), lambda n: torch.ones(n, 3, dtype=torch.float64))
    with pytest.raises(RaffiaError, match="other things with other numbers"):
        recorded(lambda a: a * 2 if len(a) > 6 else a.exp(), lambda n: torch.ones(n, 3, dtype=torch.float64))


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
def test_what_is_carried_is_carried_by_a_graph_without_complex_numbers(name):
    predict = trained(MAPS[name], 2, coefficients="modal").at().operator.moved(torch.device("cpu"))
    graph = recorded(predict, lambda n: pairs(MAPS[name].domain, n)[0])
    for n in (1, 4):
        a = pairs(MAPS[name].domain, n, seed=1)[0]
        assert torch.allclose(graph(a), predict(a), rtol=1e-12, atol=1e-12)
        assert torch.allclose(Real(graph).run(a), predict(a), rtol=1e-12, atol=1e-12)
