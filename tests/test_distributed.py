"""A fit on a cluster is the fit, whoever computed what."""

import os
import pickle
import signal
import subprocess
import sys
import threading
import time
from functools import partial

import numpy as np
import pytest
import torch

from raffia import FourierFeatures, RaffiaError, RandomFeatureModel, ScalarFeatures, load
from raffia.cli import main
from raffia.data import InMemory, write
from raffia.model import cluster

dask_array = pytest.importorskip("dask.array")
cluster_of = pytest.importorskip("distributed")


@pytest.fixture(scope="module")
def client():
    cluster = cluster_of.LocalCluster(processes=True, n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, cluster_of.Client(cluster) as client:
        yield client


def a_model(**settings):
    return RandomFeatureModel(FourierFeatures(n_modes=32), 48, **{"ridge": 1.0, "random_state": 1} | settings)


def in_blocks(dataset, size):
    return tuple(dask_array.from_array(f.numpy(), chunks=(size, *f.shape[1:])) for f in dataset)


def close(model, other, rtol=1e-12):
    difference = torch.linalg.vector_norm(model.coef_ - other.coef_)
    return difference <= rtol * torch.linalg.vector_norm(other.coef_)


def test_a_fit_on_a_cluster_is_the_fit(burgers, client):
    whole = a_model().fit(burgers.a, burgers.y)
    spread = a_model().fit(*in_blocks(burgers, 3), client=client)
    assert close(spread, whole)
    assert (spread.input_grid_, spread.output_grid_, spread.ridge_) == (whole.input_grid_, whole.output_grid_, 1.0)
    assert spread.equations_.n_samples == len(burgers)
    torch.testing.assert_close(spread.predict(burgers.a), whole.predict(burgers.a), rtol=1e-10, atol=1e-12)


def test_modal_coefficients_are_found_on_a_cluster(burgers, client):
    whole = a_model(coefficients="modal").fit(burgers.a, burgers.y)
    spread = a_model(coefficients="modal").fit(*in_blocks(burgers, 7), client=client)
    assert close(spread, whole, rtol=1e-8)
    folds = a_model(coefficients="modal", ridge="auto").fit(*in_blocks(burgers, 7), client=client)
    streamed = a_model(coefficients="modal", ridge="auto").fit(
        [(burgers.a[i : i + 7], burgers.y[i : i + 7]) for i in range(0, 40, 7)]
    )
    torch.testing.assert_close(folds.ridge_, streamed.ridge_, rtol=1e-3, atol=0)
    a, _ = in_blocks(burgers, 7)
    torch.testing.assert_close(torch.from_numpy(spread.predict(a).compute()), whole.predict(burgers.a), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("law", ["gaussian", "affine"])
def test_kernels_and_linear_maps_are_trained_on_a_cluster(burgers, client, law):
    def model(ridge):
        return RandomFeatureModel(ScalarFeatures(None, law=law, domain=burgers.domain), float("inf"), ridge)

    spread = model(1e-3).fit(*in_blocks(burgers, 7), client=client)
    whole = model(1e-3).fit(burgers.a, burgers.y)
    torch.testing.assert_close(spread.predict(burgers.a), whole.predict(burgers.a), rtol=1e-8, atol=1e-10)
    found = model("auto").fit(*in_blocks(burgers, 7), client=client)
    streamed = model("auto").fit([(burgers.a[i : i + 7], burgers.y[i : i + 7]) for i in range(0, 40, 7)])
    torch.testing.assert_close(found.predict(burgers.a), streamed.predict(burgers.a), rtol=1e-8, atol=1e-10)


def test_a_normalised_fit_on_a_cluster_has_the_units_of_all_blocks(burgers, client):
    a, y = burgers.a + torch.linspace(0, 3, len(burgers))[:, None], 5 * burgers.y + 2  # the first block is not like the others
    whole = a_model(normalize=True).fit(a, y)
    spread = a_model(normalize=True).fit(*in_blocks((a, y), 3), client=client)
    torch.testing.assert_close(spread.input_scaling_.shift, whole.input_scaling_.shift, rtol=1e-13, atol=0)
    torch.testing.assert_close(spread.output_scaling_.scale, whole.output_scaling_.scale, rtol=1e-13, atol=0)
    assert close(spread, whole)


def test_model_fit_takes_dask_arrays(burgers):
    assert close(a_model().fit(*in_blocks(burgers, 3)), a_model().fit(*burgers))


def test_raffia_fit_trains_on_a_cluster(burgers, client, tmp_path, capsys, monkeypatch):
    write(tmp_path / "d.npz", burgers)
    scheduler = client.scheduler.address
    fitting = ["raffia", "fit", tmp_path / "d.npz", "--map", "fourier", "--features", 48, "--ridge", "1.0", "--held-out", 5]
    monkeypatch.setattr(
        "sys.argv", [str(word) for word in [*fitting, "--scheduler", scheduler, "-o", tmp_path / "m.safetensors"]]
    )
    with pytest.raises(SystemExit) as done:
        main()
    assert done.value.code in (0, None), capsys.readouterr().err
    n = len(burgers) - 5
    whole = RandomFeatureModel(FourierFeatures(), 48, 1.0).fit(burgers.a[:n], burgers.y[:n])
    assert close(load(tmp_path / "m.safetensors"), whole)
    assert f"trained on {n} pairs" in capsys.readouterr().out
    assert (tmp_path / "m.html").is_file()


def test_who_computes_what_does_not_matter(burgers, client):
    a, y = in_blocks(burgers, 3)
    threads = a_model().fit(a, y)
    processes = a_model().fit(a, y, client=client)
    torch.testing.assert_close(processes.equations_.gram, threads.equations_.gram, rtol=0, atol=0)


def test_the_automatic_ridge_is_that_of_the_stream(burgers, client):
    spread = a_model(ridge="auto").fit(*in_blocks(burgers, 4), client=client, folds=3)
    streamed = a_model(ridge="auto").fit(burgers, batch_size=4, folds=3)
    assert spread.ridge_ == pytest.approx(streamed.ridge_, rel=1e-6)
    assert spread.fold_error_ == pytest.approx(streamed.fold_error_, rel=1e-8)
    assert close(spread, streamed, rtol=1e-6)


def test_other_axes_may_be_split_and_blocks_need_not_match(burgers):
    a = dask_array.from_array(burgers.a.numpy(), chunks=(7, 16))
    y = dask_array.from_array(burgers.y.numpy(), chunks=(16, 64))
    assert close(a_model().fit(a, y), a_model().fit(*burgers))


def test_scalar_features_and_xarray(burgers):
    xarray = pytest.importorskip("xarray")
    a, y = (xarray.DataArray(f, dims=("sample", "x")) for f in in_blocks(burgers, 7))
    model = RandomFeatureModel(ScalarFeatures(n_modes=16), 16, ridge=1.0)
    spread = RandomFeatureModel(ScalarFeatures(n_modes=16), 16, ridge=1.0).fit(a, y)
    assert close(spread, model.fit(*burgers))


def test_zarr_arrays_are_read_by_the_workers(burgers, client, tmp_path):
    zarr = pytest.importorskip("zarr")
    for name, values in zip("ay", burgers, strict=True):
        array = zarr.create_array(tmp_path / name, shape=values.shape, chunks=(8, 64), dtype="float64")
        array[...] = values.numpy()
    a, y = (dask_array.from_zarr(str(tmp_path / name)) for name in "ay")
    assert close(a_model().fit(a, y, client=client), a_model().fit(*burgers))


@pytest.mark.parametrize("ridge", [1.0, "auto"])
def test_workers_open_the_source_themselves(burgers, client, ridge):
    opened = partial(InMemory, burgers.a.numpy(), burgers.y.numpy())
    spread = a_model(ridge=ridge).fit(opened, scheduler=client.scheduler.address, block_size=5)
    streamed = a_model(ridge=ridge).fit(burgers, batch_size=5)
    assert close(spread, streamed, rtol=1e-12 if ridge == 1.0 else 1e-6)


def test_predictions_are_made_block_by_block(burgers, client):
    model = a_model().fit(*burgers)
    a, _ = in_blocks(burgers, 16)
    for prediction in (model.predict(a), client.persist(model.predict(a))):
        assert (prediction.shape, prediction.dtype) == (a.shape, a.dtype)
        np.testing.assert_allclose(prediction.compute(), model.predict(burgers.a).numpy(), rtol=1e-12)
    numbers = RandomFeatureModel(ScalarFeatures(n_modes=16), 16, ridge=1.0).fit(burgers.a, burgers.y[:, 0])
    assert numbers.predict(a).compute().shape == (len(burgers),)


@pytest.mark.parametrize("ridge", [1.0, "auto"])
def test_neither_theta_nor_statistics_travel_with_the_model(burgers, ridge):
    ready, _ = cluster._first(RandomFeatureModel(FourierFeatures(n_modes=512), 512, ridge=ridge).settings, tuple(burgers), None)
    assert len(pickle.dumps(ready)) < 10_000


def test_a_killed_worker_changes_nothing(burgers, client):
    def slowly(block):
        time.sleep(0.2)
        return block

    a, y = in_blocks(burgers, 2)
    expected = a_model().fit(a, y)
    models, slow = [], a.map_blocks(slowly, dtype=a.dtype)
    fitting = threading.Thread(target=lambda: models.append(a_model().fit(slow, y, client=client)))
    fitting.start()
    time.sleep(1.0)
    assert fitting.is_alive()
    os.kill(next(iter(client.run(os.getpid).values())), signal.SIGKILL)
    fitting.join(60)
    assert torch.equal(models[0].equations_.gram, expected.equations_.gram)


def test_bad_arguments_are_named(burgers, client):
    a, y = in_blocks(burgers, 8)
    with pytest.raises(RaffiaError, match=r"a must be a Dask array.*model\.fit"):
        a_model().fit(burgers.a, y)
    with pytest.raises(RaffiaError, match="pair up"):
        a_model().fit(a[:8], y)
    with pytest.raises(RaffiaError, match="folds"):
        a_model(ridge="auto").fit(a, y, folds=1)
    with pytest.raises(RaffiaError, match="two or more"):
        a_model(ridge="auto").fit(a[:8], y[:8])
    with pytest.raises(RaffiaError, match="known block sizes"):
        a_model().fit(a[a[:, 0] > 0], y)


def test_an_error_on_a_worker_is_the_error_here(burgers, client):
    a, y = in_blocks(burgers, 8)
    with pytest.raises(RaffiaError, match="must be finite"):
        a_model().fit(a / 0, y, client=client)


NOTHING = partial(InMemory, np.zeros((1, 4)), np.zeros((1, 4)))


def test_a_scheduler_that_does_not_answer_is_named():
    with pytest.raises(RaffiaError, match=r"tcp://127\.0\.0\.1:1 .*dask scheduler"):
        a_model().fit(NOTHING, scheduler="tcp://127.0.0.1:1", patience=0.5)


def outcome_when(burgers, client, happens, **how):
    """The error of a fit that takes long, during which something happens."""
    a, y = in_blocks(burgers, 4)
    slow = a.map_blocks(lambda block: time.sleep(1) or block, dtype=a.dtype, meta=np.zeros((0, 0)))
    timer = threading.Timer(0.3, happens)
    timer.start()
    with pytest.raises(RaffiaError) as raised:
        a_model().fit(slow, y, client=client, **how)
    timer.join()
    return str(raised.value)


def test_a_cluster_whose_only_worker_dies_is_given_up(burgers):
    cluster = cluster_of.LocalCluster(processes=False, n_workers=1, threads_per_worker=1, dashboard_address=None)
    with cluster, cluster_of.Client(cluster, set_as_default=False) as client:
        said = outcome_when(burgers, client, lambda: cluster.sync(cluster.workers[0].close), patience=0.5)
    assert said.startswith("the cluster has had no workers for 0.5 seconds: they died")


def test_workers_with_another_version_are_refused(burgers, client, monkeypatch):
    versions = client.get_versions(packages=["raffia"])
    versions["client"]["packages"]["raffia"] = "9.9"
    monkeypatch.setattr(client, "get_versions", lambda packages: versions)
    with pytest.raises(RaffiaError, match=r"must have raffia 9\.9, as here; tcp:.* has 0\.1\.0"):
        a_model().fit(*in_blocks(burgers, 8), client=client)


SCHEDULER = """
import asyncio, distributed
async def serve():
    async with distributed.Scheduler(port=0, host="127.0.0.1", dashboard=False) as scheduler:
        print(scheduler.address, flush=True)
        await scheduler.finished()
asyncio.run(serve())
"""


def test_a_scheduler_that_dies_is_told(burgers):
    with (
        subprocess.Popen([sys.executable, "-c", SCHEDULER], stdout=subprocess.PIPE, text=True) as scheduler,
        cluster_of.Client(scheduler.stdout.readline().strip(), set_as_default=False) as client,
    ):
        assert "scheduler is lost: start it again" in outcome_when(burgers, client, scheduler.kill)
