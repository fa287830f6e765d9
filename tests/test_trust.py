"""Numbers that users get, where they were once wrong."""

import copy
import pickle
import re
import warnings
from functools import partial

import joblib
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
    GaussianField,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
    load,
)
from raffia.data import InMemory
from raffia.features import NeuralFeatures, SpectralNetwork
from raffia.model import cluster
from raffia.model.splitting import groups_of, split
from raffia.regression import feature_stream
from raffia.tuning import GradientSearch, RidgeSearch

BRIEF = GradientSearch(steps=3, contest_steps=1, screened=0, swept=0)
CIRCLE = Domain(1)


@pytest.fixture(scope="module")
def flow():
    return Burgers(fine_points=128).dataset(200, points=32, seed=0)


def fourier(m=128, ridge="auto", **settings):
    return RandomFeatureModel(FourierFeatures(30), m, ridge, **settings)


class TestOneSampleDoesNotDecide:
    @pytest.mark.parametrize("small", [1e-2, 1e-9, 0.0])
    def test_the_ridge_where_one_output_is_nearly_zero(self, flow, small):
        y = flow.y[:60].clone()
        y[7] *= small
        usual, odd = (fourier().fit(flow.a[:60], outputs) for outputs in (flow.y[:60], y))
        assert float(odd.errors(flow.a[100:], flow.y[100:]).mean()) < 1.5 * float(
            usual.errors(flow.a[100:], flow.y[100:]).mean()
        )

    @pytest.mark.slow
    def test_a_zero_output_is_no_error_in_searches_and_surrogates(self, flow):
        y = flow.y[:40].clone()
        y[7] = 0
        assert np.isfinite(fourier(32, 0.0).tune(flow.a[:40], y, RidgeSearch()).held_out_error_)
        assert torch.isfinite(raffia.fit(Dataset(flow.a[:40], y, CIRCLE), n_features=32, tune=BRIEF).errors).all()

    def test_one_pair_cannot_choose_a_ridge(self, flow):
        with pytest.raises(RaffiaError, match="two or more; got one"):
            fourier().fit(flow.a[:1], flow.y[:1])


