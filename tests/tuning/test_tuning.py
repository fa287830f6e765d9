from dataclasses import dataclass

import pytest
import torch

from raffia import Domain, FeatureMap, FourierFeatures, RaffiaError, RandomFeatureModel
from raffia.features.hyperparameters import Choice, Range
from raffia.measures import uniform_noise
from raffia.tuning import GradientSearch, History, Objective, RidgeSearch, Trial, objective_for

QUICK = GradientSearch(steps=25, contest_steps=4)


def objective(burgers, features=None, **changes):
    features = features or FourierFeatures(n_modes=24)
    settings = {"n_features": 40, "n_samples": 32, "seed": 0} | changes
    return objective_for(features, burgers.a, burgers.y, Domain(1).grid(64), **settings)


@dataclass(repr=False, eq=False)
class Awkward(FeatureMap):
    """θ · scale, undefined for scale > `edge`, or everywhere the same."""

    scale: float = 1.0
    edge: float = 1e9
    flat: bool = False
    domain: Domain = Domain(1)  # noqa: RUF009 (frozen)

    @property
    def theta_shape(self):
        return (1,)

    @property
    def hyperparameters(self):
        return {"scale": Range(1e-3, 1e3)}

    def __call__(self, a, theta):
        scale = torch.as_tensor(self.scale, dtype=a.dtype)
        strength = 0 * scale + 1 if self.flat else torch.where(scale > self.edge, torch.nan, scale)
        return torch.tanh(strength * theta[:, 0][None, :, None] * a[:, None, :])


def test_loss_is_the_log_of_the_validation_error(burgers):
    """Against a model trained and scored by hand on the same split and features."""
    problem = objective(burgers)
    parameters = problem.start() | {"ridge": 1e-6}
    order = [int(i) for i in torch.argsort(_uniform(problem))][:32]
    held, rest = order[:8], order[8:]
    features, theta = problem.feature_map, problem.feature_map.draw(40, seed=0)
    A = problem.grid.embed(features.set_params(bias=parameters["bias"])(burgers.a[rest], theta)).transpose(1, 2).reshape(-1, 40)
    G = A.T @ A / 40
    shift = 1e-6 * G.diagonal().mean()
    coef = torch.linalg.solve(G + shift * torch.eye(40), A.T @ problem.grid.embed(burgers.y[rest]).reshape(-1))
    predicted = torch.einsum("j,ijx->ix", coef, features(burgers.a[held], theta)) / 40
    error = ((predicted - burgers.y[held]).norm(dim=1) / burgers.y[held].norm(dim=1)).mean()
    assert float(problem.loss(parameters, 0).exp()) == pytest.approx(float(error), rel=1e-6)


def _uniform(problem):
    return uniform_noise(range(0, 1), (len(problem.a),), problem.seed, "split")[0]


def test_draws_are_fresh_and_repeatable(burgers):
    problem = objective(burgers)
    start = problem.start()
    assert problem.loss(start, 3) == problem.loss(start, 3)
    assert problem.loss(start, 3) != problem.loss(start, 4)


def test_a_value_outside_its_range_starts_in_the_middle(burgers):
    start = objective(burgers, FourierFeatures(n_modes=24, bias=0.0, tau=1e5)).start()
    assert start["bias"] == pytest.approx(Range(1e-3, 30.0).middle)
    assert start["tau"] == pytest.approx(10.0)


def test_fine_grids_are_searched_on_a_coarse_one(burgers):
    fine = torch.rand(10, 256, dtype=torch.float64)
    assert objective_for(FourierFeatures(), fine, fine, Domain(1).grid(256)).grid.shape == (64,)


@pytest.mark.parametrize("bad", [{"amplitude": 1.0}, {"tau": 50.0}])
def test_gradient_search_recovers_from_bad_starting_values(burgers, bad):
    problem = objective(burgers, FourierFeatures(n_modes=24, **bad))
    history = QUICK.run(problem)
    assert history.best.error < 0.8 * history.trials[0].error
    assert len(history.trials) == 1 + 6 + 1
    assert history.curve
    assert history.seconds > 0


