import dataclasses
import math
import time

import numpy as np
import pytest
import torch

import raffia
from raffia import (
    Burgers,
    Channels,
    Dataset,
    Domain,
    FourierFeatures,
    Mesh,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
)
from raffia.data import open_source
from raffia.model.preprocessing import prepare
from raffia.model.settings import Settings
from raffia.model.trained import WorkPlan
from raffia.surrogate.budget import Clock
from raffia.surrogate.candidates import Candidate, candidates, named
from raffia.surrogate.contest import contest
from raffia.surrogate.entries import Contest, Entry
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.fitting import too_large
from raffia.surrogate.judge import Judge
from raffia.surrogate.options import ModelOptions
from raffia.surrogate.plan import Choice
from raffia.tuning import GradientSearch

BRIEF = GradientSearch(steps=3, contest_steps=1, screened=1, swept=1)
CIRCLE, SQUARE = Domain(1), Domain(2, periodic=False)


def held(a, y, n_features, seed=0, **options):
    """A contest of functions on a circle, with all the time it needs."""
    clock = Clock(WorkPlan(seconds=60.0, compared=1000), time.perf_counter() + 1e6)
    return contest(ExamplePairs(a, y, CIRCLE, CIRCLE), ModelOptions(n_features=n_features, random_state=seed), clock, **options)


def smooth(n, points=16, seed=0):
    return raffia.GaussianField(n_modes=8).sample(n, CIRCLE.grid(points), seed=seed)


def linear_data(n=40):
    a = smooth(n)
    return Dataset(a, a.roll(3, dims=1) + 0.5 * a, CIRCLE)


@pytest.fixture(scope="module")
def burgers():
    return Burgers(fine_points=128).dataset(60, 32, seed=0)


def test_features_that_are_linear_win_on_a_linear_operator_and_end_the_contest():
    a, y = linear_data()
    found = held(a, y, 120, search=BRIEF)
    assert [entry.candidate.name for entry in found.entries] == ["linear"]
    assert found.best.error < 1e-10
    assert (found.n_train, found.n_validation) == (32, 40)  # of few pairs all are judged, in turn


@pytest.mark.slow
def test_modal_coefficients_win_on_burgers_equation(burgers):
    found = held(*burgers, 100, search=BRIEF)
    assert [row[0] for row in found.rows][:7] == ["linear", "kernel", "galerkin", "local", "carried", "iterated", "modal"]
    assert found.best.candidate.name == "modal"
    assert found.best.error <= 1.03 * min(entry.error for entry in found.entries)


def entry(name, errors, predicted=None):
    return Entry(Candidate(name, ScalarFeatures(4)), torch.as_tensor(errors, dtype=torch.float64), predicted, 0.0, "")


def test_of_entries_that_are_as_good_within_the_noise_the_simpler_wins():
    noise = torch.linspace(-0.05, 0.05, 20)
    one, two = entry("simple", 0.1 + noise.abs()), entry("other", 0.0999 + noise.abs() + 0.1 * noise)
    better = entry("better", 0.05 + noise.abs())
    assert two.error < one.error
    assert Contest([one, two], 1, 20).best is one
    assert Contest([one, two, better], 1, 20).best is better


def test_two_that_err_in_opposite_ways_are_added_up_and_two_that_err_alike_are_not():
    a, y = smooth(20), smooth(20, seed=1)
    frame = prepare(Settings(ScalarFeatures(8)), a, y).frame
    judge = Judge(a, y, [(torch.arange(10), torch.arange(20))], frame)
    wrong = 0.1 * smooth(20, seed=2)
    known = [entry(name, frame.errors(y, y + f), y + f) for name, f in (("one", wrong), ("opposite", -1.5 * wrong))]
    second, share, error = judge.partner(Contest(known, 10, 20))
    assert (second.candidate.name, share) == ("opposite", 0.4)
    assert error < 1e-12
    alike = entry("alike", frame.errors(y, y + 1.5 * wrong), y + 1.5 * wrong)
    assert judge.partner(Contest([known[0], alike], 10, 20)) is None


