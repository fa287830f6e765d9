"""Galerkin features: an equation that is found from pairs, and solved among the principal components of outputs."""

import math

import pytest
import torch

import raffia
from raffia import Channels, Dataset, Domain, GaussianField, RandomFeatureModel
from raffia.errors import RaffiaError
from raffia.features import GalerkinFeatures
from raffia.features.equations import found
from raffia.features.weak_form import WeakForm
from raffia.surrogate.candidates import named

LINE = Domain(1, periodic=False)


def coefficient(domain, grid, n, seed=0):
    return GaussianField(domain, domain.natural_boundary, tau=3.0, n_modes=12).sample(n, grid, seed=seed)


def hats(grid):
    """Functions that are 1 at one node: with these, the weak form is that of linear finite elements."""
    return torch.eye(grid.size, dtype=torch.float64).reshape(-1, *grid.shape)


def solved(q, grid, alpha, beta, load):
    """u with ∫ α(q) u v + β(q) ∇u·∇v = ∫ load v for all v, assembled cell by cell without the library on a line."""
    h = grid.spacings[0]
    around = grid.domain.periodic
    ends = [(i, (i + 1) % len(q)) for i in range(len(q) - (not around))]
    A = torch.zeros(len(q), len(q), dtype=torch.float64)
    f = torch.zeros(len(q), dtype=torch.float64)
    for i, j in ends:
        middle = (q[i] + q[j]) / 2
        for one, s in ((i, -1), (j, 1)):
            f[one] += h * float(load((i + 0.5) * h)) / 2
            for other, t in ((i, -1), (j, 1)):
                A[one, other] += h * (alpha(middle) / 4 + s * t * beta(middle) / h**2)
    return torch.linalg.solve(A, f)


def pairs_on_a_line(domain, n=120, points=33, alpha=lambda q: -300 - 80 * q, beta=lambda q: 1 + 0 * q):
    grid = domain.grid(points)
    a = 3 + coefficient(domain, grid, n)
    y = torch.stack([solved((f - 3) / 0.1, grid, alpha, beta, lambda x: math.sin(5 * x) + 1) for f in a])
    return a, y


@pytest.mark.parametrize("domain", [LINE, Domain(1)], ids=["with ends", "around"])
def test_an_equation_with_resonances_is_found_where_a_kernel_finds_little(domain):
    a, y = pairs_on_a_line(domain)
    parameters, left_out = found(a[:100], y[:100], domain)
    features = GalerkinFeatures(**parameters, domain=domain)
    model = RandomFeatureModel(features, 4, ridge=1e-12, coefficients="modal").fit(a[:100], y[:100])
    kernel = RandomFeatureModel(raffia.ScalarFeatures(None, domain=domain), math.inf, ridge="auto").fit(a[:100], y[:100])
    error = -model.score(a[100:], y[100:])
    assert error < 0.01 * -kernel.score(a[100:], y[100:])
    assert left_out < 0.01 * -kernel.score(a[100:], y[100:])


def test_the_numbers_of_the_equation_are_those_of_the_medium_up_to_a_factor():
    a, y = pairs_on_a_line(LINE)
    equation, error = found(a, y, LINE)
    shift, scale = float(equation["shift"]), float(equation["scale"])
    assert equation["mass"][0] / equation["stiffness"][0] == pytest.approx(-300 - 80 * (shift - 3) / 0.1, rel=0.02)
    assert equation["mass"][1] / equation["stiffness"][0] == pytest.approx(-80 * scale / 0.1, rel=0.02)
    assert error < 1e-4


def test_a_medium_and_a_source_as_channels_are_told_apart():
    grid = LINE.grid(33)
    a, f = torch.exp(2 * coefficient(LINE, grid, 150)), coefficient(LINE, grid, 150, seed=1)
    x = grid.axes()[0]
    step = grid.spacings[0]

    def load(values):
        return lambda place: float(torch.lerp(values[int(place / step)], values[int(place / step) + 1], place / step % 1))

    y = torch.stack([solved(one, grid, lambda q: 1 + 0 * q, lambda q: q, load(g)) for one, g in zip(a, f, strict=True)])
    assert len(x) == y.shape[1]
    space = Channels(LINE, 2)
    both = torch.stack([a, f], 1)
    features = GalerkinFeatures.suited(both[:120], y[:120], space)
    model = RandomFeatureModel(features, 4, ridge=1e-12, output=LINE).fit(both[:120], y[:120])
    assert -model.score(both[120:], y[120:]) < 0.02


@pytest.mark.parametrize(
    ("domain", "shape"),
    [
        (LINE, (9,)), (Domain(1), (9,)), (Domain(2), (6, 7)), (Domain(2, axes=("periodic", "box"), extent=(1.0, 2.0)), (6, 5)),
        (Domain(1, axes="cells"), (8,)), (Domain(2, axes=("left", "periodic")), (5, 6)), (Domain(3, periodic=False), (4, 3, 4)),
    ],
)  # fmt: skip
def test_forms_integrate_products_and_gradients_of_linear_functions_exactly(domain, shape):
    grid = domain.grid(*shape)
    whole = grid.with_ends
    ones = torch.ones(1, *grid.shape, dtype=torch.float64)
    axis = next((i for i, kind in enumerate(domain.kinds) if not kind.periodic), None)
    form = WeakForm.of(ones, grid, domain.natural_boundary)
    area = math.prod(whole.spacings) * math.prod(p if k.periodic else p - 1 for k, p, _ in whole.lines)
    fields = torch.ones(2, form.parts.shape[-1], dtype=torch.float64)
    assert form.matrices(fields, 3 * fields).flatten().tolist() == pytest.approx([area, area])
    if axis is not None and not any(domain.kinds[axis].left_out):
        slope = grid.nodes()[..., axis][None] * 2
        sloped = WeakForm.of(slope, grid, domain.natural_boundary)
        assert float(sloped.matrices(0 * fields, fields)[0, 0, 0]) == pytest.approx(4 * area)


