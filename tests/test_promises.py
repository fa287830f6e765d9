"""What a fit says of itself: error bars, reported errors, unlike inputs and wrong samples, against fresh data."""

import math

import numpy as np
import pytest
import torch

import raffia
from raffia import Dataset, Domain, FourierFeatures, RandomFeatureModel, Vectors
from raffia.model.error_bars import ErrorBars
from raffia.model.novelty import Novelty
from raffia.surrogate.outliers import unusual

CIRCLE = Domain(1)
X, K = np.arange(32) / 32, np.arange(1, 9)


def series(n, rng, rough=1):
    c = rng.normal(size=(n, 8, 2)) * K[:, None] ** -1.5
    phase = 2 * np.pi * rough * np.outer(K, X)
    return torch.tensor(c[:, :, 0] @ np.cos(phase) + c[:, :, 1] @ np.sin(phase))


def burgers(n, rng):
    """Burgers' equation, exactly, by Cole and Hopf."""
    viscosity, t, x = 0.05, 0.3, np.arange(256) / 256
    c = rng.normal(size=(n, 8, 2)) * K[:, None] ** -1.5
    a = c[:, :, 0] @ np.cos(2 * np.pi * np.outer(K, x)) + c[:, :, 1] @ np.sin(2 * np.pi * np.outer(K, x))
    q = 2 * np.pi * np.fft.rfftfreq(256, 1 / 256)
    F = np.fft.rfft(a)
    F[:, 0], F[:, 1:] = 0, F[:, 1:] / (1j * q[1:])
    P = np.fft.rfft(np.exp(-np.fft.irfft(F, 256) / (2 * viscosity))) * np.exp(-viscosity * q**2 * t)
    y = -2 * viscosity * np.fft.irfft(1j * q * P, 256) / np.fft.irfft(P, 256)
    return torch.tensor(a[:, ::8].copy()), torch.tensor(y[:, ::8].copy())


def coverage(model, a, y):
    mean, std = model.predict(a, return_std=True)
    assert torch.isfinite(std).all()
    return float(((y - mean).abs() <= 1.645 * std).double().mean())


class TestErrorBars:
    @pytest.mark.parametrize("n", [12, 20, 40])
    def test_bars_of_modal_models_of_few_smooth_pairs_hold_what_they_say(self, n):
        features = FourierFeatures(128, 10.0, 2.0, amplitude=2.0, bias=0.5, activation="gelu", profile="matern")
        shares = []
        for seed in range(6):
            rng = np.random.default_rng(seed)
            (a, y), (new, truth) = burgers(n, rng), burgers(200, rng)
            model = RandomFeatureModel(features, 256, "auto", coefficients="modal", normalize=True).fit(a, y)
            shares.append(coverage(model, new, truth))
        assert 0.82 <= np.mean(shares) <= 0.96  # 0.6 to 0.8 where ridges of bars and of the noise differed
        assert min(shares) > 0.7

    def test_repeated_inputs_leave_error_bars_finite_and_true(self):
        shares = []
        for seed in range(3):
            rng = np.random.default_rng(1000 * seed + 24)
            a = series(24, rng)
            a = a[[*range(12), *rng.integers(0, 12, 12).tolist()]]
            y = torch.tanh(2 * a) + 0.1 * torch.tensor(rng.normal(size=a.shape))
            model = raffia.fit(Dataset(a, y, CIRCLE), "modal", 64, seed=seed).model
            new = series(200, rng)
            shares.append(coverage(model, new, torch.tanh(2 * new) + 0.1 * torch.tensor(rng.normal(size=new.shape))))
        assert 0.8 <= np.mean(shares) <= 0.97

    @pytest.mark.slow
    @pytest.mark.parametrize("noise", [0.0, 0.1])
    def test_bars_of_winners_of_contests_hold_what_they_say(self, noise):
        shares = []
        for seed in range(3):
            rng = np.random.default_rng(seed)
            (a, new) = (series(count, rng) for count in (30, 300))
            y, truth = (torch.tanh(2 * f) + noise * torch.tensor(rng.normal(size=f.shape)) for f in (a, new))
            model = raffia.fit(Dataset(a, y, CIRCLE), effort="quick", seed=seed).model
            shares.append(coverage(model, new, truth))
        assert 0.85 <= np.mean(shares) <= 0.95

    def test_bars_of_normal_errors_are_their_standard_deviations(self):
        errors = torch.linspace(0.5, 2.0, 20) * torch.randn(400, 20, generator=torch.Generator().manual_seed(0)).double()
        bars = ErrorBars.of(errors, torch.full((400,), 0.5))
        assert torch.allclose(bars.deviation * 0.5**bars.slope, torch.linspace(0.5, 2.0, 20).double(), rtol=0.12)

    def test_bars_are_the_same_after_saving_and_on_other_grids(self, tmp_path):
        rng = np.random.default_rng(0)
        a = series(30, rng)
        model = raffia.fit(Dataset(a, torch.tanh(a), CIRCLE), "modal", 64).model
        model.save(tmp_path / "model.safetensors")
        loaded = raffia.load(tmp_path / "model.safetensors")
        new = series(5, rng)
        std = model.predict(new, return_std=True)[1]
        assert torch.equal(loaded.predict(new, return_std=True)[1], std)
        assert torch.equal(loaded.novelty(new), model.novelty(new))
        fine = torch.fft.irfft(torch.nn.functional.pad(torch.fft.rfft(new), (0, 16)) * 2, 64)
        assert torch.allclose(model.predict(fine, return_std=True)[1][:, ::2], std, rtol=0.05)