def test_a_sum_of_two_models_predicts_and_is_saved_as_one(tmp_path):
    a, y = smooth(30), smooth(30).roll(3, dims=1) ** 2
    one = raffia.RandomFeatureModel(ScalarFeatures(None), math.inf, 1e-3, normalize="function").fit(a, y)
    two = raffia.RandomFeatureModel(FourierFeatures(8), 20, 1e-3).fit(a, y)
    wanted = 0.7 * one.predict(a) + 0.3 * two.predict(a)
    bars = 0.7 * one.predict(a, return_std=True)[1] + 0.3 * two.predict(a, return_std=True)[1]
    both = one.adopt(dataclasses.replace(one.trained_, partner=two.trained_, share=0.3))
    torch.testing.assert_close(both.predict(a), wanted)
    torch.testing.assert_close(both.predict(a, return_std=True)[1], bars)
    both.save(tmp_path / "both.safetensors")
    torch.testing.assert_close(raffia.load(tmp_path / "both.safetensors").predict(a), wanted)
    with pytest.raises(RaffiaError, match="partial_fit cannot continue a sum of two models"):
        both.partial_fit(a, y)


def test_a_sum_of_two_models_stays_one_on_a_mesh_and_is_not_pruned():
    a, y = smooth(30), smooth(30).roll(3, dims=1) ** 2
    one, two = (raffia.RandomFeatureModel(FourierFeatures(8), m, 1e-3).fit(a, y) for m in (15, 20))
    both = one.adopt(dataclasses.replace(one.trained_, partner=two.trained_, share=0.3))
    nodes = Mesh(CIRCLE.grid(a.shape[1]).positions, domain=CIRCLE)
    torch.testing.assert_close(both.on(nodes).predict(a), both.predict(a), rtol=1e-6, atol=1e-6)
    with pytest.raises(RaffiaError, match="prune needs a single model, and this is a weighted sum of two"):
        both.prune(10)


@pytest.mark.slow
def test_equal_seeds_hold_equal_contests(burgers):
    a, y = burgers.a[:30, ::4], burgers.y[:30, ::4]
    first, second = (held(a, y, 30, seed=3, search=BRIEF) for _ in range(2))
    assert [entry.error for entry in first.entries] == [entry.error for entry in second.entries]


@pytest.mark.parametrize(
    ("domain", "output", "a", "y", "names"),
    [
        (CIRCLE, CIRCLE, (16,), (16,), ["linear", "products", "kernel", "galerkin", "local", "carried", "iterated", "modal"]),
        (CIRCLE, CIRCLE, (16,), (12,), ["linear", "kernel"]),
        (CIRCLE, Domain(0), (16,), (), ["linear", "kernel"]),
        (
            Channels(CIRCLE, 2),
            CIRCLE,
            (2, 16),
            (16,),
            ["linear", "kernel", "galerkin", "local", "carried", "iterated", "modal"],
        ),
        (Vectors(), SQUARE, (3,), (9, 9), ["linear", "kernel"]),
        (
            SQUARE,
            SQUARE,
            (9, 9),
            (9, 9),
            ["linear", "kernel", "galerkin", "local", "carried", "iterated", "modal", "predictor-corrector"],
        ),
        (
            Channels(SQUARE, 2),
            SQUARE,
            (2, 9, 9),
            (9, 9),
            ["linear", "kernel", "galerkin", "local", "carried", "iterated", "modal"],
        ),
        (
            Channels(Domain(3), 2),
            Domain(3),
            (2, 4, 4, 4),
            (4, 4, 4),
            ["linear", "kernel", "galerkin", "local", "iterated", "modal"],
        ),
        (Mesh(torch.rand(20, 2)), Vectors(), (20,), (2,), ["linear", "kernel"]),
    ],
)
def test_only_features_that_apply_take_part(domain, output, a, y, names):
    inputs, outputs = torch.rand(5, *a) + 1, torch.rand(5, *y)
    if output == SQUARE:
        outputs[:, [0, -1]] = outputs[..., [0, -1]] = 0
    assert [candidate.name for candidate in candidates(inputs, outputs, domain, output)] == names


@pytest.mark.parametrize(("n", "faulty", "applies"), [(1000, 2, True), (1000, 100, False), (5, 1, False)])
def test_a_few_faulty_samples_of_many_do_not_keep_features_out(n, faulty, applies):
    a, y = torch.rand(n, 9, 9) + 1, torch.rand(n, 9, 9)
    y[:, [0, -1]] = y[..., [0, -1]] = 0
    y[:faulty, 0] = -0.43
    assert ("predictor-corrector" in [one.name for one in candidates(a, y, SQUARE, SQUARE)]) == applies