class TestBaselines:
    @pytest.mark.slow
    def test_noise_around_a_mean_is_not_called_good(self):
        a = GaussianField(CIRCLE, n_modes=30).sample(80, CIRCLE.grid(32), seed=0)
        y = 300 + torch.randn(80, 32, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
        found = raffia.fit(Dataset(a, y, CIRCLE), n_features=64, tune=BRIEF)
        assert set(found.baselines) == {"the training mean", "output = input", "the best linear map"}
        assert float(found.errors.mean()) > 0.95 * found.baselines["the training mean"]

    def test_the_baseline_is_the_mean_of_the_training_outputs(self, flow):
        found = raffia.fit(flow, FourierFeatures(30), 64, held_out=40, refit=False)
        train = sorted(set(range(200)) - set(found.rows))
        wrong = (flow.y[found.rows] - flow.y[train].mean(0)).norm(dim=1) / flow.y[found.rows].norm(dim=1)
        assert found.baselines["the training mean"] == pytest.approx(
            float(wrong.mean()), rel=0.02
        )  # small outputs have a floor


class TestErrorBars:
    @pytest.mark.parametrize("points", [64, 512])
    def test_noise_outside_the_leading_modes_counts(self, points):
        a, y = Burgers(fine_points=512).dataset(120, points=points, seed=0)
        y = y + 0.05 * torch.randn(y.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        mean, std = RandomFeatureModel(FourierFeatures(), 100, "auto").fit(a[:60], y[:60]).predict(a[60:], return_std=True)
        assert 0.85 <= float(((y[60:] - mean).abs() < 1.6449 * std).double().mean()) <= 0.95


class TestCopies:
    def test_leaving_one_out_leaves_its_copies_out(self, flow):
        a, y = flow.a[:40].repeat(2, 1), flow.y[:40].repeat(2, 1)
        for features in (FourierFeatures(30), ScalarFeatures(n_modes=31)):
            model = RandomFeatureModel(features, 256, "auto").fit(a, y)
            assert model.loo_error_ == pytest.approx(float(model.errors(flow.a[100:], flow.y[100:]).mean()), rel=0.25)

    def test_copies_are_held_out_together_and_told(self, flow):
        told = []
        data = Dataset(flow.a[:30].repeat(2, 1), flow.y[:30].repeat(2, 1), CIRCLE)
        found = raffia.fit(data, FourierFeatures(30), 64, held_out=10, refit=False, on_message=told.append)
        assert {row % 30 for row in found.rows}.isdisjoint({row % 30 for row in set(range(60)) - set(found.rows)})
        assert told == [
            "30 of 60 inputs are copies of others, or nearly: copies are held out together, lest errors look small."
        ]

    @pytest.mark.parametrize("distinct", [1, 2, 3, 30])
    def test_few_distinct_inputs_leave_some_on_either_side(self, flow, distinct):
        a = flow.a[:distinct].repeat(60 // distinct, 1)
        y = a + 0.1 * torch.randn(a.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        held, rest, told = split(a, 12, 0, "held out")
        assert sorted(torch.cat([held, rest]).tolist()) == list(range(60))
        assert len(held) >= 1
        assert len(rest) >= 1
        if distinct > 1:
            assert set((held % distinct).tolist()).isdisjoint((rest % distinct).tolist())
        assert f"{60 - distinct} of 60 inputs are copies" in told
        found = raffia.fit(Dataset(a, y, CIRCLE), FourierFeatures(30), 16, 1e-2, held_out=12)
        assert torch.isfinite(found.errors).all()

    def test_near_copies_are_found_and_neighbours_are_not(self):
        a = torch.randn(50, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        near = a[[3, 3, 9]] + 1e-7
        assert groups_of(torch.cat([a, near])).tolist() == [*range(50), 3, 3, 9]
        assert groups_of(a + 1e9).tolist() == list(range(50))
        assert groups_of(torch.ones(4, 3)).tolist() == [0] * 4


@pytest.mark.slow
def test_tuning_on_few_pairs_has_an_honest_error(flow):
    ratios = []
    for seed in range(6):
        rows = slice(15 * seed, 15 * seed + 15)
        model = fourier(64, 0.0, random_state=seed).tune(flow.a[rows], flow.y[rows], BRIEF)
        ratios.append(model.held_out_error_ / float(model.errors(flow.a[100:], flow.y[100:]).mean()))
    assert 0.75 < float(np.exp(np.log(ratios).mean())) < 1.6


def test_what_varies_by_little_of_its_mean_is_normalised():
    x = torch.rand(200, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    y = torch.sin(6 * x[:, 0]) * x[:, 1]
    seconds = x * torch.tensor([1200.0, 1.0]) + torch.tensor([1.7e9, 0.0])  # since 1970
    model = RandomFeatureModel(ScalarFeatures(2, domain=Vectors()), 128, "auto", normalize=True).fit(seconds[:150], y[:150])
    assert float(model.errors(seconds[150:], y[150:]).mean()) < 1e-3
    still = torch.full((20, 1), 0.1).float()  # a deviation that is rounding must not be divided by
    model = RandomFeatureModel(ScalarFeatures(1, domain=Vectors()), 8, 1e-3, normalize=True).fit(still, y[:20].float())
    assert float(model.input_scaling_.scale) == 1


@pytest.mark.slow
def test_a_contest_normalises_as_it_is_told(flow):
    data = Dataset(flow.a[:30, ::4], flow.y[:30, ::4], CIRCLE)
    assert [raffia.fit(data, n_features=32, normalize=told, tune=BRIEF).model.normalize for told in (False, True)] == [
        False,
        True,
    ]


def test_predicting_leaves_the_generator_of_the_user_alone(flow):
    model = RandomFeatureModel(NeuralFeatures(SpectralNetwork(width=4, n_modes=8)), 8, 1e-6).fit(flow.a[:20], flow.y[:20])
    torch.manual_seed(0)
    expected = torch.rand(3)
    torch.manual_seed(0)
    model.predict(flow.a[:1])
    assert torch.equal(torch.rand(3), expected)


def test_a_long_profile_that_changes_is_noticed(flow):
    weights = torch.linspace(1, 2, 1500, dtype=torch.float64)
    model = RandomFeatureModel(FourierFeatures(30, profile=weights, amplitude=1.0, bias=0.5), 16, 1e-6).fit(
        flow.a[:20], flow.y[:20]
    )
    changed = weights.clone()
    changed[700] *= 3
    with pytest.raises(RaffiaError, match="changed since the model was fitted"):
        model.set_params(feature_map__profile=changed).predict(flow.a[:2])


@pytest.mark.parametrize("used", [False, True])
@pytest.mark.parametrize(
    "features", [FourierFeatures(30), ScalarFeatures(8), FourierFeatures(30, domain=Channels(CIRCLE, 1))], ids=repr
)
def test_fitted_models_pickle_copy_and_go_through_joblib(flow, features, used, tmp_path):
    a = flow.a[:30, None] if features.domain.has_components else flow.a[:30]
    model = RandomFeatureModel(features, 40, 1e-6, output=CIRCLE).fit(a, flow.y[:30])
    expected = model.predict(a)
    if not used:
        model = RandomFeatureModel(features, 40, 1e-6, output=CIRCLE).fit(a, flow.y[:30])
    joblib.dump(model, tmp_path / "model.joblib")
    for other in (
        pickle.loads(pickle.dumps(model)),
        copy.deepcopy(model),
        copy.copy(model),
        joblib.load(tmp_path / "model.joblib"),
    ):
        assert torch.equal(other.predict(a), expected)
    model.save(tmp_path / "model.safetensors", statistics=model.equations_.portable)
    assert len(pickle.dumps(model)) < 1.2 * (tmp_path / "model.safetensors").stat().st_size + 10_000


def test_a_loaded_model_does_not_follow_its_file(flow, tmp_path):
    path = tmp_path / "model.safetensors"
    model = fourier(32, 1e-4).fit(flow.a[:20], flow.y[:20])
    model.save(path)
    again = load(path)
    with path.open("r+b") as file:
        file.truncate(200)
    assert torch.equal(again.predict(flow.a[:3]), model.predict(flow.a[:3]))


def test_limits_of_a_container_count_as_memory(tmp_path, monkeypatch):
    (tmp_path / "max").write_text("1000000\n")
    (tmp_path / "used").write_text("400000\n")
    monkeypatch.setattr(
        feature_stream,
        "CGROUPS",
        [(str(tmp_path / "none"), str(tmp_path / "none")), (str(tmp_path / "max"), str(tmp_path / "used"))],
    )
    assert feature_stream.available_memory(torch.device("cpu")) == 600_000
    (tmp_path / "max").write_text("max\n")
    assert feature_stream.available_memory(torch.device("cpu")) > 600_000


class TestChangedData:
    """What was begun on some pairs does not go on with others."""

    def test_a_checkpoint_knows_all_the_pairs_that_are_in_it(self, flow, tmp_path):
        def interrupted(a, y):
            for i in range(4):
                yield a[10 * i : 10 * i + 10], y[10 * i : 10 * i + 10]
            raise KeyboardInterrupt

        path = tmp_path / "run.checkpoint"
        with pytest.raises(KeyboardInterrupt):
            fourier(16, 1e-3).fit(interrupted(flow.a, flow.y), checkpoint=path, checkpoint_every=0.0)
        changed = flow.y.clone()
        changed[10:] *= 2  # the first batch is as it was
        for source in (InMemory(flow.a, changed), list(zip(flow.a.split(10), changed.split(10), strict=True))):
            how = {"batch_size": 10} if isinstance(source, InMemory) else {}
            with pytest.raises(
                RaffiaError, match=r"changed since .*run\.checkpoint|run\.checkpoint is the checkpoint of another problem"
            ):
                fourier(16, 1e-3).fit(source, checkpoint=path, **how)
        again = fourier(16, 1e-3).fit(zip(flow.a.split(10), flow.y.split(10), strict=True), checkpoint=path)
        whole = fourier(16, 1e-3).fit(zip(flow.a.split(10), flow.y.split(10), strict=True))
        assert torch.equal(again.coef_, whole.coef_)

    def test_features_chosen_for_other_data_are_not_taken(self, flow, tmp_path):
        raffia.data.write(tmp_path / "data.npz", flow)
        how = {"checkpoint": tmp_path / "run.checkpoint"}
        source = raffia.data.open_source(tmp_path / "data.npz")
        before = source.stamp
        raffia.data.write(tmp_path / "data.npz", Dataset(flow.a, 2 * flow.y, CIRCLE))
        assert raffia.data.open_source(tmp_path / "data.npz").stamp != before
        found = raffia.fit(tmp_path / "data.npz", FourierFeatures(30), 16, 1e-3, stream=True, batches=how)
        assert not list(tmp_path.glob("run.checkpoint*"))
        assert found.n_train == 160

    def test_a_file_that_is_replaced_between_reads_of_a_cluster_is_refused(self, flow, tmp_path):
        raffia.data.write(tmp_path / "data.npz", flow)
        opened = partial(raffia.data.open_source, tmp_path / "data.npz")
        block = cluster.Rows(opened, 0, 10, opened().stamp)
        assert torch.equal(block()[0], flow.a[:10])
        raffia.data.write(tmp_path / "data.npz", Dataset(flow.a + 1, flow.y, CIRCLE))
        with pytest.raises(RaffiaError, match="changed while it was read"):
            block()


class TestModelsThatAreNotFinite:
    @pytest.mark.parametrize("size", [1e200, 1.7e308])
    def test_outputs_that_overflow_are_refused(self, flow, size):
        with pytest.raises(RaffiaError, match=r"too large to be squared|not finite"):
            fourier(16, 1e-3).fit(flow.a[:20], size * flow.y[:20] / flow.y[:20].abs().max())

    def test_a_file_with_a_coefficient_that_is_not_finite_is_damaged(self, flow, tmp_path):
        model = fourier(16, 1e-3).fit(flow.a[:20], flow.y[:20])
        model.coef_[3] = torch.nan
        model.save(tmp_path / "model.safetensors")
        with pytest.raises(RaffiaError, match=r"model\.safetensors is damaged: its coefficients are not finite"):
            load(tmp_path / "model.safetensors")


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ('\\"n_features\\": 16', '\\"n_features\\": -6'),
        ('\\"dim\\": 1', '\\"dim\\": 300000000'),
        ('\\"batch_size\\": null', '\\"batch_size\\": -5'),
        ('\\"random_state\\": 0', '\\"random_state\\": \\"x\\"'),
    ],
)
def test_settings_in_a_file_that_no_model_has_are_refused_at_once(flow, tmp_path, before, after):
    path = tmp_path / "model.safetensors"
    fourier(16, 1e-3).fit(flow.a[:20], flow.y[:20]).save(path)
    content = path.read_bytes()
    size = int.from_bytes(content[:8], "little")
    header = content[8 : 8 + size].decode().replace(before, after).rstrip()
    assert after in header
    header = header.encode() + b" " * (-len(header.encode()) % 8)
    path.write_bytes(len(header).to_bytes(8, "little") + header + content[8 + size :])
    with pytest.raises(RaffiaError, match=r"model\.safetensors"):
        load(path)


class TestBands:
    def test_pairs_that_were_trained_on_are_refused(self, flow):
        found = raffia.fit(flow, FourierFeatures(30), 64, 1e-6)
        with pytest.raises(RaffiaError, match="pairs that were not used in training"):
            found.model.conformal(found.test.a, found.test.y)

    @pytest.mark.parametrize(
        ("output", "features"),
        [
            (CIRCLE, FourierFeatures(30)),
            (CIRCLE, ScalarFeatures(16)),
            (Channels(CIRCLE, 2), ScalarFeatures(16)),
            (Vectors(), ScalarFeatures(16)),
            (Domain(0), ScalarFeatures(16)),
        ],
        ids=str,
    )
    def test_bands_cover_every_kind_of_output(self, flow, output, features, tmp_path):
        made = {CIRCLE: lambda y: y, Vectors(): lambda y: y[:, :3], Domain(0): lambda y: y[:, 0]}
        y = made.get(output, lambda y: torch.stack([y, 1000 * y**2], 1))(flow.y)
        covered = []
        for seed in range(8):
            order = torch.randperm(200, generator=torch.Generator().manual_seed(seed))
            data = Dataset(flow.a[order[:100]], y[order[:100]], CIRCLE, output=None if output == CIRCLE else output)
            found = raffia.fit(data, features, 32, 1e-4, held_out=39, seed=seed, normalize=True)
            found.model.save(tmp_path / "model.safetensors")
            band = load(tmp_path / "model.safetensors").band(0.9)
            covered.append(band.covers(flow.a[order[100:]], y[order[100:]]).double().mean())
        assert (
            0.85 < float(torch.stack(covered).mean()) <= 0.98
        )  # 0.9 for the model before it was trained on all, more for a better one

    def test_a_model_without_pairs_held_out_says_so(self, flow):
        with pytest.raises(RaffiaError, match=r"needs at least 9 calibration pairs; got 0"):
            fourier(16, 1e-3).fit(flow.a[:20], flow.y[:20]).band()


def test_functions_of_two_phases_on_a_circle_are_not_refused_for_ends_that_agree():
    a = torch.sign(GaussianField(CIRCLE, n_modes=62, tau=7.0).sample(400, CIRCLE.grid(256), seed=0))
    agree = a[a[:, 0] == a[:, -1]]
    odd = agree[agree[:, 0] != agree[:, 1]]
    batch = torch.cat([odd[:1], agree[:5]])
    model = RandomFeatureModel(FourierFeatures(16), 8, 1e-3).fit(agree[:20], agree[:20])
    assert torch.allclose(model.predict(batch)[:1], model.predict(odd[:1]))


@pytest.mark.parametrize("points", [17, 33])
def test_numbers_as_features_on_a_box_predict_on_finer_grids_as_well_as_on_their_own(points):
    box = Domain(1, periodic=False)

    def pair(K):
        a = GaussianField(box, "neumann", n_modes=8, tau=5.0, regularity=3.0).sample(80, box.grid(K), seed=0)
        return a, 2 * a

    (a, y), (fine_a, fine_y) = pair(points), pair(129)
    model = RandomFeatureModel(ScalarFeatures(9, law="affine", domain=box), 64, "auto", normalize=True).fit(a[:60], y[:60])
    assert float(model.errors(fine_a[60:], fine_y[60:]).mean()) < 1e-9


def test_discontinuous_outputs_are_not_made_to_ring_by_interpolation():
    box = Domain(1, periodic=False)
    step = torch.sign(torch.linspace(-1, 1, 34, dtype=torch.float64))[None]
    moved = raffia.resample(step, box.grid(34), box.grid(101), smooth=True)
    assert float(moved.abs().max()) <= 1 + 1e-12


@pytest.mark.slow
@pytest.mark.parametrize(("viscosity", "points", "warned"), [(1e-3, 64, True), (1e-3, 128, True), (0.01, 128, False)])
def test_a_flow_that_its_grid_does_not_resolve_is_told(viscosity, points, warned):
    a = GaussianField(CIRCLE, n_modes=40).sample(4, CIRCLE.grid(64), seed=0)
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        solved = Burgers(viscosity=viscosity, fine_points=points).solve(a)
    assert bool(told) == warned
    if warned:
        enough = int(re.search(r"fine_points=(\d+)", str(told[0].message))[1])
        fine, finer = (Burgers(viscosity=viscosity, fine_points=k).solve(a) for k in (enough, 2 * enough))
        assert ((fine - finer).norm(dim=1) / finer.norm(dim=1)).max() < 0.01
        assert ((solved - finer).norm(dim=1) / finer.norm(dim=1)).max() > 0.01