class TestReportedErrors:
    def test_few_pairs_are_left_out_in_turn_and_tell_the_true_error(self):
        ratios = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            a, new = series(40, rng), series(300, rng)
            surrogate = raffia.fit(Dataset(a, torch.tanh(2 * a), CIRCLE), "modal", 64, seed=seed)
            assert surrogate.in_turn
            assert surrogate.rows == list(range(40))
            assert surrogate.n_train == 40
            truth = torch.tanh(2 * new)
            true = float(((surrogate.model.predict(new) - truth).norm(dim=1) / truth.norm(dim=1)).mean())
            ratios.append(float(surrogate.errors.mean()) / true)
        assert 0.8 < math.exp(np.mean(np.log(ratios))) < 1.25

    def test_a_count_of_pairs_to_hold_out_is_kept_from_everything(self):
        rng = np.random.default_rng(0)
        a = series(40, rng)
        surrogate = raffia.fit(Dataset(a, torch.tanh(a), CIRCLE), "linear", held_out=8)
        assert not surrogate.in_turn
        assert len(surrogate.errors) == 8
        assert surrogate.n_train == 32

    def test_a_linear_map_wins_where_only_all_pairs_determine_it(self):
        """With as many pairs as modes a contest on fewer of them cannot see that the map is linear; leaving out one pair can."""
        rng = np.random.default_rng(0)
        modes = 40
        draws = rng.normal(size=(400, modes)) + 1j * rng.normal(size=(400, modes))
        spectrum = np.zeros((400, 51), complex)
        spectrum[:, 1 : modes + 1] = draws * np.arange(1, modes + 1) ** -1.0
        shift = np.exp(-2j * np.pi * np.arange(51) * 0.1)
        a, y = (torch.tensor(np.fft.irfft(f, 100)) for f in (spectrum, spectrum * shift))
        train, test = Dataset(a[:84], y[:84], CIRCLE), Dataset(a[100:], y[100:], CIRCLE)
        surrogate = raffia.fit(train, effort="quick", test=test)
        assert float(surrogate.errors.mean()) <= 1.05 * surrogate.baselines["the best linear map"]


