import math
import sys
from dataclasses import replace

import numpy as np
import pytest
import torch

from raffia import Domain, FourierFeatures, RaffiaError, RandomFeatureModel
from raffia.features import BrownianBridge
from raffia.metrics import measure_for
from raffia.regression import (
    DEFAULTS,
    DualPath,
    FeatureStream,
    NormalEquations,
    RidgePath,
    Streamed,
    best_ridge,
    k_fold_errors,
    leave_one_out,
    leave_one_out_dual,
    left_out_ridge,
)
from raffia.solvers import Dual, NystromPCG

RIDGES = [1e-9, 1e-6, 1e-3]


@pytest.fixture(scope="module")
def setting(burgers):
    features, grid = FourierFeatures(n_modes=24), Domain(1).grid(64)
    a, y = burgers.a[:12], burgers.y[:12]
    stream = FeatureStream(features, features.draw(40, seed=0), grid, batch_size=5, tile=10**5)
    return stream, a, y, RidgePath(NormalEquations.assemble(stream, a, y))


def tall(stream, a):
    return torch.cat([rows.mT for rows, _ in stream.blocks(a, a)])


@pytest.mark.parametrize("ridge", RIDGES)
def test_path_is_what_a_solver_gives_for_each_ridge(setting, ridge):
    stream, a, y, path = setting
    A, target = tall(stream, a), stream.grid.embed(y).reshape(-1)
    coef = torch.linalg.solve(A.T @ A / 40 + ridge * torch.eye(40), A.T @ target)
    torch.testing.assert_close(path.coef(ridge), coef, rtol=1e-5, atol=1e-7)


def test_leaving_one_function_out_is_training_without_it(setting):
    stream, a, y, path = setting
    found = leave_one_out(path, stream, a, y, RIDGES)
    for i in range(12):
        others = [j for j in range(12) if j != i]
        refit = RidgePath(NormalEquations.assemble(stream, a[others], y[others]))
        A, target = tall(stream, a[i : i + 1]), stream.grid.embed(y[i : i + 1]).reshape(-1)
        for k, ridge in enumerate(RIDGES):
            error = target - A @ refit.coef(ridge) / 40
            assert float(found.errors[k, i]) == pytest.approx(
                float(error.norm() / target.norm()), rel=1e-8 if ridge > 1e-8 else 1e-5
            )
        torch.testing.assert_close(found.functions[i], error, rtol=1e-8, atol=1e-10)
        leverage = (A @ torch.linalg.solve(refit.equations.gram + RIDGES[-1] * torch.eye(40), A.T) / 40).trace()
        assert float(found.leverages[i]) == pytest.approx(float(leverage), rel=1e-6)


def test_projection_on_output_modes_keeps_the_errors(setting):
    stream, a, y, path = setting
    exact, projected = leave_one_out(path, stream, a, y, RIDGES), leave_one_out(path, stream, a, y, RIDGES, max_points=48)
    torch.testing.assert_close(projected.errors, exact.errors, rtol=1e-2, atol=0)


def test_on_fine_grids_fewer_functions_are_left_out_and_say_the_same(setting, monkeypatch):
    stream, a, y, path = setting
    measure = measure_for(stream.grid, False).of(y, stream.grid)
    ridge, told = left_out_ridge(path, stream, a, y, measure)
    assert left_out_ridge(path, stream, a, y, measure, every=False) == (ridge, None)
    assert told.errors.shape == (1, 12)
    fewer = replace(DEFAULTS, fine=32, least_scanned=6, scanned_samples=12, least_left_out=8, left_out_samples=16)
    monkeypatch.setattr(sys.modules["raffia.regression.leave_one_out"], "DEFAULTS", fewer)
    other, some = left_out_ridge(path, stream, a, y, measure)  # of 64 points: half as many, but eight at least
    rows = torch.linspace(0, 11, 8).long()
    torch.testing.assert_close(some.errors, leave_one_out(path, stream, a, y, [other], measure=measure).errors[:, rows])
    assert other == pytest.approx(ridge, rel=30)


@pytest.mark.parametrize("columns", [(), (5,)])
def test_the_dual_form_leaves_one_number_out_for_scalar_features(columns):
    features = BrownianBridge(n_modes=60)
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(9, dtype=torch.float64, generator=generator)
    y = torch.randn(9, *columns, dtype=torch.float64, generator=generator)
    grid = Domain(1).grid(5) if columns else Domain(0).grid()
    stream = FeatureStream(features, features.draw(30, seed=0), grid, 4, 1000)
    found = leave_one_out_dual(Streamed(stream, ((x, y),), 10**6), [1e-3, 1e-1])
    for k, ridge in enumerate((1e-3, 1e-1)):
        for i in range(9):
            others = [j for j in range(9) if j != i]
            refit = RidgePath(NormalEquations.assemble(stream, x[others], y[others]))
            rows, target = next(stream.blocks(x[i : i + 1], y[i : i + 1]))
            error = target.reshape(1, -1) - rows.T @ refit.coef(ridge).reshape(30, -1) / 30
            size = target.norm() if columns else y.square().mean().sqrt()  # numbers are relative to their root mean square
            assert float(found[k, i]) == pytest.approx(float(error.norm() / size), rel=1e-8)


