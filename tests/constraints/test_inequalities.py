"""Inequalities hold at their collocation points, by the coefficients of the least sum of squares that can."""

import math
import sys

import pytest
import torch
from scipy.optimize import nnls

from raffia import Domain, FourierFeatures, LocalFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, Vectors, load
from raffia.constraints import BoundaryValues, Bounded, Conserved, DivergenceFree, MonotoneAlong, MonotoneIn, Positive, spread
from raffia.regression import Bounds, Contradiction, NormalEquations, bounded_solution
from raffia.solvers import Cholesky

daqp = pytest.importorskip("daqp")
LINE, SQUARE = Domain(1, periodic=False), Domain(2, periodic=False)


def normal(*shape, seed=0):
    return torch.randn(*shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


def equations_of(m=12, columns=(), rows=40):
    A, y = normal(rows, m, seed=1), normal(rows, *columns, seed=2)
    return NormalEquations(A.mT @ A / m, A.mT @ y, y.square().sum(), rows)


def lower_bounds(C, low, column=None):
    p = len(C)
    column = torch.zeros(p, dtype=torch.long) if column is None else column
    return Bounds(C, column, low, torch.full((p,), math.inf).double(), torch.arange(p) % 2)


def nearest_by_nnls(gram, rhs, C, low):
    """Lawson and Hanson: the shortest w with Ew ≥ f from the residual of nonnegative least squares."""
    L = torch.linalg.cholesky(gram)
    start = torch.cholesky_solve(rhs[:, None], L)[:, 0]
    E, f = torch.linalg.solve_triangular(L, C.mT, upper=False).mT, low - C @ start
    stacked = torch.cat([E.mT, f[None]])
    target = torch.zeros(len(stacked), dtype=torch.float64)
    target[-1] = 1
    u = torch.as_tensor(nnls(stacked.numpy(), target.numpy(), maxiter=10_000)[0])
    r = stacked @ u - target
    return start + torch.linalg.solve_triangular(L.mT, (-r[:-1] / r[-1])[:, None], upper=True)[:, 0]


@pytest.mark.parametrize("p", [3, 10, 30])
def test_bounded_coefficients_are_those_of_another_algorithm(p):
    equations, C = equations_of(), normal(p, 12, seed=3)
    low = C @ normal(12, seed=4) - 0.1  # some coefficients meet them all
    solution, multipliers = bounded_solution(equations, 0.1, lower_bounds(C, low))
    gram = equations.gram + 0.1 * torch.eye(12, dtype=torch.float64)
    torch.testing.assert_close(solution.coef, nearest_by_nnls(gram, equations.rhs, C, low), rtol=1e-6, atol=1e-6)
    assert (C @ solution.coef >= low).all()
    assert solution.residual < 1e-9
    assert (multipliers <= 0).all()
    assert (multipliers < 0).any()


def test_columns_are_bounded_one_by_one():
    equations, C, column = equations_of(columns=(3,)), normal(20, 12, seed=3), torch.arange(20) % 3
    low = C @ normal(12, seed=4) - 0.1
    solution, _ = bounded_solution(equations, 0.1, lower_bounds(C, low, column))
    for c in range(3):
        mine = column == c
        one = NormalEquations(equations.gram, equations.rhs[:, c], equations.energy, 40)
        alone, _ = bounded_solution(one, 0.1, lower_bounds(C[mine], low[mine]))
        torch.testing.assert_close(solution.coef[:, c], alone.coef, rtol=1e-6, atol=1e-6)


def test_bounds_that_hold_anyway_change_nothing():
    equations, C = equations_of(), normal(30, 12, seed=3)
    free = Cholesky().solve(equations, 0.1).coef
    solution, multipliers = bounded_solution(equations, 0.1, lower_bounds(C, C @ free - 1))
    torch.testing.assert_close(solution.coef, free, rtol=1e-12, atol=1e-12)
    assert not multipliers.any()


def test_bounds_that_contradict_are_refused():
    C, wide = normal(1, 12, seed=3), torch.tensor([-50.0, 50.0]).double()
    rows = torch.cat([C, C, normal(1, 12, seed=5)])
    low, high = torch.tensor([1.0, -math.inf, wide[0]]).double(), torch.tensor([math.inf, 0.0, wide[1]]).double()
    bounds = Bounds(rows, torch.zeros(3, dtype=torch.long), low, high, torch.tensor([4, 7, 2]))
    with pytest.raises(Contradiction):
        bounded_solution(equations_of(), 0.1, bounds)


def test_bounds_that_touch_do_not_contradict():
    C = normal(4, 12, seed=3)
    rows, zero, far = torch.cat([C, C]), torch.zeros(4).double(), torch.full((4,), math.inf).double()
    bounds = Bounds(
        rows, torch.zeros(8, dtype=torch.long), torch.cat([zero, -far]), torch.cat([far, zero]), torch.arange(8) // 4
    )
    solution, _ = bounded_solution(equations_of(), 0.1, bounds)
    gram, rhs = equations_of().gram + 0.1 * torch.eye(12, dtype=torch.float64), equations_of().rhs
    saddle = torch.cat([torch.cat([gram, C.mT], 1), torch.cat([C, torch.zeros(4, 4).double()], 1)])
    exact = torch.linalg.solve(saddle, torch.cat([rhs, zero]))[:12]
    torch.testing.assert_close(solution.coef, exact, rtol=1e-6, atol=1e-8)


def test_a_wrong_answer_of_the_solver_is_not_believed(monkeypatch):
    answer = daqp.solve

    def wrong(*given, **how):
        x, value, flag, info = answer(*given, **how)
        return 1.1 * x, value, flag, info

    monkeypatch.setattr(daqp, "solve", wrong)
    C = normal(5, 12, seed=3)
    with pytest.raises(RaffiaError, match="residual of the optimality conditions"):
        bounded_solution(equations_of(), 0.1, lower_bounds(C, C @ normal(12, seed=4) + 0.5))


def test_collocation_points_are_different_and_everywhere():
    for total in (7, 64 * 40, 33 * 33 * 60, 2**20):
        found = spread(1000, total)
        assert len(found.unique()) == len(found) == min(1000, total)
        gaps = found.sort().values.diff()
        assert len(found) == total or gaps.max() < 4 * total / 1000


HOW = [{}, {"normalize": True}, {"normalize": "function"}, {"ridge": "auto"}, {"points": 32}]


@pytest.fixture(scope="module")
def energies(burgers):
    """Outputs that are squares, hence positive, with noise that is not."""
    return burgers.a, burgers.y.square() + 1e-3 * normal(*burgers.y.shape)


def positive_model(constraints, **how):
    return RandomFeatureModel(FourierFeatures(16), **({"n_features": 60, "ridge": 1e-4} | how), constraints=constraints)


@pytest.mark.parametrize("how", HOW, ids=str)
def test_predictions_are_positive_at_the_collocation_points(energies, how):
    a, y = energies
    free, bound = (positive_model(c, **how).fit(a, y) for c in ((), [Positive(500)]))
    points = Positive(500).collocation(a, bound.output_grid_)
    if "points" in how:
        a = a[:, ::2]
    values = [model.predict(a).flatten(1)[points.sample, points.element] for model in (free, bound)]
    assert (values[0] < 0).sum() > 10
    assert (values[1] >= 0).all()
    assert bound.solution_.solver == "daqp"
    assert "at 500 points of the training inputs alone" in bound.solution_.guarantees[0]


@pytest.mark.parametrize("normalize", [False, True, "function"])
def test_pressures_are_positive_at_a_thousand_points_at_little_cost(pressures, normalize):
    """Around a mean function that is zero at the ends, features that are not so must be said to be: else positivity costs a quarter."""
    constraints = [BoundaryValues(), Positive()] if normalize == "function" else [Positive()]
    a, u = pressures
    features = FourierFeatures(8, domain=SQUARE)
    how = {"n_features": 100, "ridge": 1e-6, "normalize": normalize}
    free, bound = (RandomFeatureModel(features, **how, constraints=c).fit(a[:60], u[:60]) for c in ((), constraints))
    points = Positive().collocation(a[:60], bound.output_grid_)
    values = [model.predict(a[:60]).flatten(1)[points.sample, points.element] for model in (free, bound)]
    assert len(values[0]) == 1000
    assert (values[0] < 0).any()
    assert (values[1] >= 0).all()
    assert bound.errors(a[60:], u[60:]).mean() <= 1.05 * free.errors(a[60:], u[60:]).mean()


def test_bounds_hold_from_both_sides_and_in_one_channel(burgers):
    a, y = burgers.a, torch.stack([burgers.y, 2 * burgers.y], 1)
    top = float(burgers.y.max())
    model = positive_model([Bounded(-top / 2, top / 2, channels=(1,), points=400)]).fit(a, y)
    points = Bounded(channels=(1,), points=400).collocation(a, model.output_grid_)
    assert (points.element >= 64).all()
    values = model.predict(a).flatten(1)[points.sample, points.element]
    assert values.abs().max() <= top / 2
    torch.testing.assert_close(model.predict(a)[:, 0], positive_model(()).fit(a, y).predict(a)[:, 0])


def test_numbers_as_features_are_bounded_value_by_value(energies):
    a, y = energies
    model = RandomFeatureModel(ScalarFeatures(8), 30, 1e-3, constraints=[Positive(2000)], normalize=True).fit(a, y)
    points = Positive(2000).collocation(a, model.output_grid_)
    assert (model.predict(a)[points.sample, points.element] >= 0).all()


def test_curves_go_up_along_an_axis():
    a = normal(20, 1).cumsum(0) + torch.linspace(0, 1, 33).double()
    y = torch.sigmoid(4 * a) + 0.05 * normal(20, 33, seed=1)
    how = {"n_features": 40, "ridge": 1e-6}
    rising = [MonotoneAlong(0, points=10_000)]
    free, bound = (RandomFeatureModel(LocalFeatures(domain=LINE), **how, constraints=c).fit(a, y) for c in ((), rising))
    assert (free.predict(a).diff() < 0).any()
    assert (bound.predict(a).diff() >= 0).all()
    falling = RandomFeatureModel(LocalFeatures(domain=LINE), **how, constraints=[MonotoneAlong(0, False, 10_000)]).fit(a, -y)
    assert (falling.predict(a).diff() <= 0).all()


@pytest.mark.parametrize("increasing", [True, False])
def test_outputs_are_monotone_in_a_parameter(increasing):
    sign = 1 if increasing else -1
    x = torch.rand(60, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    y = sign * x[:, 1] ** 3 + x[:, 0] + 0.3 * normal(60, seed=1)
    features = ScalarFeatures(domain=Vectors())
    how = {"n_features": 80, "ridge": 1e-3, "normalize": True}
    constraint = [MonotoneIn(1, increasing, points=60 * 20)]
    free, bound = (RandomFeatureModel(features, **how, constraints=c).fit(x, y) for c in ((), constraint))
    lines = x[:, None].repeat(1, 21, 1)
    lines[..., 1] = torch.linspace(0, 1, 21, dtype=torch.float64) * (x[:, 1].max() - x[:, 1].min()) + x[:, 1].min()
    steps = [sign * model.predict(lines.flatten(0, 1)).reshape(60, 21).diff() for model in (free, bound)]
    assert (steps[0] < 0).any()
    assert (steps[1] >= 0).all()


def test_equalities_and_inequalities_hold_together(energies):
    a, y = energies
    constraints = [BoundaryValues(0.0), Positive(500)]
    model = RandomFeatureModel(LocalFeatures(domain=LINE), 60, 1e-4, constraints=constraints).fit(a, y)
    points = Positive(500).collocation(a, model.output_grid_)
    guess = model.predict(a)
    assert (guess[points.sample, points.element] >= 0).all()
    assert not guess[:, [0, -1]].any()
    assert [words.split(":")[0] for words in model.solution_.guarantees] == [one.in_words for one in constraints]


@pytest.mark.parametrize(
    ("constraints", "words"),
    [
        (
            [Bounded(low=1.0), Positive(), Bounded(high=0.5)],
            r"no coefficients satisfy Bounded\(low=1.0\) and .* and Bounded\(high=0.5\) at",
        ),
        (
            [BoundaryValues(-1.0), Positive(2000)],
            r"satisfy Positive\(points=2000\) at all .*BoundaryValues\(value=-1.0\)",
        ),
    ],
    ids=["bounds", "an equality"],
)
def test_constraints_that_contradict_are_named(energies, constraints, words):
    a, y = energies
    with pytest.raises(RaffiaError, match=words):
        RandomFeatureModel(LocalFeatures(domain=LINE), 40, 1e-4, constraints=constraints).fit(a, y)


def test_a_saved_model_is_the_same_and_says_the_same(energies, tmp_path):
    a, y = energies
    model = positive_model([Positive(200)]).fit(a, y)
    model.save(tmp_path / "m.safetensors")
    again = load(tmp_path / "m.safetensors")
    assert torch.equal(again.predict(a), model.predict(a))
    assert again.solution_.guarantees == model.solution_.guarantees
    assert again.constraints == model.constraints


@pytest.mark.parametrize(
    ("how", "words"),
    [
        ({"coefficients": "modal"}, "coefficients='modal'"),
        ({"feature_map": ScalarFeatures(8), "n_features": math.inf}, "n_features=inf"),
        ({"solver": Cholesky()}, r"solver=Cholesky"),
        ({"constraints": [Positive(0)]}, "points=…"),
        ({"constraints": [Bounded(1.0, 0.0)]}, "low <= high"),
        ({"constraints": [Positive(channels=(3,))]}, r"channels \(3,\)"),
        ({"constraints": [MonotoneAlong()]}, "not periodic"),
        ({"constraints": [MonotoneIn()]}, "inputs that are vectors"),
        ({"constraints": [Conserved(), Positive()], "feature_map": ScalarFeatures(8)}, "cannot be imposed as well"),
        ({"constraints": [DivergenceFree(channels=(0,)), Positive()]}, "cannot be imposed as well"),
        (
            {"constraints": [MonotoneAlong()], "feature_map": ScalarFeatures(8), "output": LINE},
            "each node has coefficients of its own",
        ),
    ],
    ids=str,
)
def test_what_inequalities_do_not_go_with_is_said(energies, how, words):
    arguments = {"feature_map": FourierFeatures(16), "n_features": 20, "ridge": 1e-3, "constraints": [Positive()]} | how
    with pytest.raises(RaffiaError, match=words):
        RandomFeatureModel(**arguments).fit(*energies)


def test_inequalities_need_all_inputs_at_once(energies):
    a, y = energies
    model = positive_model([Positive(100)])
    with pytest.raises(RaffiaError, match="looks at all training inputs at once"):
        model.partial_fit(a, y)
    with pytest.raises(RaffiaError, match="looks at all training inputs at once"):
        model.fit([(a, y)])
    with pytest.raises(RaffiaError, match="looks at all training inputs at once"):
        model.fit(a, y).partial_fit(a, y)
    with pytest.raises(RaffiaError, match="prune a model without inequalities"):
        model.fit(a, y).prune(10)


def test_a_component_that_is_not_there_is_named():
    x, y = normal(20, 2), normal(20, 2, seed=1)
    for constraint in (Positive(channels=(2,)), MonotoneIn(2)):
        with pytest.raises(RaffiaError, match="constraints: "):
            RandomFeatureModel(ScalarFeatures(domain=Vectors()), 10, 1e-2, constraints=[constraint]).fit(x, y)


def test_without_daqp_inequalities_say_what_to_install(energies, monkeypatch):
    monkeypatch.setitem(sys.modules, "daqp", None)
    with pytest.raises(RaffiaError, match=r"pip install 'raffia\[constraints\]'"):
        positive_model([Positive(500)]).fit(*energies)
    positive_model([Conserved()]).fit(*energies)
