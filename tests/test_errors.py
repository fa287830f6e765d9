"""Errors as they are reported: one meaning for all outputs, the other beside it, each channel by itself."""

import time
from dataclasses import replace

import pytest
import torch

import raffia
from raffia import Channels, Dataset, Domain, RaffiaError, Vectors, metrics
from raffia.metrics import Sizes
from raffia.model.trained import WorkPlan
from raffia.surrogate.budget import Clock
from raffia.surrogate.contest import contest
from raffia.surrogate.example_pairs import ExamplePairs
from raffia.surrogate.options import ModelOptions

CIRCLE = Domain(1)


def random(*shape, seed=0):
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize(
    ("space", "shape"),
    [(CIRCLE, (16,)), (Channels(CIRCLE, 3), (3, 16)), (Vectors(), (4,)), (Domain(2, periodic=False), (6, 7))],
)
def test_relative_errors_are_those_of_norms_in_the_units_of_the_data(space, shape):
    y, guess = 5 + random(20, *shape), 5 + random(20, *shape, seed=1)
    grid = space.grid_of(y)
    errors = Sizes.of(y, grid).errors(y, guess, grid)
    torch.testing.assert_close(errors.relative, metrics.relative_errors(y, guess, grid))


def test_always_predicting_the_mean_is_one_deviation_off_in_the_mean_square():
    y = random(30, 3, 16) * torch.tensor([1.0, 100.0, 0.01])[:, None] + 7
    grid = Channels(CIRCLE, 3).grid_of(y)
    errors = Sizes.of(y, grid).errors(y, y.mean(0).expand(y.shape), grid)
    torch.testing.assert_close(errors.channel_deviations.square().mean(0), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close(errors.deviations, errors.channel_deviations.square().mean(1).sqrt())
    assert float(errors.deviations.square().mean()) == pytest.approx(1)


def test_each_channel_has_the_error_that_it_has_alone():
    y, guess = random(20, 2, 16), random(20, 2, 16, seed=1)
    y[:, 1], guess[:, 1] = 1e3 * y[:, 1], 1e3 * guess[:, 1]
    both = Channels(CIRCLE, 2).grid_of(y)
    errors = Sizes.of(y, both).errors(y, guess, both)
    for i in range(2):
        alone = Sizes.of(y[:, i], CIRCLE.grid(16)).errors(y[:, i], guess[:, i], CIRCLE.grid(16))
        torch.testing.assert_close(errors.channels[:, i], alone.relative)
        torch.testing.assert_close(errors.channel_deviations[:, i], alone.deviations)


def test_outputs_near_zero_are_relative_to_a_tenth_of_the_usual_norm_and_constant_channels_have_no_deviations():
    y = torch.stack([random(10, 16), torch.ones(10, 16, dtype=torch.float64)], 1)
    y[0, 0] = 0
    grid = Channels(CIRCLE, 2).grid_of(y)
    sizes = Sizes.of(y, grid)
    errors = sizes.errors(y, y + 0.1, grid)
    assert float(errors.channels[0, 0]) == pytest.approx(0.1 / (0.1 * float(sizes.norms[0])))
    assert errors.channel_deviations[:, 1].isnan().all()
    assert errors.deviations.isfinite().all()
    with pytest.raises(RaffiaError, match="undefined"):
        Sizes.of(0 * y, grid).errors(0 * y, y, grid)


def parameters_to_channels(n=60):
    a = torch.rand(n, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.linspace(0, 1, 20, dtype=torch.float64)
    y = torch.stack([100 + torch.sin(3 * a @ torch.stack([x, 1 - x])), torch.cos(2 * a[:, :1] * x)], 1)
    return Dataset(a, y, Vectors(), output=Channels(Domain(1, periodic=False), 2))


def test_a_fit_of_channels_reports_relative_errors_with_deviations_beside():
    data = parameters_to_channels()
    found = raffia.fit(data, "linear", held_out=15)
    grid = data.output.grid_of(data.y)
    torch.testing.assert_close(found.errors, metrics.relative_errors(found.test.y, found.predicted, grid))
    assert float(found.measured.deviations.mean()) > 5 * float(found.errors.mean())  # a mean of 100 hides what varies
    assert found.model.held_out_error_ == float(found.errors.mean())


def held(a, y, domain, output, n_features):
    clock = Clock(WorkPlan(seconds=10.0, compared=1000), time.perf_counter())
    return contest(ExamplePairs(a, y, domain, output), ModelOptions(n_features=n_features), clock)


def test_a_contest_judged_by_deviations_shows_relative_errors_too():
    a, y = parameters_to_channels()
    found = held(a, y, Vectors(), Channels(Domain(1, periodic=False), 2), 32)
    assert found.header == ["features", "relative error", "in deviations (decides)", "time", "found"]
    assert all(len(row) == 5 for row in found.rows)
    grid = Channels(Domain(1, periodic=False), 2).grid_of(y)
    rows = torch.arange(60)
    best = found.best
    order = torch.stack([(best.predicted[:, 0] - f[0]).square().sum(1) for f in y]).argmin(
        0
    )  # which pair each prediction is of
    assert sorted(order.tolist()) == rows.tolist()
    assert best.relative == pytest.approx(metrics.relative_error(y[order], best.predicted, grid), rel=1e-6)


def test_a_contest_of_functions_has_one_kind_of_errors():
    a = random(20, 16)
    found = held(a, a.roll(1, dims=1), CIRCLE, CIRCLE, 16)
    assert found.header == ["features", "relative error", "time", "found"]
    assert found.rows[0][1] == f"{found.entries[0].error:.2e}"


class TestBaselines:
    def test_the_input_is_a_baseline_where_it_lives_with_the_outputs(self):
        a = random(40, 16)
        found = raffia.fit(Dataset(a, 1.5 * a, CIRCLE), "linear")
        assert found.baselines["output = input"] == pytest.approx(1 / 3)
        assert set(raffia.fit(parameters_to_channels(), "linear").baselines) == {"the training mean", "the best linear map"}

    def test_the_linear_map_is_found_where_features_were_named(self):
        a = random(40, 16)
        found = raffia.fit(Dataset(a, a.flip(1), CIRCLE), "kernel")
        assert found.baselines["the best linear map"] < 1e-6

    def test_outputs_that_are_their_inputs_are_told(self):
        a, told = random(40, 16), []
        raffia.fit(Dataset(a, a.clone(), CIRCLE), "linear", on_message=told.append)
        assert any("the same as their inputs" in note for note in told)
        found = raffia.fit(Dataset(a, a + 0.001 * a.roll(1, dims=1), CIRCLE), "linear")
        assert any("nearly their inputs" in note for note in found.notes)


def test_a_model_file_keeps_the_sizes_that_errors_are_relative_to(tmp_path):
    found = raffia.fit(parameters_to_channels(), "linear")
    found.model.save(tmp_path / "m.safetensors")
    kept = raffia.load(tmp_path / "m.safetensors").trained_.sizes
    assert torch.equal(kept.norms, found.model.trained_.sizes.norms)
    assert kept.spreads.isfinite().all()


def test_a_model_file_whose_sizes_are_of_other_outputs_is_refused(tmp_path):
    model = raffia.fit(parameters_to_channels(), "linear").model
    wrong = Sizes(torch.ones(5, dtype=torch.float64), torch.ones(5, dtype=torch.float64))
    model.adopt(replace(model.trained_, sizes=wrong)).save(tmp_path / "m.safetensors")
    with pytest.raises(RaffiaError, match="damaged"):
        raffia.load(tmp_path / "m.safetensors")