def test_terms_are_what_matrices_make_of_them():
    domain = Domain(2, axes=("periodic", "box"))
    grid = domain.grid(8, 7)
    form = WeakForm.of(hats(grid)[:5], grid, domain.natural_boundary)
    q, u = coefficient(domain, grid, 3)[:, None], torch.randn(3, 5, dtype=torch.float64)
    powers = form.powers(q, 2)
    terms = form.terms(u, powers)
    nothing = torch.zeros_like(powers[0])
    for number, power in enumerate(powers):
        torch.testing.assert_close(terms[number], torch.einsum("nij,nj->ni", form.matrices(power, nothing), u))
        torch.testing.assert_close(terms[3 + number], torch.einsum("nij,nj->ni", form.matrices(nothing, power), u))


def diffusion(n, seed):
    """−(e^a u′)′ = 1 with u = 0 at both ends, solved by quadrature: a polynomial of a is no coefficient of that equation."""
    x, k = torch.linspace(0, 1, 33, dtype=torch.float64), torch.arange(1, 9)
    c = torch.randn(2, n, 8, dtype=torch.float64, generator=torch.Generator().manual_seed(seed)) * k**-1.5
    phase = 2 * torch.pi * k[:, None] * x
    a = c[0] @ phase.cos() + c[1] @ phase.sin()
    one, moment = (
        torch.nn.functional.pad(((f[:, 1:] + f[:, :-1]) / 64).cumsum(1), (1, 0)) for f in ((-a).exp(), (-a).exp() * x)
    )
    return a, one * (moment[:, -1:] / one[:, -1:]) - moment


@pytest.mark.parametrize(("n", "seed"), [(24, 0), (40, 1), (100, 2), (100, 3)])
def test_equations_have_no_poles_on_inputs_of_the_training_distribution(n, seed):
    a, y = diffusion(n, seed)
    new, truth = diffusion(1000, 100 + seed)
    features = GalerkinFeatures.suited(a, y, LINE)
    model = RandomFeatureModel(features, 8, "auto", coefficients="modal").fit(a, y)
    predicted = model.predict(new)
    errors = (predicted - truth).norm(dim=1) / truth.norm(dim=1).clamp(min=0.1 * float(y.norm(dim=1).mean()))
    assert float(errors.max()) < 2
    assert float(errors.mean()) < 3 * float(errors.median())
    assert float(predicted.norm(dim=1).max()) < 2 * max(float(y.norm(dim=1).max()), float(truth.norm(dim=1).max()))


def test_features_made_on_one_grid_serve_another():
    a, y = pairs_on_a_line(LINE, points=65, alpha=lambda q: -30 - 8 * q)
    model = RandomFeatureModel(GalerkinFeatures.suited(a[:100], y[:100], LINE), 3, ridge=1e-12).fit(a[:100], y[:100])
    coarse = model.predict(a[100:, ::2])
    assert (coarse - y[100:, ::2]).norm() < 0.05 * y[100:, ::2].norm()


def test_without_a_basis_a_user_is_told_how_to_get_one():
    with pytest.raises(RaffiaError, match=r"needs basis=….*GalerkinFeatures.suited"):
        GalerkinFeatures(domain=LINE).draw(2, seed=0)


def test_numbers_that_do_not_match_are_refused():
    a, y = pairs_on_a_line(LINE, n=40)
    features = GalerkinFeatures.suited(a, y, LINE)
    features.mass = torch.ones(3, dtype=torch.float64)
    features.source = torch.ones(1, dtype=torch.float64)
    with pytest.raises(RaffiaError, match=r"1 \+ p, 1 \+ p and p numbers"):
        features(a, features.draw(2, seed=0))


def test_a_contest_takes_them_where_waves_resonate_and_error_bars_hold_what_others_are():
    a, y = pairs_on_a_line(LINE, n=260)
    fitted = raffia.fit(Dataset(a[:160], y[:160], LINE), effort="quick")
    assert fitted.contest.best.candidate.name == "galerkin"
    mean, std = fitted.model.predict(a[160:], return_std=True)
    inside = ((mean - y[160:]).abs() <= 1.645 * std).double().mean()
    assert inside > 0.8
    assert -fitted.model.score(a[160:], y[160:]) < 3 * float(fitted.errors.mean()) + 1e-9


def test_a_flow_is_given_up_soon():
    a, y = raffia.Burgers(fine_points=128).dataset(120, points=32, seed=0)
    fitted = raffia.fit(Dataset(a, y, Domain(1)), effort="quick")
    row = next(row for row in fitted.contest.rows if row[0] == "galerkin")
    assert "given up" in row[-1]


def test_the_family_is_made_of_the_pairs_by_its_name():
    a, y = pairs_on_a_line(LINE, n=60)
    assert named("galerkin", a, y, LINE, LINE).feature_map.basis.shape[1:] == (33,)


def test_solutions_are_bounded_where_an_equation_is_nearly_singular():
    a, y = pairs_on_a_line(LINE, n=60)
    features = GalerkinFeatures.suited(a, y, LINE)
    rank = len(features.load)
    singular = {"mass": 0 * features.mass, "stiffness": 0 * features.stiffness, "correction": 1e-9 * torch.eye(rank).double()}
    solutions = features.set_params(**singular)(5 * a, torch.zeros(1, rank, dtype=torch.float64))[:, 0]
    largest = LINE.grid(33).embed(y).norm(dim=1).max()
    assert LINE.grid(33).embed(solutions).norm(dim=1).max() <= 2.001 * largest