@pytest.mark.parametrize(("space", "shape"), [(SQUARE, (9, 9)), (Channels(CIRCLE, 2), (2, 9))])
def test_outputs_of_another_size_are_not_inputs_that_were_moved(space, shape):
    inputs = torch.rand(5, *shape) + 1
    for factor in (0.01, 0.5, 100.0):
        names = [candidate.name for candidate in candidates(inputs, factor * inputs, space, space)]
        assert ("carried" in names) == (factor == 0.5)
    assert named("carried", inputs, 0.01 * inputs, space, space).name == "carried"


def test_features_that_fail_are_infinitely_wrong_and_say_why(burgers, monkeypatch):
    class Failing(ScalarFeatures):
        def evaluate(self, a, prepared):
            raise RaffiaError("out of order.")

    known = [Candidate("failing", Failing(4, domain=CIRCLE), tuned=False), Candidate("scalar", ScalarFeatures(8), tuned=False)]
    monkeypatch.setattr("raffia.surrogate.contest.candidates", lambda *_: known)
    found = held(*burgers, 20)
    assert found.rows[0][1:] == ["inf", found.rows[0][2], "failed: out of order."]
    assert found.best.candidate.name == "scalar"
    monkeypatch.setattr("raffia.surrogate.contest.candidates", lambda *_: known[:1])
    with pytest.raises(RaffiaError, match=r"no features suit these data: failed: out of order\."):
        held(*burgers, 20)


@pytest.mark.slow
def test_pairs_held_out_have_no_part_in_the_model(burgers):
    a, y = burgers.a[:40, ::4], burgers.y[:40, ::4]
    found = raffia.fit(Dataset(a, y, CIRCLE), "auto", 30, seed=1, held_out=10, refit=False, tune=BRIEF)
    changed = y.clone()
    changed[found.rows] = 1.0
    again = raffia.fit(Dataset(a, changed, CIRCLE), "auto", 30, seed=1, held_out=10, refit=False, tune=BRIEF)
    assert again.rows == found.rows
    assert len(found.rows) == 10
    assert torch.equal(again.model.coef_, found.model.coef_)
    assert again.errors.mean() > found.errors.mean()


def test_errors_are_of_the_pairs_held_out_and_the_model_is_then_trained_on_all(burgers):
    a, y = burgers
    found = raffia.fit(burgers, FourierFeatures(20), 30, held_out=0.25, seed=1, normalize=False)
    rest = [i for i in range(60) if i not in found.rows]
    by_hand = raffia.RandomFeatureModel(FourierFeatures(20), 30, "auto", random_state=1).fit(a[rest], y[rest])
    assert torch.allclose(found.errors, by_hand.errors(a[found.rows], y[found.rows]))
    assert found.n_train == 45
    assert found.model.equations_.n_samples == 60
    assert found.model.held_out_error_ == float(found.errors.mean())


def test_other_data_give_the_errors_where_there_are_some(burgers):
    test = Burgers(fine_points=128).dataset(8, 32, seed=1)
    found = raffia.fit(burgers, FourierFeatures(20), 30, 1e-6, test=test)
    assert found.rows is None
    assert found.n_train == 60
    torch.testing.assert_close(found.errors, found.model.errors(*test), rtol=1e-12, atol=0)  # on one thread, and on all
    with pytest.raises(RaffiaError, match="the test data have inputs in"):
        raffia.fit(burgers, FourierFeatures(20), 30, 1e-6, test=Dataset(*test, Domain(1, extent=2.0)))


@pytest.mark.parametrize(
    ("share", "words"), [(-0.1, "share below 1"), (1.5, "share below 1"), (59, "leaves 1 of 60"), (0.99, "leaves 1")]
)
def test_shares_that_leave_nothing_are_refused(burgers, share, words):
    with pytest.raises(RaffiaError, match=words):
        raffia.fit(burgers, FourierFeatures(20), 30, held_out=share)


