import dataclasses
from dataclasses import dataclass

import pytest
import torch

from raffia import Domain, FeatureMap, FourierFeatures, RaffiaError, RandomFeatureModel
from raffia.features import Union
from raffia.features.base import Choice, Range
from raffia.measures import uniform_noise
from raffia.progress import Progress
from raffia.tuning import (
    GradientSearch,
    History,
    Objective,
    RidgeSearch,
    Trial,
    objective_for,
)
from raffia.tuning.base import contestants, settle
from raffia.tuning.gradient import _Adam

QUICK = GradientSearch(steps=25, contest_steps=4, swept=3)


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
    A = (
        problem.grid.embed(features.set_params(bias=parameters["feature_map__bias"])(burgers.a[rest], theta))
        .transpose(1, 2)
        .reshape(-1, 40)
    )
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
    assert start["feature_map__bias"] == pytest.approx(Range(1e-3, 30.0).middle)
    assert start["feature_map__tau"] == pytest.approx(10.0)


def test_fine_grids_are_searched_on_a_coarse_one(burgers):
    fine = torch.rand(10, 256, dtype=torch.float64)
    assert objective_for(FourierFeatures(), fine, fine, Domain(1).grid(256)).grid.shape == (64,)


searches = pytest.mark.parametrize("search", [QUICK], ids=["gradient"])


@pytest.mark.slow
@searches
@pytest.mark.parametrize("bad", [{"amplitude": 1.0}, {"tau": 50.0}], ids=["amplitude", "tau"])
def test_every_search_recovers_from_bad_starting_values(burgers, search, bad):
    history = search.run(objective(burgers, FourierFeatures(n_modes=24, **bad)))
    assert history.best.error < 0.8 * history.trials[0].error
    assert history.curve
    assert history.seconds > 0


@pytest.mark.slow
@searches
def test_every_search_is_reproducible(burgers, search):
    first, second = (search.run(objective(burgers)).trials for _ in range(2))
    assert first == second


@searches
def test_every_search_that_is_interrupted_keeps_the_best_so_far(burgers, monkeypatch, search):
    problem, calls, real = objective(burgers), [], Objective.sample

    def interrupting(self, *arguments):
        calls.append(1)
        if len(calls) > 60:
            raise KeyboardInterrupt
        return real(self, *arguments)

    monkeypatch.setattr(Objective, "sample", interrupting)
    history = search.run(problem)
    assert history.interrupted
    assert history.best.error < float("inf")
    assert "interrupted, the best so far is kept" in history.summary


@searches
def test_every_search_says_that_a_flat_objective_is_flat(burgers, search):
    history = search.run(objective(burgers, Awkward(flat=True), n_features=20))
    assert history.best.error == pytest.approx(history.trials[0].error, rel=0.2)


@searches
def test_every_search_finds_a_valid_setting_where_most_are_undefined(burgers, search):
    history = search.run(objective(burgers, Awkward(scale=0.5, edge=0.6)))
    assert history.best.error < float("inf")
    assert history.best.parameters["feature_map__scale"] <= 0.6


@searches
def test_every_search_that_starts_where_features_are_undefined_finds_its_way(burgers, search):
    history = search.run(objective(burgers, Awkward(scale=5.0, edge=0.6)))
    assert history.trials[0].error == float("inf")
    assert history.best.parameters["feature_map__scale"] <= 0.6


@searches
def test_every_search_that_finds_nothing_ends_with_a_clear_message(burgers, search):
    with pytest.raises(RaffiaError, match=r"no setting with a finite validation error.*start from other hyperparameters"):
        _ = search.run(objective(burgers, Awkward(scale=5.0, edge=0.0))).best