class TestNovelty:
    @pytest.mark.parametrize("n", [60, 200])
    def test_large_and_rough_inputs_are_told_from_those_of_the_training(self, n):
        flagged = []
        for seed in range(4):
            rng = np.random.default_rng(seed)
            novelty, _ = Novelty.of(series(n, rng), CIRCLE)
            same, rough = series(300, rng), series(300, rng, rough=2)
            nodes = CIRCLE.grid(32)
            flagged.append([float((novelty(f, CIRCLE, nodes) > 1).double().mean()) for f in (same, 2 * same, rough)])
        same, larger, rougher = np.mean(flagged, axis=0)
        assert same <= 0.05
        assert larger >= 0.9
        assert rougher >= 0.9

    def test_error_bars_grow_where_inputs_are_unlike_the_training(self):
        rng = np.random.default_rng(0)
        a = series(60, rng)
        model = raffia.fit(Dataset(a, torch.tanh(a), CIRCLE), "modal", 64).model
        new = series(20, rng)
        near, far = (model.predict(f, return_std=True)[1].mean() for f in (new, 20 * new))
        assert far > 100 * near
        assert "20 of 20 inputs lie outside" in model.novelty_warning(20 * new)
        assert model.novelty_warning(a[:1] * 0.5) == ""

    def test_parameters_beyond_their_range_are_outside(self):
        rng = np.random.default_rng(0)
        v = torch.tensor(rng.uniform(0, 1, (80, 3)))
        model = raffia.fit(Dataset(v, torch.sin(v), Vectors(), output=Vectors()), "linear").model
        outside = v[:10].clone()
        outside[:, 1] = 3.0
        assert (model.novelty(outside) > 1).all()
        assert float((model.novelty(torch.tensor(rng.uniform(0, 1, (300, 3)))) > 1).double().mean()) <= 0.05

    def test_grids_do_not_make_inputs_novel(self):
        rng = np.random.default_rng(0)
        a = series(60, rng)
        model = raffia.fit(Dataset(a, torch.tanh(a), CIRCLE), "linear").model
        fine = torch.fft.irfft(torch.nn.functional.pad(torch.fft.rfft(a), (0, 16)) * 2, 64)
        assert torch.allclose(model.novelty(fine), model.novelty(a), rtol=1e-2)


class TestOutliers:
    def test_wrong_outputs_are_named_and_dropping_them_helps(self):
        rng = np.random.default_rng(1)
        a = series(100, rng)
        y = torch.tanh(2 * a)
        y[[17, 63]] = y[[5, 40]]
        surrogate = raffia.fit(Dataset(a, y, CIRCLE), "modal", 64)
        assert sorted(surrogate.outliers.rows) == [17, 63]
        assert surrogate.outliers.error_without < surrogate.outliers.error_with
        assert "--drop" in surrogate.outliers.words
        dropped = raffia.fit(Dataset(a, y, CIRCLE), "modal", 64, drop=[17, 63])
        assert dropped.outliers is None
        assert set(dropped.rows) == set(range(100)) - {17, 63}

    def test_one_wrong_value_at_a_point_where_all_others_agree_is_named(self):
        errors = 0.1 * torch.randn(200, 30, generator=torch.Generator().manual_seed(0)).double()
        errors[:, 0] = 0
        errors[41, 0] = 0.4
        assert unusual(errors, torch.ones_like(errors)) == [41]

    def test_wrong_outputs_are_named_among_the_pairs_of_training_too(self):
        rng = np.random.default_rng(2)
        a = series(240, rng)
        y = torch.tanh(2 * a)
        wrong = [3, 100, 230]
        y[wrong] = -y[wrong]
        surrogate = raffia.fit(Dataset(a, y, CIRCLE), "modal", 128)
        assert not surrogate.in_turn
        assert set(surrogate.outliers.rows) >= set(wrong)
        assert len(surrogate.outliers.rows) <= len(wrong) + 2

    @pytest.mark.slow
    def test_wrong_outputs_that_spoil_the_model_itself_are_named(self):
        """Two wrong pairs of a hundred raise all errors of a kernel a thousandfold, so that they hardly stand out at first."""
        hits = false = 0
        for seed in range(4):
            rng = np.random.default_rng(seed)
            v = torch.tensor(rng.uniform(0, 1, (100, 3)))
            y = torch.sin(3 * v[:, :1]) * v[:, 1:]
            y[[24, 61]] = y[[10, 75]]
            outliers = raffia.fit(Dataset(v, y, Vectors(), output=Vectors()), "kernel").outliers
            hits += len({24, 61} & {*outliers.rows})
            false += len({*outliers.rows} - {24, 61})
            assert outliers.error_without < 0.1 * outliers.error_with
        assert hits >= 0.9 * 8
        assert false <= 4  # one per hundred samples

    def test_errors_of_clean_data_are_not_called_wrong(self):
        named = 0
        for seed in range(20):
            generator = torch.Generator().manual_seed(seed)
            errors = torch.randn(100, 8, generator=generator).double() * (0.5 * torch.randn(100, 1, generator=generator)).exp()
            named += len(unusual(errors, torch.ones_like(errors)))
        assert named <= 20

    def test_indices_that_are_not_there_are_refused(self):
        a = series(20, np.random.default_rng(0))
        with pytest.raises(raffia.RaffiaError, match="--drop"):
            raffia.fit(Dataset(a, a, CIRCLE), "linear", drop=[20])