def test_folds_are_trained_by_subtracting_their_statistics(setting):
    stream, a, y, _ = setting
    parts = [slice(0, 4), slice(4, 9), slice(9, 12)]
    found = k_fold_errors([NormalEquations.assemble(stream, a[p], y[p]) for p in parts], [1e-6, 1e-3])
    for k, ridge in enumerate((1e-6, 1e-3)):
        left = 0.0
        for p in parts:
            others = [i for i in range(12) if i not in range(12)[p]]
            refit = RidgePath(NormalEquations.assemble(stream, a[others], y[others])).coef(ridge)
            left += float(NormalEquations.assemble(stream, a[p], y[p]).residual(refit))
        assert float(found[k]) == pytest.approx(math.sqrt(left / float(stream.grid.norm(y).square().sum())), rel=1e-6)


def test_best_ridge_finds_the_minimum_of_the_mean_error():
    def errors(ridges):
        return torch.tensor([[math.exp((math.log10(r) + 5.3) ** 2)] * 3 for r in ridges], dtype=torch.float64)

    ridge, error = best_ridge(errors, scale=1.0)
    assert math.log10(ridge) == pytest.approx(-5.3, abs=1e-6)
    assert error == pytest.approx(1.0)
    with pytest.raises(RaffiaError, match="no ridge has a finite error"):
        best_ridge(lambda ridges: torch.full((len(ridges), 2), math.inf), 1.0)


class TestAutomaticRidge:
    def test_it_is_near_the_best_and_predicts_its_error(self, burgers):
        a, y = burgers
        model = RandomFeatureModel(FourierFeatures(n_modes=32), 100, ridge="auto").fit(a[:25], y[:25])
        tried = {
            ridge: -RandomFeatureModel(FourierFeatures(n_modes=32), 100, ridge=ridge).fit(a[:25], y[:25]).score(a[25:], y[25:])
            for ridge in np.logspace(-10, 0, 11)
        }
        assert -model.score(a[25:], y[25:]) < 1.25 * min(tried.values())
        assert model.loo_error_ == pytest.approx(-model.score(a[25:], y[25:]), rel=0.5)
        assert model.ridge_ > 0

    def test_scalar_features_use_the_dual_form(self):
        x = torch.linspace(0.01, 0.99, 30, dtype=torch.float64)
        model = RandomFeatureModel(BrownianBridge(n_modes=200), 400, ridge="auto").fit(x, torch.sin(3 * torch.pi * x))
        assert "Dual" in model.solution_.solver
        new = torch.linspace(0.05, 0.95, 77, dtype=torch.float64)
        error = (model.predict(new) - torch.sin(3 * torch.pi * new)).norm() / torch.sin(3 * torch.pi * new).norm()
        assert error < 0.1

    @pytest.mark.parametrize("solver", [Dual(), NystromPCG(rtol=1e-12)], ids=repr)
    def test_every_solver_gets_the_ridge_of_whole_functions(self, burgers, solver):
        settings = {"feature_map": FourierFeatures(n_modes=24), "n_features": 40, "ridge": "auto"}
        default, other = (RandomFeatureModel(**settings, solver=s).fit(burgers.a[:12], burgers.y[:12]) for s in (None, solver))
        assert other.ridge_ == pytest.approx(default.ridge_, rel=1e-3)
        assert other.loo_error_ == pytest.approx(default.loo_error_, rel=1e-3)

    def test_outputs_that_are_all_zero_are_named(self, burgers):
        with pytest.raises(RaffiaError, match="all outputs are zero"):
            RandomFeatureModel(FourierFeatures(n_modes=24), 20, ridge="auto").fit(burgers.a[:10], 0 * burgers.y[:10])

    def test_it_needs_all_the_data(self, burgers):
        with pytest.raises(RaffiaError, match="call fit, or pass a number"):
            RandomFeatureModel(FourierFeatures(), 20, ridge="auto").partial_fit(burgers.a, burgers.y)


def test_errors_of_numbers_are_relative_to_their_root_mean_square():
    """A number near zero must not decide which ridge is best."""
    features = BrownianBridge(n_modes=30)
    x, y = torch.tensor([0.1, 0.4, 0.6, 0.9]).double(), torch.tensor([1.0, 1e-9, -2.0, 0.5]).double()
    grid = Domain(0).grid()
    stream = FeatureStream(features, features.draw(5, seed=0), grid, batch_size=3, tile=100)
    path = RidgePath(NormalEquations.assemble(stream, x, y))
    errors = leave_one_out(path, stream, x, y, [0.1]).errors[0]
    for i in range(4):
        rest = [j for j in range(4) if j != i]
        without = NormalEquations.assemble(stream, x[rest], y[rest])
        coef = torch.linalg.solve(without.gram + 0.1 * torch.eye(5).double(), without.rhs)
        predicted = features(x[i : i + 1], stream.theta)[0] @ coef / 5
        assert float(errors[i]) == pytest.approx(float((predicted - y[i]).abs() / y.square().mean().sqrt()), rel=1e-9)


@pytest.mark.parametrize("ridge", [1e-20, 1e-12, 1e-3])
def test_what_a_small_ridge_leaves_out_does_not_cancel(ridge):
    """e_i = c_i / (K⁻¹)_ii without a ridge: interpolation, where 1 − h_i is as small as the ridge."""
    rows = torch.randn(8, 20, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = torch.randn(8, 2, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
    inverse = torch.linalg.inv(rows @ rows.mT + ridge * torch.eye(8, dtype=torch.float64))
    wanted = (inverse @ y) / inverse.diagonal()[:, None]
    torch.testing.assert_close(DualPath.of_kernel(rows @ rows.mT).left_out(y, ridge), wanted, rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(DualPath.of_rows(rows).left_out(y, ridge), wanted, rtol=1e-9, atol=1e-9)