def test_the_error_is_that_of_the_model_trained_on_the_other_samples(burgers):
    problem = objective(burgers)
    sample = problem.sample(problem.start(), 0)
    m, n, _ = sample.rows.shape
    A, y = sample.rows[:, n // 4 :].flatten(1), sample.targets[n // 4 :].flatten(0, 1)
    gram = A @ A.mT / m
    coef = torch.linalg.solve(gram + 1e-4 * gram.diagonal().mean() * torch.eye(m), A @ y)
    wrong = torch.einsum("mnp,mc->npc", sample.rows[:, : n // 4], coef) / m - sample.targets[: n // 4]
    errors = wrong.flatten(1).norm(dim=1) / sample.targets[: n // 4].flatten(1).norm(dim=1)
    assert float(sample.held_out(slice(0, n // 4), 1e-4)) == pytest.approx(float(errors.mean()), rel=1e-7)


def test_large_models_get_a_last_rung_whose_trials_decide(burgers):
    features = FourierFeatures(n_modes=24, profile="matern", activation="gelu", amplitude=5.0)
    problem = objective_for(features, burgers.a, burgers.y, Domain(1).grid(64), target=2048)
    assert problem.last == (512, len(burgers.a))
    assert objective_for(features, burgers.a, burgers.y, Domain(1).grid(64), target=1024).last is None
    small = dataclasses.replace(problem, n_features=20, last=(60, 30))
    history = GradientSearch(steps=2, contest_steps=1, last_steps=2).run(small)
    assert history.best.n_features == 60
    assert "with 60" in history.summary


@pytest.mark.slow
def test_a_profile_given_as_a_vector_is_learnt(burgers):
    features = FourierFeatures(n_modes=24, profile=torch.full((12,), 0.05, dtype=torch.float64), amplitude=1.0)
    model = RandomFeatureModel(features, 60)
    model.tune(burgers.a, burgers.y, GradientSearch(steps=40, contest_steps=5))
    assert model.history_.best.error < 0.7 * model.history_.trials[0].error
    assert model.feature_map.profile.shape == (12,)
    assert not torch.allclose(model.feature_map.profile, features.profile)


def test_the_summary_says_what_came_of_it():
    assert "0.3 → 0.1 with 5 features" in History([Trial({}, 0.3, 5), Trial({}, 0.1, 5)]).summary
    assert "nothing better than the start" in History([Trial({}, 0.1, 5), Trial({}, 0.1, 5)]).summary
    assert "1 trials had no finite error" in History([Trial({}, 0.3, 5), Trial({}, float("inf"), 5)]).summary
    with pytest.raises(RaffiaError, match="interrupted before"):
        _ = History(interrupted=True).best


def test_a_bar_shows_the_best_so_far(capsys):
    with Progress("searching", 3, shown=True) as bar:
        for value in (0.5, 0.25, 0.75):
            bar.step(value)
        assert "best 0.25" in bar.shown.tasks[0].description
        assert bar.shown.tasks[0].completed == 3
    with Progress("searching", 3, shown=False) as silent:
        silent.step(1.0)
    assert silent.best == 1.0
    assert capsys.readouterr().out == ""


@pytest.mark.slow
def test_tune_sets_hyperparameters_and_ridge_trains_on_all_and_beats_the_start(burgers):
    a, y = burgers
    model = RandomFeatureModel(FourierFeatures(n_modes=24), 60, ridge=1e-6)
    before = -model.fit(a[:30], y[:30]).score(a[30:], y[30:])
    assert model.tune(a[:30], y[:30], QUICK) is model
    assert -model.score(a[30:], y[30:]) < 0.7 * before
    assert model.equations_.n_samples == 30
    assert isinstance(model.history_, History)
    found = model.history_.best.parameters
    assert model.feature_map.tau == found["feature_map__tau"]
    assert model.feature_map.activation == found["feature_map__activation"]


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


def test_history_reports_the_least_error():
    assert History([Trial({"x": 1}, 0.3), Trial({"x": 2}, 0.1), Trial({"x": 3}, float("nan"))]).best.parameters == {"x": 2}


def test_ranges_and_choices_are_declared_by_the_map():
    declared = FourierFeatures().hyperparameters
    assert isinstance(declared["activation"], Choice)
    assert declared["tau"].low <= 5.0 <= declared["tau"].high
    assert "delta" in declared
    assert "delta" not in FourierFeatures(profile="matern").hyperparameters


def test_too_few_pairs_are_refused(burgers):
    with pytest.raises(RaffiaError, match=r"needs 8 pairs .* got 5"):
        RandomFeatureModel(FourierFeatures(), 20).tune(burgers.a[:5], burgers.y[:5])


def test_few_combinations_of_categories_are_all_tried_and_many_one_at_a_time(burgers):
    tried = []

    def error_of(options):
        tried.append(options)
        return sum(value in ("tanh", "matern") for value in options.values()) * -1.0

    few = objective(burgers)
    assert settle(few, error_of) == {"feature_map__activation": "tanh", "feature_map__profile": "matern"}
    assert len(tried) == contestants(few) == 6
    tried.clear()
    many = objective(burgers, Union((FourierFeatures(n_modes=8), FourierFeatures(n_modes=8))))
    assert set(settle(many, error_of).values()) == {"tanh", "matern"}
    assert len(tried) == contestants(many) == 10


def test_adam_takes_the_steps_of_torch():
    start, target = torch.tensor([3.0, -2.0, 0.5]), torch.tensor([1.0, 4.0, 0.5])
    ours, theirs = start.clone().requires_grad_(), start.clone().requires_grad_()
    adam, reference = _Adam(torch.zeros(3), torch.zeros(3)), torch.optim.Adam([theirs], lr=0.1)
    for number in range(1, 20):
        ours.grad = None
        reference.zero_grad()
        ((ours - target) ** 4).sum().backward()
        ((theirs - target) ** 4).sum().backward()
        adam.step(ours, 0.1, number)
        reference.step()
    torch.testing.assert_close(ours, theirs)
