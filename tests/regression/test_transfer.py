"""Batches that are sent to the device, and data that stay where they are."""

import pytest
import torch

import raffia.model.preprocessing
from raffia import FourierFeatures, RandomFeatureModel
from raffia.regression import arriving, available_memory, fits


def test_batches_arrive_in_order_and_whole(device):
    batches = [(torch.full((3,), float(i)), torch.arange(i)) for i in range(5)]
    arrived = list(arriving(iter(batches), torch.device(device)))
    assert len(arrived) == len(batches)
    for sent, came in zip(batches, arrived, strict=True):
        assert all(part.device.type == device for part in came)
        assert all(torch.equal(p, q.cpu()) for p, q in zip(sent, came, strict=True))


def test_no_batch_is_none(device):
    assert list(arriving(iter([]), torch.device(device))) == []


def test_values_are_moved_whole_if_a_quarter_of_the_memory_holds_them(monkeypatch):
    cpu, other = torch.device("cpu"), torch.device("meta")
    monkeypatch.setattr("raffia.regression.feature_stream.available_memory", lambda device: 4 * 800)
    assert fits(torch.zeros(100, dtype=torch.float64), other)
    assert not fits(torch.zeros(101, dtype=torch.float64), other)
    assert fits(torch.zeros(10**6), cpu)  # they are there
    assert available_memory(cpu) > 2**20


@pytest.mark.parametrize("ridge", [1e-6, "auto"])
def test_a_model_of_data_that_stay_on_the_cpu_is_the_same(burgers, device, ridge, monkeypatch):
    a, y = burgers.a, burgers.y
    settings = {"feature_map": FourierFeatures(n_modes=32), "n_features": 48, "ridge": ridge, "device": device}
    whole = RandomFeatureModel(**settings).fit(a, y)
    monkeypatch.setattr(raffia.model.preprocessing, "fits", lambda values, device: False)
    streamed = RandomFeatureModel(batch_size=7, **settings).fit(a, y)
    (mean, std), (mean_whole, std_whole) = streamed.predict(a, return_std=True), whole.predict(a, return_std=True)
    assert mean.device.type == "cpu"
    torch.testing.assert_close(mean, mean_whole, rtol=0, atol=1e-8)
    torch.testing.assert_close(std, std_whole, rtol=1e-6, atol=1e-10)