def test_too_few_pairs_for_a_contest_are_refused(burgers):
    with pytest.raises(RaffiaError, match="needs 10 or more; got 5"):
        raffia.fit(Dataset(burgers.a[:5], burgers.y[:5], CIRCLE), held_out=0)


def test_a_file_too_large_for_memory_gives_the_model_of_a_file_that_is_not(burgers, tmp_path):
    raffia.data.write(tmp_path / "burgers.npz", burgers)
    source = open_source(tmp_path / "burgers.npz")
    assert not too_large(source)
    found = raffia.fit(source, FourierFeatures(20), 30, 1e-6, held_out=10, normalize=False, stream=True)
    whole = raffia.RandomFeatureModel(FourierFeatures(20), 30, 1e-6).fit(burgers.a[:50], burgers.y[:50])
    assert torch.allclose(found.model.coef_, whole.coef_, rtol=1e-9)
    assert found.rows == list(range(50, 60))
    assert torch.allclose(found.errors, whole.errors(burgers.a[50:], burgers.y[50:]), rtol=1e-9)


def test_a_model_is_fitted_from_a_path_or_from_batches(burgers, tmp_path):
    raffia.data.write(tmp_path / "burgers.npz", burgers)
    make = lambda: raffia.RandomFeatureModel(FourierFeatures(20), 30, 1e-6)  # noqa: E731
    whole = make().fit(*burgers)
    batches = list(zip(burgers.a.split(7), burgers.y.split(7), strict=True))
    for source in (tmp_path / "burgers.npz", str(tmp_path / "burgers.npz"), batches, iter(batches), burgers):
        assert torch.allclose(make().fit(source).coef_, whole.coef_, rtol=1e-9)
    with pytest.raises(RaffiaError, match="requires y"):
        make().fit(np.asarray(burgers.a))


def test_half_widths_are_in_the_units_of_each_channel(burgers):
    pairs = Dataset(burgers.a, torch.stack([burgers.y, 1000 * burgers.y], 1), Domain(1), output=Channels(Domain(1), 2))
    found = raffia.fit(pairs, FourierFeatures(16), 16, 1e-3, held_out=10, normalize=True, band=0.8)
    lower, upper = found.model.band(0.8)(burgers.a[:3])
    torch.testing.assert_close((upper - lower)[0, :, 0] / 2, torch.tensor(found.half_widths(0.8), dtype=torch.float64))
    assert found.half_widths(0.8)[1] == pytest.approx(1000 * found.half_widths(0.8)[0])


def test_features_that_take_long_are_not_evaluated_again_for_the_final_training_on_all_pairs():
    data = Burgers(fine_points=64, viscosity=0.05).dataset(30, points=16)
    found = raffia.fit(data, "carried", n_features=4, seed=3, normalize=False)
    held = sorted(found.rows)
    order = [row for row in range(30) if row not in held] + held  # the first pair says how large features are
    settings = found.model.get_params(deep=False)
    again = raffia.RandomFeatureModel(**settings).fit(data.a[order], data.y[order])
    assert settings["feature_map"].expensive
    assert found.model.equations_.n_samples == 30
    torch.testing.assert_close(found.model.predict(data.a), again.predict(data.a), rtol=1e-9, atol=1e-9)
    assert (found.model.predict(data.a, return_std=True)[1] > 0).all()


def test_a_sum_of_two_models_whose_features_take_long_is_trained_on_all_pairs():
    """What is dear is not evaluated again for pairs that it was trained on: the sum is that of both on all pairs."""
    domain = Domain(1)
    a = raffia.GaussianField(domain, n_modes=8).sample(40, domain.grid(32), seed=0)
    y = a.roll(3, -1) + 0.1 * a.square()
    data = Dataset(a, y, domain)
    models = [
        RandomFeatureModel(features, 4, ridge=1e-6, coefficients="modal")
        for features in (raffia.features.CarriedFeatures(domain=domain), raffia.LocalFeatures(domain=domain))
    ]
    choice = Choice(models[0], (models[1], 0.3))
    choice.fit(a[:30], y[:30])
    whole = [RandomFeatureModel(**model.get_params(deep=False)).fit(a, y).predict(a) for model in models]
    torch.testing.assert_close(
        choice.extended(data, list(range(30, 40))).predict(a), torch.lerp(*whole, 0.3), rtol=1e-6, atol=1e-8
    )
