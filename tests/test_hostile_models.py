"""A model file is a model or one error of ours, whatever its header claims; claims cost neither time nor memory."""

import json
import math
import resource
from typing import Literal

import pytest
import torch
from jaxtyping import Float
from torch import Tensor

import raffia
from raffia import (
    Dataset,
    Domain,
    FourierFeatures,
    Mesh,
    RaffiaError,
    RandomFeatureModel,
    ScalarFeatures,
    Vectors,
    load,
)
from raffia.features import BranchTrunk, NeuralFeatures, SpectralNetwork, Union
from raffia.spaces import mesh
from raffia.validation import fits
from tests.hostile_models import HOSTILE, changed, header_and_tensors, parts, settings_in, written

CIRCLE = Domain(1)
MEBIBYTES = 500
WRONG = ["x", 1.5, -5, 0, None, True, 10**400, 10**15, {"float": "nan"}, {"list": [1, 2]}, {"dict": {}}]


@pytest.fixture(scope="module")
def small(tmp_path_factory, burgers):
    path = tmp_path_factory.mktemp("models") / "small.safetensors"
    RandomFeatureModel(FourierFeatures(16), 16, 1e-3).fit(burgers.a[:20], burgers.y[:20]).save(path)
    return path


@pytest.mark.parametrize("claim", [name for name in HOSTILE if not name.startswith(("150,000", "a union of", "unions"))])
def test_claims_that_a_file_does_not_account_for_are_refused_in_little_memory(small, tmp_path, claim):
    path = changed(small, tmp_path / "hostile.safetensors", HOSTILE[claim])
    assert path.stat().st_size < 10**7
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(RaffiaError, match=r"hostile\.safetensors"):
        load(path)
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < MEBIBYTES * 1024


def test_no_file_makes_its_reader_triangulate_nodes(small, tmp_path, monkeypatch):
    monkeypatch.setattr(mesh, "Delaunay", lambda points: pytest.fail("triangulated"))
    with pytest.raises(RaffiaError, match="weights"):
        load(changed(small, tmp_path / "m.safetensors", HOSTILE["50,000 nodes without weights"]))


def test_unions_of_unions_are_asked_for_their_domain_once_each(small, tmp_path):
    model = load(changed(small, tmp_path / "m.safetensors", HOSTILE["unions of unions"]))
    assert model.feature_map.domain == CIRCLE  # 2^60 questions, were each asked twice
    nest = FourierFeatures(8)
    for _ in range(5):
        nest = Union((nest,))
    assert nest.theta_shape == (9 + 5,)


def models(burgers):
    a, y = burgers.a[:30], burgers.y[:30]
    nodes = Mesh(torch.rand(a.shape[1], 1, generator=torch.Generator().manual_seed(0), dtype=torch.float64), domain=CIRCLE)
    yield raffia.fit(Dataset(a, y, CIRCLE), FourierFeatures(16), 16, 1e-3).model
    scalar = ScalarFeatures(8, domain=nodes, law="student")
    yield RandomFeatureModel(scalar, 16, 1e-3, normalize=True, output=Vectors()).fit(a, y[:, :3])
    both = Union((NeuralFeatures(BranchTrunk(4, 4, 4)), NeuralFeatures(SpectralNetwork(2, 2))))
    yield RandomFeatureModel(both, 8, 1e-3).fit(a, y)


@pytest.mark.parametrize("which", range(3))
def test_a_wrong_value_of_any_setting_ends_in_our_error_or_in_predictions(burgers, tmp_path, which):
    model = list(models(burgers))[which]
    model.save(tmp_path / "good.safetensors")
    metadata, tensors = header_and_tensors(tmp_path / "good.safetensors")
    content = json.loads(metadata["content"])
    refused = 0
    for number, (place, name, _) in enumerate(list(settings_in(content))):
        right = place[name]
        for wrong in WRONG[number % 5 :: 5]:
            place[name] = wrong
            try:
                load(written(tmp_path / "wrong.safetensors", metadata, tensors, content)).predict(burgers.a[:1])
            except RaffiaError:
                refused += 1
        place[name] = right
    assert refused > 60
    again = load(written(tmp_path / "wrong.safetensors", metadata, tensors, content))
    assert torch.equal(again.predict(burgers.a), model.predict(burgers.a))


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda parts, tensors: parts["settings"].update(n_features=17), "n_features=17 does not go with"),
        (
            lambda parts, tensors: tensors.update(tensor_0=torch.ones(16, 5)),
            r"does not go with coefficients of shape \(16, 5\)",
        ),
        (lambda parts, tensors: parts["frame"]["input"]["arguments"]["dict"].update(extent=2.0), "its inputs are on"),
    ],
)
def test_parts_that_contradict_one_another_are_refused(small, tmp_path, change, words):
    path = changed(small, tmp_path / "m.safetensors", lambda content, tensors: change(parts(content), tensors))
    with pytest.raises(RaffiaError, match=words):
        load(path)


@pytest.mark.parametrize("network", [SpectralNetwork(width=0), SpectralNetwork(layers=10**5), BranchTrunk(width=10**7)])
def test_networks_that_cannot_be_built_are_refused_at_once(network):
    with pytest.raises(RaffiaError, match=r"needs sizes of 1 or more and at most 16777216 weights; got .*width="):
        _ = NeuralFeatures(network).theta_shape


@pytest.mark.parametrize(
    ("hint", "good", "bad"),
    [
        (float, [1, 1.0, math.nan], [True, "1", None, 10**400]),
        (int, [1, -5], [1.0, True, "1", 2**63]),
        (bool, [True, 0], [2, None, "yes"]),
        (float | tuple[float, ...], [1, (1, 2.0), [1.0]], [("x",), {}]),
        (tuple[tuple[bool, int | None], ...], [(), ((True, None),), [[0, 1]]], [((True,),), (True, None)]),
        (Literal["auto"] | None, ["auto", None], ["other", 0]),
        (Float[Tensor, "modes"] | None, [torch.ones(3), torch.ones(()), None], [1.0, [1.0]]),
        (dict[str, float], [{}, {"a": 1}], [{"a": "b"}, {1: 1.0}]),
    ],
)
def test_kinds_are_judged_as_generously_as_python_does(hint, good, bad):
    assert [fits(value, hint) for value in good + bad] == [True] * len(good) + [False] * len(bad)