def test_searches_are_reproducible(burgers):
    first, second = (GradientSearch(steps=4, contest_steps=1).run(objective(burgers)).best for _ in range(2))
    assert first == second


def test_tune_sets_hyperparameters_and_ridge_trains_on_all_and_beats_the_start(burgers):
    a, y = burgers
    model = RandomFeatureModel(FourierFeatures(n_modes=24), 60, ridge=1e-6)
    before = -model.fit(a[:30], y[:30]).score(a[30:], y[30:])
    assert model.tune(a[:30], y[:30], QUICK) is model
    assert -model.score(a[30:], y[30:]) < 0.7 * before
    assert model.equations_.n_samples == 30
    assert isinstance(model.history_, History)
    found = model.history_.best.parameters
    assert model.feature_map.tau == found["tau"]
    assert model.feature_map.activation == found["activation"]


def test_ridge_search_changes_the_ridge_alone(burgers):
    model = RandomFeatureModel(FourierFeatures(n_modes=24), 60, ridge=1.0)
    before = clone_parameters(model)
    untuned = -model.fit(burgers.a[:30], burgers.y[:30]).score(burgers.a[30:], burgers.y[30:])
    model.tune(burgers.a[:30], burgers.y[:30], RidgeSearch())
    assert clone_parameters(model) == before
    assert model.ridge != 1.0
    assert -model.score(burgers.a[30:], burgers.y[30:]) < untuned


def clone_parameters(model):
    return {
        name: value for name, value in model.get_params().items() if name not in ("ridge", "feature_map", "feature_map__domain")
    }


def test_a_search_that_is_interrupted_keeps_the_best_so_far(burgers, monkeypatch):
    problem, calls = objective(burgers), []
    real = Objective.loss

    def interrupting(self, parameters, draw):
        calls.append(draw)
        if len(calls) > 30:
            raise KeyboardInterrupt
        return real(self, parameters, draw)

    monkeypatch.setattr(Objective, "loss", interrupting)
    history = QUICK.run(problem)
    assert history.interrupted
    assert history.best.error < float("inf")


def test_a_flat_objective_ends_where_it_began(burgers):
    history = QUICK.run(objective(burgers, Awkward(flat=True)))
    assert history.best.error == pytest.approx(history.trials[0].error, rel=0.2)


def test_an_objective_that_is_undefined_in_most_of_the_space_ends_with_a_valid_setting(burgers):
    history = QUICK.run(objective(burgers, Awkward(scale=0.5, edge=0.6)))
    assert history.best.error < float("inf")
    assert history.best.parameters["scale"] <= 0.6


def test_an_objective_that_is_nan_everywhere_ends_with_a_clear_message(burgers):
    with pytest.raises(RaffiaError, match=r"no setting with a finite validation error.*start from other hyperparameters"):
        _ = QUICK.run(objective(burgers, Awkward(scale=5.0, edge=0.0))).best


def test_history_reports_the_least_error():
    assert History([Trial({"x": 1}, 0.3), Trial({"x": 2}, 0.1), Trial({"x": 3}, float("nan"))]).best.parameters == {"x": 2}


def test_ranges_and_choices_are_declared_by_the_map():
    declared = FourierFeatures().hyperparameters
    assert isinstance(declared["activation"], Choice)
    assert declared["tau"].low <= 5.0 <= declared["tau"].high
    assert "delta" in declared
    assert "delta" not in FourierFeatures(profile="matern").hyperparameters


def test_too_few_pairs_are_refused(burgers):
    with pytest.raises(RaffiaError, match="8 pairs or more; got 5"):
        RandomFeatureModel(FourierFeatures(), 20).tune(burgers.a[:5], burgers.y[:5])
